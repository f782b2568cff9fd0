package teardown

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	hyperv1 "github.com/hypershift-on-azure/hypershift/api/v1beta1"
	"github.com/hypershift-on-azure/hypershift/internal/clusterapi"
	"github.com/hypershift-on-azure/hypershift/internal/hostedcluster/hostedclustertest"
	"github.com/hypershift-on-azure/hypershift/internal/kube"
	"github.com/hypershift-on-azure/hypershift/internal/survey/surveytest"
)

var now = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

// deleted gives an object that is being deleted since then, which a finalizer holds.
func deleted[T client.Object](obj T, since time.Duration, finalizers ...string) T {
	obj.SetDeletionTimestamp(ptr.To(metav1.NewTime(now.Add(-since))))
	obj.SetFinalizers(append(finalizers, "example.com/held"))
	return obj
}

func ofCAPI(kind schema.GroupVersionKind, name string) *unstructured.Unstructured {
	return clusterapi.New(kind, "clusters-demo", name)
}

func withProviderID(machine *unstructured.Unstructured) *unstructured.Unstructured {
	machine.Object["spec"] = map[string]any{"providerID": "azure:///subscriptions/s/vm"}
	return machine
}

// home is the namespace of the control plane, marked as that of a HostedCluster with this UID.
func home(reference, uid string) *corev1.Namespace {
	return &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "clusters-demo",
		Annotations: map[string]string{hyperv1.HostedClusterAnnotation: reference, hyperv1.HostedClusterUIDAnnotation: uid}}}
}

func pool(name, cluster string) *hyperv1.NodePool {
	return &hyperv1.NodePool{ObjectMeta: metav1.ObjectMeta{Namespace: "clusters", Name: name}, Spec: hyperv1.NodePoolSpec{ClusterName: cluster}}
}

// deletionOf is the deletion of HostedCluster clusters/demo, with the calls that end something in their order.
func deletionOf(plane *hyperv1.HostedControlPlane, objects ...client.Object) (*Deletion, *[]string) {
	hc := hostedclustertest.Cluster("demo", "image")
	hc.UID, hc.Spec.InfraID = "a-uid", "demo-x1"
	c := hostedclustertest.At(hc)
	c.Events = events.NewFakeRecorder(50)
	calls := &[]string{}
	if plane != nil {
		objects = append(objects, plane)
	}
	builder := surveytest.Client()
	scheme := surveytest.Client().Build().Scheme()
	for _, kind := range []schema.GroupVersionKind{clusterapi.Cluster, clusterapi.AzureCluster} {
		scheme.AddKnownTypeWithName(kind, &unstructured.Unstructured{})
		scheme.AddKnownTypeWithName(kind.GroupVersion().WithKind(kind.Kind+"List"), &unstructured.UnstructuredList{})
	}
	c.Client = builder.WithScheme(scheme).WithObjects(objects...).WithInterceptorFuncs(interceptor.Funcs{
		Delete: func(ctx context.Context, inner client.WithWatch, obj client.Object, o ...client.DeleteOption) error {
			*calls = append(*calls, "delete "+obj.GetName())
			return inner.Delete(ctx, obj, o...)
		},
		DeleteAllOf: func(ctx context.Context, inner client.WithWatch, obj client.Object, o ...client.DeleteAllOfOption) error {
			*calls = append(*calls, fmt.Sprintf("delete all %T", obj))
			return inner.DeleteAllOf(ctx, obj, o...)
		},
		Patch: func(ctx context.Context, inner client.WithWatch, obj client.Object, patch client.Patch, o ...client.PatchOption) error {
			*calls = append(*calls, "patch "+obj.GetName())
			return inner.Patch(ctx, obj, patch, o...)
		},
	}).Build()
	c.Live = c.Client
	return &Deletion{Cluster: c, Plane: plane}, calls
}

func planeOf(initialized bool) *hyperv1.HostedControlPlane {
	plane := &hyperv1.HostedControlPlane{ObjectMeta: metav1.ObjectMeta{Namespace: "clusters-demo", Name: "demo"}}
	plane.Status.Initialized = initialized
	return plane
}

