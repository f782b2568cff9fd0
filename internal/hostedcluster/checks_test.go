package hostedcluster

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"math/big"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/ptr"

	hyperv1 "github.com/hypershift-on-azure/hypershift/api/v1beta1"
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
		hc := (&fixture{name: "demo"}).cluster()
		hc.Spec.ClusterID = "11111111-2222-4333-8444-555555555555"
		c.change(hc)
		err := errors.Join(invalidConfiguration(hc)...)
		if (c.want == "") != (err == nil) || (err != nil && !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s: %v, want %q", title, err, c.want)
		}
	}
}

func TestCheckVault(t *testing.T) {
	for version, fails := range map[string]bool{"4.21.9": true, "4.22.0": false} {
		p := newPass(&hyperv1.HostedCluster{Spec: hyperv1.HostedClusterSpec{SecretEncryption: &hyperv1.SecretEncryptionSpec{
			Type: hyperv1.KMS, KMS: &hyperv1.KMSSpec{Provider: "Azure", Azure: &hyperv1.AzureKMSSpec{KeyVaultType: managedHSM}}}}})
		p.release = &release.Release{Version: version}
		err := p.checkVault(t.Context())
		condition := kube.Find(p.hc.Status.Conditions, hyperv1.ValidHostedClusterConfiguration)
		if (err != nil) != fails || (condition != nil) != fails {
			t.Errorf("%s: %v, %+v", version, err, condition)
		}
	}
}

// certificate is self-signed for the names.
func certificate(t *testing.T, names ...string) []byte {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour), DNSNames: names}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
}

