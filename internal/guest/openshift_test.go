package guest

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	configv1 "github.com/openshift/api/config/v1"
	operatorv1 "github.com/openshift/api/operator/v1"
	"golang.org/x/crypto/bcrypt"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	hyperv1 "github.com/hypershift-on-azure/hypershift/api/v1beta1"
	"github.com/hypershift-on-azure/hypershift/internal/contract"
	"github.com/hypershift-on-azure/hypershift/internal/controlplane/table"
	"github.com/hypershift-on-azure/hypershift/internal/guest/configuration"
	"github.com/hypershift-on-azure/hypershift/internal/guest/guesttest"
	"github.com/hypershift-on-azure/hypershift/internal/guest/inside"
)

const (
	firstPassword = "aaaaa-bbbbb-ccccc-ddddd"
	loginURL      = "https://oauth.demo.example.com:443"
)

// forwarderConfig leads to the proxy of the control plane's metrics.
const forwarderConfig = `defaults
  mode tcp
  timeout connect 5s
  timeout client 30s
  timeout server 30s
frontend metrics
  bind *:9443
  default_backend proxy
backend proxy
  server proxy metrics.example.com:443
`

// factsOfOpenShift are those of the guest on Azure, and what only a payload of OpenShift's has.
func factsOfOpenShift() map[string]any {
	facts := maps.Clone(factsOfRows[guestAzure])
	facts["login"], facts["haproxy"] = loginURL, forwarderConfig
	return facts
}

// TestGuestOfOpenShift asserts the table for a guest on Azure with a payload of OpenShift's, whose aggregated API servers are Services of the
// control plane. The kinds and namespaces that its version operator brings are there, and the status that it writes.
func TestGuestOfOpenShift(t *testing.T) {
	brought := append(guesttest.OpenShiftDefinitions(t), standIn(configuration.CatalogKind, "catalogsources", apiextensionsv1.NamespaceScoped),
		standIn(configuration.MonitorKind, "servicemonitors", apiextensionsv1.NamespaceScoped), standIn(configuration.RuleKind, "prometheusrules", apiextensionsv1.NamespaceScoped),
		standIn(configuration.PodMonitorKind, "podmonitors", apiextensionsv1.NamespaceScoped))
	for _, name := range []string{"openshift-marketplace", "openshift-ingress-operator", "openshift-image-registry", "openshift-cluster-csi-drivers", contract.MonitoringNamespace} {
		brought = append(brought, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}})
	}
	hcp := azureGuest()
	hcp.Spec.Monitoring = &hyperv1.Monitoring{MetricsForwarding: &hyperv1.MetricsForwarding{Mode: "Forward"}}
	s := startOperatorOf(t, hcp, guesttest.OpenShiftImages(), brought...)
	s.create(&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: testNamespace, Name: contract.MetricsProxyConfig}, Data: map[string]string{
		"config.yaml": "components: [{name: etcd}]", contract.MetricsProxyHost: "metrics.example.com", contract.CAKey: "proxy authority"}})
	facts := factsOfOpenShift()
	for _, name := range []string{"openshift-apiserver", "openshift-oauth-apiserver", "packageserver"} {
		service := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: testNamespace, Name: name}, Spec: corev1.ServiceSpec{Ports: []corev1.ServicePort{{Port: 443}}}}
		s.create(service)
		facts[name] = service.Spec.ClusterIP
	}
	factsOfRows[table.GuestOpenShift] = facts
	s.create(&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: testNamespace, Name: "oauth-master-ca-bundle"}, Data: map[string]string{"ca.crt": "log-in authority"}})
	s.create(&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: testNamespace, Name: contract.KubeadminPassword}, StringData: map[string]string{hyperv1.KubeadminPasswordKey: firstPassword}})
	kubelets := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: testNamespace, Name: "any",
		Labels: map[string]string{contract.KubeletConfigLabel: "true", hyperv1.NodePoolLabel: "np"}}, Data: map[string]string{"config": "of kubelets"}}
	s.create(kubelets)
	for _, stage := range []struct {
		version string
		policy  hyperv1.AvailabilityPolicy
	}{{"4.18.0", hyperv1.SingleReplica}, {"4.21.0", hyperv1.SingleReplica}, {"4.21.0", hyperv1.HighlyAvailable}, {"5.0.0", hyperv1.HighlyAvailable}} {
		s.becomes(stage.version, stage.policy)
		facts["infrastructure replicas"] = map[hyperv1.AvailabilityPolicy]int{hyperv1.SingleReplica: 1, hyperv1.HighlyAvailable: 2}[stage.policy]
		facts["infrastructure topology"] = string(stage.policy)
		s.versionOperator()
		s.checkTable(table.GuestOpenShift)
	}
	s.usersKeep()
	s.firstAdministrator()
	s.noCatalogs()
	s.notForwarded()
	s.trustOfBuilds()
	s.kubeletConfigs(kubelets)
	s.observes()
}

