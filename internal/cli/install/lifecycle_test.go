package install

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"

	hyperv1 "github.com/hypershift-on-azure/hypershift/api/v1beta1"
	"github.com/hypershift-on-azure/hypershift/internal/install"
	"github.com/hypershift-on-azure/hypershift/internal/kube/kubetest"
	"github.com/hypershift-on-azure/hypershift/internal/release/releasetest"
	"github.com/hypershift-on-azure/hypershift/internal/version"
)

const machinesCRD = "machines.cluster.x-k8s.io"

// TestInstallLifecycle is the life of an installation on a real API server of plain Kubernetes: refused, installed, installed again,
// changed, and taken away.
func TestInstallLifecycle(t *testing.T) {
	m := newManagement(t)

	// A missing domain is refused before anything is written.
	if out, err := m.hypershift("install"); err == nil || !strings.Contains(err.Error(), "--ingress-domain") || out != "" {
		t.Fatalf("without --ingress-domain: %v\n%s", err, out)
	}
	if m.exists("Namespace", "", "hypershift") {
		t.Fatal("a refused installation wrote")
	}
	m.foreignExternalDNS(t)
	registry := releasetest.New(t)
	handed := filepath.Join(t.TempDir(), "demo.yaml")
	flags := "install --ingress-domain apps.example.com --limit-crd-install Azure --handoff " + handed
	m.publishedImages(t, flags+" --image-registry "+registry.Host()+"/own", registry)
	out := m.must(flags)
	for _, line := range []string{
		"already exists PriorityClass hypershift-etcd", "applied CustomResourceDefinition " + install.RouteCRD, "applied Namespace hypershift",
		"applied Deployment hypershift/operator", "applied PodDisruptionBudget hypershift/operator", "applied Service hypershift/router",
	} {
		if !strings.Contains(out, line+"\n") {
			t.Errorf("no line %q in\n%s", line, out)
		}
	}
	if !strings.Contains(m.messages, "has no monitoring.coreos.com API") || strings.Contains(out, "ServiceMonitor") {
		t.Errorf("monitors without their API: %s", m.messages)
	}
	if crd := m.crd(machinesCRD); !served(crd, "v1beta1") || crd.Spec.Conversion.Webhook == nil {
		t.Error("v1beta1 is not converted")
	}

	m.againChangesNothing(t, flags)
	registry.Answer(http.StatusTooManyRequests)
	m.againChangesNothing(t, flags)
	registry.Answer(0)
	m.conversionCanBeTakenAway(t, flags)
	m.monitorsFollowTheirAPI(t, flags)
	m.formerStays(t, flags)
	m.uninstall(t)
}

// TestInstallScope: the two halves of an installation, each of which leaves the other out.
func TestInstallScope(t *testing.T) {
	m := newManagement(t)
	flags := "install --ingress-domain apps.example.com --limit-crd-install Azure --install-scope "
	if out := m.must(flags + "crds --wait-until-crds-established"); !strings.Contains(out, "applied CustomResourceDefinition "+machinesCRD+"\n") ||
		m.exists("Namespace", "", "hypershift") || !m.exists("CustomResourceDefinition", "", machinesCRD) {
		t.Errorf("crds:\n%s", out)
	}
	if _, err := m.hypershift(flags + "crds --wait-until-available"); err == nil || !strings.Contains(err.Error(), "which --install-scope crds leaves out") {
		t.Errorf("waiting for an operator that is left out: %v", err)
	}
	if out := m.must(flags + "resources"); strings.Contains(out, "CustomResourceDefinition") || !strings.Contains(out, "applied Deployment hypershift/operator\n") {
		t.Errorf("resources:\n%s", out)
	}
}

