package controlplane

import (
	"bytes"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hypershift-on-azure/hypershift/api/v1beta1"
	"github.com/hypershift-on-azure/hypershift/internal/component"
	"github.com/hypershift-on-azure/hypershift/internal/publish"
	"github.com/hypershift-on-azure/hypershift/internal/release"
)

// openShiftPlanes are the planes of the tests that a payload of OpenShift's is rendered in, besides the highly available one.
var openShiftPlanes = map[string]func(*hyperv1.HostedControlPlane){
	planeLoadBalancer:  published[planeLoadBalancer],
	planeRouteHostname: published[planeRouteHostname],
	planePrivate:       published[planePrivate],
	planeOAuthBalancer: func(hcp *hyperv1.HostedControlPlane) {
		hcp.Spec.Services[1].ServicePublishingStrategy = hyperv1.ServicePublishingStrategy{Type: hyperv1.LoadBalancer,
			LoadBalancer: &hyperv1.LoadBalancerPublishingStrategy{Hostname: "oauth.demo.example.com"}}
	},
	planeEncrypted: func(hcp *hyperv1.HostedControlPlane) {
		hcp.Spec.SecretEncryption = &hyperv1.SecretEncryptionSpec{Type: hyperv1.AESCBC,
			AESCBC: &hyperv1.AESCBCSpec{ActiveKey: corev1.LocalObjectReference{Name: "etcd-key"}}}
	},
}

// forwarding asks for the metrics of the control plane in the hosted cluster.
var forwarding = &hyperv1.Monitoring{MetricsForwarding: &hyperv1.MetricsForwarding{Mode: "Forward"}}

// etcdKey encrypts the Secrets of planeEncrypted.
var etcdKey = corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "etcd-key"}, Data: map[string][]byte{"key": make([]byte, 32)}}

// featureGates stand in for what the payload's own program renders for the version.
var featureGates = &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "feature-gate"}, Data: map[string]string{"feature-gate.yaml": `
apiVersion: config.openshift.io/v1
kind: FeatureGate
metadata: {name: cluster}
status:
  featureGates:
  - version: 4.17.0
    enabled: [{name: Former}]
  - version: <version>
    enabled: [{name: WatchList}, {name: RouteAdvertisements}]
    disabled: [{name: Example}]
`}}

// withOpenShift gives the fixture a payload with every image of OpenShift's, under the keys of its own.
func (f *fixture) withOpenShift(more ...string) {
	f.payload.Kind = string(release.KindOpenShift)
	f.withPayload(append(slices.Clone(openShiftOnly), append(more, "machine-config-operator", "docker-builder", "deployer")...)...)
}

func (f *fixture) beginOpenShift(secrets ...corev1.Secret) {
	f.Helper()
	f.begin(secrets...)
	gates := featureGates.DeepCopy()
	gates.Data["feature-gate.yaml"] = strings.ReplaceAll(gates.Data["feature-gate.yaml"], "<version>", f.payload.Version)
	gates.Namespace = f.hcp.Namespace
	f.create(gates)
}

// The tables once more, with a payload of OpenShift's.
func TestOpenShiftTable(t *testing.T) {
	rows := loadTable(t)
	f := newFixture(t)
	f.hcp = inNamespace("openshift")
	f.hcp.Spec.ControllerAvailabilityPolicy = hyperv1.HighlyAvailable
	f.hcp.Spec.KubeAPIServerDNSName = customName
	f.hcp.Spec.Monitoring = forwarding
	f.withOpenShift("cluster-autoscaler")
	f.beginOpenShift()
	f.publishedPasses()
	f.pass()
	f.checkWorkloads(rows, planeHA)
	f.checkAuthorities(rows)
	f.checkCertificates(rows)
	f.checkKubeconfigs(rows)
	f.checkObjects("openshift", corev1.SchemeGroupVersion.WithKind("ConfigMap"))
	highlyAvailable := f.rendered()
	f.checkLogin()
	f.checkEmergencies()
	f.checkForwardingEnds()
	f.condition(hyperv1.ValidReleaseInfo, metav1.ConditionTrue, hyperv1.AsExpectedReason)

	secrets := &corev1.SecretList{}
	f.list(secrets)
	for _, name := range slices.Sorted(maps.Keys(openShiftPlanes)) {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t)
			f.hcp = inNamespace("openshift-" + name)
			f.hcp.Annotations = map[string]string{hyperv1.DisablePKIReconciliationAnnotation: "true"}
			openShiftPlanes[name](f.hcp)
			f.withOpenShift()
			f.beginOpenShift(append(secrets.Items, etcdKey)...)
			f.publishedPasses()
			if name != planeEncrypted {
				f.checkEndpoints(rows, name)
				f.checkPublishing(rows, name)
			}
			f.checkWorkloads(rows, name)
		})
	}
	checkVersions(t, rows, secrets.Items, highlyAvailable)
}

