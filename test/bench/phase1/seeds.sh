#!/usr/bin/env bash
# The administrator's phase as the field's guide has it typed, with az. The issuer, which the guide leaves to the credential operator's
# tool, is made by our command. Wants CREDS, SUBSCRIPTION, TENANT, CLIENT_ID, CLIENT_SECRET_FILE, and HYPERSHIFT, our program.
set -euo pipefail

az login --service-principal -u "$CLIENT_ID" -p "@$CLIENT_SECRET_FILE" -t "$TENANT" -o none
az account set -s "$SUBSCRIPTION"

prefix=demo
name=$prefix-hc
group=os4-common
location=eastus
parent_group=parent
parent_zone=example.com
zone=$prefix.$parent_zone

az group create -n "$group" -l "$location" -o none
declare -A clients
for component in image-registry ingress file-csi disk-csi nodepool-mgmt cloud-provider network; do
  clients[$component]=$(az identity create -n "$name-$component" -g "$group" --query clientId -o tsv)
done
"$HYPERSHIFT" create oidc-issuer azure --shared --storage-account-name "${prefix}oidc1" --azure-creds "$CREDS" --resource-group-name "$group" \
  --output-dir keys >issuer-url
issuer=$(cat issuer-url)

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

principal=$(az ad sp create-for-rbac --name ExternalDnsServicePrincipal --query appId -o tsv)
zone_id=$(az network dns zone show -g "$group" -n "$zone" --query id -o tsv)
az role assignment create --role Reader --assignee "$principal" --scope "$zone_id" -o none
az role assignment create --role Contributor --assignee "$principal" --scope "$zone_id" -o none

for part in managed customer-vnet customer-nsg; do
  az group create -n "$prefix-$part-rg" -l "$location" -o none
done
az network nsg create -g "$prefix-customer-nsg-rg" -n "$prefix-customer-nsg" -o none
nsg=$(az network nsg list --query "[?name=='$prefix-customer-nsg'].id" -o tsv)
az network vnet create -g "$prefix-customer-vnet-rg" -n "$prefix-customer-vnet" --address-prefix 10.0.0.0/16 \
  --subnet-name "$prefix-customer-subnet-1" --subnet-prefixes 10.0.0.0/24 --nsg "$nsg" -o none
az network vnet list --query "[?name=='$prefix-customer-vnet'].id" -o none
az network vnet subnet show -g "$prefix-customer-vnet-rg" --vnet-name "$prefix-customer-vnet" -n "$prefix-customer-subnet-1" --query id -o none