// publishedImages: what is not published is refused before anything is written; what is there is written by digest, and the hand-off file
// says where it came from.
func (m *managementCluster) publishedImages(t *testing.T, line string, registry *releasetest.Registry) {
	t.Helper()
	image := version.OperatorImageIn(registry.Host() + "/own")
	if _, err := m.hypershift(line); err == nil || !strings.Contains(err.Error(), "image "+image+" is not in the registry; publish it there with: hypershift images publish --to") {
		t.Errorf("an image that is not published: %v", err)
	}
	if m.exists("Namespace", "", "hypershift") {
		t.Fatal("a refused installation wrote")
	}
	published := releasetest.Payload{Version: "4.21.0"}.Build(t)
	registry.PushAs(t, image, published)
	registry.PushAs(t, version.ExternalDNSImageIn(registry.Host()+"/own"), published)
	digest, err := published.Digest()
	if err != nil {
		t.Fatal(err)
	}
	m.must(line)
	for _, name := range []string{"operator", "router"} {
		d := &appsv1.Deployment{}
		if err := m.Get(t.Context(), client.ObjectKey{Namespace: "hypershift", Name: name}, d); err != nil {
			t.Fatal(err)
		}
		if got := d.Spec.Template.Spec.Containers[0].Image; got != registry.Host()+"/own/hypershift-operator@"+digest.String() || d.Annotations[install.GivenImageAnnotation] != image {
			t.Errorf("%s runs %s, given as %s", name, got, d.Annotations[install.GivenImageAnnotation])
		}
	}
}

// foreignExternalDNS: the access of the user's own ExternalDNS is neither overwritten nor, later, deleted; before anything is written.
func (m *managementCluster) foreignExternalDNS(t *testing.T) {
	t.Helper()
	role := &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: install.ExternalDNSRole}}
	binding := &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: install.ExternalDNSRole}, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "view"},
	}
	for _, obj := range []client.Object{role, binding} {
		if err := m.Create(t.Context(), obj); err != nil {
			t.Fatal(err)
		}
	}
	out, err := m.hypershift("install --ingress-domain apps.example.com --limit-crd-install Azure --external-dns-provider aws" +
		" --external-dns-secret dns --external-dns-domain-filter example.com")
	if err == nil || !strings.Contains(err.Error(), "ClusterRole external-dns, ClusterRoleBinding external-dns") || out != "" {
		t.Errorf("a foreign ExternalDNS: %v\n%s", err, out)
	}
	if m.exists("Namespace", "", "hypershift") {
		t.Error("a refused installation wrote")
	}
	for _, obj := range []client.Object{role, binding} {
		if err := m.Delete(t.Context(), obj); err != nil {
			t.Fatal(err)
		}
	}
}

// againChangesNothing: what the operator wrote stays, and nothing is written.
func (m *managementCluster) againChangesNothing(t *testing.T, flags string) {
	t.Helper()
	crd := m.crd(machinesCRD)
	before := crd.DeepCopy()
	crd.Spec.Conversion.Webhook.ClientConfig.CABundle = m.config.CAData
	if err := m.Patch(t.Context(), crd, client.MergeFrom(before), client.FieldOwner("hypershift-operator-conversion")); err != nil {
		t.Fatal(err)
	}
	versions := m.versions(t)
	out := m.must(flags)
	if !strings.Contains(out, "already exists PriorityClass hypershift-etcd\n") {
		t.Errorf("an existing class is not reported:\n%s", out)
	}
	for name, version := range m.versions(t) {
		if versions[name] != version {
			t.Errorf("%s was written again", name)
		}
	}
	if len(m.crd(machinesCRD).Spec.Conversion.Webhook.ClientConfig.CABundle) == 0 {
		t.Error("the authority of the webhook was lost")
	}
}

