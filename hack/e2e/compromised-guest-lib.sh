# The ways of compromised-guest.sh. Needs DIR, VICTIM, VICTIM_INFRA and VICTIM_NS.

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
open_to_others() { kubectl -n attack-stranger exec prober -- nc -w 5 "${1%:*}" "${1#*:}" </dev/null; }

# webhook url|service [URL]: what the API server says of calling it.
webhook() {
  local config mark answer deadline=$((SECONDS + 30))
  mark=$RANDOM$SECONDS
  case $1 in
    url) config="url: \"$2$mark\"" ;;
    service) config="service: {namespace: attack, name: relay, path: /attack$mark}" ;;
  esac
  guest apply -f - >/dev/null <<YAML
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingWebhookConfiguration
metadata: {name: attack}
webhooks:
  - name: attack.e2e.hypershift.test
    clientConfig: {$config}
    rules: [{apiGroups: [""], apiVersions: [v1], operations: [CREATE], resources: [configmaps]}]
    namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: attack}}
    failurePolicy: Fail
    sideEffects: None
    timeoutSeconds: 10
    admissionReviewVersions: [v1]
YAML
  while [ $SECONDS -lt $deadline ]; do
    # Until the API server knows of it, it lets the object in or asks the one before.
    if answer=$(guest -n attack create configmap probe --dry-run=server 2>&1); then continue; fi
    case "$answer" in *"/attack$mark"*) echo "$answer"; return 1 ;; esac
  done
  echo "the webhook $* was never called: $answer"
  return 1
}

# aim ADDRESS PORT: a Node of the guest that claims to be there.
aim() {
  guest apply -f - >/dev/null <<<'{"apiVersion":"v1","kind":"Node","metadata":{"name":"forged"}}'
  guest patch node forged --subresource=status --type=merge \
    -p "{\"status\":{\"addresses\":[{\"type\":\"InternalIP\",\"address\":\"$1\"}],\"daemonEndpoints\":{\"kubeletEndpoint\":{\"Port\":$2}}}}" >/dev/null
}
by_node() { guest get --request-timeout=20s --raw /api/v1/nodes/forged/proxy/healthz; }

# forge ADDRESS PORT: a Pod that claims to be there, and a Service with it behind.
forge() {
  guest apply -f - >/dev/null <<YAML
apiVersion: v1
kind: Pod
metadata: {name: forged, namespace: attack}
spec: {nodeName: forged, terminationGracePeriodSeconds: 0, containers: [{name: forged, image: forged}]}
---
apiVersion: v1
kind: Service
metadata: {name: relay, namespace: attack}
spec: {ports: [{port: 443, targetPort: $2}]}
YAML
  guest -n attack patch pod forged --subresource=status --type=merge \
    -p "{\"status\":{\"phase\":\"Running\",\"podIP\":\"$1\",\"podIPs\":[{\"ip\":\"$1\"}]}}" >/dev/null
  endpoints "$1" "$2" >/dev/null
}
# endpoints ADDRESS PORT: what is behind the Service, as each of its readers looks for it.
endpoints() {
  guest apply -f - 2>&1 <<YAML
apiVersion: v1
kind: Endpoints
metadata: {name: relay, namespace: attack, labels: {endpointslice.kubernetes.io/skip-mirror: "true"}}
subsets: [{addresses: [{ip: $1, targetRef: {kind: Pod, name: forged, namespace: attack}}], ports: [{port: $2}]}]
---
apiVersion: discovery.k8s.io/v1
kind: EndpointSlice
metadata: {name: relay, namespace: attack, labels: {kubernetes.io/service-name: relay}}
addressType: IPv4
endpoints: [{addresses: ["$1"], conditions: {ready: true}}]
ports: [{port: $2, protocol: TCP}]
YAML
}
by_pod() { guest get --request-timeout=20s --raw "/api/v1/namespaces/attack/pods/https:forged:$1/proxy/attack"; }
by_service() { guest get --request-timeout=20s --raw /api/v1/namespaces/attack/services/https:relay:443/proxy/attack; }

# aggregated ADDRESS:PORT: what the API server says of an API that it is to find there, behind the Service.
aggregated() {
  local answer deadline=$((SECONDS + 30))
  guest apply -f - >/dev/null <<YAML
apiVersion: apiregistration.k8s.io/v1
kind: APIService
metadata: {name: v1.attack.e2e.hypershift.test}
spec:
  {group: attack.e2e.hypershift.test, version: v1, service: {namespace: attack, name: relay}, insecureSkipTLSVerify: true, groupPriorityMinimum: 2000, versionPriority: 15}
YAML
  while [ $SECONDS -lt $deadline ]; do
    answer=$(guest get apiservice v1.attack.e2e.hypershift.test -o jsonpath='{.status.conditions[?(@.type=="Available")].message}')
    case "$answer" in *"https://$1"*) break ;; esac
  done
  guest delete apiservice v1.attack.e2e.hypershift.test >/dev/null
  echo "$answer"
  return 1
}

