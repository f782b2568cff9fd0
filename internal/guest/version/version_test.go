package version

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	configv1 "github.com/openshift/api/config/v1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	hyperv1 "github.com/hypershift-on-azure/hypershift/api/v1beta1"
	"github.com/hypershift-on-azure/hypershift/internal/component"
	"github.com/hypershift-on-azure/hypershift/internal/contract"
	"github.com/hypershift-on-azure/hypershift/internal/guest/addons"
	"github.com/hypershift-on-azure/hypershift/internal/guest/configuration"
	"github.com/hypershift-on-azure/hypershift/internal/guest/guesttest"
	"github.com/hypershift-on-azure/hypershift/internal/guest/inside"
	"github.com/hypershift-on-azure/hypershift/internal/guest/plane"
)

// world is a guest whose add-ons and components a test moves, and the versions told of it.
type world struct {
	t      *testing.T
	facts  *inside.Facts
	r      *reconciler
	writes int
	now    time.Time
}

var controlPlaneParts = []string{"etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler", "machine-approver", "azure-cloud-controller-manager"}

func newWorld(t *testing.T, nodes int) *world {
	w := &world{t: t, facts: guesttest.PlainFacts(), now: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)}
	hcp := &hyperv1.HostedControlPlane{ObjectMeta: metav1.ObjectMeta{Namespace: "clusters-demo", Name: "demo"}}
	hcp.Spec.ReleaseImage = "release:4.21.0"
	count := func() { w.writes++ }
	funcs := interceptor.Funcs{
		Create: func(ctx context.Context, c client.WithWatch, obj client.Object, opts ...client.CreateOption) error {
			count()
			return c.Create(ctx, obj, opts...)
		},
		SubResourceUpdate: func(ctx context.Context, c client.Client, sub string, obj client.Object, opts ...client.SubResourceUpdateOption) error {
			count()
			return c.SubResource(sub).Update(ctx, obj, opts...)
		},
		SubResourcePatch: func(ctx context.Context, c client.Client, sub string, obj client.Object, patch client.Patch, opts ...client.SubResourcePatchOption) error {
			count()
			return c.SubResource(sub).Patch(ctx, obj, patch, opts...)
		},
	}
	management := []client.Object{hcp}
	for _, name := range controlPlaneParts {
		management = append(management, &hyperv1.ControlPlaneComponent{ObjectMeta: metav1.ObjectMeta{Namespace: hcp.Namespace, Name: name}})
	}
	guest := []client.Object{&configv1.ClusterVersion{ObjectMeta: metav1.ObjectMeta{Name: configuration.ClusterVersionName}}}
	for _, obj := range addons.Objects(w.facts) {
		if kind := guesttest.TypeName(obj); kind == "DaemonSet" || kind == "Deployment" {
			guest = append(guest, obj)
		}
	}
	for i := range nodes {
		guest = append(guest, &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: string(rune('a' + i))}})
	}
	build := func(objects []client.Object) client.Client {
		return fake.NewClientBuilder().WithScheme(guesttest.Scheme(t)).WithObjects(objects...).WithInterceptorFuncs(funcs).WithStatusSubresource(
			&hyperv1.HostedControlPlane{}, &hyperv1.ControlPlaneComponent{}, &configv1.ClusterVersion{}, &configv1.ClusterOperator{},
			&appsv1.Deployment{}, &appsv1.DaemonSet{}).Build()
	}
	w.r = &reconciler{
		guest: build(guest), management: build(management), namespace: hcp.Namespace, now: func() time.Time { return w.now },
		facts: func(context.Context, *hyperv1.HostedControlPlane) (*inside.Facts, error) { return w.facts, nil },
	}
	w.release("4.21.0")
	return w
}

// release is what the user asks for; the control plane has seen it.
func (w *world) release(version string) {
	w.t.Helper()
	w.facts.Version = version
	hcp := w.hcp()
	hcp.Spec.ReleaseImage = "release:" + version
	w.must(w.r.management.Update(w.t.Context(), hcp))
	hcp = w.hcp()
	hcp.Status.ControlPlaneVersion = &hyperv1.ControlPlaneVersionStatus{Desired: hyperv1.VersionRelease{Version: version, Image: "release:" + version}}
	w.must(w.r.management.Status().Update(w.t.Context(), hcp))
}

