package guest

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hypershift-on-azure/hypershift/api/v1beta1"
	"github.com/hypershift-on-azure/hypershift/internal/contract"
	"github.com/hypershift-on-azure/hypershift/internal/guest/guesttest"
	"github.com/hypershift-on-azure/hypershift/internal/guest/inside"
	"github.com/hypershift-on-azure/hypershift/internal/pki"
)

const (
	testClusterID = "8cf00b37-9bb9-473b-b400-21f9d3b065f1"
	proxyTrust    = "proxy-ca"
	imageTrust    = "registries-ca"
	issuerTrust   = "issuer-ca"
	oidcSecret    = "console-secret"
)

// hostedPlane is a hosted control plane on platform None whose user configured much.
func hostedPlane() *hyperv1.HostedControlPlane {
	hcp := &hyperv1.HostedControlPlane{ObjectMeta: metav1.ObjectMeta{Namespace: testNamespace, Name: "demo"}}
	hcp.Spec = hyperv1.HostedControlPlaneSpec{
		ReleaseImage: "quay.io/r:4.21.0", PullSecret: corev1.LocalObjectReference{Name: "pull-secret"}, IssuerURL: "https://issuer.example.com",
		ClusterID: testClusterID, Channel: "stable-4.21", InfraID: "demo-x1",
		InfrastructureAvailabilityPolicy: hyperv1.SingleReplica,
		DNS:                              hyperv1.DNSSpec{BaseDomain: "example.com", PublicZoneID: "/subscriptions/s/zone"},
		Platform:                         hyperv1.PlatformSpec{Type: hyperv1.NonePlatform},
		Networking: hyperv1.ClusterNetworking{
			NetworkType:    hyperv1.OVNKubernetes,
			ClusterNetwork: []hyperv1.ClusterNetworkEntry{{CIDR: "10.132.0.0/14"}},
			ServiceNetwork: []hyperv1.NetworkEntry{{CIDR: "10.0.0.0/24"}},
		},
		Etcd: hyperv1.EtcdSpec{ManagementType: hyperv1.Managed, Managed: &hyperv1.ManagedEtcdSpec{Storage: hyperv1.ManagedEtcdStorageSpec{
			Type: "PersistentVolume", PersistentVolume: &hyperv1.PersistentVolumeEtcdStorageSpec{}}}},
		Capabilities:        &hyperv1.Capabilities{Disabled: []hyperv1.OptionalCapability{"Console", "ImageRegistry", "Ingress"}},
		ImageContentSources: []hyperv1.ImageContentSource{{Source: "quay.io/a", Mirrors: []string{"mirror.example.com/a"}}},
		Configuration: &hyperv1.ClusterConfiguration{
			Proxy:     &hyperv1.ProxySpec{HTTPProxy: "http://proxy:3128", NoProxy: "internal.example.com", TrustedCA: &corev1.LocalObjectReference{Name: proxyTrust}},
			Ingress:   &runtime.RawExtension{Raw: []byte(`{"appsDomain":"apps.mine.example.com","domain":"apps.chosen.example.com"}`)},
			Image:     &runtime.RawExtension{Raw: []byte(`{"registrySources":{"insecureRegistries":["r.example.com"]},"additionalTrustedCA":{"name":"` + imageTrust + `"}}`)},
			APIServer: &runtime.RawExtension{Raw: []byte(`{"tlsSecurityProfile":{"type":"Modern","modern":{}}}`)},
			Authentication: &runtime.RawExtension{Raw: []byte(`{"type":"OIDC","oidcProviders":[{"name":"p",
				"issuer":{"issuerURL":"https://login.example.com","audiences":["a"],"issuerCertificateAuthority":{"name":"` + issuerTrust + `"}},
				"oidcClients":[{"componentName":"console","componentNamespace":"openshift-console","clientID":"c","clientSecret":{"name":"` + oidcSecret + `"}}],
				"claimMappings":{"username":{"claim":"sub","prefixPolicy":"NoPrefix"}}}]}`)},
		},
	}
	for _, service := range []hyperv1.ServiceType{hyperv1.APIServer, hyperv1.OAuthServer, hyperv1.Konnectivity, hyperv1.Ignition} {
		hcp.Spec.Services = append(hcp.Spec.Services, hyperv1.ServicePublishingStrategyMapping{
			Service: service, ServicePublishingStrategy: hyperv1.ServicePublishingStrategy{Type: hyperv1.LoadBalancer}})
	}
	return hcp
}

