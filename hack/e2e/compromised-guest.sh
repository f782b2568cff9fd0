#!/usr/bin/env bash
# An administrator of the demo's hosted cluster turns against the management cluster and against what another hosted cluster has in
# Azure. He can create any object in his own; each of his attempts must be refused, and what refused it is shown. A control before them
# shows that the way itself is open.
. "$(dirname "$0")/lib.sh"

VICTIM=victim VICTIM_INFRA=victim-k3v9d DIR=$WORK/victim
mkdir -p "$DIR"
trap 'rm -f "$DIR/control" "$DIR/attack.key" "$DIR/token" "$DIR/assertion" "$DIR/arm"' EXIT

# answers WHAT REASON COMMAND...: the command fails, and says what REASON, an extended regular expression, matches.
answers() {
  local what=$1 reason=$2 answer; shift 2
  if answer=$("$@" 2>&1); then fail "$what: NOT refused: ${answer:0:400}"; fi
  grep -qE "$reason" <<<"$answer" || fail "$what: failed, but not because it was refused: ${answer:0:400}"
  printf '  %-58s %s\n' "$what" "$(grep -oE "$reason" <<<"$answer" | head -n 1)"
}
# control WHAT COMMAND...: what must work.
control() {
  local what=$1; shift
  ( umask 077; "$@" >"$DIR/control" 2>&1 ) || fail "control: $what does not work, so its refusals would prove nothing: $(head -c 400 "$DIR/control")"
  printf '  %-58s %s\n' "control: $what" works
}
server() { sed -n 's/ *server: //p' "$1"; }
management=$(kubectl -n default get service kubernetes -o jsonpath='{.spec.clusterIP}'):443
behind=$(kubectl -n default get endpointslices kubernetes -o jsonpath='{.endpoints[0].addresses[0]}:{.ports[0].port}')
prober attack-bystander
prober attack-stranger
bystander=$(kubectl -n attack-bystander get pod prober -o jsonpath='{.status.podIP}'):18080
guest create namespace attack --dry-run=client -o yaml | guest apply -f - >/dev/null

echo "The API server calls a URL of the guest's choice:"
# webhook URL: what the API server says of calling it.
webhook() {
  guest apply -f - >/dev/null <<YAML
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingWebhookConfiguration
metadata: {name: attack}
webhooks:
  - name: attack.e2e.hypershift.test
    clientConfig: {url: "$1"}
    rules: [{apiGroups: [""], apiVersions: [v1], operations: [CREATE], resources: [configmaps]}]
    namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: attack}}
    failurePolicy: Fail
    sideEffects: None
    timeoutSeconds: 5
    admissionReviewVersions: [v1]
YAML
  local answer deadline=$((SECONDS + 30))
  while [ $SECONDS -lt $deadline ]; do
    # Until the API server knows of it, it lets the object in or asks the one before.
    if answer=$(guest -n attack create configmap probe --dry-run=server 2>&1); then continue; fi
    case "$answer" in *"$1"*) echo "$answer"; return 1 ;; esac
  done
  echo "the webhook $1 was never called: $answer"
  return 1
}
# The kernel refuses a connection to where something listens: that it does is what a pod of no hosted cluster sees.
closed='connect: connection refused'
open_to_others() { kubectl -n attack-stranger exec prober -- nc -w 5 "${1%:*}" "${1#*:}" </dev/null; }
answers "control: his own published API is called" "x509: [a-z ]*" webhook "$(server "$WORK/kubeconfig")/attack"
for target in "the management API, by its Service:$management" "the management API, by its address:$behind" "a pod of somebody else:$bystander"; do
  control "a stranger connects to ${target#*:}" open_to_others "${target#*:}"
  answers "${target%%:*}" "$closed" webhook "https://${target#*:}/attack"
done
guest delete validatingwebhookconfiguration attack >/dev/null

echo "The API server is sent through the tunnel to addresses of the management cluster:"
# aim ADDRESS PORT: a Node of the guest that claims to be there.
aim() {
  guest apply -f - >/dev/null <<<'{"apiVersion":"v1","kind":"Node","metadata":{"name":"forged"}}'
  guest patch node forged --subresource=status --type=merge \
    -p "{\"status\":{\"addresses\":[{\"type\":\"InternalIP\",\"address\":\"$1\"}],\"daemonEndpoints\":{\"kubeletEndpoint\":{\"Port\":$2}}}}" >/dev/null
}
by_node() { guest get --request-timeout=20s --raw /api/v1/nodes/forged/proxy/healthz; }
kubelet=$(guest get nodes -o jsonpath='{.items[0].status.addresses[?(@.type=="InternalIP")].address}')
aim "$kubelet" 10250
control "a kubelet of his, as the kubelet of a forged Node" by_node
for target in "the management API's Service:$management" "the management API:$behind" "a pod of somebody else:$bystander"; do
  IFS=: read -r name address port <<<"$target"
  aim "$address" "$port"
  answers "$name, as a forged Node" "proxy error from [^\"]* while dialing [^\"]*" by_node
done
guest delete node forged --ignore-not-found >/dev/null

