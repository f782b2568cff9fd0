#!/usr/bin/env bash
# Generated files are current, modules are tidy, sources are formatted.
. "$(dirname "$0")/lib.sh"
need_go
[ -z "$(gofmt -l api cmd config internal sandbox test)" ] || fail "not formatted: $(gofmt -l api cmd config internal sandbox test | tr '\n' ' '); run gofmt -w"
go mod tidy -diff || fail "go.mod is not tidy; run go mod tidy"
hack/generate.sh
git diff --exit-code -- api config || fail "generated files are not current; commit what make generate changed"