// checkForwardingEnds: where nobody asks for the metrics any more, nothing shows them.
func (f *fixture) checkForwardingEnds() {
	f.Helper()
	f.hcp.Spec.Monitoring = nil
	if err := f.client.Update(f.Context(), f.hcp); err != nil {
		f.Fatal(err)
	}
	f.pass()
	route := &unstructured.Unstructured{}
	route.SetGroupVersionKind(publish.RouteKind)
	for _, obj := range []client.Object{route, &appsv1.Deployment{}, &corev1.Service{}} {
		if err := f.client.Get(f.Context(), client.ObjectKey{Namespace: f.hcp.Namespace, Name: "metrics-proxy"}, obj); !apierrors.IsNotFound(err) {
			f.Errorf("%T metrics-proxy is still there: %v", obj, err)
		}
	}
}

// checkEmergencies: the API server trusts those whom the signers of access for emergencies certify, beside all others, and its pods go on.
func (f *fixture) checkEmergencies() {
	f.Helper()
	before := f.workloads()["Deployment/kube-apiserver"].template.Annotations[component.AnnotationConfigHash]
	own, signer := &corev1.ConfigMap{}, string(f.secrets()["root-ca"]["ca.crt"])
	f.get(own, "client-ca")
	f.create(&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "total-client-ca", Namespace: f.hcp.Namespace}, Data: map[string]string{"ca-bundle.crt": signer}})
	f.pass()
	trusted := &corev1.ConfigMap{}
	f.get(trusted, "client-ca")
	if text := trusted.Data["ca.crt"]; !strings.Contains(text, strings.TrimSpace(signer)) || !strings.HasPrefix(text, own.Data["ca.crt"]) {
		f.Errorf("client-ca is\n%s", text)
	}
	if after := f.workloads()["Deployment/kube-apiserver"].template.Annotations[component.AnnotationConfigHash]; after != before {
		f.Error("the API server's pods start anew for an authority that they read by themselves")
	}
}

// checkLogin: the first administrator's password is there and told of; with providers of the user's it goes, and one of them that cannot be
// made is told of.
func (f *fixture) checkLogin() {
	f.Helper()
	f.condition(hyperv1.ValidIDPConfiguration, metav1.ConditionTrue, "IDPConfigurationValid")
	password := &corev1.Secret{}
	f.get(password, "kubeadmin-password")
	if !regexp.MustCompile(`^([2-9a-zA-Z]{5}-){3}[2-9a-zA-Z]{5}$`).Match(password.Data["password"]) {
		f.Errorf("the password of kubeadmin has %d characters, want four groups of five", len(password.Data["password"]))
	}
	status := f.hcp.Status
	if status.KubeadminPassword == nil || status.KubeadminPassword.Name != password.Name ||
		status.OAuthCallbackURLTemplate != f.fill("https://<oauth>:443/oauth2callback/[identity-provider-name]") {
		f.Errorf("the status tells %+v and %q", status.KubeadminPassword, status.OAuthCallbackURLTemplate)
	}
	session := &corev1.Secret{}
	f.get(session, "oauth-openshift-session")
	f.hcp.Spec.Configuration = &hyperv1.ClusterConfiguration{OAuth: &runtime.RawExtension{Raw: []byte(`{"identityProviders":[
		{"name":"local","type":"HTPasswd","htpasswd":{"fileData":{"name":"users"}}},{"name":"typo","type":"GitHub"}]}`)}}
	if err := f.client.Update(f.Context(), f.hcp); err != nil {
		f.Fatal(err)
	}
	f.create(&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "users", Namespace: f.hcp.Namespace}, Data: map[string][]byte{"htpasswd": []byte("a:b")}})
	f.pass()
	f.condition(hyperv1.ValidIDPConfiguration, metav1.ConditionFalse, "IDPConfigurationError")
	if err := f.client.Get(f.Context(), client.ObjectKeyFromObject(password), password); !apierrors.IsNotFound(err) {
		f.Errorf("the password of kubeadmin, with providers of the user's: %v", err)
	}
	if f.hcp.Status.KubeadminPassword != nil {
		f.Error("the status tells of a password that is gone")
	}
	config, again := &corev1.ConfigMap{}, &corev1.Secret{}
	f.get(config, "oauth-openshift")
	f.get(again, session.Name)
	if text := config.Data["config.yaml"]; !strings.Contains(text, "/etc/oauth/idp/idp_secret_0_file-data/htpasswd") || strings.Contains(text, "GitHub") {
		f.Errorf("the server is told\n%s", text)
	}
	if !maps.EqualFunc(session.Data, again.Data, bytes.Equal) {
		f.Error("the sessions' key has changed")
	}
}