// becomes changes the hosted control plane's release and the availability of its guest's infrastructure. What is only made with a guest is made anew.
func (s *server) becomes(version string, policy hyperv1.AvailabilityPolicy) {
	s.t.Helper()
	hcp := s.plane()
	stored := hcp.DeepCopy()
	before := hcp.Spec.InfrastructureAvailabilityPolicy
	hcp.Spec.ReleaseImage, hcp.Spec.InfrastructureAvailabilityPolicy = "quay.io/r:"+version, policy
	s.must(s.client.Patch(s.t.Context(), hcp, client.MergeFrom(stored)))
	stored = hcp.DeepCopy()
	hcp.Status.ControlPlaneVersion = &hyperv1.ControlPlaneVersionStatus{Desired: hyperv1.VersionRelease{Version: version, Image: hcp.Spec.ReleaseImage}}
	s.must(s.client.Status().Patch(s.t.Context(), hcp, client.MergeFrom(stored)))
	if before == policy {
		return
	}
	for _, kind := range []schema.GroupVersionKind{configuration.RegistryKind, operatorv1.GroupVersion.WithKind("IngressController")} {
		all := &unstructured.UnstructuredList{}
		all.SetGroupVersionKind(kind)
		s.must(s.client.List(s.t.Context(), all))
		for i := range all.Items {
			obj := &all.Items[i]
			obj.SetFinalizers(nil)
			s.must(errors.Join(s.client.Update(s.t.Context(), obj), s.client.Delete(s.t.Context(), obj)))
		}
	}
}

// observes: the control plane has what its programs take from the guest, as long as the guest has it.
func (s *server) observes() {
	s.t.Helper()
	build := &configv1.Build{ObjectMeta: metav1.ObjectMeta{Name: configuration.Singleton}, Spec: configv1.BuildSpec{BuildOverrides: configv1.BuildOverrides{ForcePull: ptr.To(true)}}}
	authority := func(name string) *corev1.ConfigMap {
		return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: contract.ManagedNamespace, Name: name}, Data: map[string]string{contract.CABundleKey: "of " + name}}
	}
	services, routers := authority("service-ca"), authority("default-ingress-cert")
	s.create(build, services, routers)
	s.poke()
	seen := &corev1.ConfigMap{}
	s.eventually(func() error {
		seen = &corev1.ConfigMap{}
		return s.client.Get(s.t.Context(), client.ObjectKey{Namespace: testNamespace, Name: contract.ObservedConfigPrefix + "build"}, seen)
	})
	copied := &configv1.Build{}
	s.must(yaml.Unmarshal([]byte(seen.Data["config"]), copied))
	if copied.Spec.BuildOverrides.ForcePull == nil || !*copied.Spec.BuildOverrides.ForcePull {
		s.t.Errorf("the control plane has %s", seen.Data["config"])
	}
	s.eventually(s.has(&corev1.ConfigMap{}, testNamespace+"/"+contract.ServiceAuthority, `{"data":{"service-ca.crt":"of service-ca"}}`))
	s.eventually(s.has(&corev1.ConfigMap{}, testNamespace+"/observed-default-ingress-cert", `{"data":{"ca.crt":"of default-ingress-cert"}}`))
	s.must(s.gone(testNamespace, contract.ObservedConfigPrefix+"project")())
	for _, obj := range []client.Object{build, services, routers} {
		s.must(s.client.Delete(s.t.Context(), obj))
	}
	s.poke()
	for _, name := range []string{contract.ObservedConfigPrefix + "build", contract.ServiceAuthority, "observed-default-ingress-cert"} {
		s.eventually(s.gone(testNamespace, name))
	}
}

// notForwarded: nothing of the forwarding is left where nobody asks for it any more.
func (s *server) notForwarded() {
	s.t.Helper()
	hcp := s.plane()
	stored := hcp.DeepCopy()
	hcp.Spec.Monitoring = nil
	s.must(s.client.Patch(s.t.Context(), hcp, client.MergeFrom(stored)))
	s.eventually(s.gone(contract.MonitoringNamespace, "metrics-forwarder-config"))
	s.eventually(s.gone(contract.MonitoringNamespace, inside.MetricsProxyServingCA))
	s.eventually(func() error {
		list := &unstructured.UnstructuredList{}
		list.SetGroupVersionKind(configuration.PodMonitorKind)
		if err := s.client.List(s.t.Context(), list); err != nil || len(list.Items) > 0 {
			return errors.Join(err, fmt.Errorf("%d monitors", len(list.Items)))
		}
		return nil
	})
}

