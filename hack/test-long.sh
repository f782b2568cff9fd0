#!/usr/bin/env bash
# The long tier: the short one under the race detector, more of the random tests, the scripts that take minutes, and fuzzing.
. "$(dirname "$0")/lib.sh"
need_go
command -v gcc >/dev/null || fail "the race detector needs a C compiler; apt-get install gcc libc6-dev"

step "Tests under the race detector"
CGO_ENABLED=1 go test -race -shuffle=on -count=1 -timeout 60m $(go list ./... | grep -v /test/e2e)

step "Random lives of hosted clusters"
go test -count=1 -timeout 30m ./internal/hostedcluster -run TestLivesOfClusters -rapid.checks=50

step "Stacks that are made of others, stopped at every call"
go test -count=1 -timeout 30m ./test/stacks -run 'TestStoppedAtEveryCall/stacks/all_in_one_run' -all-stops

step "Whole programs: the scripts of both tiers"
make --no-print-directory build
need_az
go test -count=1 -timeout 120m -v ./test/e2e -long

step "Fuzzing"
hack/fuzz.sh
