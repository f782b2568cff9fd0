#!/usr/bin/env bash
# Sources are formatted, modules are tidy, the command line compiles for macOS, generated files are current. Works with uncommitted changes too.
. "$(dirname "$0")/lib.sh"
need_go
unformatted=$(gofmt -l api client cmd config hack images internal parts payload sandbox sni test)
[ -z "$unformatted" ] || fail "not formatted: ${unformatted//$'\n'/ }; run gofmt -w"
go mod tidy -diff || fail "go.mod is not tidy; run go mod tidy"

# What it does without the sandbox, the command line does on macOS too.
GOOS=darwin GOARCH=arm64 CGO_ENABLED=0 go vet -trimpath ./cmd/hypershift ./internal/cli/sandbox || fail "the command line does not compile for macOS"

before=$(mktemp -d)
trap 'rm -rf "$before"' EXIT
cp -r api client config docs "$before"
mkdir -p "$before/internal/cli"
cp -r internal/cli/quick "$before/internal/cli"
hack/generate.sh
for folder in api client config docs/reference internal/cli/quick; do
  diff -r "$before/$folder" "$folder" || fail "generated files in $folder were not current; they are now: commit them"
done
