#!/usr/bin/env bash
# A HostedCluster and a NodePool written by hand: only what the API requires, names of one's own, other networks.
. "$(dirname "$0")/lib.sh"

HAND=byhand HAND_INFRA=byhand-q7d2c DIR=$WORK/byhand
cluster_infra $HAND $HAND_INFRA "$DIR" 2>/dev/null
infra() { sed -n "s/^$1: //p" "$DIR/infra.yaml"; }
identity() { tr -d '\n' <"$DIR/workload-identities.json" | sed 's/.*"'"$1"'": *{ *"clientID": *"\([^"]*\)".*/\1/'; }

kubectl create namespace $NAMESPACE --dry-run=client -o yaml | kubectl apply -f - >/dev/null
# A second run must not change the encryption key of what is stored already.
secret() { kubectl -n $NAMESPACE get secret "$1" >/dev/null 2>&1 || kubectl -n $NAMESPACE create secret generic "$@"; }
secret my-registry --from-file=.dockerconfigjson="$PULL_SECRET"
secret my-signing-key --from-file=key="$DIR/serviceaccount-signer.private"
secret my-encryption-key --from-file=key=<(head -c 32 /dev/urandom)

kubectl apply -f - <<YAML
apiVersion: hypershift.openshift.io/v1beta1
kind: HostedCluster
metadata:
  name: $HAND
  namespace: $NAMESPACE
spec:
  infraID: $HAND_INFRA
  issuerURL: $(cat "$DIR/issuer-url")
  serviceAccountSigningKey: {name: my-signing-key}
  pullSecret: {name: my-registry}
  controllerAvailabilityPolicy: SingleReplica
  release: {image: $RELEASE_IMAGE}
  dns:
    baseDomain: $BASE_DOMAIN
    privateZoneID: $(infra privateZoneID)
    publicZoneID: $(infra publicZoneID)
  networking:
    clusterNetwork: [{cidr: 10.192.0.0/16}]
    serviceNetwork: [{cidr: 172.29.0.0/16}]
    machineNetwork: [{cidr: 10.0.0.0/16}]
  etcd:
    managementType: Managed
    managed:
      storage: {type: PersistentVolume, persistentVolume: {size: 4Gi}}
  secretEncryption:
    type: aescbc
    aescbc: {activeKey: {name: my-encryption-key}}
  services:
  - {service: APIServer, servicePublishingStrategy: {type: LoadBalancer}}
  - {service: OAuthServer, servicePublishingStrategy: {type: Route}}
  - {service: Konnectivity, servicePublishingStrategy: {type: Route}}
  - {service: Ignition, servicePublishingStrategy: {type: Route}}
  platform:
    type: Azure
    azure:
      location: $(infra region)
      subscriptionID: $AZURE_SUBSCRIPTION_ID
      tenantID: $AZURE_TENANT_ID
      resourceGroup: $(infra resourceGroupName)
      vnetID: $(infra vnetID)
      subnetID: $(infra subnetID)
      securityGroupID: $(infra securityGroupID)
      azureAuthenticationConfig:
        azureAuthenticationConfigType: WorkloadIdentities
        workloadIdentities:
          imageRegistry: {clientID: $(identity imageRegistry)}
          ingress: {clientID: $(identity ingress)}
          file: {clientID: $(identity file)}
          disk: {clientID: $(identity disk)}
          nodePoolManagement: {clientID: $(identity nodePoolManagement)}
          cloudProvider: {clientID: $(identity cloudProvider)}
          network: {clientID: $(identity network)}
---
apiVersion: hypershift.openshift.io/v1beta1
kind: NodePool
metadata:
  name: $HAND-workers
  namespace: $NAMESPACE
spec:
  clusterName: $HAND
  replicas: 1
  release: {image: $RELEASE_IMAGE}
  management: {upgradeType: Replace}
  platform:
    type: Azure
    azure:
      vmSize: Standard_D4s_v5
      subnetID: $(infra subnetID)
      osDisk: {sizeGiB: 64}
      image: {type: AzureMarketplace}
YAML

kubectl -n $NAMESPACE wait hostedcluster/$HAND --for=condition=Available --timeout=5m
hypershift create kubeconfig --name $HAND --namespace $NAMESPACE >"$DIR/kubeconfig"
chmod 600 "$DIR/kubeconfig"
hand() { kubectl --kubeconfig "$DIR/kubeconfig" "$@"; }
one() { [ "$(hand get nodes --no-headers | awk '$2=="Ready"' | wc -l)" -eq 1 ]; }
until_ok 300 one
hand get nodes -o wide
hand -n default get service kubernetes -o jsonpath='{.spec.clusterIP}' | grep '^172\.29\.' || fail "the service network is not the one that was written"
kubectl -n $NAMESPACE get hostedcluster,nodepool
echo "a cluster written by hand has a Ready worker"
