#!/usr/bin/env bash
# Runs every fuzz target for FUZZTIME.
. "$(dirname "$0")/lib.sh"
need_go
: "${FUZZTIME:=60s}"
grep -rl --include='*_test.go' '^func Fuzz' api images internal parts payload sandbox sni test | while read -r file; do
  sed -n 's/^func \(Fuzz[A-Za-z0-9_]*\).*/\1/p' "$file" | while read -r target; do
    step "$target in $(dirname "$file") for $FUZZTIME"
    go test "./$(dirname "$file")" -run '^$' -fuzz "^$target\$" -fuzztime "$FUZZTIME" -fuzzminimizetime 1s
  done
done
