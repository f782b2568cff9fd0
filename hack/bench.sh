#!/usr/bin/env bash
# Prints the figures of docs/benchmarks.md that compare; needs the sandbox with the demo in it (make demo).
. "$(dirname "$0")/lib.sh"
need_linux_root
need_go
. hack/e2e/lib.sh
export ISSUER_URL
mkdir -p bin
go build -o bin/bench ./test/bench
exec bin/bench -work "$WORK" "$@"
