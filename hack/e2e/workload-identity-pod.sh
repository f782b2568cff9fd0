#!/usr/bin/env bash
# A pod of the hosted cluster is an Azure identity: it asks by a label, gets a token, exchanges it and reads from Azure. Only with a
# federated credential for its service account.
. "$(dirname "$0")/lib.sh"
need_az
export AZURE_CONFIG_DIR; AZURE_CONFIG_DIR=$(mktemp -d)
GROUP=os4-common IDENTITY=e2e-pod-reader READER_IMAGE=quay.io/hypershift/external-dns:v0.18.0
clean() {
  guest -n default delete pod shell other refused reader --ignore-not-found --grace-period=1 --wait=false
  guest -n default delete serviceaccount/reader configmap/reader --ignore-not-found
  [ -z "${principal:-}" ] || az role assignment delete --assignee "$principal" --role Reader --scope "$scope"
  az identity delete -g $GROUP -n $IDENTITY
  rm -rf "$AZURE_CONFIG_DIR"
} >/dev/null 2>&1
trap clean EXIT

az login --service-principal -u "$AZURE_CLIENT_ID" -p "$AZURE_CLIENT_SECRET" -t "$AZURE_TENANT_ID" -o none
az identity create -g $GROUP -n $IDENTITY -l "$LOCATION" -o none
client=$(az identity show -g $GROUP -n $IDENTITY --query clientId -o tsv)
principal=$(az identity show -g $GROUP -n $IDENTITY --query principalId -o tsv)
scope=/subscriptions/$AZURE_SUBSCRIPTION_ID/resourceGroups/$GROUP
az role assignment create --assignee-object-id "$principal" --assignee-principal-type ServicePrincipal --role Reader --scope "$scope" -o none

# pod NAME LABELS CONTAINER: runs as service account reader, whose annotation names the identity.
pod() {
  cat <<YAML
apiVersion: v1
kind: Pod
metadata: {name: $1, namespace: default, labels: {$2}}
spec:
  serviceAccountName: reader
  terminationGracePeriodSeconds: 1
  restartPolicy: Never
  volumes:
    - {name: trust, hostPath: {path: /etc/ssl/certs}}
    - {name: config, configMap: {name: reader}}
  containers:
    - {name: main, $3}
YAML
}
ASKS='azure.workload.identity/use: "true"'
SHELL_MAIN="image: $TOOLS_IMAGE, command: [/bin/sh, -c, sleep 3600]"
# A program with Azure's own SDK, unmodified: it signs in with what the pod was given, and reads the zone's records. It would publish one.
READER_MAIN="image: $READER_IMAGE, command: [/external-dns], args: [--source=fake, --provider=azure, --azure-config-file=/config/azure.json, --once, --dry-run,
  --domain-filter=$BASE_DOMAIN, --fqdn-template=reader.$BASE_DOMAIN, --registry=noop, --log-level=debug],
  volumeMounts: [{name: trust, mountPath: /etc/ssl/certs, readOnly: true}, {name: config, mountPath: /config}]"
guest -n default create configmap reader --from-literal=azure.json="{\"tenantId\":\"$AZURE_TENANT_ID\",\"subscriptionId\":\"$AZURE_SUBSCRIPTION_ID\",\"resourceGroup\":\"$GROUP\",\"useWorkloadIdentityExtension\":true}"
guest -n default create serviceaccount reader
guest -n default annotate serviceaccount reader "azure.workload.identity/client-id=$client"
{ pod shell "$ASKS" "$SHELL_MAIN"; echo ---; pod other "app: other" "$SHELL_MAIN"; } | guest apply -f -
guest -n default wait pod/shell pod/other --for=condition=Ready --timeout=2m

inside() { guest -n default exec shell -- sh -c "$1"; }
if grep -q AZURE_ <<<"$(guest -n default exec other -- env)"; then fail "a pod that does not ask has an identity"; fi
environment=$(inside 'env' | grep ^AZURE_ | sort)
echo "$environment"
for line in "AZURE_CLIENT_ID=$client" "AZURE_TENANT_ID=$AZURE_TENANT_ID" AZURE_AUTHORITY_HOST=https://login.microsoftonline.com/ \
  AZURE_FEDERATED_TOKEN_FILE=/var/run/secrets/azure/tokens/azure-identity-token; do
  grep -qxF "$line" <<<"$environment" || fail "the pod lacks $line"
done

# What the token says: the cluster's own issuer and the audience of workloads. Base64 of a token has no padding.
inside 'cut -d. -f2 <"$AZURE_FEDERATED_TOKEN_FILE"' >"$AZURE_CONFIG_DIR/claims"
claims=$({ tr -d '\n' | tr '_-' '/+'; echo ==; } <"$AZURE_CONFIG_DIR/claims" | base64 -d 2>/dev/null || true)
grep -qF "\"iss\":\"$ISSUER_URL\"" <<<"$claims" || fail "the token's issuer is not $ISSUER_URL: $claims"
grep -qF '"aud":["api://AzureADTokenExchange"]' <<<"$claims" || fail "the token has another audience: $claims"

# run NAME: one run of the program in a pod of its own.
run() {
  pod "$1" "$ASKS" "$READER_MAIN" | guest apply -f -
  over() { case "$(guest -n default get pod "$1" -o jsonpath='{.status.phase}')" in Succeeded|Failed) ;; *) return 1 ;; esac; }
  until_ok 120 over "$1"
}
run refused
grep -om 1 'AADSTS70[0-9]*: [^"\\]*' <<<"$(guest -n default logs refused)" || fail "without a federated credential: $(guest -n default logs refused | tail -n 3)"

az identity federated-credential create -g $GROUP --identity-name $IDENTITY -n reader --issuer "$ISSUER_URL" \
  --subject system:serviceaccount:default:reader --audiences api://AzureADTokenExchange -o none
run reader
[ "$(guest -n default get pod reader -o jsonpath='{.status.phase}')" = Succeeded ] || fail "with a federated credential: $(guest -n default logs reader | tail -n 3)"
grep -Fm 1 "zone '$BASE_DOMAIN'" <<<"$(guest -n default logs reader)" || fail "the pod saw no zone: $(guest -n default logs reader | tail -n 5)"
echo "refused without a federated credential, with it the pod reads zone $BASE_DOMAIN"
