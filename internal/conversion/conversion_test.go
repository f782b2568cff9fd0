package conversion

import (
	"context"
	"reflect"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/hypershift-on-azure/hypershift/internal/contract"
)

const testNamespace = "hypershift"

var everyKind = []string{
	formerCluster, formerMachine, formerMachineSet, formerHealthCheck, formerPool, formerClass, currentDeployment, currentDrainRule, formerAzurePool,
}

// TestNoVersionLosesAnything is three hosted clusters whose Cluster API objects are written by clients of both versions, while the
// operator is restarted and its authority replaced.
func TestNoVersionLosesAnything(t *testing.T) {
	world := newWorld(t)
	first, second := world.replica(t), world.replica(t)
	world.publish(t, first, second)
	clusters := []string{"one", "two", "three"}
	for _, cluster := range clusters {
		world.create(t, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: cluster}})
		for _, text := range everyKind {
			world.create(t, object(t, text, cluster))
		}
	}
	// One replica is enough, whichever it is.
	first.stop(t)
	world.publish(t, second)
	for _, cluster := range clusters {
		world.readAsWritten(t, cluster)
		world.readTranslated(t, cluster)
	}
	second.stop(t)
	third := world.replica(t)
	world.publish(t, third)
	for _, cluster := range clusters {
		world.rewriteAsOther(t, cluster)
		world.readAsWritten(t, cluster)
		world.readTranslated(t, cluster)
	}
	third.stop(t)
}

// readAsWritten compares what a client reads in the version that it wrote.
func (w *world) readAsWritten(t *testing.T, cluster string) {
	t.Helper()
	for _, text := range everyKind {
		want := object(t, text, cluster)
		got := w.get(t, want.GroupVersionKind(), cluster, want.GetName())
		if !reflect.DeepEqual(got.Object["spec"], want.Object["spec"]) {
			t.Errorf("%s %s/%s in %s:\n got %v\nwant %v", want.GetKind(), cluster, want.GetName(), want.GetAPIVersion(), got.Object["spec"], want.Object["spec"])
		}
	}
}

// readTranslated looks at fields that the other version has at another place.
func (w *world) readTranslated(t *testing.T, cluster string) {
	t.Helper()
	for _, c := range []struct {
		version, kind, name string
		path                []string
		want                any
	}{
		{"v1beta2", "Machine", "machine", []string{"spec", "deletion", "nodeDrainTimeoutSeconds"}, int64(600)},
		{"v1beta2", "Machine", "machine", []string{"spec", "infrastructureRef", "apiGroup"}, "infrastructure.cluster.x-k8s.io"},
		{"v1beta2", "Cluster", "cluster", []string{"spec", "controlPlaneRef", "kind"}, "HostedControlPlane"},
		{"v1beta2", "MachineHealthCheck", "check", []string{"spec", "checks", "nodeStartupTimeoutSeconds"}, int64(900)},
		{"v1beta2", "MachinePool", "pool", []string{"spec", "template", "spec", "deletion", "nodeDrainTimeoutSeconds"}, int64(360)},
		{"v1beta2", "ClusterClass", "class", []string{"spec", "infrastructure", "templateRef", "kind"}, "AzureClusterTemplate"},
		{"v1beta1", "MachineDeployment", "deployment", []string{"spec", "template", "spec", "nodeDrainTimeout"}, "5m0s"},
		{"v1beta1", "MachineDeployment", "deployment", []string{"spec", "strategy", "rollingUpdate", "maxSurge"}, int64(2)},
	} {
		got := w.get(t, schema.GroupVersionKind{Group: "cluster.x-k8s.io", Version: c.version, Kind: c.kind}, cluster, c.name)
		value, _, err := unstructured.NestedFieldNoCopy(got.Object, c.path...)
		if err != nil || !reflect.DeepEqual(value, c.want) {
			t.Errorf("%s %s/%s in %s: %v is %v, want %v (%v)", c.kind, cluster, c.name, c.version, c.path, value, c.want, err)
		}
	}
}