// TestNodePoolsOfOthers: only the pools of this HostedCluster go, and each is deleted once.
func TestNodePoolsOfOthers(t *testing.T) {
	d, calls := deletionOf(nil, pool("b", "demo"), deleted(pool("a", "demo"), time.Minute), pool("c", "demo2"))
	waitingFor, err := d.deleteNodePools(t.Context())
	if err != nil || waitingFor != "NodePools a, b" || !slices.Equal(*calls, []string{"delete b"}) {
		t.Errorf("%q, %v, %v", waitingFor, *calls, err)
	}
}

// TestMachinesGoBeforeTheirCluster has a row for each thing that is still there: what is ended for it, and what is waited for. Machines are never
// given up, however long they take; what stands for nothing in Azure is, after a quarter of an hour.
func TestMachinesGoBeforeTheirCluster(t *testing.T) {
	core := func(since time.Duration) client.Object { return deleted(ofCAPI(clusterapi.Cluster, "demo-x1"), since) }
	machine := func() *unstructured.Unstructured { return ofCAPI(clusterapi.Machine, "m") }
	azureMachine := func() *unstructured.Unstructured { return ofCAPI(clusterapi.AzureMachine, "am") }
	another := ofCAPI(clusterapi.AzureMachine, "theirs")
	another.SetNamespace("clusters-other")
	infra := func(since time.Duration) client.Object {
		return deleted(ofCAPI(clusterapi.AzureCluster, "demo"), since)
	}
	for name, c := range map[string]struct {
		there []client.Object
		calls []string
		waits string
	}{
		"all is there": {[]client.Object{ofCAPI(clusterapi.Cluster, "demo-x1"), machine(), azureMachine()}, []string{"delete demo-x1"},
			"1 Machines of Cluster demo-x1"},
		"a machine that takes a day": {[]client.Object{core(24 * time.Hour), deleted(machine(), 24*time.Hour), infra(24 * time.Hour)}, nil,
			"1 Machines of Cluster demo-x1"},
		"one that nothing stands for": {[]client.Object{core(time.Minute), azureMachine(), another}, []string{"delete am"},
			"AzureMachines am, which no Machine stands for"},
		"it takes its time":       {[]client.Object{core(time.Minute), deleted(azureMachine(), 14*time.Minute)}, nil, "AzureMachines am, which"},
		"it is given up":          {[]client.Object{core(time.Minute), deleted(azureMachine(), 15*time.Minute)}, []string{"patch am"}, "AzureMachines am, which"},
		"the rest takes its time": {[]client.Object{core(14 * time.Minute), infra(14 * time.Minute)}, nil, "Cluster demo-x1 and its control plane"},
		"the rest is given up": {[]client.Object{core(15 * time.Minute), infra(15 * time.Minute)}, []string{"patch demo", "patch demo-x1"},
			"Cluster demo-x1 and its control plane"},
		"its Cluster is gone": {[]client.Object{azureMachine()}, []string{"delete am"}, "AzureMachines am"},
		"all is gone":         {[]client.Object{another}, nil, ""},
	} {
		d, calls := deletionOf(nil, c.there...)
		waits, err := d.deleteMachines(t.Context())
		if err != nil || !strings.HasPrefix(waits, c.waits) || (waits == "") != (c.waits == "") || !slices.Equal(*calls, c.calls) {
			t.Errorf("%s: %q after %v, %v", name, waits, *calls, err)
		}
	}
	d, calls := deletionOf(nil, core(time.Minute))
	d.Hosted.Spec.InfraID = ""
	if waits, err := d.deleteMachines(t.Context()); waits != "" || err != nil || len(*calls) != 0 {
		t.Errorf("a cluster that never began: %q, %v, %v", waits, *calls, err)
	}
}

