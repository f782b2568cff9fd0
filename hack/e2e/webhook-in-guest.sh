#!/usr/bin/env bash
# A validating webhook whose Service and pod are in the hosted cluster: the API server asks it through the tunnel.
. "$(dirname "$0")/lib.sh"
. hack/e2e/guestapi-lib.sh

guestapi_up
guest apply -f - >/dev/null <<YAML
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingWebhookConfiguration
metadata: {name: $GUESTAPI}
webhooks:
  - name: colours.e2e.hypershift.test
    clientConfig:
      service: {namespace: $GUESTAPI, name: $GUESTAPI, path: /validate}
      caBundle: $CA_BUNDLE
    rules: [{apiGroups: [""], apiVersions: [v1], operations: [CREATE], resources: [configmaps]}]
    objectSelector: {matchLabels: {e2e/coloured: "true"}}
    failurePolicy: Fail
    sideEffects: None
    timeoutSeconds: 5
    admissionReviewVersions: [v1]
YAML

# create COLOUR: asks for a ConfigMap of that colour, and keeps none.
create() {
  guest create --dry-run=server -o name -f - 2>&1 <<YAML
apiVersion: v1
kind: ConfigMap
metadata: {name: coloured, namespace: $GUESTAPI, labels: {e2e/coloured: "true"}}
data: {colour: $1}
YAML
}
works() {
  local answer
  if answer=$(create red); then return 1; fi
  grep -q 'red is not a colour of this cluster' <<<"$answer" && create green
}

until_ok 30 works
answer=$(create red || true)
echo "  red:   $answer"
echo "  green: $(create green)"
through_the_tunnel "$(echo "$answer" | sed -n 's/.*said to \([0-9.]*:[0-9]*\).*/\1/p')"

# While the webhook is away, its failurePolicy holds; afterwards it answers again.
guestapi_gone_and_back works
echo "  without its pod: refused; with it: answered again"
tunnel_gone_and_back works
echo "  after every agent of the tunnel was replaced: answered again"

guest delete validatingwebhookconfiguration $GUESTAPI >/dev/null
guestapi_down
echo "a webhook in the guest decides"
