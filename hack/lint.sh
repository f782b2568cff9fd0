#!/usr/bin/env bash
# golangci-lint at the version of hack/tools, with the import directions of .golangci.yml; shellcheck for every line of shell, that in the
# scripts of test/e2e too.
. "$(dirname "$0")/lib.sh"
need_go
need_package shellcheck shellcheck
shellcheck -x -P SCRIPTDIR .ci/run hack/*.sh
inside=$(mktemp -d)
trap 'rm -rf "$inside"' EXIT
for script in test/e2e/testdata/*.txtar test/e2e/testdata/long/*.txtar; do
  folder=$inside/$(basename "$script" .txtar)
  mkdir "$folder"
  go run github.com/rogpeppe/go-internal/cmd/txtar-x -C "$folder" "$script"
done
find "$inside" -name '*.sh' -exec shellcheck -s sh {} +
go tool -modfile=hack/tools/go.mod golangci-lint run ./...