// TestUnborn: a machine that cannot exist, because nobody ever got a token for Azure, is let go after two minutes; one that may exist is not.
func TestUnborn(t *testing.T) {
	served := planeOf(false)
	kube.Conditions(&served.Status.Conditions, 1).True(hyperv1.KubeAPIServerAvailable, hyperv1.AsExpectedReason, "")
	for name, c := range map[string]struct {
		plane   *hyperv1.HostedControlPlane
		machine *unstructured.Unstructured
		since   time.Duration
		gone    bool
	}{
		"never served":                  {planeOf(false), ofCAPI(clusterapi.AzureMachine, "am"), 2 * time.Minute, true},
		"never served, for a moment":    {planeOf(false), ofCAPI(clusterapi.AzureMachine, "am"), time.Minute, false},
		"it has a virtual machine":      {planeOf(false), withProviderID(ofCAPI(clusterapi.AzureMachine, "am")), time.Hour, false},
		"served once":                   {planeOf(true), ofCAPI(clusterapi.AzureMachine, "am"), time.Hour, false},
		"serves, and nobody noted that": {served, ofCAPI(clusterapi.AzureMachine, "am"), time.Hour, false},
		"no control plane":              {nil, ofCAPI(clusterapi.AzureMachine, "am"), time.Hour, false},
	} {
		d, _ := deletionOf(c.plane, deleted(c.machine, c.since), pool("p", "demo"))
		if _, err := d.deleteNodePools(t.Context()); err != nil {
			t.Fatal(err)
		}
		if found, err := d.Find(t.Context(), clusterapi.AzureMachine, "am"); err != nil || (found == nil) != c.gone {
			t.Errorf("%s: it is there: %t, %v", name, found != nil, err)
		}
	}
}

// TestWhatIsGivenUpIsTold: who gives a machine up says what may still cost money.
func TestWhatIsGivenUpIsTold(t *testing.T) {
	d, _ := deletionOf(nil)
	d.Client = surveytest.Client(deleted(withProviderID(ofCAPI(clusterapi.AzureMachine, "am")), time.Hour)).Build()
	machine, err := d.Find(t.Context(), clusterapi.AzureMachine, "am")
	if err != nil || d.abandon(t.Context(), machine) != nil {
		t.Fatal(err)
	}
	select {
	case event := <-d.Events.(*events.FakeRecorder).Events:
		for _, words := range []string{"Warning FinalizerRemoved", "AzureMachine \"am\"", "example.com/held", "23:00:00", "azure:///subscriptions/s/vm"} {
			if !strings.Contains(event, words) {
				t.Errorf("%q does not say %q", event, words)
			}
		}
	default:
		t.Error("nothing is told")
	}
	if err := d.abandon(t.Context(), planeOf(true)); err != nil {
		t.Error("an object that nobody deletes is given up")
	}
}

// TestNamespaceOfAnother: neither what runs in a namespace nor the namespace goes, unless it is this cluster's by name and UID.
func TestNamespaceOfAnother(t *testing.T) {
	for name, c := range map[string]struct {
		there *corev1.Namespace
		kept  bool
		gone  bool
	}{
		"its own":                       {home("clusters/demo", "a-uid"), false, true},
		"of a former one of its name":   {home("clusters/demo", "another-uid"), false, false},
		"of another one":                {home("clusters-demo/", "a-uid"), false, false},
		"of somebody":                   {&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "clusters-demo"}}, false, false},
		"its own, which somebody keeps": {home("clusters/demo", "a-uid"), true, false},
	} {
		set := &appsv1.StatefulSet{ObjectMeta: metav1.ObjectMeta{Namespace: "clusters-demo", Name: "etcd"}}
		disk := &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Namespace: "clusters-demo", Name: "data-etcd-0"}}
		other := &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Namespace: "clusters", Name: "data-etcd-0"}}
		d, calls := deletionOf(nil, c.there, set, disk, other)
		if c.kept {
			d.Hosted.Annotations = map[string]string{hyperv1.SkipDeleteNamespaceAnnotation: "true"}
		}
		_, err := d.endPods(t.Context())
		waits, namespaceErr := d.deleteNamespace(t.Context())
		if err != nil || namespaceErr != nil || (waits != "") != c.gone {
			t.Errorf("%s: %q, %v, %v", name, waits, err, namespaceErr)
		}
		for _, obj := range []client.Object{&appsv1.StatefulSet{ObjectMeta: set.ObjectMeta}, &corev1.PersistentVolumeClaim{ObjectMeta: disk.ObjectMeta},
			&corev1.Namespace{ObjectMeta: c.there.ObjectMeta}} {
			if err := d.Client.Get(t.Context(), client.ObjectKeyFromObject(obj), obj); (err != nil) != c.gone {
				t.Errorf("%s: %T: %v", name, obj, err)
			}
		}
		if err := d.Client.Get(t.Context(), client.ObjectKeyFromObject(other), other); err != nil {
			t.Errorf("%s: a claim of another namespace: %v", name, err)
		}
		owners := []string{"delete all *v1.Deployment", "delete all *v1.StatefulSet", "delete all *v1.ReplicaSet", "delete all *v1.Pod"}
		if c.gone && (len(*calls) < 4 || !slices.Equal((*calls)[:4], owners)) {
			t.Errorf("%s: pods end before who would make new ones: %v", name, *calls)
		}
	}
}

