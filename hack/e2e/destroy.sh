#!/usr/bin/env bash
# Destroys the demo's hosted cluster and looks for leftovers in Kubernetes and Azure.
. "$(dirname "$0")/lib.sh"

hypershift destroy cluster azure --name $NAME --azure-creds "$AZURE_CREDS" --dns-zone-rg-name os4-common
! kubectl get namespace $CPNS >/dev/null 2>&1 || fail "the namespace $CPNS is still there"
! kubectl -n $NAMESPACE get hostedcluster $NAME >/dev/null 2>&1 || fail "the HostedCluster is still there"
[ -z "$(kubectl -n $NAMESPACE get nodepool -o name)" ] || fail "node pools are left"
left=$(kubectl -n $NAMESPACE get secret -l "hypershift.openshift.io/auto-created-for-infra=$INFRA_ID" -o name)
[ -z "$left" ] || fail "secrets are left: $left"

token=$(curl -sf -d "grant_type=client_credentials&client_id=$AZURE_CLIENT_ID&scope=https://management.azure.com/.default" \
  --data-urlencode "client_secret=$AZURE_CLIENT_SECRET" "https://login.microsoftonline.com/$AZURE_TENANT_ID/oauth2/v2.0/token" |
  sed -n 's/.*"access_token" *: *"\([^"]*\)".*/\1/p')
list() { curl -sf -H "Authorization: Bearer $token" "https://management.azure.com$1"; }
base="/subscriptions/$AZURE_SUBSCRIPTION_ID"
if list "$base/resourcegroups?api-version=2021-04-01" | grep -o "\"name\": *\"[^\"]*$INFRA_ID\"" ; then fail "resource groups of the cluster are left"; fi
if list "$base/resources?api-version=2021-04-01" | grep -oi "\"id\": *\"[^\"]*resourceGroups/$NAME-[^\"]*\"" ; then fail "resources of the cluster are left"; fi
list "$base/resourceGroups/os4-common/providers/Microsoft.ManagedIdentity/userAssignedIdentities?api-version=2023-01-31" |
  grep -q "$NAME-disk-$INFRA_ID" || fail "the identities should have stayed"
curl -sf "$ISSUER_URL/.well-known/openid-configuration" >/dev/null || fail "the issuer should have stayed"
echo "destroyed; identities and issuer kept"
