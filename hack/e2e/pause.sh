#!/usr/bin/env bash
# A paused hosted cluster is left alone, and catches up afterwards.
. "$(dirname "$0")/lib.sh"

condition() { kubectl -n $NAMESPACE get "$1" $NAME -o jsonpath="{.status.conditions[?(@.type==\"ReconciliationActive\")].status}"; }
paused() { [ "$(condition "$1")" = False ]; }
active() { [ "$(condition "$1")" = True ]; }
pause() { kubectl -n $NAMESPACE patch "$1" $NAME --type=merge -p "{\"spec\":{\"pausedUntil\":$2}}"; }
has_scheduler() { kubectl -n $CPNS get deployment kube-scheduler; }
machines() { kubectl -n $CPNS get machines.cluster.x-k8s.io --no-headers 2>/dev/null | wc -l; }

pause hostedcluster '"true"'
pause nodepool '"true"'
until_ok 30 paused hostedcluster
until_ok 30 paused nodepool
kubectl -n $NAMESPACE get hostedcluster $NAME -o jsonpath='{.status.conditions[?(@.type=="ReconciliationActive")]}'; echo

# What a reconcile would undo or do at once stays as it is.
kubectl -n $CPNS delete deployment kube-scheduler
before=$(machines)
kubectl -n $NAMESPACE scale nodepool/$NAME --replicas=$((before + 1))
sleep 12
! has_scheduler >/dev/null 2>&1 || fail "a deployment came back although the hosted cluster is paused"
[ "$(machines)" -eq "$before" ] || fail "a machine was made although the node pool is paused"
guest get --raw /readyz >/dev/null || fail "the hosted cluster does not serve while it is paused"
kubectl -n $NAMESPACE scale nodepool/$NAME --replicas="$before"

pause nodepool null
pause hostedcluster null
until_ok 30 active hostedcluster
until_ok 30 active nodepool
until_ok 60 has_scheduler
kubectl -n $CPNS rollout status deployment/kube-scheduler --timeout=2m

# Until a time: it goes on by itself.
pause hostedcluster "\"$(date -u -d '+15 seconds' +%Y-%m-%dT%H:%M:%SZ)\""
until_ok 10 paused hostedcluster
kubectl -n $CPNS delete deployment machine-approver
sleep 3
! kubectl -n $CPNS get deployment machine-approver >/dev/null 2>&1 || fail "a deployment came back before the pause was over"
until_ok 60 kubectl -n $CPNS get deployment machine-approver
until_ok 30 active hostedcluster
pause hostedcluster null
kubectl -n $CPNS rollout status deployment/machine-approver --timeout=2m
kubectl -n $NAMESPACE wait hostedcluster/$NAME --for=condition=Available --timeout=1m
echo "paused and resumed"
