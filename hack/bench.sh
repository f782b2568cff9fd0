#!/usr/bin/env bash
# Prints the figures of docs/benchmarks.md, and fails in the end when one missed its limit. `hack/bench.sh PART` prints those of one part:
#   phase1    the command line, Azure and the images, without a management cluster
#   people    what people wait for with 100 hosted clusters
#   survival  backups, the loss of a node and of the management cluster, upgrades
#   operator  the operator with fleets that are simulated
#   pools     node pools, disks, many nodes
# `hack/bench.sh controlplane [FLAGS OF test/bench]` measures control planes and pools in the sandbox with the demo that is up.
. "$(dirname "$0")/lib.sh"
need_go

# prober is a pod of the management cluster beside the demo's, for exec.
prober() {
  kubectl -n default create secret generic pull-secret --type=kubernetes.io/dockerconfigjson --from-file=.dockerconfigjson="$PULL_SECRET" \
    --dry-run=client -o yaml | kubectl apply -f - >/dev/null
  kubectl -n default delete pod prober --ignore-not-found --grace-period=1 >/dev/null
  kubectl -n default run prober --image="$TOOLS_IMAGE" --restart=Never \
    --overrides='{"spec":{"imagePullSecrets":[{"name":"pull-secret"}]}}' --command -- sleep 3600 >/dev/null
  kubectl -n default wait pod/prober --for=condition=Ready --timeout=2m >/dev/null
}

controlplane() {
  step "Hosted clusters: one and its bare parts, many at once, exec through the tunnel"
  need_linux_root
  . hack/demo-lib.sh
  enter_sandbox
  ISSUER_URL=$(tail -n 1 "$WORK/issuer-url")
  export ISSUER_URL
  prober
  go build -o bin/bench ./test/bench
  bin/bench -work "$WORK" "$@"
  kubectl -n default delete pod prober --grace-period=1 >/dev/null
}

if [[ "${1:-}" == controlplane ]]; then
  shift
  controlplane "$@"
  exit 0
fi
PART=${1:-all}
case "$PART" in
  all | phase1 | people | survival | operator | pools) ;;
  *) fail "there is no part $PART: phase1, people, survival, operator, pools, controlplane" ;;
esac
wanted() { [[ $PART == all || $PART == "$1" ]]; }
need_az
mkdir -p bin
missed=
part() { # STEP COMMAND...: a figure that misses its limit fails the run after all have been measured
  step "$1"
  shift
  "$@" || missed=1
}

make --no-print-directory build-cli
[[ $(bin/hypershift sandbox status -o json | grep -c '"running": true') == 0 ]] || fail "a sandbox is up, and one is started to be measured; take it down first: hack/demo-down.sh"
# figures prints what scripts say of themselves, "figure: NAME: N s, may take M s", and fails when one took longer or none came.
# shellcheck disable=SC2317 # part calls it
figures() { # SCRIPT|SCRIPT...
  go test -count=1 -v -timeout 90m ./test/e2e -long -run "TestScripts/^($1)\$" | awk '
    /figure: .* s, may take [0-9]+ s$/ {sub(/.*figure: /, ""); print; said++; if ($(NF - 5) + 0 > $(NF - 1) + 0) {print "  MISSED"; missed = 1}}
    /^(--- FAIL|FAIL|panic)/ {print; missed = 1}
    END {exit missed || !said}'
}

if wanted phase1; then
  go build -o bin/bench-phase1 ./test/bench/phase1
  go build -o bin/bench-images ./test/bench/images
  go build -o bin/bench-commandline ./test/bench/commandline
  part "The command line: commands that ask nobody, and its size" bin/bench-commandline
  part "Phase 1, every call 100 ms slower: one command, a serial client, the bash with az; what a strict Azure costs" bin/bench-phase1
  part "The images, to a registry on this machine" bin/bench-images
  part "The identities of 50 clusters in one subscription, every twentieth call refused" \
    bash -o pipefail -c "go test -count=1 -v -run '^TestFiftyClustersUnderThrottling$' ./test/stacks | grep -E '^(---|ok|FAIL)|clusters,'"
fi
if [[ $PART != phase1 ]]; then bin/hypershift sandbox parts; fi
if wanted people; then
  need_package chromium chromium
  part "What people wait for with 100 hosted clusters: status, explain, the dashboard's first paint in Chromium" \
    bash -o pipefail -c "go test -count=1 -v -timeout 30m -run '^TestPeople$' ./test/scale -args -figures | grep -E '^ *(---|ok|FAIL)|hosted clusters,|may '"
fi
if wanted survival; then
  part "A backup of 200 MB and its restore in place; the management cluster lost" figures '39-restore-large|75-management-lost'
  part "A hosted cluster with two workers is destroyed" figures '10-demo|50-destroy'
  part "A highly available control plane is upgraded, and loses a node" figures '72-zone-lost|74-upgrade'
fi
if wanted operator; then
  part "The operator with 12 and with 200 hosted clusters on a real API server, their control planes simulated" \
    bash -o pipefail -c "go test -count=1 -v -timeout 60m -run '^TestOperator$' ./test/scale -args -figures | grep -E '^ *(---|ok|FAIL)|hosted clusters,|may '"
fi
if wanted pools; then
  step "The demo"
  AZURE_PROFILE=fast hack/demo.sh
  if [[ $PART == pools ]]; then
    hack/bench.sh controlplane -planes=false || missed=1
  else
    hack/bench.sh controlplane || missed=1
  fi
  part "Four nodes replaced and changed in place; a disk and its move" figures '43-inplace|43-replace|47-disk'
fi
[[ -z $missed ]] || fail "a figure missed its limit; it is marked above"
