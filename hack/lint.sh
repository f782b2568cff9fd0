#!/usr/bin/env bash
# golangci-lint at the version of hack/tools, with the import directions of .golangci.yml.
. "$(dirname "$0")/lib.sh"
need_go
exec go tool -modfile=hack/tools/go.mod golangci-lint run ./...