// trustOfBuilds: builds trust what the cluster's proxy is trusted by, as long as the user names it.
func (s *server) trustOfBuilds() {
	s.t.Helper()
	s.create(&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: testNamespace, Name: proxyTrust}, Data: map[string]string{hyperv1.TrustBundleKey: "proxy's trust"}})
	hcp := s.plane()
	stored := hcp.DeepCopy()
	hcp.Spec.Configuration = &hyperv1.ClusterConfiguration{Proxy: &hyperv1.ProxySpec{TrustedCA: &corev1.LocalObjectReference{Name: proxyTrust}}}
	s.must(s.client.Patch(s.t.Context(), hcp, client.MergeFrom(stored)))
	const name = contract.OpenShiftControllerManager + "/openshift-user-ca"
	s.eventually(s.has(&corev1.ConfigMap{}, name, `{"data":{"ca-bundle.crt":"proxy's trust"}}`))
	hcp = s.plane()
	stored = hcp.DeepCopy()
	hcp.Spec.Configuration = nil
	s.must(s.client.Patch(s.t.Context(), hcp, client.MergeFrom(stored)))
	s.eventually(s.gone(contract.OpenShiftControllerManager, "openshift-user-ca"))
}

// gone tells that a ConfigMap is still there.
func (s *server) gone(namespace, name string) func() error {
	return func() error {
		if err := s.client.Get(s.t.Context(), client.ObjectKey{Namespace: namespace, Name: name}, &corev1.ConfigMap{}); !apierrors.IsNotFound(err) {
			return fmt.Errorf("ConfigMap %s is still there: %w", name, errors.Join(err, errors.New("found")))
		}
		return nil
	}
}

// kubeletConfigs: a copy outlives its source as long as the pool has a machine.
func (s *server) kubeletConfigs(source *corev1.ConfigMap) {
	s.t.Helper()
	machine := guesttest.MachineWith(nil, "")
	machine.SetNamespace(testNamespace)
	machine.Object["spec"] = map[string]any{"clusterName": "demo", "bootstrap": map[string]any{"dataSecretName": "x"},
		"infrastructureRef": map[string]any{"apiGroup": "infrastructure.cluster.x-k8s.io", "kind": "AzureMachine", "name": "np-1"}}
	s.create(machine)
	s.must(s.client.Delete(s.t.Context(), source))
	// The pass that copies the first of them has seen that the source is gone, and is over when another copies the second.
	for _, name := range []string{"later", "latest"} {
		s.create(&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: testNamespace, Name: name, Labels: source.Labels}, Data: source.Data})
		s.eventually(s.has(&corev1.ConfigMap{}, contract.ManagedNamespace+"/"+name, `{"data":{"config":"of kubelets"}}`))
	}
	s.must(s.has(&corev1.ConfigMap{}, contract.ManagedNamespace+"/any", `{"data":{"config":"of kubelets"}}`)())
	s.must(s.client.Delete(s.t.Context(), machine))
	s.poke()
	s.eventually(s.gone(contract.ManagedNamespace, "any"))
	s.must(s.has(&corev1.ConfigMap{}, contract.ManagedNamespace+"/later", `{"data":{"config":"of kubelets"}}`)())
}

// noCatalogs: who wants no default catalogs has none.
func (s *server) noCatalogs() {
	s.t.Helper()
	hcp := s.plane()
	stored := hcp.DeepCopy()
	hcp.Spec.Configuration = &hyperv1.ClusterConfiguration{OperatorHub: &hyperv1.OperatorHubSpec{DisableAllDefaultSources: true}}
	s.must(s.client.Patch(s.t.Context(), hcp, client.MergeFrom(stored)))
	s.eventually(func() error {
		list := &unstructured.UnstructuredList{}
		list.SetGroupVersionKind(configuration.CatalogKind.GroupVersion().WithKind("CatalogSourceList"))
		if err := s.client.List(s.t.Context(), list); err != nil || len(list.Items) > 0 {
			return errors.Join(err, fmt.Errorf("%d catalogs", len(list.Items)))
		}
		return nil
	})
}

