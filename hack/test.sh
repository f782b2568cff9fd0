#!/usr/bin/env bash
# The short tier: builds everything, the parts too where the cache lacks them, and runs every test but the long ones.
. "$(dirname "$0")/lib.sh"
need_go

step "Build"
make --no-print-directory build
go vet ./...

step "Parts for the tests that need a real API server (cached after the first time)"
bin/hypershift sandbox parts

need_az

step "Unit, API-server-backed and embedded-Azure tests"
mapfile -t packages < <(go list ./... | grep -v '/test/e2e$')
go test -shuffle=on -count=1 -timeout 20m "${packages[@]}"

step "Whole programs: the demo and the scripts of test/e2e"
go test -count=1 -timeout 60m -v ./test/e2e
