package hostedcluster

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"math/big"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	hyperv1 "github.com/hypershift-on-azure/hypershift/api/v1beta1"
	"github.com/hypershift-on-azure/hypershift/internal/kube"
)

func raw(text string) *runtime.RawExtension { return &runtime.RawExtension{Raw: []byte(text)} }

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
	f.create(t, f.pullSecret(), f.madeSecret(), secret("short-key", "key", []byte("x")), secret("other", "other", []byte("x")), secret("etcd-client-tls", "webhook-kubeconfig", []byte("x")),
		secret("broken-key", "key", []byte("x")), secret("clash-cert", "tls.crt", certificate(t, "kubernetes.default.svc")), secret("references-kubeconfig", "webhook-kubeconfig", []byte("x")),
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
			p := f.reconciler.newPass(hc)
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
