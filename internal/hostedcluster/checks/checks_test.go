package checks

import (
	"errors"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/ptr"

	hyperv1 "github.com/hypershift-on-azure/hypershift/api/v1beta1"
	"github.com/hypershift-on-azure/hypershift/internal/hostedcluster/hostedclustertest"
	"github.com/hypershift-on-azure/hypershift/internal/kube"
	"github.com/hypershift-on-azure/hypershift/internal/release"
)

func raw(text string) *runtime.RawExtension { return &runtime.RawExtension{Raw: []byte(text)} }

// TestInvalidConfiguration goes through the rules that need nothing but the HostedCluster.
func TestInvalidConfiguration(t *testing.T) {
	nodePort := func(address string, port int32) hyperv1.ServicePublishingStrategy {
		return hyperv1.ServicePublishingStrategy{Type: hyperv1.NodePort, NodePort: &hyperv1.NodePortPublishingStrategy{Address: address, Port: port}}
	}
	for title, c := range map[string]struct {
		change func(*hyperv1.HostedCluster)
		want   string
	}{
		"nothing":     {func(*hyperv1.HostedCluster) {}, ""},
		"long name":   {func(hc *hyperv1.HostedCluster) { hc.Name = strings.Repeat("x", 55) }, "longer than 63 characters"},
		"cluster id":  {func(hc *hyperv1.HostedCluster) { hc.Spec.ClusterID = "x" }, "not a UUID"},
		"no azure":    {func(hc *hyperv1.HostedCluster) { hc.Spec.Platform.Azure = nil }, "spec.platform.azure is required"},
		"vnet":        {func(hc *hyperv1.HostedCluster) { hc.Spec.Platform.Azure.VnetID = "/x" }, "spec.platform.azure.vnetID"},
		"label key":   {func(hc *hyperv1.HostedCluster) { hc.Spec.Labels = map[string]string{"a b": ""} }, "not a valid label"},
		"label value": {func(hc *hyperv1.HostedCluster) { hc.Spec.Labels = map[string]string{"a": "-"} }, "not a valid label"},
		"pod security": {func(hc *hyperv1.HostedCluster) {
			hc.Annotations = map[string]string{hyperv1.PodSecurityLabelOverrideAnnotation: "lax"}
		}, "is none of restricted"},
		"pod security set": {func(hc *hyperv1.HostedCluster) {
			hc.Annotations = map[string]string{hyperv1.PodSecurityLabelOverrideAnnotation: "Baseline"}
		}, ""},
		"image labels": {func(hc *hyperv1.HostedCluster) {
			hc.Annotations = map[string]string{hyperv1.ControlPlaneOperatorImageLabels: "a=true,b"}
		}, "not of the form label=value"},
		"image labels set": {func(hc *hyperv1.HostedCluster) {
			hc.Annotations = map[string]string{hyperv1.ControlPlaneOperatorImageLabels: release.LabelRestricted + "=true, b="}
		}, ""},
		"tags": {func(hc *hyperv1.HostedCluster) {
			hc.Annotations = map[string]string{hyperv1.AzureTagsAnnotation: "windows=x"}
		}, "begin with windows"},
		"tags set": {func(hc *hyperv1.HostedCluster) {
			hc.Annotations = map[string]string{hyperv1.AzureTagsAnnotation: "team=blue"}
		}, ""},
		"same host": {func(hc *hyperv1.HostedCluster) {
			for i := range hc.Spec.Services[1:3] {
				hc.Spec.Services[i+1].ServicePublishingStrategy.Route = &hyperv1.RoutePublishingStrategy{Hostname: "a.test"}
			}
		}, "the same hostname"},
		"overlap":  {func(hc *hyperv1.HostedCluster) { hc.Spec.Networking.ServiceNetwork[0].CIDR = "10.135.255.0/24" }, "overlaps clusterNetwork"},
		"no CIDR":  {func(hc *hyperv1.HostedCluster) { hc.Spec.Networking.ServiceNetwork[0].CIDR = "x" }, "is not a CIDR"},
		"families": {func(hc *hyperv1.HostedCluster) { hc.Spec.Networking.ServiceNetwork[0].CIDR = "fd01::/112" }, "one IP family"},
		"dual stack": {func(hc *hyperv1.HostedCluster) {
			hc.Spec.Networking.ClusterNetwork = append(hc.Spec.Networking.ClusterNetwork, hyperv1.ClusterNetworkEntry{CIDR: "fd01::/48"})
		}, ""},
		"default advertise address": {func(hc *hyperv1.HostedCluster) { hc.Spec.Networking.ServiceNetwork[0].CIDR = "172.20.0.0/16" }, "advertiseAddress 172.20.0.1 lies within serviceNetwork"},
		"advertise address": {func(hc *hyperv1.HostedCluster) {
			hc.Spec.Networking.APIServer = &hyperv1.APIServerNetworking{AdvertiseAddress: ptr.To("10.132.0.1")}
		}, "lies within clusterNetwork"},
		"no address": {func(hc *hyperv1.HostedCluster) {
			hc.Spec.Networking.APIServer = &hyperv1.APIServerNetworking{AdvertiseAddress: ptr.To("here")}
		}, "is not an IP address"},
		"node port": {func(hc *hyperv1.HostedCluster) {
			hc.Spec.Services[0].ServicePublishingStrategy = nodePort("10.0.0.1", 80)
		}, "outside of 30000 to 32767"},
		"any node port": {func(hc *hyperv1.HostedCluster) {
			hc.Spec.Platform = hyperv1.PlatformSpec{Type: hyperv1.NonePlatform}
			hc.Spec.Services[0].ServicePublishingStrategy = nodePort("node.test", 0)
		}, ""},
		"node port in a cloud": {func(hc *hyperv1.HostedCluster) {
			hc.Spec.Services[0].ServicePublishingStrategy = nodePort("node.test", 0)
		}, "cannot be published by NodePort on platform Azure: use Route or LoadBalancer"},
		"ignition by load balancer": {func(hc *hyperv1.HostedCluster) {
			hc.Spec.Services = append(hc.Spec.Services, hyperv1.ServicePublishingStrategyMapping{
				Service: hyperv1.Ignition, ServicePublishingStrategy: hyperv1.ServicePublishingStrategy{Type: hyperv1.LoadBalancer}})
		}, "service Ignition cannot be published by LoadBalancer on platform Azure: use Route"},
		"node port address": {func(hc *hyperv1.HostedCluster) {
			hc.Spec.Services[0].ServicePublishingStrategy = nodePort("172.31.0.9", 30001)
		}, "lies within spec.networking.serviceNetwork"},
		"aescbc": {func(hc *hyperv1.HostedCluster) {
			hc.Spec.SecretEncryption = &hyperv1.SecretEncryptionSpec{Type: hyperv1.AESCBC}
		}, "aescbc.activeKey is required"},
		"kms": {func(hc *hyperv1.HostedCluster) {
			hc.Spec.SecretEncryption = &hyperv1.SecretEncryptionSpec{Type: hyperv1.KMS}
		}, "kms.azure is required"},
		"serving name": {func(hc *hyperv1.HostedCluster) {
			hc.Spec.Configuration = &hyperv1.ClusterConfiguration{APIServer: raw(`{"servingCerts":{"namedCertificates":[{"names":["api.test","Kubernetes.default"]}]}}`)}
		}, `namedCertificates[0].names: "Kubernetes.default" is a name of the control plane's own`},
		"serving name allowed": {func(hc *hyperv1.HostedCluster) {
			hc.Annotations = map[string]string{hyperv1.SkipKASConflictSANValidation: ""}
			hc.Spec.Configuration = &hyperv1.ClusterConfiguration{APIServer: raw(`{"servingCerts":{"namedCertificates":[{"names":["kubernetes"]}]}}`)}
		}, ""},
		"no provider": {func(hc *hyperv1.HostedCluster) {
			hc.Spec.Configuration = &hyperv1.ClusterConfiguration{Authentication: raw(`{"type":"OIDC"}`)}
		}, "oidcProviders is required"},
		"issuer": {func(hc *hyperv1.HostedCluster) {
			hc.Spec.Configuration = &hyperv1.ClusterConfiguration{Authentication: raw(`{"type":"OIDC","oidcProviders":[{"issuer":{"issuerURL":"http://x","audiences":["a"]}}]}`)}
		}, "is not a URL of the form https"},
		"audiences": {func(hc *hyperv1.HostedCluster) {
			hc.Spec.Configuration = &hyperv1.ClusterConfiguration{Authentication: raw(`{"type":"OIDC","oidcProviders":[{"issuer":{"issuerURL":"https://x"}}]}`)}
		}, "audiences is empty"},
		"own issuer": {func(hc *hyperv1.HostedCluster) {
			hc.Spec.IssuerURL = "https://x"
			hc.Spec.Configuration = &hyperv1.ClusterConfiguration{Authentication: raw(`{"type":"OIDC","oidcProviders":[{"issuer":{"issuerURL":"https://x","audiences":["a"]}}]}`)}
		}, "is the issuer of the cluster's own service accounts"},
		"prefix policy": {func(hc *hyperv1.HostedCluster) {
			hc.Spec.Configuration = &hyperv1.ClusterConfiguration{Authentication: raw(`{"type":"OIDC","oidcProviders":[{"issuer":{"issuerURL":"https://x","audiences":["a"]},"claimMappings":{"username":{"claim":"c","prefixPolicy":"Prefix"}}}]}`)}
		}, "needs a prefix"},
		"not external": {func(hc *hyperv1.HostedCluster) {
			hc.Spec.Configuration = &hyperv1.ClusterConfiguration{Authentication: raw(`{"type":"IntegratedOAuth"}`)}
		}, ""},
	} {
		hc := hostedclustertest.Cluster("demo", "image")
		hc.Spec.ClusterID = "11111111-2222-4333-8444-555555555555"
		c.change(hc)
		err := errors.Join(Configuration(hc)...)
		if (c.want == "") != (err == nil) || (err != nil && !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s: %v, want %q", title, err, c.want)
		}
	}
}

