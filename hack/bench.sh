#!/usr/bin/env bash
# Prints the figures of docs/benchmarks.md that compare. `hack/bench.sh phase1` stops after the first two parts, which need no sandbox; the
# rest needs the sandbox with the demo in it (make demo).
. "$(dirname "$0")/lib.sh"
need_go
need_az
mkdir -p bin

step "Phase 1, every call 100 ms slower: one command, a serial client, the bash with az"
make --no-print-directory build-cli
go build -o bin/bench-phase1 ./test/bench/phase1
bin/bench-phase1

step "The identities of 50 clusters in one subscription, every twentieth call refused"
go test -count=1 -v -run '^TestFiftyClustersUnderThrottling$' ./test/stacks | grep -E '^(---|ok|FAIL)|clusters,'
if [[ "${1:-}" == phase1 ]]; then
  exit 0
fi

step "The operator with 12 and with 200 hosted clusters on a real API server, their control planes simulated"
bin/hypershift sandbox parts
go test -count=1 -v -timeout 60m ./test/scale -args -figures | grep -E '^ *(---|ok|FAIL)|hosted clusters,|may '

step "A hosted cluster and its bare parts"
need_linux_root
. hack/e2e/lib.sh
export ISSUER_URL
go build -o bin/bench ./test/bench
exec bin/bench -work "$WORK" "$@"