func (w *world) must(err error) {
	w.t.Helper()
	if err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) hcp() *hyperv1.HostedControlPlane {
	w.t.Helper()
	hcp, err := plane.Find(w.t.Context(), w.r.management, "clusters-demo")
	w.must(err)
	return hcp
}

func (w *world) component(name, version string, available bool) {
	w.t.Helper()
	c := &hyperv1.ControlPlaneComponent{}
	w.must(w.r.management.Get(w.t.Context(), client.ObjectKey{Namespace: "clusters-demo", Name: name}, c))
	status := metav1.ConditionFalse
	if available {
		status = metav1.ConditionTrue
	}
	c.Status.Version = version
	c.Status.Conditions = []metav1.Condition{
		{Type: hyperv1.ControlPlaneComponentAvailable, Status: status, Reason: "X", Message: "because"},
		{Type: hyperv1.ControlPlaneComponentRolloutComplete, Status: metav1.ConditionTrue, Reason: "X"}}
	w.must(w.r.management.Status().Update(w.t.Context(), c))
}

// pods sets how many pods of a workload run.
func (w *world) pods(name string, available int32) {
	w.t.Helper()
	key := client.ObjectKey{Namespace: inside.KubeSystem, Name: name}
	switch {
	case name == component.RouterName:
		key.Namespace = contract.RouterNamespace
	case strings.HasPrefix(name, contract.DiskDriver):
		key.Namespace = contract.DriverNamespace
	}
	if name == addons.DNSName || name == addons.MetricsName || name == component.RouterName {
		d := &appsv1.Deployment{}
		w.must(w.r.guest.Get(w.t.Context(), key, d))
		d.Status = appsv1.DeploymentStatus{UpdatedReplicas: 2, AvailableReplicas: available, ObservedGeneration: d.Generation}
		w.must(w.r.guest.Status().Update(w.t.Context(), d))
		return
	}
	d := &appsv1.DaemonSet{}
	w.must(w.r.guest.Get(w.t.Context(), key, d))
	d.Status = appsv1.DaemonSetStatus{DesiredNumberScheduled: 2, UpdatedNumberScheduled: 2, NumberAvailable: available, ObservedGeneration: d.Generation}
	w.must(w.r.guest.Status().Update(w.t.Context(), d))
}

func (w *world) pass() int {
	w.t.Helper()
	w.writes = 0
	_, err := w.r.Reconcile(w.t.Context(), reconcile.Request{})
	w.must(err)
	return w.writes
}

// operator checks one ClusterOperator: version, Available, Progressing, Degraded.
func (w *world) operator(name, want string) {
	w.t.Helper()
	o := &configv1.ClusterOperator{}
	w.must(w.r.guest.Get(w.t.Context(), client.ObjectKey{Name: name}, o))
	got := []string{operatorVersion(o.Status)}
	for _, kind := range []configv1.ClusterStatusConditionType{configv1.OperatorAvailable, configv1.OperatorProgressing, configv1.OperatorDegraded} {
		got = append(got, string(findClusterCondition(o.Status.Conditions, kind).Status))
	}
	if text := strings.Join(got, " "); text != want {
		w.t.Errorf("%s: %s, want %s (%+v)", name, text, want, o.Status.Conditions)
	}
}

// version checks the newest entry of the history and the conditions, as the hosted control plane reports them.
func (w *world) version(history, available, progressing, succeeding string) {
	w.t.Helper()
	status := w.hcp().Status
	newest := status.VersionStatus.History[0]
	get := func(kind string) string {
		for _, c := range status.Conditions {
			if c.Type == kind {
				return string(c.Status)
			}
		}
		return ""
	}
	got := []string{newest.Version + " " + string(newest.State), get(hyperv1.ClusterVersionAvailable), get(hyperv1.ClusterVersionProgressing), get(hyperv1.ClusterVersionSucceeding)}
	if !slices.Equal(got, []string{history, available, progressing, succeeding}) {
		w.t.Errorf("version: %v, want %s %s %s %s; %+v", got, history, available, progressing, succeeding, status.Conditions)
	}
}

