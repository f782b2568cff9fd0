package existing

import (
	"slices"
	"strings"

	hyperv1 "github.com/hypershift-on-azure/hypershift/api/v1beta1"
)

// field is what flags of create cluster decide in a HostedCluster or in its node pools.
type field struct {
	flags []string
	path  []string
}

func at(path string, flags ...string) field {
	return field{flags: flags, path: strings.Split(path, ".")}
}

// clusterFields are the fields of a HostedCluster that flags decide. Where the infrastructure is, only what is typed counts: a
// hand-off file says nothing that a cluster of the same infrastructure id does not have.
var clusterFields = []field{
	at("spec.release.image", "release-image"),
	at("spec.dns.baseDomain", "base-domain"),
	at("spec.dns.baseDomainPrefix", "base-domain-prefix"),
	at("spec.services", "external-dns-domain", "oauth-publishing-strategy", "endpoint-access"),
	at("spec.kubeAPIServerDNSName", "kas-dns-name"),
	at("spec.controllerAvailabilityPolicy", "control-plane-availability-policy"),
	at("spec.infrastructureAvailabilityPolicy", "infra-availability-policy"),
	at("spec.etcd.managed.storage.persistentVolume.storageClassName", "etcd-storage-class"),
	at("spec.etcd.managed.storage.persistentVolume.size", "etcd-storage-size"),
	at("spec.networking.networkType", "network-type"),
	at("spec.networking.serviceNetwork", "service-cidr"),
	at("spec.networking.clusterNetwork", "cluster-cidr"),
	at("spec.networking.machineNetwork", "machine-cidr"),
	at("spec.networking.allocateNodeCIDRs", "allocate-node-cidrs"),
	at("spec.operatorConfiguration.clusterNetworkOperator", "disable-multi-network", "ovn-kubernetes-mtu"),
	at("spec.issuerURL", "oidc-issuer-url"),
	at("spec.configuration.featureGate.featureSet", "feature-set"),
	at("spec.configuration.operatorhub.disableAllDefaultSources", "olm-disable-default-sources"),
	at("spec.capabilities.enabled", "enable-cluster-capabilities"),
	at("spec.capabilities.disabled", "disable-cluster-capabilities"),
	at("spec.imageContentSources", "image-content-sources"),
	at("spec.secretEncryption", "encryption-key-id", "kms-credentials-secret-name"),
	at("spec.fips", "fips"),
	{flags: []string{"additional-tags"}, path: []string{"metadata", "annotations", hyperv1.AzureTagsAnnotation}},
	at("spec.olmCatalogPlacement", "olm-catalog-placement"),
	at("spec.nodeSelector", "node-selector"),
	at("spec.tolerations", "toleration"),
	at("spec.labels", "pods-labels"),
	at("spec.pausedUntil", "pausedUntil"),
	at("spec.platform.azure.cloud", "cloud"),
	at("spec.platform.azure.location", "location"),
	at("spec.platform.azure.resourceGroup", "resource-group-name"),
	at("spec.platform.azure.vnetID", "vnet-id"),
	at("spec.platform.azure.subnetID", "subnet-id"),
	at("spec.platform.azure.securityGroupID", "network-security-group-id"),
	at("spec.platform.azure.topology", "endpoint-access"),
	at("spec.platform.azure.private", "endpoint-access-private-nat-subnet-id", "endpoint-access-private-additional-allowed-subscriptions"),
	at("spec.platform.azure.azureAuthenticationConfig", "workload-identities-file", "managed-identities-file", "data-plane-identities-file"),
}

// poolFields are those of each of its node pools.
var poolFields = []field{
	at("spec.release.image", "release-image"),
	at("spec.replicas", "node-pool-replicas"),
	at("spec.arch", "arch"),
	at("spec.management.autoRepair", "auto-repair"),
	at("spec.management.upgradeType", "node-upgrade-type"),
	at("spec.nodeDrainTimeout", "node-drain-timeout"),
	at("spec.nodeVolumeDetachTimeout", "node-volume-detach-timeout"),
	at("spec.pausedUntil", "pausedUntil"),
	at("spec.platform.azure.vmSize", "instance-type", "azure-instance-type"),
	at("spec.platform.azure.osDisk.sizeGiB", "root-disk-size"),
	at("spec.platform.azure.osDisk.diskStorageAccountType", "disk-storage-account-type"),
	at("spec.platform.azure.osDisk.encryptionSetID", "disk-encryption-set-id"),
	at("spec.platform.azure.osDisk.persistence", "enable-ephemeral-disk"),
	at("spec.platform.azure.encryptionAtHost", "encryption-at-host"),
	at("spec.platform.azure.diagnostics", "diagnostics-storage-account-type", "diagnostics-storage-account-uri"),
	at("spec.platform.azure.image", "image-generation", "marketplace-publisher", "marketplace-offer", "marketplace-sku", "marketplace-version"),
	{flags: []string{"marketplace-purchase-plan"}, path: []string{"metadata", "annotations", hyperv1.AzureImagePlanAnnotation}},
}

// FlagNames are the flags that decide something.
func FlagNames() []string {
	var out []string
	for _, f := range slices.Concat(clusterFields, poolFields) {
		out = append(out, f.flags...)
	}
	return out
}