func (m *managementCluster) conversionCanBeTakenAway(t *testing.T, flags string) {
	t.Helper()
	m.must(flags + " --disable-capi-conversion-webhook")
	if crd := m.crd(machinesCRD); served(crd, "v1beta1") || crd.Spec.Conversion.Strategy != apiextensionsv1.NoneConverter {
		t.Errorf("v1beta1 is served without conversion: %+v", crd.Spec.Conversion)
	}
	m.must(flags + " --disable-capi-migration")
	crd := m.crd(machinesCRD)
	for _, v := range crd.Spec.Versions {
		if v.Storage != (v.Name == "v1beta1") {
			t.Errorf("%s: stored is %v", v.Name, v.Storage)
		}
	}
	if !slices.Contains(crd.Status.StoredVersions, "v1beta1") {
		t.Fatalf("stored versions %v", crd.Status.StoredVersions)
	}
	// Now there may be objects that only the webhook can read.
	if _, err := m.hypershift(flags + " --disable-capi-conversion-webhook"); err == nil || !strings.Contains(err.Error(), "stored as v1beta1") {
		t.Errorf("objects of v1beta1 became unreadable: %v", err)
	}
	m.must(flags)
}

func (m *managementCluster) monitorsFollowTheirAPI(t *testing.T, flags string) {
	t.Helper()
	var crds []*apiextensionsv1.CustomResourceDefinition
	for kind, plural := range map[string]string{"ServiceMonitor": "servicemonitors", "PodMonitor": "podmonitors", "PrometheusRule": "prometheusrules"} {
		crds = append(crds, anyContent("monitoring.coreos.com", "v1", kind, plural))
	}
	if _, err := envtest.InstallCRDs(m.config, envtest.CRDInstallOptions{CRDs: crds}); err != nil {
		t.Fatal(err)
	}
	out := m.must(flags)
	for _, line := range []string{"applied ServiceMonitor hypershift/operator", "applied PrometheusRule hypershift/metrics"} {
		if !strings.Contains(out, line+"\n") {
			t.Errorf("no line %q in\n%s", line, out)
		}
	}
}

func (m *managementCluster) uninstall(t *testing.T) {
	t.Helper()
	foreign := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: metav1.NamespaceDefault, Name: "foreign"}}
	machine := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{"clusterName": "demo",
		"bootstrap":         map[string]any{"dataSecretName": "user-data"},
		"infrastructureRef": map[string]any{"apiGroup": "infrastructure.cluster.x-k8s.io", "kind": "AzureMachine", "name": "m"}}}}
	machine.SetGroupVersionKind(schema.GroupVersionKind{Group: "cluster.x-k8s.io", Version: "v1beta2", Kind: "Machine"})
	machine.SetNamespace(metav1.NamespaceDefault)
	machine.SetName("m")
	hcp := &hyperv1.HostedControlPlane{ObjectMeta: metav1.ObjectMeta{Namespace: metav1.NamespaceDefault, Name: "demo"}}
	for _, obj := range []client.Object{foreign, machine} {
		if err := m.Create(t.Context(), obj); err != nil {
			t.Fatal(err)
		}
	}
	m.createHostedControlPlane(t, hcp)
	versions := m.versions(t)
	if _, err := m.hypershift("uninstall"); err == nil || !strings.Contains(err.Error(), "HostedControlPlane default/demo") {
		t.Errorf("uninstalled under a hosted cluster: %v", err)
	}
	if err := m.Delete(t.Context(), hcp); err != nil {
		t.Fatal(err)
	}
	if _, err := m.hypershift("uninstall --delete-crds"); err == nil || !strings.Contains(err.Error(), machinesCRD+" (default/m)") {
		t.Errorf("a definition with objects is deleted: %v", err)
	}
	out := m.must("uninstall --dry-run")
	if !strings.Contains(out, "would delete Deployment hypershift/operator\n") || strings.Contains(out, "CustomResourceDefinition") {
		t.Errorf("dry run says\n%s", out)
	}
	if after := m.versions(t); len(after) != len(versions) {
		t.Errorf("refused or dry runs deleted something: %d objects of %d", len(after), len(versions))
	}
	stop := m.collect(t)
	defer stop()
	m.must("uninstall")
	if left := m.versions(t); len(left) > 0 {
		t.Errorf("left over: %v", left)
	}
	if !m.exists("CustomResourceDefinition", "", machinesCRD) || !m.exists("Secret", metav1.NamespaceDefault, "foreign") {
		t.Error("uninstall took more than install made")
	}
	if err := m.Delete(t.Context(), machine); err != nil {
		t.Fatal(err)
	}
	m.must("uninstall --delete-crds")
	for _, name := range []string{machinesCRD, install.RouteCRD, "hostedclusters.hypershift.openshift.io"} {
		if m.exists("CustomResourceDefinition", "", name) {
			t.Errorf("definition %s is left", name)
		}
	}
	if out := m.must("uninstall --delete-crds"); out != "" || !strings.Contains(m.messages, "nothing of an installation") {
		t.Errorf("a second time: %s%s", out, m.messages)
	}
}