func (w *world) allRun(version string) {
	for _, name := range controlPlaneParts {
		w.component(name, version, true)
	}
	for _, name := range guesttest.Workloads(addons.Objects(w.facts)) {
		if name != addons.CheckerName { // the version does not wait for it
			w.pods(name, 2)
		}
	}
}

func TestVersionFollowsWhatRuns(t *testing.T) {
	w := newWorld(t, 2)
	w.pass()
	w.version("4.21.0 Partial", "False", "True", "True")
	w.operator("dns", " False True False")

	w.allRun("4.21.0")
	w.component("etcd", "", true)
	w.pass()
	w.operator("kube-apiserver", "4.21.0 True False False")
	w.version("4.21.0 Partial", "False", "True", "True")

	w.component("etcd", "4.21.0", true)
	w.pass()
	for _, name := range []string{"dns", "network", "cloud-controller-manager", "kube-controller-manager", "kube-scheduler", "machine-approver"} {
		w.operator(name, "4.21.0 True False False")
	}
	w.version("4.21.0 Completed", "True", "False", "True")
	if again := w.pass(); again != 0 {
		t.Errorf("a pass at rest makes %d writes", again)
	}

	w.pods(addons.DNSName, 0)
	w.component("kube-controller-manager", "4.21.0", false)
	w.pass()
	w.operator("dns", "4.21.0 False True False")
	w.version("4.21.0 Completed", "True", "False", "True")
	w.now = w.now.Add(downAfter)
	w.pass()
	w.operator("dns", "4.21.0 False True True")
	w.operator("kube-controller-manager", "4.21.0 False False True")
	w.version("4.21.0 Completed", "True", "False", "False")
	w.allRun("4.21.0")
	w.pass()
	w.operator("dns", "4.21.0 True False False")
	w.version("4.21.0 Completed", "True", "False", "True")
}

func TestUpgradeIsToldFromPartialToCompleted(t *testing.T) {
	w := newWorld(t, 2)
	w.allRun("4.21.0")
	w.pass()
	w.release("4.21.1")
	w.facts.Images["coredns"] = "quay.io/x@sha256:next"
	w.pass()
	w.operator("kube-apiserver", "4.21.0 True True False")
	w.operator("dns", "4.21.0 True True False")
	w.version("4.21.1 Partial", "True", "True", "True")

	for _, name := range controlPlaneParts {
		w.component(name, "4.21.1", true)
	}
	w.pass()
	w.operator("kube-apiserver", "4.21.1 True False False")
	w.version("4.21.1 Partial", "True", "True", "True")
	w.now = w.now.Add(hungAfter + time.Minute)
	w.pass()
	w.operator("dns", "4.21.0 True True True")
	w.version("4.21.1 Partial", "True", "True", "False")

	d := &appsv1.Deployment{}
	w.must(w.r.guest.Get(t.Context(), client.ObjectKey{Namespace: inside.KubeSystem, Name: addons.DNSName}, d))
	d.Spec.Template.Spec.Containers[0].Image = w.facts.Images["coredns"]
	w.must(w.r.guest.Update(t.Context(), d))
	w.pods(addons.DNSName, 2)
	w.pass()
	w.version("4.21.1 Completed", "True", "False", "True")
	if history := w.hcp().Status.VersionStatus.History; len(history) != 2 || history[1].Version != "4.21.0" || history[1].State != hyperv1.CompletedUpdate {
		t.Errorf("history %+v", history)
	}
}

// Without nodes nothing of the guest can run, which is neither an outage nor a reason to wait.
func TestVersionWithoutNodes(t *testing.T) {
	w := newWorld(t, 0)
	for _, name := range controlPlaneParts {
		w.component(name, "4.21.0", true)
	}
	w.pass()
	w.operator("dns", " Unknown False False")
	w.version("4.21.0 Completed", "True", "False", "True")
}

