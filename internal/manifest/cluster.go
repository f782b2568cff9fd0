package manifest

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hypershift-on-azure/hypershift/api/v1beta1"
	"github.com/hypershift-on-azure/hypershift/internal/contract"
)

// Names of the Secrets beside a HostedCluster.
func pullSecretName(cluster string) string { return cluster + "-pull-secret" }
func sshKeyName(cluster string) string     { return cluster + "-ssh-key" }

// signingKeyName has no dash before its suffix: clients know it by this name.
func signingKeyName(cluster string) string       { return cluster + "sa-token-issuer-key" }
func etcdEncryptionName(cluster string) string   { return cluster + "-etcd-encryption-key" }
func cloudCredentialsName(cluster string) string { return cluster + "-cloud-credentials" }

// Names are those of the Secrets beside a HostedCluster.
type Names struct {
	PullSecret, SSHKey, SigningKey, EtcdEncryption, CloudCredentials string
}

// NamesOf tells how Objects names the Secrets of a hosted cluster.
func NamesOf(cluster string) Names {
	return Names{PullSecret: pullSecretName(cluster), SSHKey: sshKeyName(cluster), SigningKey: signingKeyName(cluster),
		EtcdEncryption: etcdEncryptionName(cluster), CloudCredentials: cloudCredentialsName(cluster)}
}

// All of the names.
func (n Names) All() []string {
	return []string{n.PullSecret, n.SSHKey, n.SigningKey, n.EtcdEncryption, n.CloudCredentials}
}

// Objects returns what makes the hosted cluster, in the order in which it is applied and rendered.
func (c *Cluster) Objects() []client.Object {
	objs := []client.Object{&corev1.Namespace{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "Namespace"},
		ObjectMeta: metav1.ObjectMeta{Name: c.Namespace},
	}}
	objs = append(objs, c.secrets()...)
	objs = append(objs, c.HostedCluster())
	for _, np := range c.Pools() {
		objs = append(objs, np)
	}
	return objs
}

func (c *Cluster) secrets() []client.Object {
	s := c.Secrets
	var objs []client.Object
	if len(s.TrustBundle) > 0 {
		objs = append(objs, &corev1.ConfigMap{
			TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "ConfigMap"},
			ObjectMeta: metav1.ObjectMeta{Namespace: c.Namespace, Name: contract.UserCABundle},
			Data:       map[string]string{hyperv1.TrustBundleKey: string(s.TrustBundle)},
		})
	}
	objs = append(objs, c.secret(pullSecretName(c.Name), "", map[string][]byte{hyperv1.PullSecretKey: s.PullSecret}))
	if len(s.SSHPublicKey) > 0 {
		data := map[string][]byte{hyperv1.SSHPublicKeyKey: s.SSHPublicKey}
		if len(s.SSHPrivateKey) > 0 {
			data[hyperv1.SSHPrivateKeyKey] = s.SSHPrivateKey
		}
		objs = append(objs, c.secret(sshKeyName(c.Name), "", data))
	}
	objs = append(objs, c.secret(cloudCredentialsName(c.Name), "", map[string][]byte{
		"AZURE_SUBSCRIPTION_ID": []byte(c.Identity.SubscriptionID), contract.AzureTenantIDEnv: []byte(c.Identity.TenantID),
	}))
	if len(s.SigningKey) > 0 {
		objs = append(objs, c.secret(signingKeyName(c.Name), "", map[string][]byte{hyperv1.ServiceAccountSigningKey: s.SigningKey}))
	}
	if c.KMS == nil {
		objs = append(objs, c.secret(etcdEncryptionName(c.Name), corev1.SecretTypeOpaque,
			map[string][]byte{hyperv1.AESCBCKeySecretKey: s.EtcdEncryptionKey}))
	}
	return objs
}

func (c *Cluster) secret(name string, secretType corev1.SecretType, data map[string][]byte) *corev1.Secret {
	return &corev1.Secret{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Secret"},
		ObjectMeta: metav1.ObjectMeta{
			Namespace: c.Namespace, Name: name, Labels: map[string]string{hyperv1.DeleteWithClusterLabel: "true"},
		},
		Type: secretType,
		Data: data,
	}
}

