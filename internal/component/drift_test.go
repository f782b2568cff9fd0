package component

import (
	"slices"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hypershift-on-azure/hypershift/api/v1beta1"
	"github.com/hypershift-on-azure/hypershift/internal/kube/rbac"
)

func reconciled(t *testing.T, ctx *Context, c Component) {
	t.Helper()
	// The Secrets and ConfigMaps are the same in all passes of these tests.
	if _, err := Reconcile(ctx, c); err != nil {
		t.Fatal(err)
	}
}

func liveRequests(t *testing.T, ctx *Context) *corev1.ResourceRequirements {
	t.Helper()
	live, err := liveWorkload(ctx, thing())
	if err != nil || live == nil {
		t.Fatal(live, err)
	}
	return &live.(*appsv1.Deployment).Spec.Template.Spec.Containers[0].Resources
}

func withRequests(cpu string) Component {
	c := thing()
	c.Objects = func(*Context) ([]client.Object, error) {
		d := workload()
		d.Spec.Template.Spec.Containers[0].Resources = Requests(cpu, "1Gi")
		return []client.Object{d}, nil
	}
	return c
}

// Requests that a vertical autoscaler wrote stay; those of a former version of ours do not, and the user's word is the last.
func TestResourcesOfSomebodyElseStay(t *testing.T) {
	ctx := testContext(t)
	reconciled(t, ctx, withRequests("1"))
	reconciled(t, ctx, withRequests("2000m"))
	if got := liveRequests(t, ctx).Requests.Cpu().String(); got != "2" {
		t.Fatalf("our own former request of 1 became %s, want 2", got)
	}
	live, _ := liveWorkload(ctx, thing())
	d := live.(*appsv1.Deployment)
	d.Spec.Template.Spec.Containers[0].Resources = Requests("7", "7Gi")
	if err := ctx.Client.Update(ctx, d); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		reconciled(t, ctx, withRequests("3"))
		if got := liveRequests(t, ctx).Requests.Cpu().String(); got != "7" {
			t.Fatalf("somebody else's request of 7 became %s", got)
		}
	}
	ctx.HCP.Annotations[hyperv1.ResourceRequestOverridePrefix+"/thing.main"] = "cpu=9"
	reconciled(t, ctx, withRequests("3"))
	if got := liveRequests(t, ctx).Requests.Cpu().String(); got != "9" {
		t.Errorf("the user's override of 9 became %s", got)
	}
	delete(ctx.HCP.Annotations, hyperv1.ResourceRequestOverridePrefix+"/thing.main")
	reconciled(t, ctx, withRequests("3"))
	if got := liveRequests(t, ctx).Requests.Cpu().String(); got != "3" {
		t.Errorf("without the override the request is %s, want ours, 3", got)
	}
}

func TestDisruptionBudget(t *testing.T) {
	c := thing()
	c.Traits = Traits{Replicas: 3, Budget: true, App: "called-otherwise"}
	ctx := testContext(t)
	reconciled(t, ctx, c)
	key := client.ObjectKey{Namespace: "clusters-demo", Name: "thing"}
	b := &policyv1.PodDisruptionBudget{}
	if err := ctx.Client.Get(ctx, key, b); err != nil {
		t.Fatal(err)
	}
	if b.Spec.MaxUnavailable.IntValue() != 1 || *b.Spec.UnhealthyPodEvictionPolicy != policyv1.AlwaysAllow || b.Spec.Selector.MatchLabels[LabelApp] != "called-otherwise" {
		t.Errorf("budget %+v", b.Spec)
	}
	// What is no longer wanted goes, and the record forgets it.
	ctx.HCP.Spec.ControllerAvailabilityPolicy = hyperv1.SingleReplica
	reconciled(t, ctx, c)
	if err := ctx.Client.Get(ctx, key, b); !apierrors.IsNotFound(err) {
		t.Errorf("a single replica still has its budget: %v", err)
	}
	entry := &hyperv1.ControlPlaneComponent{}
	if err := ctx.Client.Get(ctx, key, entry); err != nil || slices.ContainsFunc(entry.Status.Resources, func(r hyperv1.ComponentResource) bool { return r.Group == "policy" }) {
		t.Errorf("record %+v, %v", entry.Status.Resources, err)
	}
}

// A component that is switched off takes everything of its own with it, the record too.
func TestDisabledRemovesAll(t *testing.T) {
	on := true
	c := thing()
	c.Enabled = func(*Context) bool { return on }
	c.Objects = func(*Context) ([]client.Object, error) {
		return append(Access("thing", "clusters-demo", rbac.Rule("", "get", "pods")), workload(),
			&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "thing-config"}}), nil
	}
	ctx := testContext(t)
	reconciled(t, ctx, c)
	entry := &hyperv1.ControlPlaneComponent{}
	key := client.ObjectKey{Namespace: "clusters-demo", Name: "thing"}
	if err := ctx.Client.Get(ctx, key, entry); err != nil || len(entry.Status.Resources) != 5 {
		t.Fatalf("%+v, %v", entry.Status.Resources, err)
	}
	on = false
	reconciled(t, ctx, c)
	for _, obj := range []client.Object{&appsv1.Deployment{}, &corev1.ServiceAccount{}, &hyperv1.ControlPlaneComponent{}} {
		if err := ctx.Client.Get(ctx, key, obj); !apierrors.IsNotFound(err) {
			t.Errorf("%T is still there: %v", obj, err)
		}
	}
	if err := ctx.Client.Get(ctx, client.ObjectKey{Namespace: "clusters-demo", Name: "thing-config"}, &corev1.ConfigMap{}); !apierrors.IsNotFound(err) {
		t.Errorf("the ConfigMap is still there: %v", err)
	}
}

// Who reads why a component waits learns what is wrong with the one it waits for.
func TestWaitingSaysWhy(t *testing.T) {
	server := &hyperv1.ControlPlaneComponent{ObjectMeta: metav1.ObjectMeta{Name: APIServer, Namespace: "clusters-demo"}}
	message := func(conditions ...metav1.Condition) string {
		server.Status.Conditions = conditions
		return lacking(server, "2.0.0")
	}
	available := condition(hyperv1.ControlPlaneComponentAvailable, true, "AsExpected", "")
	if got := message(); got != "not reconciled yet" {
		t.Error(got)
	}
	if got := message(condition(hyperv1.ControlPlaneComponentAvailable, false, "MinimumReplicasUnavailable", "0 of 1 is up")); got != "MinimumReplicasUnavailable: 0 of 1 is up" {
		t.Error(got)
	}
	if got := message(available, condition(hyperv1.ControlPlaneComponentRolloutComplete, false, "WaitingForRolloutComplete", "1 of 3")); !strings.HasSuffix(got, "1 of 3") {
		t.Error(got)
	}
	done := condition(hyperv1.ControlPlaneComponentRolloutComplete, true, "AsExpected", "")
	server.Status.Version = "1.0.0"
	if got := message(available, done); got != "still runs version 1.0.0" {
		t.Error(got)
	}
	server.Status.Version = "2.0.0"
	if got := message(available, done); got != "" {
		t.Error(got)
	}
}
