#!/usr/bin/env bash
# A hosted cluster whose Secrets are encrypted with a key of a key vault, made as a user makes it: the vault decides.
. "$(dirname "$0")/lib.sh"
. hack/e2e/encryption-lib.sh

VAULTED=vaulted VAULTED_INFRA=vaulted-k5d8r DIR=$WORK/vaulted PLANE=$NAMESPACE-vaulted VAULT=vaulted-keeper WORD=open-sesame
vaulted() { kubectl --kubeconfig "$DIR/kubeconfig" "$@"; }
vault_message() { kubectl -n $NAMESPACE get hostedcluster $VAULTED -o jsonpath='{.status.conditions[?(@.type=="ValidAzureKMSConfig")].reason}'; }
refused() { condition_is $VAULTED ValidAzureKMSConfig False && [ "$(vault_message)" = AzureError ]; }
export AZURE_CONFIG_DIR; AZURE_CONFIG_DIR=$(mktemp -d)
trap 'rm -rf "$AZURE_CONFIG_DIR"' EXIT

az login --service-principal -u "$AZURE_CLIENT_ID" -p "$AZURE_CLIENT_SECRET" -t "$AZURE_TENANT_ID" -o none
az keyvault create -n $VAULT -g os4-common -l "$LOCATION" --enable-rbac-authorization true -o none
vault_id=$(az keyvault show -n $VAULT --query id -o tsv)
az role assignment create --assignee-object-id "$(az ad sp show --id "$AZURE_CLIENT_ID" --query id -o tsv)" --assignee-principal-type ServicePrincipal \
  --role "Key Vault Crypto Officer" --scope "$vault_id" -o none
# What `az keyvault key create` sends: that command of Debian's az lacks a Python module.
make_key() {
  az rest --method post --resource https://vault.azure.net --url "https://$VAULT.vault.azure.net/keys/etcd/create?api-version=7.4" \
    --body '{"kty":"RSA","key_size":2048}' --query key.kid -o tsv
}
until_ok 30 make_key
key=$(make_key)
echo "key $key"

IAM_FLAGS=(--enable-kms)
cluster_infra $VAULTED $VAULTED_INFRA "$DIR"
kms_client=$(sed -n 's/.*"kmsClientID": *{*"*\([0-9a-f-]\{36\}\).*/\1/p' "$DIR/workload-identities.json")
principal=$(az identity list --query "[?clientId=='$kms_client'].principalId" -o tsv)
let_in() { az role assignment create --assignee-object-id "$principal" --assignee-principal-type ServicePrincipal --role "Key Vault Crypto User" --scope "$vault_id" -o none; }
let_in
cluster_create $VAULTED $VAULTED_INFRA "$DIR" --node-pool-replicas 0 --encryption-key-id "$key"
kubectl -n $NAMESPACE wait hostedcluster/$VAULTED --for=condition=Available --timeout=10m
until_ok 90 condition_is $VAULTED ValidAzureKMSConfig True
hypershift create kubeconfig --name $VAULTED --namespace $NAMESPACE >"$DIR/kubeconfig"
chmod 600 "$DIR/kubeconfig"

vaulted -n default create secret generic sealed --from-literal=word=$WORD >/dev/null
vaulted -n default create configmap sealed --from-literal=word=$WORD >/dev/null
for kind in secrets configmaps; do
  sealed $PLANE /kubernetes.io/$kind/default/sealed k8s:enc:kms:v2:azure- $WORD || fail "$kind are not encrypted by the key vault"
done
echo "etcd holds ciphertext: $(stored $PLANE /kubernetes.io/secrets/default/sealed | grep -ao 'k8s:enc:kms:v2:azure-[0-9a-f]*' | head -n 1)"

az role assignment delete --assignee "$principal" --role "Key Vault Crypto User" --scope "$vault_id"
until_ok 120 refused
kubectl -n $NAMESPACE get hostedcluster $VAULTED -o jsonpath='{.status.conditions[?(@.type=="ValidAzureKMSConfig")].message}' | grep -q 'Key Vault Crypto User' ||
  fail "the condition does not say which role is missing"
# What an API server has unwrapped it can go on reading: an outage of the vault is none of the cluster.
[ "$(vaulted -n default get secret sealed -o jsonpath='{.data.word}' | base64 -d)" = $WORD ] || fail "the API server forgot its key"
echo "without its role the identity is refused: $(vault_message)"
let_in
until_ok 120 condition_is $VAULTED ValidAzureKMSConfig True
# A new API server has to ask the vault before it can read anything.
kubectl -n $PLANE delete pod -l app=kube-apiserver --grace-period=1 >/dev/null
kubectl -n $PLANE rollout status deployment/kube-apiserver --timeout=5m >/dev/null
readable() { [ "$(vaulted -n default get secret sealed -o jsonpath='{.data.word}' | base64 -d)" = $WORD ]; }
until_ok 120 readable
echo "recovered: a new API server reads what the former one wrote"

hypershift destroy cluster azure --name $VAULTED --azure-creds "$AZURE_CREDS" --dns-zone-rg-name os4-common
az keyvault delete -n $VAULT -g os4-common
az keyvault purge -n $VAULT -l "$LOCATION"