// identityOf is the client id of a workload identity.
func identityOf(name string) string {
	return map[string]string{
		"disk": "11111111-0000-4000-8000-000000000000", "file": "22222222-0000-4000-8000-000000000000",
		"registry": "33333333-0000-4000-8000-000000000000", "ingress": "44444444-0000-4000-8000-000000000000",
	}[name]
}

// azureGuest is one on Azure whose user configured nothing.
func azureGuest() *hyperv1.HostedControlPlane {
	hcp := hostedPlane()
	hcp.Spec.Capabilities, hcp.Spec.ImageContentSources, hcp.Spec.Configuration = nil, nil, nil
	hcp.Spec.InfrastructureAvailabilityPolicy = hyperv1.HighlyAvailable
	hcp.Spec.Platform = guesttest.AzurePlane().Spec.Platform
	azure := hcp.Spec.Platform.Azure
	const network = "/subscriptions/subscription/resourceGroups/network/providers/Microsoft.Network/"
	azure.VnetID, azure.SubnetID, azure.SecurityGroupID = network+"virtualNetworks/vnet", network+"virtualNetworks/vnet/subnets/default", network+"networkSecurityGroups/nsg"
	id := func(name string) hyperv1.WorkloadIdentity {
		return hyperv1.WorkloadIdentity{ClientID: hyperv1.AzureClientID(identityOf(name))}
	}
	azure.AzureAuthenticationConfig = hyperv1.AzureAuthenticationConfiguration{
		AzureAuthenticationConfigType: hyperv1.AzureWorkloadIdentities,
		WorkloadIdentities: &hyperv1.AzureWorkloadIdentitySet{
			Disk: id("disk"), File: id("file"), ImageRegistry: id("registry"), Ingress: id("ingress"),
			NodePoolManagement: id("disk"), CloudProvider: id("disk"), Network: id("disk")},
	}
	return hcp
}

// sources are what the control plane has when the operator starts.
func sources(hcp *hyperv1.HostedControlPlane) []client.Object {
	named := func(name string) metav1.ObjectMeta { return metav1.ObjectMeta{Namespace: testNamespace, Name: name} }
	secret := func(name string, data map[string]string) client.Object {
		return &corev1.Secret{ObjectMeta: named(name), StringData: data}
	}
	bundle := func(name, key, content string) client.Object {
		return &corev1.ConfigMap{ObjectMeta: named(name), Data: map[string]string{key: content}}
	}
	out := []client.Object{
		secret(contract.KonnectivityAgent, map[string]string{"tls.crt": "agent certificate", "tls.key": "agent key"}),
		secret(contract.PullSecret, map[string]string{hyperv1.PullSecretKey: `{"auths":{}}`}),
		secret(pki.IngressServing, map[string]string{"tls.crt": "ingress certificate", "tls.key": "ingress key"}),
		secret(pki.MetricsServing, map[string]string{"tls.crt": "metrics certificate", "tls.key": "metrics key"}),
		bundle(contract.KonnectivityCABundle, contract.CAKey, "konnectivity authority"),
		bundle(contract.KubeletCA, contract.CAKey, "kubelets' authority"),
		bundle(contract.RootCA, contract.CAKey, "root"),
	}
	for _, name := range []string{"kube-apiserver", "kube-controller-manager", "kube-scheduler", "machine-approver"} {
		out = append(out, &hyperv1.ControlPlaneComponent{ObjectMeta: named(name)})
	}
	if hcp.Spec.Platform.Type == hyperv1.AzurePlatform {
		return append(out, bundle(contract.CloudConfig, contract.CloudConfigKey, "cloud configuration"))
	}
	return append(out,
		bundle(contract.UserCABundle, hyperv1.TrustBundleKey, "user's trust"),
		bundle(proxyTrust, hyperv1.TrustBundleKey, "proxy's trust"),
		bundle(imageTrust, "r.example.com", "registry's trust"),
		bundle(issuerTrust, hyperv1.TrustBundleKey, "issuer's authority"),
		secret(oidcSecret, map[string]string{inside.ClientSecretKey: "a secret"}))
}