// versionOperator writes the status of the ClusterVersion, as OpenShift's does.
func (s *server) versionOperator() {
	s.t.Helper()
	image := s.plane().Spec.ReleaseImage
	release := versionOf(image)
	version := &configv1.ClusterVersion{}
	s.eventually(func() error {
		return s.client.Get(s.t.Context(), client.ObjectKey{Name: configuration.ClusterVersionName}, version)
	})
	s.eventually(func() error {
		if err := s.client.Get(s.t.Context(), client.ObjectKey{Name: configuration.ClusterVersionName}, version); err != nil {
			return err
		}
		version.Status.Desired = configv1.Release{Version: release, Image: image}
		version.Status.VersionHash, version.Status.AvailableUpdates = "hash", []configv1.Release{}
		version.Status.Capabilities.KnownCapabilities = []configv1.ClusterVersionCapability{configv1.ClusterVersionCapabilityConsole, configv1.ClusterVersionCapabilityIngress, configv1.ClusterVersionCapabilityBaremetal}
		version.Status.History = []configv1.UpdateHistory{{State: configv1.CompletedUpdate, StartedTime: metav1.Now(), CompletionTime: ptr.To(metav1.Now()), Version: release, Image: image}}
		return s.client.Status().Update(s.t.Context(), version)
	})
}

// standIn defines a kind whose own definition is in no module here: it takes any field.
func standIn(kind schema.GroupVersionKind, plural string, scope apiextensionsv1.ResourceScope) *apiextensionsv1.CustomResourceDefinition {
	anything := &apiextensionsv1.JSONSchemaProps{Type: "object", XPreserveUnknownFields: ptr.To(true)}
	return &apiextensionsv1.CustomResourceDefinition{
		ObjectMeta: metav1.ObjectMeta{Name: plural + "." + kind.Group},
		Spec: apiextensionsv1.CustomResourceDefinitionSpec{Group: kind.Group, Scope: scope,
			Names:    apiextensionsv1.CustomResourceDefinitionNames{Plural: plural, Singular: strings.ToLower(kind.Kind), Kind: kind.Kind, ListKind: kind.Kind + "List"},
			Versions: []apiextensionsv1.CustomResourceDefinitionVersion{{Name: kind.Version, Served: true, Storage: true, Schema: &apiextensionsv1.CustomResourceValidation{OpenAPIV3Schema: anything}}}},
	}
}

// poke starts a pass.
func (s *server) poke() {
	s.t.Helper()
	hcp := s.plane()
	stored := hcp.DeepCopy()
	hcp.Annotations = map[string]string{"poke": hcp.Annotations["poke"] + "."}
	s.must(s.client.Patch(s.t.Context(), hcp, client.MergeFrom(stored)))
}

// firstAdministrator: the guest has a hash of the password, which is noted on it and comes back; without a password nobody gets in by it.
func (s *server) firstAdministrator() {
	s.t.Helper()
	password, hash := &corev1.Secret{}, &corev1.Secret{}
	at := func(namespace, name string) client.ObjectKey {
		return client.ObjectKey{Namespace: namespace, Name: name}
	}
	matches := func() error {
		if err := errors.Join(s.client.Get(s.t.Context(), at(testNamespace, contract.KubeadminPassword), password),
			s.client.Get(s.t.Context(), at(inside.KubeSystem, inside.Kubeadmin), hash)); err != nil {
			return err
		}
		if noted := password.Annotations[contract.KubeadminHash]; noted != string(hash.Data[inside.Kubeadmin]) {
			return fmt.Errorf("the password has %q noted on it", noted)
		}
		return bcrypt.CompareHashAndPassword(hash.Data[inside.Kubeadmin], password.Data[hyperv1.KubeadminPasswordKey])
	}
	s.eventually(matches)
	before := string(hash.Data[inside.Kubeadmin])
	other, err := bcrypt.GenerateFromPassword([]byte("mine"), bcrypt.MinCost)
	s.must(err)
	hash.Data[inside.Kubeadmin] = other
	s.must(s.client.Update(s.t.Context(), hash))
	s.eventually(matches)
	if after := string(hash.Data[inside.Kubeadmin]); after != before {
		s.t.Errorf("hash %s, want the one before, %s", after, before)
	}
	s.must(s.client.Delete(s.t.Context(), password))
	s.poke()
	s.eventually(func() error {
		if err := s.client.Get(s.t.Context(), at(inside.KubeSystem, inside.Kubeadmin), hash); !apierrors.IsNotFound(err) {
			return fmt.Errorf("the first administrator gets in: %w", errors.Join(err, errors.New("found")))
		}
		return nil
	})
}

