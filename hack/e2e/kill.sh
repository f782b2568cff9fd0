#!/usr/bin/env bash
# Kills every part once, kill -9, and waits until the hosted cluster is as it was, with its data.
. "$(dirname "$0")/lib.sh"

guest -n default create configmap survives --from-literal=answer=42 --dry-run=client -o yaml | guest apply -f - >/dev/null

healthy() {
  kubectl -n $NAMESPACE wait hostedcluster/$NAME --for=condition=Available --timeout=5s &&
    [ "$(guest get nodes --no-headers | awk '$2=="Ready"' | wc -l)" -ge 2 ] &&
    [ "$(guest -n default get configmap survives -o jsonpath='{.data.answer}')" = 42 ] &&
    guest -n default exec deployment/web -- true
}
until_ok 120 healthy

# The containers of pods, by the ids the runtime gave them: one that was killed has another id when it runs again.
containers() { kubectl -n "$1" get pods -l "$2" -o jsonpath='{range .items[*].status.containerStatuses[*]}{.containerID}{"\n"}{end}'; }

# The processes of a workload's pods killed by SIGKILL, as the kernel would: of every replica, or the others would cover it up.
kill_pod() {
  NS=$1 SELECTOR=$2
  local uids; uids=$(kubectl -n "$NS" get pods -l "$SELECTOR" -o jsonpath='{range .items[*]}{.metadata.uid}{"\n"}{end}')
  [ -n "$uids" ] || fail "no pod $SELECTOR in $NS"
  BEFORE=$(containers "$NS" "$SELECTOR")
  local pids; pids=$(grep -lsF "$uids" /proc/[0-9]*/cgroup | cut -d/ -f3 || true) # processes vanish meanwhile
  local p
  for p in $pids; do [ "$(cat /proc/$p/comm 2>/dev/null)" = pause ] || kill -9 "$p" 2>/dev/null || true; done
}
pod_replaced() {
  local now id; now=$(containers "$NS" "$SELECTOR")
  [ -n "$now" ] || return 1
  for id in $BEFORE; do case "$now" in *"$id"*) return 1 ;; esac; done
}

# The kubelets of workers; the management node's own has no cloud provider.
kubelets() { pgrep -a -x kubelet | awk '/--cloud-provider=external/ {print $1}'; }
kill_kubelet() { COUNT=$(kubelets | wc -l) PID=$(kubelets | head -n 1); kill -9 "$PID"; }
kubelet_replaced() { ! kubelets | grep -qx "$PID" && [ "$(kubelets | wc -l)" -eq "$COUNT" ]; }

# Every process of the sandbox, by the number it has when its turn comes; the supervisor and its watcher too.
pid_of() {
  hypershift sandbox status -o json | awk -v want="$1" '
    /"supervisor":/ && want == "supervisor" {gsub(/[^0-9]/, ""); print; exit}
    /^    "[a-z-]+": [{]/ {gsub(/[": {]/, ""); name = $0}
    /"pid":/ && name == want {gsub(/[^0-9]/, ""); print; exit}'
}
kill_part() {
  PART=$1 PID=$(pid_of "$1")
  [ -n "$PID" ] || fail "no process is known for sandbox part $PART"
  kill -9 "$PID"
}
part_replaced() {
  local now; now=$(pid_of "$PART")
  [ -n "$now" ] && [ "$now" != "$PID" ] && kill -0 "$now"
}

# try NAME REPLACED KILL...: health counts only once the killed thing is known to be another one.
try() {
  local name=$1 replaced=$2 began=$SECONDS new; shift 2
  "$@"
  until_ok 120 "$replaced"; new=$((SECONDS - began))
  until_ok 240 healthy
  printf '  %-34s replaced after %ss, recovered in %ss\n' "$name" "$new" "$((SECONDS - began))"
}

try "hypershift-operator pod" pod_replaced kill_pod hypershift name=operator
for component in control-plane-operator kube-apiserver etcd; do
  try "$component pod" pod_replaced kill_pod $CPNS "app=$component"
done
try "a worker's kubelet" kubelet_replaced kill_kubelet
for part in supervisor $(hypershift sandbox status -o json | sed -n 's/^    "\([a-z-]*\)": {.*/\1/p'); do
  try "sandbox part $part" part_replaced kill_part "$part"
done
echo "all parts recovered"