// HostedCluster returns the HostedCluster itself.
func (c *Cluster) HostedCluster() *hyperv1.HostedCluster {
	hc := &hyperv1.HostedCluster{
		TypeMeta: metav1.TypeMeta{APIVersion: hyperv1.GroupVersion.String(), Kind: "HostedCluster"},
		ObjectMeta: metav1.ObjectMeta{
			Namespace: c.Namespace, Name: c.Name, Annotations: c.Annotations, Labels: c.Labels,
		},
		Spec: hyperv1.HostedClusterSpec{
			Release: hyperv1.Release{Image: c.ReleaseImage},
			InfraID: c.Infra.InfraID,
			DNS: hyperv1.DNSSpec{
				BaseDomain: c.Infra.BaseDomain, BaseDomainPrefix: c.BaseDomainPrefix,
				PublicZoneID: c.Infra.PublicZoneID, PrivateZoneID: c.Infra.PrivateZoneID,
			},
			KubeAPIServerDNSName:             c.KubeAPIServerDNSName,
			ControllerAvailabilityPolicy:     c.ControlPlaneAvailability,
			InfrastructureAvailabilityPolicy: c.InfrastructureAvailability,
			Etcd:                             c.etcd(),
			Networking:                       c.networking(),
			OperatorConfiguration:            c.operatorConfiguration(),
			Services:                         c.services(),
			PullSecret:                       corev1.LocalObjectReference{Name: pullSecretName(c.Name)},
			IssuerURL:                        c.Identity.IssuerURL,
			Configuration:                    c.configuration(),
			Capabilities:                     c.capabilities(),
			ImageContentSources:              c.ImageContentSources,
			SecretEncryption:                 c.secretEncryption(),
			FIPS:                             c.FIPS,
			OLMCatalogPlacement:              c.OLMCatalogPlacement,
			NodeSelector:                     c.NodeSelector,
			Tolerations:                      c.Tolerations,
			Labels:                           c.PodLabels,
			Platform:                         hyperv1.PlatformSpec{Type: hyperv1.AzurePlatform, Azure: c.platform()},
		},
	}
	if len(c.Secrets.SSHPublicKey) > 0 {
		hc.Spec.SSHKey.Name = sshKeyName(c.Name)
	}
	if len(c.Secrets.SigningKey) > 0 {
		hc.Spec.ServiceAccountSigningKey = &corev1.LocalObjectReference{Name: signingKeyName(c.Name)}
	}
	if len(c.Secrets.TrustBundle) > 0 {
		hc.Spec.AdditionalTrustBundle = &corev1.LocalObjectReference{Name: contract.UserCABundle}
	}
	if c.PausedUntil != "" {
		hc.Spec.PausedUntil = &c.PausedUntil
	}
	return hc
}

func (c *Cluster) etcd() hyperv1.EtcdSpec {
	volume := &hyperv1.PersistentVolumeEtcdStorageSpec{Size: &c.EtcdStorageSize}
	if c.EtcdStorageClass != "" {
		volume.StorageClassName = &c.EtcdStorageClass
	}
	storage := hyperv1.ManagedEtcdStorageSpec{Type: "PersistentVolume", PersistentVolume: volume}
	if c.RestoreSnapshotURL != "" {
		storage.RestoreSnapshotURL = []string{c.RestoreSnapshotURL}
	}
	return hyperv1.EtcdSpec{ManagementType: hyperv1.Managed, Managed: &hyperv1.ManagedEtcdSpec{Storage: storage}}
}

func (c *Cluster) networking() hyperv1.ClusterNetworking {
	n := hyperv1.ClusterNetworking{NetworkType: c.Networking.Type}
	for _, cidr := range c.Networking.ClusterCIDRs {
		n.ClusterNetwork = append(n.ClusterNetwork, hyperv1.ClusterNetworkEntry{CIDR: hyperv1.CIDR(cidr)})
	}
	n.ServiceNetwork = entries(c.Networking.ServiceCIDRs)
	n.MachineNetwork = entries(c.Networking.MachineCIDRs)
	if c.Networking.AllocateNodeCIDRs {
		n.AllocateNodeCIDRs = new(hyperv1.AllocateNodeCIDRsEnabled)
	}
	return n
}

func entries(cidrs []string) []hyperv1.NetworkEntry {
	var out []hyperv1.NetworkEntry
	for _, cidr := range cidrs {
		out = append(out, hyperv1.NetworkEntry{CIDR: hyperv1.CIDR(cidr)})
	}
	return out
}

