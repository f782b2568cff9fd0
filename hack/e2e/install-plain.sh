#!/usr/bin/env bash
# The main job on a management cluster without OpenShift's APIs: our Route API and router serve it. The sandbox is made anew.
. "$(dirname "$0")/../lib.sh"
. hack/demo-lib.sh
need_linux_root
command -v curl >/dev/null || apt-get install -y -q curl >/dev/null || fail "curl is missing; apt-get install curl"

hypershift sandbox down --purge
hypershift sandbox up --management plain
enter_sandbox
if kubectl api-resources -o name | grep openshift; then fail "the management cluster is not plain"; fi

DOMAIN=apps.plain.$BASE_DOMAIN
FLAGS=(--pull-secret "$PULL_SECRET" --limit-crd-install Azure --additional-trust-bundle "$HYPERSHIFT_SANDBOX_DIR/pki/ca.crt"
  --additional-operator-env-vars "HTTPS_PROXY=http://198.18.0.1:8888"
  --additional-operator-env-vars '"NO_PROXY=localhost,127.0.0.1,.svc,.cluster.local,10.200.0.0/16,10.201.0.0/16,198.18.0.1"')
if hypershift install "${FLAGS[@]}" >/dev/null 2>"$WORK/refused"; then fail "install without a domain for Routes was accepted"; fi
grep -F -- --ingress-domain "$WORK/refused"
! kubectl get namespace hypershift >/dev/null 2>&1 || fail "something was written although the domain was missing"

hypershift install "${FLAGS[@]}" --ingress-domain "$DOMAIN" --wait-until-available
address() { kubectl -n hypershift get service router -o jsonpath='{.status.loadBalancer.ingress[0].ip}' | grep .; }
until_ok 60 address
# The names of Routes are the administrator's to publish: one record for all of them.
token=$(curl -sf -d "grant_type=client_credentials&client_id=$AZURE_CLIENT_ID&scope=https://management.azure.com/.default" \
  --data-urlencode "client_secret@-" "https://login.microsoftonline.com/$AZURE_TENANT_ID/oauth2/v2.0/token" < <(printf %s "$AZURE_CLIENT_SECRET") |
  sed -n 's/.*"access_token" *: *"\([^"]*\)".*/\1/p')
curl -sf -X PUT -H "Authorization: Bearer $token" -H 'Content-Type: application/json' -o /dev/null \
  -d "{\"properties\":{\"TTL\":30,\"ARecords\":[{\"ipv4Address\":\"$(address)\"}]}}" \
  "https://management.azure.com/subscriptions/$AZURE_SUBSCRIPTION_ID/resourceGroups/os4-common/providers/Microsoft.Network/dnsZones/$BASE_DOMAIN/A/*.apps.plain?api-version=2018-05-01"

phase1
phase3
guest get nodes -o wide
kubectl -n $CPNS get routes
admitted=$(kubectl -n $CPNS get routes -o jsonpath='{range .items[*]}{.status.ingress[0].conditions[?(@.type=="Admitted")].status}{"\n"}{end}' | grep -c True)
[ "$admitted" -ge 2 ] || fail "only $admitted Routes are admitted by our router"
hypershift destroy cluster azure --name $NAME --azure-creds "$AZURE_CREDS" --dns-zone-rg-name os4-common
hypershift uninstall
leave_sandbox
hypershift sandbox down --purge
echo "plain Kubernetes carried a hosted cluster"
