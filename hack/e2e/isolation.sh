#!/usr/bin/env bash
# A control-plane namespace takes connections of other namespaces only where it must.
. "$(dirname "$0")/lib.sh"

address() { kubectl -n $CPNS get pods -l "app=$1" -o jsonpath='{.items[0].status.podIP}'; }
# connect NAMESPACE APP PORT: open, refused, or what else went wrong.
connect() {
  local answer
  if answer=$(kubectl -n "$1" exec prober -- sh -c "nc -w 5 $(address "$2") $3 </dev/null >/dev/null && echo open || true" 2>&1); then
    case "$answer" in *open) echo open ;; *refused*) echo refused ;; *) echo "$answer" ;; esac
  fi
}
must() {
  local got; got=$(connect "$1" "$2" "$3")
  [ "$got" = "$4" ] || fail "a pod of namespace $1 connects to $2:$3: '$got' instead of '$4'"
  echo "  $1 -> $2:$3 $got"
}
becomes() { [ "$(connect "$1" "$2" "$3")" = "$4" ]; }

for policy in same-namespace openshift-monitoring kas openshift-ingress private-router kas-egress; do
  kubectl -n $CPNS get networkpolicy $policy >/dev/null || fail "the NetworkPolicy $policy is missing in $CPNS"
done
prober stranger
prober observer
kubectl label namespace observer network.openshift.io/policy-group=monitoring --overwrite >/dev/null
until_ok 20 becomes observer etcd 2379 open

must observer etcd 2379 open
must stranger kube-apiserver 6443 open
for closed in etcd:2379 etcd:2380 kube-apiserver:8091 kube-controller-manager:10257 ignition-server:9090; do
  must stranger "${closed%:*}" "${closed#*:}" refused
done

# It is the policy that refuses: a namespace is let in by its label, and shut out without it.
kubectl label namespace stranger network.openshift.io/policy-group=ingress >/dev/null
until_ok 20 becomes stranger etcd 2379 open
kubectl label namespace stranger network.openshift.io/policy-group- >/dev/null
until_ok 20 becomes stranger etcd 2379 refused

# What the control plane itself and its workers need still passes.
kubectl -n $NAMESPACE wait hostedcluster/$NAME --for=condition=Available --timeout=30s
guest get --raw '/readyz?verbose' | grep -F '[+]etcd ok'
guest -n default logs deployment/web --tail=1
kubectl delete namespace stranger observer --wait=false
echo "isolated"