func TestCheckVault(t *testing.T) {
	for version, fails := range map[string]bool{"4.21.9": true, "4.22.0": false} {
		c := hostedclustertest.At(&hyperv1.HostedCluster{Spec: hyperv1.HostedClusterSpec{SecretEncryption: &hyperv1.SecretEncryptionSpec{
			Type: hyperv1.KMS, KMS: &hyperv1.KMSSpec{Provider: "Azure", Azure: &hyperv1.AzureKMSSpec{KeyVaultType: managedHSM}}}}})
		err := Vault(c, &release.Release{Version: version})
		condition := kube.Find(c.Hosted.Status.Conditions, hyperv1.ValidHostedClusterConfiguration)
		if (err != nil) != fails || (condition != nil) != fails {
			t.Errorf("%s: %v, %+v", version, err, condition)
		}
	}
}

// FuzzConfiguration: whatever a tenant writes into the members that the schema does not know, it is checked, and stops nothing else.
func FuzzConfiguration(f *testing.F) {
	f.Add([]byte(`{"type":"OIDC","oidcProviders":[{"issuer":{"issuerURL":"https://login","audiences":["a"]},"claimMappings":{"username":{"prefixPolicy":"Prefix","prefix":{}}}}]}`))
	f.Add([]byte(`{"type":"OIDC","oidcProviders":[null,1,{"issuer":[]},{"claimMappings":{"username":""}}]}`))
	f.Add([]byte(`{"servingCerts":{"namedCertificates":[{"names":["a.test"],"servingCertificate":{"name":"a"}},null]},"clientCA":"x","audit":{"customRules":[1]}}`))
	f.Add([]byte(`{"identityProviders":[{"ldap":{"ca":{"name":1}}},{"htpasswd":null}],"domain":{"a":"b"}}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		hc := hostedclustertest.Cluster("demo", "release:1")
		member := &runtime.RawExtension{Raw: text}
		hc.Spec.Configuration = &hyperv1.ClusterConfiguration{APIServer: member, Authentication: member, Image: member, Ingress: member, OAuth: member, Scheduler: member}
		for _, problem := range Configuration(hc) {
			if problem != nil && problem.Error() == "" {
				t.Error("a problem without words")
			}
		}
		hostNames(wishes(hc))
	})
}