# metadata_service: where the management node has none, there is one for the time of this script; its pods get at it.
metadata_service() {
  if open_to_others 169.254.169.254:80 2>/dev/null; then return; fi
  ip address add 169.254.169.254/32 dev lo
  METADATA=ours
  kubectl -n attack-bystander run metadata --image="$TOOLS_IMAGE" --restart=Never \
    --overrides='{"spec":{"hostNetwork":true,"imagePullSecrets":[{"name":"pull-secret"}]}}' --command -- \
    /bin/sh -c 'mkdir -p /tmp/w && exec httpd -f -p 169.254.169.254:80 -h /tmp/w' >/dev/null
  kubectl -n attack-bystander wait pod/metadata --for=condition=Ready --timeout=1m >/dev/null
}
# metadata PATH: what the machine of the pod is told; fails on an error.
metadata() {
  local answer
  answer=$(printf 'GET /metadata/%s HTTP/1.1\r\nHost: 169.254.169.254\r\nMetadata: true\r\nConnection: close\r\n\r\n' "$1" |
    guest -n default exec -i "$pod" -- nc -w 5 169.254.169.254 80)
  echo "$answer"
  grep -q '^HTTP/1.1 200' <<<"$answer"
}

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

# by_kubeconfig, by_certificate, by_token SERVER: who he is there.
by_kubeconfig() { kubectl --kubeconfig "$WORK/kubeconfig" --insecure-skip-tls-verify --server "$1" auth whoami; }
by_certificate() {
  kubectl --kubeconfig /dev/null --client-certificate "$DIR/attack.crt" --client-key "$DIR/attack.key" --insecure-skip-tls-verify --server "$1" auth whoami
}
by_token() { kubectl --kubeconfig "$DIR/token" --user=attacker --insecure-skip-tls-verify --server "$1" auth whoami; }

# identity COMPONENT DIR: its client id in the cluster of that folder.
identity() { sed -n "/\"$1\"/,/}/s/.*\"clientID\": \"\(.*\)\".*/\1/p" "$2/workload-identities.json"; }
# sign_in CLIENT_ID: Entra's answer to the token that his API server gave an account of his.
sign_in() {
  local answer
  answer=$(curl -sS --max-time 20 --data-urlencode "client_assertion@-" -d "grant_type=client_credentials&client_id=$1" \
    -d "scope=https://management.azure.com/.default" -d "client_assertion_type=urn:ietf:params:oauth:client-assertion-type:jwt-bearer" \
    "https://login.microsoftonline.com/$AZURE_TENANT_ID/oauth2/v2.0/token" < <(tr -d '\n' <"$DIR/assertion"))
  echo "$answer"
  grep -q access_token <<<"$answer"
}
# machines GROUP: those of a resource group, as whoever signed in last.
machines() {
  curl -sS --max-time 20 --fail-with-body --config "$DIR/arm" "https://management.azure.com/subscriptions/$AZURE_SUBSCRIPTION_ID/resourceGroups/$1/providers/Microsoft.Compute/virtualMachines?api-version=2024-07-01"
}
without_identity() {
  local all; all=$(machines $NAME-$INFRA_ID)
  grep -F '"vmId"' <<<"$all" && ! grep -F '"identity"' <<<"$all"
}

# clean takes everything back, whatever the outcome.
clean() {
  local outcome=$?
  trap - EXIT
  set +e
  rm -f "$DIR/control" "$DIR/attack.key" "$DIR/attack.crt" "$DIR/token" "$DIR/assertion" "$DIR/arm" "$DIR/kubeconfig"
  [ -z "${METADATA:-}" ] || ip address del 169.254.169.254/32 dev lo
  guest delete validatingwebhookconfiguration attack --ignore-not-found
  guest delete csr attack-node attack-user --ignore-not-found
  guest delete node forged --ignore-not-found
  guest delete namespace attack --ignore-not-found --timeout=1m
  kubectl -n attack-bystander delete pod prober metadata --ignore-not-found --grace-period=1
  kubectl -n attack-stranger delete pod prober --ignore-not-found --grace-period=1
  kubectl delete namespace attack-bystander attack-stranger --ignore-not-found --timeout=1m
  hypershift destroy cluster azure --name $VICTIM --azure-creds "$AZURE_CREDS" --dns-zone-rg-name os4-common
  hypershift destroy iam azure --name $VICTIM --infra-id $VICTIM_INFRA --azure-creds "$AZURE_CREDS" --resource-group-name os4-common \
    --dns-zone-rg-name os4-common
  hypershift destroy oidc-issuer azure --name $VICTIM --azure-creds "$AZURE_CREDS" --resource-group-name os4-common
  exit $outcome
} >/dev/null 2>&1