// managementCluster is one management cluster with a client of ours and the commands that run against it.
type managementCluster struct {
	client.Client
	t        *testing.T
	config   *rest.Config
	messages string
}

func newManagement(t *testing.T) *managementCluster {
	t.Helper()
	config := kubetest.Start(t)
	t.Setenv("KUBECONFIG", kubetest.Kubeconfig(t, config, t.TempDir()))
	c, err := newInstallClient()
	if err != nil {
		t.Fatal(err)
	}
	return &managementCluster{Client: c, t: t, config: config}
}

func (m *managementCluster) hypershift(line string) (string, error) {
	root := &cobra.Command{SilenceErrors: true, SilenceUsage: true, TraverseChildren: true}
	root.AddCommand(NewCommand(), NewUninstallCommand())
	var out, messages bytes.Buffer
	root.SetOut(&out)
	root.SetErr(&messages)
	root.SetArgs(strings.Fields(line))
	err := root.ExecuteContext(m.t.Context())
	m.messages = messages.String()
	return out.String(), err
}

func (m *managementCluster) must(line string) string {
	m.t.Helper()
	out, err := m.hypershift(line)
	if err != nil {
		m.t.Fatalf("%s: %v\n%s%s", line, err, out, m.messages)
	}
	return out
}

func (m *managementCluster) exists(kind, namespace, name string) bool {
	m.t.Helper()
	obj := &metav1.PartialObjectMetadata{}
	groups := map[string]string{"CustomResourceDefinition": "apiextensions.k8s.io"}
	obj.SetGroupVersionKind(schema.GroupVersionKind{Group: groups[kind], Version: "v1", Kind: kind})
	err := m.Get(m.t.Context(), client.ObjectKey{Namespace: namespace, Name: name}, obj)
	if err != nil && !apierrors.IsNotFound(err) {
		m.t.Fatal(err)
	}
	return err == nil
}

func (m *managementCluster) crd(name string) *apiextensionsv1.CustomResourceDefinition {
	m.t.Helper()
	crd := &apiextensionsv1.CustomResourceDefinition{}
	if err := m.Get(m.t.Context(), client.ObjectKey{Name: name}, crd); err != nil {
		m.t.Fatal(err)
	}
	return crd
}

