#!/usr/bin/env bash
# The administrator's phase by hand, with az; the issuer, which the seeds leave to the credential operator's tool, by our command.
# Wants CREDS, SUBSCRIPTION, TENANT, CLIENT_ID, CLIENT_SECRET_FILE and an `az` that reaches Azure. Writes into the working directory.
set -euo pipefail

az login --service-principal -u "$CLIENT_ID" -p "@$CLIENT_SECRET_FILE" -t "$TENANT" -o none
az account set -s "$SUBSCRIPTION"

name=byhand
group=os4-common
az group create -n "$group" -l eastus -o none
hypershift create oidc-issuer azure --shared --storage-account-name "${name}oidc1" --azure-creds "$CREDS" --resource-group-name "$group" --output-dir . >issuer-url
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