// TestOAuthClients asserts the rows of the OAuth server's clients, whose API is a definition here, and that a secret stays.
func TestOAuthClients(t *testing.T) {
	s := startOperatorOf(t, azureGuest(), guesttest.OpenShiftImages(), append(guesttest.OpenShiftDefinitions(t),
		standIn(configuration.OAuthClientKind, "oauthclients", apiextensionsv1.ClusterScoped))...)
	s.eventually(func() error {
		hcp := s.plane()
		hcp.Status.OAuthCallbackURLTemplate = loginURL + contract.OAuthCallback
		return s.client.Status().Update(t.Context(), hcp)
	})
	s.poke()
	rows, err := table.Load()
	s.must(err)
	factsOfRows[table.GuestOpenShift] = factsOfOpenShift()
	c := &guestTable{server: s, guest: table.GuestOpenShift, byKind: map[string][]schema.GroupVersionKind{configuration.OAuthClientKind.Kind: {configuration.OAuthClientKind}}}
	secret := func() string {
		obj := &unstructured.Unstructured{}
		obj.SetGroupVersionKind(configuration.OAuthClientKind)
		s.must(s.client.Get(t.Context(), client.ObjectKey{Name: "openshift-browser-client"}, obj))
		text, _, _ := unstructured.NestedString(obj.Object, "secret")
		return text
	}
	all := func() error {
		var failed []error
		for _, row := range rowsOf(rows) {
			if _, group, _, _ := row.Reference(); group == "oauth.openshift.io" {
				failed = append(failed, c.there(row))
			}
		}
		return errors.Join(failed...)
	}
	s.eventually(all)
	before := secret()
	if len(before) != 32 {
		t.Errorf("secret %q", before)
	}
	gone := &unstructured.Unstructured{}
	gone.SetGroupVersionKind(configuration.OAuthClientKind)
	gone.SetName("openshift-cli-client")
	s.must(s.client.Delete(t.Context(), gone))
	s.poke()
	s.eventually(all)
	if after := secret(); after != before {
		t.Errorf("secret %q, want %q as before", after, before)
	}
}

// usersKeep: what users of the guest set where it is theirs stays, and the rest comes back.
func (s *server) usersKeep() {
	s.t.Helper()
	at := func(kind schema.GroupVersionKind, namespace, name string) *unstructured.Unstructured {
		obj := &unstructured.Unstructured{}
		obj.SetGroupVersionKind(kind)
		obj.SetNamespace(namespace)
		obj.SetName(name)
		s.must(s.client.Get(s.t.Context(), client.ObjectKeyFromObject(obj), obj))
		return obj
	}
	credential := operatorv1.GroupVersion.WithKind("CloudCredential")
	controller := operatorv1.GroupVersion.WithKind("IngressController")
	secret, _, _ := unstructured.NestedString(at(configuration.RegistryKind, "", configuration.Singleton).Object, "spec", "httpSecret")
	if len(secret) != 128 {
		s.t.Errorf("httpSecret has %d characters", len(secret))
	}
	patch := func(obj *unstructured.Unstructured, text string) {
		s.must(s.client.Patch(s.t.Context(), obj, client.RawPatch(types.MergePatchType, []byte(text)), client.FieldOwner("somebody")))
	}
	patch(at(configuration.RegistryKind, "", configuration.Singleton), `{"spec":{"managementState":"Unmanaged","replicas":5}}`)
	patch(at(controller, "openshift-ingress-operator", "default"), `{"spec":{"replicas":3}}`)
	patch(at(credential, "", configuration.Singleton), `{"spec":{"credentialsMode":"Mint","managementState":"Unmanaged"}}`)
	s.poke()
	s.eventually(func() error {
		return within(map[string]any{"credentialsMode": "Manual", "managementState": "Unmanaged"}, at(credential, "", configuration.Singleton).Object["spec"], "CloudCredential")
	})
	registry := at(configuration.RegistryKind, "", configuration.Singleton)
	s.must(errors.Join(
		within(map[string]any{"managementState": "Unmanaged", "replicas": 5, "httpSecret": secret}, registry.Object["spec"], "registry"),
		within(map[string]any{"replicas": 3}, at(controller, "openshift-ingress-operator", "default").Object["spec"], "IngressController")))
	if !slices.Contains(registry.GetFinalizers(), "imageregistry.operator.openshift.io/finalizer") {
		s.must(fmt.Errorf("finalizers %v", registry.GetFinalizers()))
	}
}
