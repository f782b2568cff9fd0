#!/usr/bin/env bash
# The long tier: some of Kubernetes' own tests of a hosted cluster, the short tier's tests under the race detector, more random lives of
# hosted clusters, the dashboard in a browser, stacks stopped at every call, the scripts of both tiers with all conformance tests, and fuzzing.
# It steps the clock of this machine 30 s ahead and back, several times within CHAOS_DURATION (10m), unless CHAOS_CLOCK is "no".
. "$(dirname "$0")/lib.sh"
need_go
command -v gcc >/dev/null || fail "the race detector needs a C compiler; apt-get install gcc libc6-dev"

step "Build, and the parts for the tests that need a real API server"
make --no-print-directory build
bin/hypershift sandbox parts
need_az

step "Twenty of Kubernetes' own conformance tests; the scripts below run all"
go test -count=1 -timeout 60m -v ./test/e2e -long -run '^TestScripts$/^14-conformance-short$'

step "Tests under the race detector"
mapfile -t packages < <(go list ./... | grep -v '/test/e2e$')
CGO_ENABLED=1 go test -race -shuffle=on -count=1 -timeout 60m "${packages[@]}"

step "The dashboard in a browser"
need_package chromium chromium
go test -count=1 ./internal/dashboard -run '^TestInBrowser$' -args -browser

step "Random lives of hosted clusters"
go test -count=1 -timeout 30m ./internal/hostedcluster -run TestLivesOfClusters -rapid.checks=50

step "Stacks that are made of others, stopped at every call"
go test -count=1 -timeout 30m ./test/stacks -run 'TestStoppedAtEveryCall/stacks/all_in_one_run' -all-stops

step "Whole programs: the scripts of both tiers"
go test -count=1 -timeout 300m -v ./test/e2e -long -skip '^TestScripts$/^14-conformance-short$'

step "Fuzzing"
hack/fuzz.sh