// rewriteAsOther is a client of the other version that adds a label and writes back all that it read.
func (w *world) rewriteAsOther(t *testing.T, cluster string) {
	t.Helper()
	for _, text := range everyKind {
		written := object(t, text, cluster)
		kind := written.GroupVersionKind()
		kind.Version = map[string]string{"v1alpha1": "v1beta1", "v1beta1": "v1beta2", "v1beta2": "v1beta1"}[kind.Version]
		other := w.get(t, kind, cluster, written.GetName())
		other.SetLabels(map[string]string{"touched": kind.Version})
		if err := w.client.Update(t.Context(), other); err != nil {
			t.Fatalf("update %s %s as %s: %v", kind.Kind, other.GetName(), kind.Version, err)
		}
		if label := w.get(t, written.GroupVersionKind(), cluster, written.GetName()).GetLabels()["touched"]; label != kind.Version {
			t.Errorf("%s %s: the label written as %s is %q", kind.Kind, other.GetName(), kind.Version, label)
		}
	}
}

// TestAuthorityIsReplacedWithoutDistrust: the definitions trust the new authority before the webhook shows a certificate of it, and
// the former as long as it lives.
func TestAuthorityIsReplacedWithoutDistrust(t *testing.T) {
	world := newWorld(t)
	now := time.Now()
	keeper := New(testNamespace)
	keeper.Client, keeper.Now = world.client, func() time.Time { return now }
	reconcile := func() {
		t.Helper()
		if _, err := keeper.Reconcile(t.Context(), ctrl.Request{}); err != nil {
			t.Fatal(err)
		}
	}
	reconcile()
	before := world.authority(t)
	writes := world.bundleOf(t, "machines.cluster.x-k8s.io").ResourceVersion
	reconcile()
	if world.bundleOf(t, "machines.cluster.x-k8s.io").ResourceVersion != writes {
		t.Error("a second look writes again")
	}
	now = now.Add(keeper.Policy.AuthorityValidity - keeper.Policy.AuthorityRenewal() + time.Hour)
	reconcile()
	after := world.authority(t)
	if string(after.Data[corev1.TLSCertKey]) == string(before.Data[corev1.TLSCertKey]) {
		t.Fatal("the authority was not replaced before its end")
	}
	for _, name := range []string{"machines.cluster.x-k8s.io", "hostedclusters.hypershift.openshift.io"} {
		bundle := string(world.bundleOf(t, name).Spec.Conversion.Webhook.ClientConfig.CABundle)
		if want := string(after.Data[corev1.TLSCertKey]) + string(before.Data[corev1.TLSCertKey]); bundle != want {
			t.Errorf("%s trusts\n%s\nwant both authorities", name, bundle)
		}
	}
	if world.bundleOf(t, "azuremachines.infrastructure.cluster.x-k8s.io").Spec.Conversion.Webhook != nil {
		t.Error("a definition with one version got a webhook")
	}
	now = now.Add(keeper.Policy.AuthorityRenewal())
	reconcile()
	if bundle := string(world.authority(t).Data[contract.CABundleKey]); bundle != string(after.Data[corev1.TLSCertKey]) {
		t.Errorf("the ended authority is still trusted: %s", bundle)
	}
}

// TestLaggingReplicaTakesNothingBack: a replica that hears of the definitions before it hears of the new authority's Secret.
func TestLaggingReplicaTakesNothingBack(t *testing.T) {
	world := newWorld(t)
	now := time.Now()
	replica := func(c client.Client) *Certificates {
		keeper := New(testNamespace)
		keeper.Client, keeper.Now = c, func() time.Time { return now }
		return keeper
	}
	ahead := replica(world.client)
	if _, err := ahead.Reconcile(t.Context(), ctrl.Request{}); err != nil {
		t.Fatal(err)
	}
	cached := world.authority(t)
	behind := replica(interceptor.NewClient(world.client, interceptor.Funcs{
		Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, obj client.Object, opts ...client.GetOption) error {
			if secret, ok := obj.(*corev1.Secret); ok && key.Name == contract.ConversionCA {
				cached.DeepCopyInto(secret)
				return nil
			}
			return c.Get(ctx, key, obj, opts...)
		},
	}))
	now = now.Add(ahead.Policy.AuthorityValidity - ahead.Policy.AuthorityRenewal() + time.Hour)
	if _, err := ahead.Reconcile(t.Context(), ctrl.Request{}); err != nil {
		t.Fatal(err)
	}
	trusted := world.bundleOf(t, migratedDefinition)
	// Its clock, too: to it the authority is not due yet.
	now = now.Add(-2 * time.Hour)
	if _, err := behind.Reconcile(t.Context(), ctrl.Request{}); err != nil {
		t.Fatal(err)
	}
	if after := world.bundleOf(t, migratedDefinition); after.ResourceVersion != trusted.ResourceVersion {
		t.Errorf("the lagging replica made the definition trust\n%s\nwhich trusted\n%s",
			after.Spec.Conversion.Webhook.ClientConfig.CABundle, trusted.Spec.Conversion.Webhook.ClientConfig.CABundle)
	}
}

