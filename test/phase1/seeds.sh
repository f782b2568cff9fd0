#!/usr/bin/env bash
# The administrator's phase by hand, with az, as the field's guide has it typed; the issuer, which the guide leaves to the credential
# operator's tool, by our command. Wants CREDS, SUBSCRIPTION, TENANT, CLIENT_ID, CLIENT_SECRET_FILE and an `az` that reaches Azure;
# PREFIX, LOCATION, PARENT_GROUP and PARENT_ZONE say otherwise than here. Writes into the working directory.
set -euo pipefail

az login --service-principal -u "$CLIENT_ID" -p "@$CLIENT_SECRET_FILE" -t "$TENANT" -o none
az account set -s "$SUBSCRIPTION"

prefix=${PREFIX:-byhand}
name=$prefix-hc
group=os4-common
location=${LOCATION:-eastus}
parent_group=${PARENT_GROUP:-parent}
parent_zone=${PARENT_ZONE:-example.com}
zone=$prefix.$parent_zone
az group create -n "$group" -l "$location" -o none
hypershift create oidc-issuer azure --shared --storage-account-name "${prefix}oidc1" --azure-creds "$CREDS" --resource-group-name "$group" --output-dir . >issuer-url
issuer=$(cat issuer-url)

declare -A clients
for component in disk-csi file-csi image-registry ingress cloud-provider nodepool-mgmt network; do
  clients[$component]=$(az identity create -n "$name-$component" -g "$group" --query clientId -o tsv)
done

cat >workload-identities.json <<JSON
{
  "imageRegistry": {"clientID": "${clients[image-registry]}"},
  "ingress": {"clientID": "${clients[ingress]}"},
  "file": {"clientID": "${clients[file-csi]}"},
  "disk": {"clientID": "${clients[disk-csi]}"},
  "nodePoolManagement": {"clientID": "${clients[nodepool-mgmt]}"},
  "cloudProvider": {"clientID": "${clients[cloud-provider]}"},
  "network": {"clientID": "${clients[network]}"}
}
JSON

federate() { # component, suffix, namespace:service-account
  az identity federated-credential create -n "$name-$1-fed-id$2" --identity-name "$name-$1" -g "$group" \
    --issuer "$issuer" --subject "system:serviceaccount:$3" --audience openshift -o none
}
for kind in disk file; do
  federate "$kind-csi" -node "openshift-cluster-csi-drivers:azure-$kind-csi-driver-node-sa"
  federate "$kind-csi" -operator "openshift-cluster-csi-drivers:azure-$kind-csi-driver-operator"
  federate "$kind-csi" -controller "openshift-cluster-csi-drivers:azure-$kind-csi-driver-controller-sa"
done
federate image-registry -registry openshift-image-registry:registry
federate image-registry -operator openshift-image-registry:cluster-image-registry-operator
federate ingress "" openshift-ingress-operator:ingress-operator
federate cloud-provider "" kube-system:azure-cloud-provider
federate nodepool-mgmt "" kube-system:capi-provider
federate network "" openshift-cloud-network-config-controller:cloud-network-config-controller

az network dns zone create -g "$group" -n "$zone" -o none
az network dns record-set ns delete -g "$parent_group" -z "$parent_zone" -n "$prefix" -y -o none
for server in $(az network dns zone show -g "$group" -n "$zone" --query nameServers -o tsv); do
  az network dns record-set ns add-record -g "$parent_group" -z "$parent_zone" -n "$prefix" --nsdname "$server" -o none
done

read -r app password < <(az ad sp create-for-rbac --name ExternalDnsServicePrincipal --query '[appId, password]' -o tsv | paste -sd ' ')
zone_id=$(az network dns zone show -g "$group" -n "$zone" --query id -o tsv)
az role assignment create --role Reader --assignee "$app" --scope "$zone_id" -o none
az role assignment create --role Contributor --assignee "$app" --scope "$zone_id" -o none
(
  umask 077
  cat >azure_mgmt.json <<JSON
{"tenantId": "$TENANT", "subscriptionId": "$SUBSCRIPTION", "resourceGroup": "$group", "aadClientId": "$app", "aadClientSecret": "$password"}
JSON
)

for part in managed customer-vnet customer-nsg; do
  az group create -n "$prefix-$part-rg" -l "$location" -o none
done
az network nsg create -g "$prefix-customer-nsg-rg" -n "$prefix-customer-nsg" -o none
nsg=$(az network nsg list --query "[?name=='$prefix-customer-nsg'].id" -o tsv)
az network vnet create -g "$prefix-customer-vnet-rg" -n "$prefix-customer-vnet" --address-prefix 10.0.0.0/16 \
  --subnet-name "$prefix-customer-subnet-1" --subnet-prefixes 10.0.0.0/24 --nsg "$nsg" -o none
vnet=$(az network vnet list --query "[?name=='$prefix-customer-vnet'].id" -o tsv)
subnet=$(az network vnet subnet show -g "$prefix-customer-vnet-rg" --vnet-name "$prefix-customer-vnet" -n "$prefix-customer-subnet-1" --query id -o tsv)
printf '%s\n' "$vnet" "$subnet" "$nsg" >network-ids
