#!/usr/bin/env bash
# An aggregated API served by a pod of the hosted cluster: the API server passes requests on through the tunnel and says whose they are.
. "$(dirname "$0")/lib.sh"
. hack/e2e/guestapi-lib.sh

API=e2e.hypershift.test
guestapi_up
guest apply -f - >/dev/null <<YAML
apiVersion: apiregistration.k8s.io/v1
kind: APIService
metadata: {name: v1.$API}
spec:
  group: $API
  version: v1
  service: {namespace: $GUESTAPI, name: $GUESTAPI}
  caBundle: $CA_BUNDLE
  groupPriorityMinimum: 2000
  versionPriority: 15
YAML
guest wait apiservice/v1.$API --for=condition=Available --timeout=1m

you() { guest get --raw /apis/$API/v1/callers/you "$@"; }
field() { sed -n "s/.*\"$1\":\"\([^\"]*\)\".*/\1/p"; }
until_ok 30 you
until_ok 30 guest get callers.$API # discovery learns of it on its own
admin=$(you)
echo "  $admin"
[ "$(echo "$admin" | field user)" = system:admin ] || fail "the API behind does not learn who asks: $admin"
[ "$(echo "$admin" | field proxy)" = system:openshift-aggregator ] || fail "another certificate than the aggregator's vouches: $admin"
through_the_tunnel "$(echo "$admin" | field from)"

# Somebody else is somebody else; and who comes by himself, with headers but without the certificate, is nobody.
other=$(guest --as=alice --as-group=system:masters get --raw /apis/$API/v1/callers/you)
[ "$(echo "$other" | field user)" = alice ] || fail "the user is not passed on: $other"
# The Service's address works on each node once that node's kube-proxy has heard of the pod.
forge() {
  forged=$(guest -n $GUESTAPI exec deployment/$GUESTAPI -- guestapi call --header='X-Remote-User: system:admin' \
    --url="https://$GUESTAPI.$GUESTAPI.svc/apis/$API/v1/callers/you")
}
until_ok 30 forge
case "$forged" in 401*) echo "  headers without the certificate: 401" ;; *) fail "headers alone make a user: $forged" ;; esac

guestapi_gone_and_back you
guest wait apiservice/v1.$API --for=condition=Available --timeout=1m >/dev/null
echo "  without its pod: unavailable; with it: served again"
tunnel_gone_and_back you
echo "  after every agent of the tunnel was replaced: served again"

guest delete apiservice v1.$API >/dev/null
guestapi_down
echo "an API in the guest is served"
