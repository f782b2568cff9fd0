package inputs

import (
	"slices"
	"strings"

	"github.com/hypershift-on-azure/hypershift/internal/contract"
	"github.com/hypershift-on-azure/hypershift/internal/hostedcluster/machines"
	"github.com/hypershift-on-azure/hypershift/internal/pki"
	"github.com/hypershift-on-azure/hypershift/internal/release"
)

// reservedSecrets and reservedConfigMaps are what a control plane makes itself, besides what its tables of certificates list.
var (
	reservedSecrets = []string{
		contract.PullSecret, contract.SSHKey, contract.SigningKey, machines.WebhookCertSecret, contract.KMSConfig, ingressCredentials, registryCredentials,
		networkCredentials, contract.CloudConfig, contract.DiskConfig, contract.FileConfig, contract.KubeadminPassword, contract.CustomAdminKubeconfig,
		"oauth-openshift-session", "oauth-openshift-default-login-template", "oauth-openshift-default-provider-selection-template",
		"oauth-openshift-default-error-template", "customer-system-admin-signer", "sre-system-admin-signer", "customer-system-admin-client-cert-key",
		"sre-system-admin-client-cert-key",
	}
	reservedConfigMaps = []string{
		contract.UserCABundle, contract.TrustedCA, contract.RootCA, contract.EtcdCA, contract.EtcdMetricsCA, contract.KonnectivityCABundle,
		contract.AggregatorClientCA, contract.ClientCA, contract.KubeletClientCA, contract.KubeRootCA, contract.ServiceCA, contract.APIServerConfig, contract.AuthConfig,
		contract.APIServerAudit, contract.APIServerEgress, "kcm-config", contract.Scheduler, contract.CloudConfig, contract.FeatureGate, contract.LoginMetadata,
		contract.LoginCABundle, contract.ServiceAuthority, contract.ObservedIngressAuthority, contract.RegistryConfig, "openshift-controller-manager-config",
		"openshift-route-controller-manager-config", "cluster-policy-controller-config", contract.OpenShiftAPIServer, "openshift-apiserver-audit",
		"openshift-oauth-apiserver-audit", contract.OAuthServer, "oauth-openshift-audit", contract.TotalClientCA, "customer-system-admin-signer-ca",
		"sre-system-admin-signer-ca", contract.MachineConfigServer,
	}
	// reservedPrefixes begin the names of what node pools, the ignition server and the config operator make.
	reservedPrefixes = []string{"token-", "user-data-", "ignition-config-", contract.ObservedConfigPrefix, contract.PoolTunedPrefix, contract.PoolConfigPrefix}
)

// reserved tells whether the control plane has, or may come to have, an object of the name.
func reserved(kind, name, infraID string) bool {
	for _, prefix := range reservedPrefixes {
		if strings.HasPrefix(name, prefix) {
			return true
		}
	}
	if kind == ConfigMapKind {
		return slices.Contains(reservedConfigMaps, name)
	}
	return slices.Contains(reservedSecrets, name) || slices.Contains(certificateSecrets(infraID), name)
}

// certificateSecrets lists the Secrets of authorities, certificates and kubeconfigs. Every endpoint is given, so that none is left out.
func certificateSecrets(infraID string) []string {
	var secrets []string
	for _, authority := range pki.Authorities() {
		secrets = append(secrets, authority.Secret)
	}
	// Without service networks there is nothing in the parameters that could be malformed.
	leaves, err := pki.Leaves(pki.Params{APIHost: "x", KonnectivityHost: "x", IgnitionHost: "x", OAuthHost: "x", AppsDomain: "x",
		Payload: release.KindOpenShift})
	if err != nil {
		return secrets
	}
	for _, leaf := range leaves {
		secrets = append(secrets, leaf.Secret)
	}
	for _, kubeconfig := range pki.Kubeconfigs(infraID, "x") {
		secrets = append(secrets, kubeconfig.Secret)
	}
	return secrets
}