echo "He asks for certificates:"
openssl ecparam -name prime256v1 -genkey -noout -out "$DIR/attack.key"
# request NAME SUBJECT SIGNER USAGE FLAG...: a certificate signing request of his.
request() {
  local name=$1 subject=$2 signer=$3 usage=$4; shift 4
  guest create -f - "$@" <<YAML
apiVersion: certificates.k8s.io/v1
kind: CertificateSigningRequest
metadata: {name: $name}
spec:
  request: $(openssl req -new -key "$DIR/attack.key" -subj "$subject" | base64 -w0)
  signerName: $signer
  usages: [$usage, digital signature]
YAML
}
approver_says() { kubectl -n $CPNS logs deployment/machine-approver --tail=200 | grep -F "\"$1\"" | grep -F 'not approved'; }
not_approved() { until_ok 30 approver_says "$1"; approver_says "$1"; return 1; }
signer=kubernetes.io/kube-apiserver-client
guest delete csr attack-node attack-user --ignore-not-found >/dev/null
control "a client certificate for a name of his own" request attack-user /CN=mallory $signer "client auth"
answers "a client certificate of system:masters" "use of [a-z./-]* signer with system:masters group is not allowed" \
  request attack-masters /CN=mallory/O=system:masters $signer "client auth"
request attack-node "/O=system:nodes/CN=system:node:$VICTIM-machine" $signer-kubelet "client auth" \
  --as=system:serviceaccount:openshift-machine-config-operator:node-bootstrapper --as-group=system:serviceaccounts >/dev/null
answers "a kubelet's certificate for a machine of another cluster" "no Machine has a node[^,]*" not_approved attack-node
guest delete csr attack-node attack-user >/dev/null

echo "Credentials of his cluster are shown to the management cluster:"
( umask 077; printf 'users: [{name: attacker, user: {token: "%s"}}]\n' "$(guest -n default create token default)" >"$DIR/token" )
# by_certificate, by_token SERVER: who he is there.
by_certificate() { kubectl --kubeconfig "$WORK/kubeconfig" --insecure-skip-tls-verify --server "$1" auth whoami; }
by_token() { kubectl --kubeconfig "$DIR/token" --user=attacker --insecure-skip-tls-verify --server "$1" auth whoami; }
for credential in certificate token; do
  control "his $credential at his own cluster" "by_$credential" "$(server "$WORK/kubeconfig")"
  answers "his $credential at the management cluster" "must be logged in|Unauthorized" "by_$credential" "https://$behind"
done

echo "Identities of his cluster are used on what is another cluster's:"
cluster_infra $VICTIM $VICTIM_INFRA "$DIR" >"$DIR/log" 2>&1 || fail "no other cluster's identities and groups: $(tail -n 3 "$DIR/log")"
identity() { sed -n '/nodePoolManagement/,/}/s/.*"clientID": "\(.*\)".*/\1/p' "$1/workload-identities.json"; }
( umask 077; guest -n kube-system create token capi-provider --audience=openshift >"$DIR/assertion" )
# sign_in CLIENT_ID: Entra's answer to a token that his API server gave the machine provider's service account.
sign_in() {
  local answer
  answer=$(curl -sS --max-time 20 --data-urlencode "client_assertion@-" -d "grant_type=client_credentials&client_id=$1" \
    -d "scope=https://management.azure.com/.default" -d "client_assertion_type=urn:ietf:params:oauth:client-assertion-type:jwt-bearer" \
    "https://login.microsoftonline.com/$AZURE_TENANT_ID/oauth2/v2.0/token" < <(tr -d '\n' <"$DIR/assertion"))
  echo "$answer"
  grep -q access_token <<<"$answer"
}
control "his machine provider's identity signs in" sign_in "$(identity "$WORK")"
( umask 077; sed -n 's/.*"access_token" *: *"\([^"]*\)".*/header = "Authorization: Bearer \1"/p' "$DIR/control" >"$DIR/arm" )
answers "the other cluster's machine provider" "AADSTS[0-9]+" sign_in "$(identity "$DIR")"
machines() {
  curl -sS --max-time 20 --fail-with-body --config "$DIR/arm" "https://management.azure.com/subscriptions/$AZURE_SUBSCRIPTION_ID/resourceGroups/$1/providers/Microsoft.Compute/virtualMachines?api-version=2024-07-01"
}
control "his machine provider's identity on his machines" machines $NAME-$INFRA_ID
answers "his machine provider's identity on the other's machines" "AuthorizationFailed" machines $VICTIM-$VICTIM_INFRA

guest delete namespace attack --timeout=1m >/dev/null
for namespace in attack-bystander attack-stranger; do kubectl -n $namespace delete pod prober --grace-period=1 >/dev/null; done
kubectl delete namespace attack-bystander attack-stranger --timeout=1m >/dev/null
hypershift destroy infra azure --name $VICTIM --infra-id $VICTIM_INFRA --azure-creds "$AZURE_CREDS" --dns-zone-rg-name os4-common >/dev/null 2>&1
hypershift destroy iam azure --name $VICTIM --infra-id $VICTIM_INFRA --azure-creds "$AZURE_CREDS" --resource-group-name os4-common \
  --dns-zone-rg-name os4-common >/dev/null 2>&1
hypershift destroy oidc-issuer azure --name $VICTIM --azure-creds "$AZURE_CREDS" --resource-group-name os4-common >/dev/null 2>&1
echo "refused, every time"