// TestMigration: objects that were stored as v1beta1 are read without any webhook afterwards.
func TestMigration(t *testing.T) {
	world := newWorld(t)
	pod := world.replica(t)
	world.publish(t, pod)
	world.create(t, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "migration"}})
	before := world.bundleOf(t, migratedDefinition)
	world.store(t, "v1beta1", before.Spec.Conversion)
	world.create(t, object(t, formerMachineSet, "migration"))
	world.store(t, "v1beta2", before.Spec.Conversion)
	migration := &Migration{Client: world.client, Live: world.client}
	request := ctrl.Request{NamespacedName: client.ObjectKey{Name: migratedDefinition}}
	for range 2 {
		if _, err := migration.Reconcile(t.Context(), request); err != nil {
			t.Fatal(err)
		}
	}
	if stored := world.bundleOf(t, migratedDefinition).Status.StoredVersions; !reflect.DeepEqual(stored, []string{"v1beta2"}) {
		t.Errorf("stored versions %v", stored)
	}
	pod.stop(t)
	// In between, so that the change is seen.
	world.store(t, "v1beta1", before.Spec.Conversion)
	world.store(t, "v1beta2", &apiextensionsv1.CustomResourceConversion{Strategy: apiextensionsv1.NoneConverter})
	read := world.get(t, machineSets("v1beta2"), "migration", "set")
	if order, _, _ := unstructured.NestedString(read.Object, "spec", "deletion", "order"); order != "Oldest" {
		t.Errorf("spec.deletion.order is %q: the object is still stored as v1beta1", order)
	}
	after := world.bundleOf(t, migratedDefinition)
	after.Spec = before.Spec
	if err := world.client.Update(t.Context(), after); err != nil {
		t.Fatal(err)
	}
}

const migratedDefinition = "machinesets.cluster.x-k8s.io"

func machineSets(version string) schema.GroupVersionKind {
	return schema.GroupVersionKind{Group: "cluster.x-k8s.io", Version: version, Kind: "MachineSet"}
}

// store makes one version the stored and the only one, and waits until the API server serves no other.
func (w *world) store(t *testing.T, version string, conversion *apiextensionsv1.CustomResourceConversion) {
	t.Helper()
	crd := w.bundleOf(t, migratedDefinition)
	other := ""
	for i := range crd.Spec.Versions {
		v := &crd.Spec.Versions[i]
		v.Storage, v.Served = v.Name == version, v.Name == version
		if !v.Served {
			other = v.Name
		}
	}
	crd.Spec.Conversion = conversion
	if err := w.client.Update(t.Context(), crd); err != nil {
		t.Fatal(err)
	}
	isServed := func(version string) bool {
		probe := &unstructured.Unstructured{}
		probe.SetGroupVersionKind(machineSets(version))
		err := w.client.Get(t.Context(), client.ObjectKey{Namespace: "migration", Name: "absent"}, probe)
		// The object is missing, not the path.
		return apierrors.IsNotFound(err) && !apierrors.IsUnexpectedServerError(err)
	}
	deadline := time.Now().Add(30 * time.Second)
	for isServed(other) || !isServed(version) {
		if time.Now().After(deadline) {
			t.Fatalf("%s is not the only version that is served", version)
		}
		time.Sleep(20 * time.Millisecond)
	}
}

func TestNoCertificateIsNotReady(t *testing.T) {
	if err := New(testNamespace).Ready(nil); err == nil {
		t.Error("a replica without a certificate is ready")
	}
}