// TestReferences goes through what a HostedCluster names: what is wrong with it shows in its condition, names field and object, and
// stops only what needs it.
func TestReferences(t *testing.T) {
	f := newFixture(t, "references")
	f.createShared(t, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "clusters"}})
	secret := func(name, key string, value []byte) *corev1.Secret {
		return &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "clusters"}, Data: map[string][]byte{key: value}}
	}
	bundle := func(name, text string) *corev1.ConfigMap {
		return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "clusters"}, Data: map[string]string{"ca-bundle.crt": text}}
	}
	f.create(t, f.pullSecret(), f.madeSecret(), secret("short-key", "key", []byte("x")), secret("other", "other", []byte("x")), secret("etcd-client-tls", auditWebhookKey, []byte("x")),
		secret("broken-key", "key", []byte("x")), secret("clash-cert", "tls.crt", certificate(t, "kubernetes.default.svc")), secret("references-kubeconfig", auditWebhookKey, []byte("x")),
		bundle("no-bundle", "x"), bundle("bundle", string(certificate(t, "x"))), f.cluster())
	f.reconcile(t)
	named := func(name string) *corev1.LocalObjectReference { return &corev1.LocalObjectReference{Name: name} }
	for title, c := range map[string]struct {
		change    func(*hyperv1.HostedClusterSpec)
		condition hyperv1.ConditionType
		message   string
	}{
		"missing":     {func(s *hyperv1.HostedClusterSpec) { s.SSHKey.Name = "nowhere" }, hyperv1.ValidHostedClusterConfiguration, `spec.sshKey: Secret "nowhere" does not exist in namespace clusters; create it with key id_rsa.pub`},
		"key":         {func(s *hyperv1.HostedClusterSpec) { s.SSHKey.Name = "other" }, hyperv1.ValidHostedClusterConfiguration, `spec.sshKey: Secret "other" has no key "id_rsa.pub"; add it`},
		"clash":       {func(s *hyperv1.HostedClusterSpec) { s.AuditWebhook = named("etcd-client-tls") }, hyperv1.ValidHostedClusterConfiguration, `spec.auditWebhook: the control plane has a Secret "etcd-client-tls" of its own`},
		"signing key": {func(s *hyperv1.HostedClusterSpec) { s.ServiceAccountSigningKey = named("broken-key") }, hyperv1.ValidHostedClusterConfiguration, `spec.serviceAccountSigningKey: Secret "broken-key": key key holds no PEM block`},
		"bundle":      {func(s *hyperv1.HostedClusterSpec) { s.AdditionalTrustBundle = named("no-bundle") }, hyperv1.ValidHostedClusterConfiguration, `spec.additionalTrustBundle: ConfigMap "no-bundle": key "ca-bundle.crt": there is no PEM block`},
		"encryption key": {func(s *hyperv1.HostedClusterSpec) {
			s.SecretEncryption = &hyperv1.SecretEncryptionSpec{Type: hyperv1.AESCBC, AESCBC: &hyperv1.AESCBCSpec{ActiveKey: corev1.LocalObjectReference{Name: "short-key"}}}
		}, hyperv1.ValidHostedClusterConfiguration, `activeKey: Secret "short-key": key "key" holds 1 bytes`},
		"proxy": {func(s *hyperv1.HostedClusterSpec) {
			s.Configuration = &hyperv1.ClusterConfiguration{Proxy: &hyperv1.ProxySpec{TrustedCA: named("no-bundle")}}
		}, hyperv1.ValidProxyConfiguration, `spec.configuration.proxy.trustedCA: ConfigMap "no-bundle"`},
		"serving certificate": {func(s *hyperv1.HostedClusterSpec) {
			s.Configuration = &hyperv1.ClusterConfiguration{APIServer: raw(`{"servingCerts":{"namedCertificates":[{"names":["a.test"],"servingCertificate":{"name":"clash-cert"}}]}}`)}
		}, hyperv1.ValidHostedClusterConfiguration, `"kubernetes.default.svc" is a name of the control plane's own API server`},
		"component's route": {func(s *hyperv1.HostedClusterSpec) {
			s.Configuration = &hyperv1.ClusterConfiguration{Ingress: raw(`{"componentRoutes":[{"namespace":"n","name":"r","hostname":"h.test","servingCertKeyPairSecret":{"name":"nowhere"}}]}`)}
		}, hyperv1.ValidHostedClusterConfiguration, `spec.configuration.ingress.componentRoutes[0].servingCertKeyPairSecret: Secret "nowhere" does not exist`},
	} {
		t.Run(title, func(t *testing.T) {
			hc := f.get(t)
			spec := hc.Spec.DeepCopy()
			c.change(&hc.Spec)
			hc.Spec.Labels = map[string]string{"edit": strings.NewReplacer(" ", "-", "'", "").Replace(title)}
			// Encryption cannot be removed again, so nothing of this table is stored: the pass works on the changed object alone.
			p := &pass{Reconciler: f.reconciler, hc: hc, names: namesOf(hc)}
			hcp := f.controlPlane(t)
			p.hcp = hcp
			report := p.runSteps(t.Context())
			if report.Err() == nil {
				t.Error("the pass succeeds")
			}
			condition := kube.Find(hc.Status.Conditions, c.condition)
			if condition == nil || condition.Status != metav1.ConditionFalse || !strings.Contains(condition.Message, c.message) {
				t.Errorf("%s is %+v, want %q", c.condition, condition, c.message)
			}
			if waits := title == "clash" || title == "encryption key"; report.Done(controlPlaneStep) == waits {
				t.Errorf("the control plane's step is %q", report.Outcome(controlPlaneStep))
			}
			for _, id := range needs(namespaceStep, isolationStep, credentialsStep, accessStep) {
				if !report.Done(id) {
					t.Errorf("%s: %s", id, report.Outcome(id))
				}
			}
			hc.Spec = *spec
		})
	}
	if c := kube.Find(f.get(t).Status.Conditions, hyperv1.ValidProxyConfiguration); c == nil || c.Status != metav1.ConditionTrue {
		t.Errorf("ValidProxyConfiguration without a proxy: %+v", c)
	}
}
