#!/usr/bin/env bash
# HostedClusters deleted by kubectl alone: one with node pools, which is there from handwritten.sh, and one without.
. "$(dirname "$0")/lib.sh"

HAND=byhand ALONE=alone DIR=$WORK/byhand
conditions() { kubectl -n $NAMESPACE get hostedcluster "$1" -o jsonpath='{range .status.conditions[*]}{.type} {.status} {.reason} {.message}{"\n"}{end}'; }
# says NAME TEXT: what the deletion waits for.
says() { conditions "$1" | grep '^HostedClusterDestroyed ' | grep -F -- "$2"; }
gone() { ! kubectl get namespace $NAMESPACE-"$1" >/dev/null 2>&1 && ! kubectl -n $NAMESPACE get hostedcluster "$1" >/dev/null 2>&1; }
machines() { kubectl get machines.cluster.x-k8s.io -A --no-headers | grep -c "^$NAMESPACE-$1 " || true; }

[ "$(machines $HAND)" -eq 1 ] || fail "hack/e2e/handwritten.sh has to run before: there is no machine of $HAND"
kubectl -n $NAMESPACE delete hostedcluster $HAND --wait=false
until_ok 60 says $HAND "NodePools $HAND-workers"
conditions $HAND | grep '^HostedClusterDestroyed '
until_ok 180 gone $HAND
! kubectl -n $NAMESPACE get nodepool $HAND-workers >/dev/null 2>&1 || fail "the NodePool is still there"
events=$(kubectl -n $NAMESPACE get events --field-selector "involvedObject.name=$HAND" -o jsonpath='{range .items[*]}{.reason} {.message}{"\n"}{end}')
echo "$events" | grep 'waiting for' || fail "no event says what the deletion waited for: $events"

# What the user made is the user's.
for name in my-registry my-signing-key my-encryption-key; do
  kubectl -n $NAMESPACE get secret $name >/dev/null || fail "the user's Secret $name was deleted"
done
! kubectl -n $NAMESPACE get secret my-registry -o yaml | grep -E 'ownerReferences|finalizers|referenced-resource' || fail "the user's Secret keeps a mark"

# Without a NodePool, deleted while it is still coming up.
kubectl -n $NAMESPACE get hostedcluster $NAME -o yaml |
  sed -e '/^status:/,$d' -e '/^  \(uid\|resourceVersion\|creationTimestamp\|generation\):/d' -e '/^  finalizers:/,/^  - /d' -e '/^    clusterID:/d' \
    -e "s/^  name: $NAME\$/  name: $ALONE/" -e "s/$INFRA_ID\$/$ALONE-j5t8w/" | sed '/^  annotations:/,/^  [a-z]/{/^  annotations:/d;/^    /d}' |
  kubectl apply -f -
started() { [ -n "$(kubectl -n $NAMESPACE-$ALONE get pods -o name)" ]; }
until_ok 90 started
kubectl -n $NAMESPACE delete hostedcluster $ALONE --timeout=3m
gone $ALONE || fail "something of $ALONE is left"

kubectl -n $NAMESPACE wait hostedcluster/$NAME --for=condition=Available --timeout=30s
echo "deleted by kubectl alone"