// TestPodsOfALostNode: a pod is taken from its kubelet a minute after it should have ended, once, and only the one that was looked at.
func TestPodsOfALostNode(t *testing.T) {
	pod := func(name string, since time.Duration, grace int64) *corev1.Pod {
		p := deleted(&corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "clusters-demo", Name: name, UID: "a"}}, since)
		p.DeletionGracePeriodSeconds = &grace
		return p
	}
	d, calls := deletionOf(nil)
	pods := []corev1.Pod{*pod("slow", 59*time.Second, 1), *pod("lost", time.Minute, 1), *pod("forced", time.Hour, 0),
		{ObjectMeta: metav1.ObjectMeta{Name: "new"}}}
	if err := forcePods(t.Context(), d.Cluster, pods); err != nil || !slices.Equal(*calls, []string{"delete lost"}) {
		t.Errorf("%v, %v", *calls, err)
	}
}

// TestGracePeriod: everything is gone, and the object is kept for as long as its user asked; what is no duration is told, and keeps nothing.
func TestGracePeriod(t *testing.T) {
	for value, c := range map[string]struct {
		since time.Duration
		waits bool
		again time.Duration
	}{"10m": {4 * time.Minute, true, 6 * time.Minute}, "4m": {4 * time.Minute, false, 0}, "ten minutes": {0, false, 0}, "-1m": {0, false, 0}} {
		d, _ := deletionOf(nil)
		d.Hosted.Annotations = map[string]string{hyperv1.DestroyGracePeriodAnnotation: value}
		d.Conditions().SetSince(metav1.NewTime(now.Add(-c.since)), hyperv1.HostedClusterDestroyed, metav1.ConditionTrue, hyperv1.WaitingForGracePeriodReason, "")
		waits, err := d.waitGracePeriod(t.Context())
		if err != nil || (waits != "") != c.waits || d.again != c.again {
			t.Errorf("%s: %q, again in %s, %v", value, waits, d.again, err)
		}
		if told := len(d.Events.(*events.FakeRecorder).Events) > 0; told != (value == "ten minutes") {
			t.Errorf("%s: an event: %t", value, told)
		}
	}
}

// TestMarksAreTakenOff: from the user's objects goes the one annotation of this cluster, and nothing of it that others have written.
func TestMarksAreTakenOff(t *testing.T) {
	marked := func(annotations ...string) metav1.ObjectMeta {
		meta := metav1.ObjectMeta{Namespace: "clusters", Name: annotations[0], Annotations: map[string]string{}}
		for _, key := range annotations[1:] {
			meta.Annotations[key] = "true"
		}
		return meta
	}
	d, _ := deletionOf(nil)
	own, another := d.ReferenceKey(), hyperv1.ReferencedResourcePrefix+"/demo2"
	shared := &corev1.Secret{ObjectMeta: marked("shared", own, another, "example.com/mine")}
	d, calls := deletionOf(nil, shared, &corev1.ConfigMap{ObjectMeta: marked("trust", own)}, &corev1.Secret{ObjectMeta: marked("theirs", another)})
	if waits, err := d.unmarkReferenced(t.Context()); waits != "" || err != nil || !slices.Equal(*calls, []string{"patch shared", "patch trust"}) {
		t.Errorf("%q, %v, %v", waits, *calls, err)
	}
	if err := d.Client.Get(t.Context(), client.ObjectKeyFromObject(shared), shared); err != nil || len(shared.Annotations) != 2 ||
		shared.Annotations[own] != "" {
		t.Errorf("%v, %v", shared.Annotations, err)
	}
}

