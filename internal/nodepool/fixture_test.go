package nodepool

import (
	"context"
	"errors"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/yaml"

	hyperv1 "github.com/hypershift-on-azure/hypershift/api/v1beta1"
	"github.com/hypershift-on-azure/hypershift/internal/azure"
	"github.com/hypershift-on-azure/hypershift/internal/clusterapi"
	"github.com/hypershift-on-azure/hypershift/internal/ignition"
	"github.com/hypershift-on-azure/hypershift/internal/nodepool/asking"
	"github.com/hypershift-on-azure/hypershift/internal/release"
)

var update = flag.Bool("update", false, "rewrite golden files")

func golden(t *testing.T, name string, obj any) {
	t.Helper()
	got, err := yaml.Marshal(obj)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, got, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if string(want) != string(got) {
		t.Errorf("%s differs; run the test with -update and read the difference\n--- got\n%s", path, got)
	}
}

const cpns = "clusters-demo"

var now = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

func images() map[string]string {
	return map[string]string{"haproxy-router": "quay.io/art@sha256:3", "hyperkube": "quay.io/art@sha256:1"}
}

func payload() *release.Release {
	stream := &release.StreamMetadata{Architectures: map[string]release.StreamArchitecture{}}
	arch := release.StreamArchitecture{}
	arch.Extensions.Marketplace.Azure.NoPurchasePlan.HyperVGen2 = &release.MarketplaceImage{Publisher: "azureopenshift", Offer: "aro4", SKU: "421-v2", Version: "421.96.1"}
	stream.Architectures["x86_64"] = arch
	return &release.Release{Version: "4.21.0", Architecture: release.ArchAMD64, Images: images(), StreamMetadata: stream}
}

type fixedReleases struct {
	release *release.Release
	err     error
}

func (f fixedReleases) Lookup(context.Context, string, release.Access) (*release.Release, error) {
	return f.release, f.err
}

func hostedCluster() *hyperv1.HostedCluster {
	hc := &hyperv1.HostedCluster{ObjectMeta: metav1.ObjectMeta{Namespace: "clusters", Name: "demo", UID: "hc-uid"}}
	hc.Spec.InfraID = "demo-x7k2p"
	hc.Spec.PullSecret.Name = "demo-pull-secret"
	hc.Spec.Platform = hyperv1.PlatformSpec{Type: hyperv1.AzurePlatform, Azure: &hyperv1.AzurePlatformSpec{Location: "eastus"}}
	hc.Status.KubeConfig = &corev1.LocalObjectReference{Name: "demo-admin-kubeconfig"}
	hc.Status.IgnitionEndpoint = "ignition-server-clusters-demo.apps.example.com"
	hc.Status.ControlPlaneEndpoint = hyperv1.APIEndpoint{Host: "198.18.16.1", Port: 7443}
	hc.Status.Version = &hyperv1.ClusterVersionStatus{Desired: hyperv1.VersionRelease{Version: "4.21.0"}}
	return hc
}

func nodePool() *hyperv1.NodePool {
	np := &hyperv1.NodePool{ObjectMeta: metav1.ObjectMeta{Namespace: "clusters", Name: "demo", Generation: 1}}
	np.Spec.ClusterName = "demo"
	np.Spec.Release.Image = "quay.io/openshift-release-dev/ocp-release:4.21.0-x86_64"
	np.Spec.Replicas = ptr.To[int32](2)
	np.Spec.Management = hyperv1.NodePoolManagement{UpgradeType: hyperv1.UpgradeTypeReplace, Replace: &hyperv1.ReplaceUpgrade{
		Strategy: hyperv1.UpgradeStrategyRollingUpdate, RollingUpdate: &hyperv1.RollingUpdate{},
	}}
	np.Spec.Platform = hyperv1.NodePoolPlatform{Type: hyperv1.AzurePlatform, Azure: &hyperv1.AzureNodePoolPlatform{
		VMSize: "Standard_D4s_v3", EncryptionAtHost: "Enabled",
		Image:    hyperv1.AzureVMImage{Type: hyperv1.AzureMarketplaceImage, AzureMarketplace: &hyperv1.AzureMarketplaceSpec{ImageGeneration: "Gen2"}},
		OSDisk:   hyperv1.AzureNodePoolOSDisk{SizeGiB: 120, DiskStorageAccountType: "Premium_LRS"},
		SubnetID: "/subscriptions/s/resourceGroups/g/providers/Microsoft.Network/virtualNetworks/v/subnets/workers",
	}}
	np.Spec.NodeLabels = map[string]string{"tier": "gold"}
	np.Spec.Taints = []hyperv1.Taint{{Key: "dedicated", Value: "gpu", Effect: corev1.TaintEffectNoSchedule}}
	np.Spec.NodeDrainTimeout = &metav1.Duration{Duration: time.Minute}
	return np
}

// schemed hides that the fake client registers every unstructured kind it meets.
type schemed struct {
	client.Client
	scheme *runtime.Scheme
}

func (s schemed) Scheme() *runtime.Scheme { return s.scheme }

type world struct {
	*Reconciler
	writes []string
	// real: the objects are on an API server, where a status is written apart.
	real bool
}

