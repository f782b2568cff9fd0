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

# A pod killed by SIGKILL of its first container's process, as the kernel would.
kill_pod() {
  local ns=$1 selector=$2
  local uid; uid=$(kubectl -n "$ns" get pods -l "$selector" -o jsonpath='{.items[0].metadata.uid}')
  [ -n "$uid" ] || fail "no pod $selector in $ns"
  local pids; pids=$(grep -ls "$uid" /proc/[0-9]*/cgroup | cut -d/ -f3)
  local p
  for p in $pids; do [ "$(cat /proc/$p/comm 2>/dev/null)" = pause ] || kill -9 "$p" 2>/dev/null || true; done
}

recovered() { until_ok 240 healthy; printf '  %-34s recovered in %ss\n' "$1" "$((SECONDS - began))"; }
try() { local name=$1; shift; began=$SECONDS; "$@"; sleep 2; recovered "$name"; }

try "hypershift-operator pod" kill_pod hypershift name=operator
for component in control-plane-operator kube-apiserver etcd; do
  try "$component pod" kill_pod $CPNS "app=$component"
done
try "a worker's kubelet" sh -c 'kill -9 $(pgrep -f "kubelet .*--cloud-provider=external" | head -n 1)'
# Every process of the sandbox, by the number it has when its turn comes; the supervisor and its watcher too.
pid_of() {
  hypershift sandbox status -o json | awk -v want="$1" '
    /"supervisor":/ && want == "supervisor" {gsub(/[^0-9]/, ""); print; exit}
    /^    "[a-z-]+": [{]/ {gsub(/[": {]/, ""); name = $0}
    /"pid":/ && name == want {gsub(/[^0-9]/, ""); print; exit}'
}
for part in supervisor $(hypershift sandbox status -o json | sed -n 's/^    "\([a-z-]*\)": {.*/\1/p'); do
  pid=$(pid_of "$part")
  [ -n "$pid" ] || fail "no process is known for sandbox part $part"
  try "sandbox part $part" kill -9 "$pid"
done
echo "all parts recovered"