func (c *Cluster) operatorConfiguration() *hyperv1.OperatorConfiguration {
	network := &hyperv1.ClusterNetworkOperatorSpec{}
	switch {
	case c.Networking.DisableMultiNetwork:
		network.DisableMultiNetwork = new(true)
	case c.Networking.OVNKubernetesMTU != 0:
		network.OVNKubernetesConfig = &hyperv1.OVNKubernetesConfig{MTU: c.Networking.OVNKubernetesMTU}
	default:
		return nil
	}
	return &hyperv1.OperatorConfiguration{ClusterNetworkOperator: network}
}

func (c *Cluster) configuration() *hyperv1.ClusterConfiguration {
	conf := &hyperv1.ClusterConfiguration{}
	if c.FeatureSet != "" {
		conf.FeatureGate = &hyperv1.FeatureGateSpec{FeatureSet: c.FeatureSet}
	}
	if c.OLMDisableDefaultSources {
		conf.OperatorHub = &hyperv1.OperatorHubSpec{DisableAllDefaultSources: true}
	}
	return conf
}

func (c *Cluster) capabilities() *hyperv1.Capabilities {
	caps := &hyperv1.Capabilities{}
	for _, name := range c.EnabledCapabilities {
		caps.Enabled = append(caps.Enabled, hyperv1.OptionalCapability(name))
	}
	for _, name := range c.DisabledCapabilities {
		caps.Disabled = append(caps.Disabled, hyperv1.OptionalCapability(name))
	}
	return caps
}

func (c *Cluster) secretEncryption() *hyperv1.SecretEncryptionSpec {
	if c.KMS == nil {
		return &hyperv1.SecretEncryptionSpec{
			Type:   hyperv1.AESCBC,
			AESCBC: &hyperv1.AESCBCSpec{ActiveKey: corev1.LocalObjectReference{Name: etcdEncryptionName(c.Name)}},
		}
	}
	kms := &hyperv1.AzureKMSSpec{
		ActiveKey:    hyperv1.AzureKMSKey{KeyVaultName: c.KMS.VaultName, KeyName: c.KMS.KeyName, KeyVersion: c.KMS.KeyVersion},
		KeyVaultType: c.KMS.VaultType,
	}
	if c.KMS.CredentialsSecretName != "" {
		kms.KMS = &hyperv1.ManagedIdentity{CredentialsSecretName: c.KMS.CredentialsSecretName, ObjectEncoding: "utf-8"}
	} else {
		kms.WorkloadIdentity = &hyperv1.WorkloadIdentity{ClientID: hyperv1.AzureClientID(c.KMS.ClientID)}
	}
	return &hyperv1.SecretEncryptionSpec{Type: hyperv1.KMS, KMS: &hyperv1.KMSSpec{Provider: "Azure", Azure: kms}}
}

func (c *Cluster) platform() *hyperv1.AzurePlatformSpec {
	p := &hyperv1.AzurePlatformSpec{
		Cloud:             c.Infra.Cloud,
		Location:          c.Infra.Location,
		ResourceGroupName: c.Infra.ResourceGroup,
		VnetID:            c.Infra.VNetID,
		SubnetID:          c.Infra.SubnetID,
		SecurityGroupID:   c.Infra.SecurityGroupID,
		SubscriptionID:    c.Identity.SubscriptionID,
		TenantID:          c.Identity.TenantID,
		AzureAuthenticationConfig: hyperv1.AzureAuthenticationConfiguration{
			AzureAuthenticationConfigType: hyperv1.AzureWorkloadIdentities, WorkloadIdentities: c.Identity.WorkloadIdentities,
		},
		Topology: c.Publishing.EndpointAccess,
	}
	if managed := c.Identity.ManagedIdentities; managed != nil {
		p.AzureAuthenticationConfig = hyperv1.AzureAuthenticationConfiguration{
			AzureAuthenticationConfigType: hyperv1.AzureManagedIdentities, ManagedIdentities: managed,
		}
		if !c.private() {
			p.Topology = "" // said only where workload identities are used
		}
	}
	if c.private() {
		p.Private = &hyperv1.AzurePrivateSpec{Type: "PrivateLink", PrivateLink: &hyperv1.AzurePrivateLinkSpec{
			NATSubnetID: c.Publishing.NATSubnetID, AdditionalAllowedSubscriptions: c.Publishing.AdditionalAllowedSubscriptions,
		}}
	}
	return p
}

func (c *Cluster) private() bool {
	return c.Publishing.EndpointAccess != "" && c.Publishing.EndpointAccess != hyperv1.AzureTopologyPublic
}
