#!/usr/bin/env bash
# Workload identity is all there is, and roles decide: without its role the machine provider gets 403 and the NodePool says so.
. "$(dirname "$0")/lib.sh"

# No secret credential of Azure in the control-plane namespace.
if grep -qF "$AZURE_CLIENT_SECRET" <<<"$(kubectl -n $CPNS get secrets,configmaps -o yaml)"; then fail "the client secret is in $CPNS"; fi
if kubectl -n $CPNS get secrets -o go-template='{{range .items}}{{range .data}}{{. | base64decode}}{{"\n"}}{{end}}{{end}}' |
  grep -aqF "$AZURE_CLIENT_SECRET"; then fail "the client secret is in a Secret of $CPNS"; fi

# Management pods have no way into the VM network but the load balancers.
address=$(guest get nodes -o jsonpath='{.items[0].status.addresses[?(@.type=="InternalIP")].address}')
prober default
# A kubelet answers everybody with at least a 401; whatever else may take a connection to that address does not.
answer=$(kubectl -n default exec prober -- sh -c "timeout 4 wget -S -O- https://$address:10250/healthz 2>&1 || true")
case "$answer" in *HTTP/*) fail "a management pod reached the kubelet at $address: $answer" ;; esac
kubectl -n default delete pod prober --grace-period=1 >/dev/null
echo "management pods cannot reach $address; logs go through konnectivity:"
guest -n default logs deployment/web --tail=1

token=$(curl -sf -d "grant_type=client_credentials&client_id=$AZURE_CLIENT_ID&scope=https://management.azure.com/.default" \
  --data-urlencode "client_secret@-" "https://login.microsoftonline.com/$AZURE_TENANT_ID/oauth2/v2.0/token" < <(printf %s "$AZURE_CLIENT_SECRET") |
  sed -n 's/.*"access_token" *: *"\([^"]*\)".*/\1/p')
arm() { curl -sf -X "$1" -H "Authorization: Bearer $token" "https://management.azure.com$2"; }

# The assignments of the machine provider's identity, by their names.
clientid=$(sed -n '/nodePoolManagement/,/}/s/.*"clientID": "\(.*\)".*/\1/p' "$WORK/workload-identities.json")
principal=$(arm GET "/subscriptions/$AZURE_SUBSCRIPTION_ID/providers/Microsoft.ManagedIdentity/userAssignedIdentities?api-version=2023-01-31" |
  tr '{' '\n' | grep -i "$clientid" | sed -n 's/.*"principalId" *: *"\([^"]*\)".*/\1/p')
[ -n "$principal" ] || fail "no identity has client id $clientid"
assignments=$(arm GET "/subscriptions/$AZURE_SUBSCRIPTION_ID/providers/Microsoft.Authorization/roleAssignments?api-version=2022-04-01&\$filter=principalId%20eq%20'$principal'" |
  grep -o '"id" *: *"[^"]*roleAssignments/[^"]*"' | sed 's/.*: *"//; s/"$//')
[ -n "$assignments" ] || fail "the identity has no role assignment"
for id in $assignments; do arm DELETE "$id?api-version=2022-04-01" >/dev/null; done

kubectl -n $NAMESPACE scale nodepool/$NAME --replicas=3
refused() { kubectl -n $NAMESPACE get nodepool $NAME -o jsonpath='{.status.conditions[?(@.type=="AllMachinesReady")].message}' | grep -q AuthorizationFailed; }
until_ok 120 refused
kubectl -n $NAMESPACE get nodepool $NAME -o jsonpath='{.status.conditions[?(@.type=="AllMachinesReady")]}' | cut -c1-400; echo

hypershift create infra azure --name $NAME --infra-id $INFRA_ID --azure-creds "$AZURE_CREDS" --location "$LOCATION" --base-domain "$BASE_DOMAIN" \
  --workload-identities-file "$WORK/workload-identities.json" --assign-identity-roles --dns-zone-rg-name os4-common --output-file "$WORK/infra.yaml" 2>&1 |
  grep created
three() { [ "$(guest get nodes --no-headers | awk '$2=="Ready"' | wc -l)" -eq 3 ]; }
until_ok 240 three
kubectl -n $NAMESPACE scale nodepool/$NAME --replicas=2
two() { [ "$(guest get nodes --no-headers | wc -l)" -eq 2 ]; }
until_ok 240 two
echo "refused without its role, converged with it"