// A guest's administrator may delete the ClusterVersion or ask for another version in it: neither loses or changes anything.
func TestVersionSurvivesItsGuest(t *testing.T) {
	w := newWorld(t, 2)
	w.allRun("4.21.0")
	w.pass()
	want := w.hcp().Status.VersionStatus.History
	version := &configv1.ClusterVersion{}
	w.must(w.r.guest.Get(t.Context(), client.ObjectKey{Name: configuration.ClusterVersionName}, version))
	w.must(w.r.guest.Delete(t.Context(), version))
	w.now = w.now.Add(time.Hour)
	w.must(w.r.guest.Create(t.Context(), &configv1.ClusterVersion{
		ObjectMeta: metav1.ObjectMeta{Name: configuration.ClusterVersionName},
		Spec:       configv1.ClusterVersionSpec{DesiredUpdate: &configv1.Update{Version: "4.99.0"}},
	}))
	w.pass()
	if got := w.hcp().Status.VersionStatus.History; len(got) != 1 || !got[0].CompletionTime.Equal(want[0].CompletionTime) {
		t.Errorf("history %+v, want %+v", got, want)
	}
	w.must(w.r.guest.Get(t.Context(), client.ObjectKey{Name: configuration.ClusterVersionName}, version))
	if version.Spec.DesiredUpdate != nil {
		t.Error("the guest chooses its own version")
	}
}

// An OpenShift payload's version operator writes these objects: they are read, and nothing else is written than the operators that a hosted
// control plane stands for, which follow the version and keep the times of their conditions.
func TestVersionOperatorKeepsItsObjects(t *testing.T) {
	w := newWorld(t, 2)
	defined := func() bool {
		return slices.ContainsFunc(addons.Objects(w.facts), func(obj client.Object) bool { return strings.HasSuffix(obj.GetName(), ".config.openshift.io") })
	}
	if !defined() {
		t.Fatal("without a version operator nobody defines its kinds")
	}
	w.facts.Images["cluster-version-operator"], w.facts.Images[contract.StorageOperator] = "cvo", "storage"
	version := &configv1.ClusterVersion{}
	w.must(w.r.guest.Get(t.Context(), client.ObjectKey{Name: configuration.ClusterVersionName}, version))
	version.Status.Desired = configv1.Release{Version: "4.20.9", Image: "theirs"}
	version.Status.History = []configv1.UpdateHistory{{State: configv1.PartialUpdate, Version: "4.20.9", Image: "theirs"}}
	version.Status.Conditions = []configv1.ClusterOperatorStatusCondition{
		{Type: "Failing", Status: configv1.ConditionTrue, Message: "no"}, {Type: configv1.OperatorAvailable, Status: configv1.ConditionTrue},
		{Type: configv1.OperatorProgressing, Status: configv1.ConditionTrue}}
	w.must(w.r.guest.Status().Update(t.Context(), version))
	if writes := w.pass(); writes != 1+2*len(hostedOperators) {
		t.Errorf("%d writes, want one, the report, and two for each operator", writes)
	}
	w.version("4.20.9 Partial", "True", "True", "False")
	if writes := w.pass(); writes != 0 {
		t.Errorf("%d writes without a change", writes)
	}
	began := w.now
	w.now, w.facts.Version = w.now.Add(time.Hour), "4.22.0"
	if writes := w.pass(); writes != len(hostedOperators) {
		t.Errorf("%d writes for another version, want one for each operator", writes)
	}
	operator := &configv1.ClusterOperator{}
	w.must(w.r.guest.Get(t.Context(), client.ObjectKey{Name: "openshift-apiserver"}, operator))
	available := findClusterCondition(operator.Status.Conditions, configv1.OperatorAvailable)
	if operatorVersion(operator.Status) != "4.22.0" || available == nil || !available.LastTransitionTime.Time.Equal(began) {
		t.Errorf("status %+v", operator.Status)
	}
	if defined() {
		t.Error("the payload's own definitions are overwritten")
	}
}