func newWorld(t *testing.T, objects ...client.Object) *world {
	t.Helper()
	scheme, pristine := runtime.NewScheme(), runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{clientgoscheme.AddToScheme, hyperv1.AddToScheme} {
		if err := errors.Join(add(scheme), add(pristine)); err != nil {
			t.Fatal(err)
		}
	}
	w := &world{}
	c := fake.NewClientBuilder().WithScheme(scheme).WithObjects(objects...).WithStatusSubresource(&hyperv1.NodePool{}).
		WithInterceptorFuncs(w.noting()).Build()
	w.Reconciler = &Reconciler{
		client: schemed{c, pristine}, live: c, releases: fixedReleases{release: payload()}, now: func() time.Time { return now },
		newToken: func() string { return "3d2b8a0e-0000-4000-8000-000000000001" },
		resolve:  func(context.Context, string) error { return nil },
		ask:      func(context.Context, asking.Question) error { return nil },
		readSizes: func(context.Context, asking.Identity) (map[string]azure.MachineSize, error) {
			return map[string]azure.MachineSize{"standard_d4s_v3": {Name: "Standard_D4s_v3", VCPUs: 4, MemoryMiB: 16384, Arch: "amd64"}}, nil
		},
	}
	return w
}

// noting has the world remember what is written.
func (w *world) noting() interceptor.Funcs {
	note := func(verb string, obj any) {
		name := ""
		if named, ok := obj.(client.Object); ok {
			name = named.GetName()
		}
		w.writes = append(w.writes, strings.TrimSpace(verb+" "+name))
	}
	return interceptor.Funcs{
		Create: func(ctx context.Context, c client.WithWatch, obj client.Object, opts ...client.CreateOption) error {
			note("create", obj)
			return c.Create(ctx, obj, opts...)
		},
		Patch: func(ctx context.Context, c client.WithWatch, obj client.Object, patch client.Patch, opts ...client.PatchOption) error {
			note("patch", obj)
			return c.Patch(ctx, obj, patch, opts...)
		},
		Delete: func(ctx context.Context, c client.WithWatch, obj client.Object, opts ...client.DeleteOption) error {
			note("delete", obj)
			return c.Delete(ctx, obj, opts...)
		},
		Apply: func(ctx context.Context, c client.WithWatch, obj runtime.ApplyConfiguration, opts ...client.ApplyOption) error {
			note("apply", obj)
			return c.Apply(ctx, obj, opts...)
		},
		SubResourcePatch: func(ctx context.Context, c client.Client, sub string, obj client.Object, patch client.Patch, opts ...client.SubResourcePatchOption) error {
			note("patch "+sub, obj)
			return c.SubResource(sub).Patch(ctx, obj, patch, opts...)
		},
	}
}

func surroundings(t *testing.T) []client.Object {
	t.Helper()
	objects := []client.Object{
		hostedCluster(),
		&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "clusters", Name: "demo-pull-secret"}, Data: map[string][]byte{hyperv1.PullSecretKey: []byte("{}")}},
		&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: cpns, Name: ignitionCASecret}, Data: map[string][]byte{corev1.TLSCertKey: []byte("CERT")}},
	}
	core, err := ignition.CoreConfigMaps(cpns, "ssh-ed25519 AAAA", false, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, config := range core {
		objects = append(objects, config)
	}
	return objects
}

func (w *world) pass(t *testing.T) (ctrl.Result, error) {
	t.Helper()
	w.writes = nil
	return w.Reconcile(t.Context(), ctrl.Request{NamespacedName: client.ObjectKey{Namespace: "clusters", Name: "demo"}})
}

func (w *world) pool(t *testing.T) *hyperv1.NodePool {
	t.Helper()
	np := &hyperv1.NodePool{}
	if err := w.client.Get(t.Context(), client.ObjectKey{Namespace: "clusters", Name: "demo"}, np); err != nil {
		t.Fatal(err)
	}
	return np
}

func condition(np *hyperv1.NodePool, name string) hyperv1.NodePoolCondition {
	for _, c := range np.Status.Conditions {
		if c.Type == name {
			return c
		}
	}
	return hyperv1.NodePoolCondition{}
}

func (w *world) object(t *testing.T, gvk schema.GroupVersionKind, name string) *unstructured.Unstructured {
	t.Helper()
	obj := clusterapi.New(gvk, cpns, name)
	if err := w.client.Get(t.Context(), client.ObjectKeyFromObject(obj), obj); err != nil {
		t.Fatal(err)
	}
	return obj
}

// manifest is an object as a person would write it.
func manifest(obj *unstructured.Unstructured) map[string]any {
	out := obj.DeepCopy()
	for _, field := range []string{"resourceVersion", "managedFields", "uid", "creationTimestamp", "generation"} {
		unstructured.RemoveNestedField(out.Object, "metadata", field)
	}
	annotations := out.GetAnnotations()
	for key := range annotations {
		if strings.Contains(key, "desired-hash") { // the business of internal/kube
			delete(annotations, key)
		}
	}
	out.SetAnnotations(annotations)
	return out.Object
}
