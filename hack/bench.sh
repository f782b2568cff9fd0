#!/usr/bin/env bash
# Prints the figures of docs/benchmarks.md that compare. `hack/bench.sh phase1` stops after the first two parts, which need no sandbox; the
# last needs the sandbox with the demo in it (make demo), and `hack/bench.sh controlplane` is that one alone.
. "$(dirname "$0")/lib.sh"
need_go

controlplane() {
  step "Hosted clusters: one and its bare parts, many at once, exec through the tunnel"
  need_linux_root
  . hack/e2e/lib.sh
  export ISSUER_URL
  printf '%-48s %5s MiB anonymous\n' "memory of the demo's control plane, $(kubectl -n $NAMESPACE get hostedcluster $NAME -o jsonpath='{.spec.controllerAvailabilityPolicy}')" "$(control_plane_memory)"
  prober default
  go build -o bin/bench ./test/bench
  bin/bench -work "$WORK" "$@"
  kubectl -n default delete pod prober --grace-period=1 >/dev/null
}

if [[ "${1:-}" == controlplane ]]; then
  shift
  controlplane "$@"
  exit 0
fi
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

controlplane "$@"