// TestAccessOutside: objects outside of the namespace go when they refer to this cluster; others of their names stay.
func TestAccessOutside(t *testing.T) {
	role := func(name, reference string) *rbacv1.ClusterRole {
		return &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: name, Annotations: map[string]string{hyperv1.HostedClusterAnnotation: reference}}}
	}
	d, calls := deletionOf(nil, role("own", "clusters/demo"), role("theirs", "clusters-demo/"))
	d.Outside = []client.Object{role("gone", ""), role("theirs", ""), role("own", "")}
	if _, err := d.deleteClusterAccess(t.Context()); err != nil || !slices.Equal(*calls, []string{"delete own"}) {
		t.Errorf("%v, %v", *calls, err)
	}
}

// TestApart: where the namespace is another cluster's, nothing in it is looked at; the cluster's own objects elsewhere go all the same.
func TestApart(t *testing.T) {
	d, calls := deletionOf(nil, home("acme/dev-demo", "b"), ofCAPI(clusterapi.Cluster, "demo-x1"), ofCAPI(clusterapi.AzureMachine, "am"))
	d.Apart = true
	d.Outside = []client.Object{&rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: "own"}}}
	progress, err := d.Run(t.Context())
	if err != nil || progress.Waits() {
		t.Errorf("%+v, %v", progress, err)
	}
	for _, call := range *calls {
		if strings.HasPrefix(call, "delete") {
			t.Errorf("somebody else's: %s", call)
		}
	}
	if err := d.Report(t.Context(), Progress{step: removals[2], waitingFor: "x"}); err != nil {
		t.Error(err)
	}
}

// TestOneStepAtATime: while a step waits, nothing of a later one is touched: machines are drained through the control plane, and pods serve until then.
func TestOneStepAtATime(t *testing.T) {
	plane := planeOf(true)
	plane.Spec.PausedUntil = ptr.To("true")
	all := []client.Object{pool("p", "demo"), ofCAPI(clusterapi.Cluster, "demo-x1"), ofCAPI(clusterapi.Machine, "m"), home("clusters/demo", "a-uid")}
	for i, c := range []struct{ waits, reason, ends string }{
		{"NodePools p", hyperv1.DeletingNodePoolsReason, "delete p"},
		{"1 Machines of Cluster demo-x1", hyperv1.DeletingMachinesReason, "delete demo-x1"},
		{"HostedControlPlane clusters-demo/demo", hyperv1.DeletingControlPlaneReason, "delete demo"},
		{"namespace clusters-demo", hyperv1.DeletingNamespaceReason, "delete clusters-demo"},
	} {
		there := all[min(i, 3):]
		if i == 2 {
			there = all[3:]
		}
		var of *hyperv1.HostedControlPlane
		if i < 3 {
			of = plane.DeepCopy()
		}
		d, calls := deletionOf(of, there...)
		progress, err := d.Run(t.Context())
		if err != nil || !strings.HasPrefix(progress.waitingFor, c.waits) || progress.step.reason != c.reason || progress.Again == 0 {
			t.Errorf("%s: %q by %s, again in %s, %v", c.waits, progress.waitingFor, progress.step.reason, progress.Again, err)
		}
		last := (*calls)[len(*calls)-1]
		if last != c.ends {
			t.Errorf("%s: %v", c.waits, *calls)
		}
		for _, call := range *calls {
			if strings.HasPrefix(call, "delete ") && call != last && !strings.HasPrefix(call, "delete all") {
				t.Errorf("%s: %s comes too early", c.waits, call)
			}
		}
		if of != nil && d.Plane.Spec.PausedUntil != nil {
			t.Errorf("%s: the control plane is paused, and nobody would end it", c.waits)
		}
	}
}