// versions are the resource versions of all that an installation consists of, but for the definitions.
func (m *managementCluster) versions(t *testing.T) map[string]string {
	t.Helper()
	versions := map[string]string{}
	for _, obj := range install.Everything("hypershift").Objects() {
		live := &metav1.PartialObjectMetadata{}
		gvk, err := m.GroupVersionKindFor(obj)
		if err != nil {
			t.Fatal(err)
		}
		live.SetGroupVersionKind(gvk)
		err = m.Get(t.Context(), client.ObjectKeyFromObject(obj), live)
		if apierrors.IsNotFound(err) || meta.IsNoMatchError(err) {
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		versions[fmt.Sprintf("%s %s/%s", gvk.Kind, obj.GetNamespace(), obj.GetName())] = live.ResourceVersion
	}
	return versions
}

func (m *managementCluster) createHostedControlPlane(t *testing.T, hcp *hyperv1.HostedControlPlane) {
	t.Helper()
	hcp.Spec = hyperv1.HostedControlPlaneSpec{
		ReleaseImage: "release:1", InfraID: "demo", IssuerURL: "https://issuer", ClusterID: "0f2f6f9c-0000-4000-8000-000000000001",
		Platform: hyperv1.PlatformSpec{Type: hyperv1.NonePlatform}, DNS: hyperv1.DNSSpec{BaseDomain: "example.com"},
		PullSecret: corev1.LocalObjectReference{Name: "pull-secret"}, SSHKey: corev1.LocalObjectReference{Name: "ssh-key"},
		Networking: hyperv1.ClusterNetworking{ClusterNetwork: []hyperv1.ClusterNetworkEntry{{CIDR: "10.132.0.0/14"}}},
		Etcd: hyperv1.EtcdSpec{ManagementType: hyperv1.Managed, Managed: &hyperv1.ManagedEtcdSpec{
			Storage: hyperv1.ManagedEtcdStorageSpec{Type: "PersistentVolume"}}},
	}
	for _, service := range []hyperv1.ServiceType{hyperv1.APIServer, hyperv1.Ignition, hyperv1.Konnectivity, hyperv1.OAuthServer} {
		hcp.Spec.Services = append(hcp.Spec.Services, hyperv1.ServicePublishingStrategyMapping{
			Service: service, ServicePublishingStrategy: hyperv1.ServicePublishingStrategy{Type: hyperv1.LoadBalancer},
		})
	}
	if err := m.Create(t.Context(), hcp); err != nil {
		t.Fatal(err)
	}
}

// collect does what the garbage collector and the namespace controller do, which an API server alone does not.
func (m *managementCluster) collect(t *testing.T) (stop func()) {
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for ctx.Err() == nil {
			var deployments appsv1.DeploymentList
			_ = m.List(ctx, &deployments, client.InNamespace("hypershift"))
			for i := range deployments.Items {
				d := &deployments.Items[i]
				if !d.DeletionTimestamp.IsZero() {
					d.Finalizers = nil
					_ = m.Update(ctx, d)
				}
			}
			namespace := &corev1.Namespace{}
			if err := m.Get(ctx, client.ObjectKey{Name: "hypershift"}, namespace); err == nil && !namespace.DeletionTimestamp.IsZero() {
				namespace.Spec.Finalizers = nil
				_ = m.SubResource("finalize").Update(ctx, namespace)
			}
			time.Sleep(50 * time.Millisecond)
		}
	}()
	return func() {
		cancel()
		<-ended
	}
}

func served(crd *apiextensionsv1.CustomResourceDefinition, version string) bool {
	return slices.ContainsFunc(crd.Spec.Versions, func(v apiextensionsv1.CustomResourceDefinitionVersion) bool { return v.Name == version && v.Served })
}

func anyContent(group, version, kind, plural string) *apiextensionsv1.CustomResourceDefinition {
	return &apiextensionsv1.CustomResourceDefinition{
		ObjectMeta: metav1.ObjectMeta{Name: plural + "." + group},
		Spec: apiextensionsv1.CustomResourceDefinitionSpec{
			Group: group, Scope: apiextensionsv1.NamespaceScoped,
			Names: apiextensionsv1.CustomResourceDefinitionNames{Kind: kind, ListKind: kind + "List", Plural: plural, Singular: strings.ToLower(kind)},
			Versions: []apiextensionsv1.CustomResourceDefinitionVersion{{
				Name: version, Served: true, Storage: true,
				Schema: &apiextensionsv1.CustomResourceValidation{OpenAPIV3Schema: &apiextensionsv1.JSONSchemaProps{Type: "object", XPreserveUnknownFields: ptr.To(true)}},
			}},
		},
	}
}
