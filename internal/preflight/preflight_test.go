package preflight_test

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/hypershift-on-azure/hypershift/internal/kube/kubetest"
	"github.com/hypershift-on-azure/hypershift/internal/preflight"
	"github.com/hypershift-on-azure/hypershift/internal/preflight/preflighttest"
	"github.com/hypershift-on-azure/hypershift/internal/survey/surveytest"
)

// world is a management cluster with room for one control plane and nothing wrong.
type world struct {
	operator *appsv1.Deployment
	classes  []*storagev1.StorageClass
	nodes    []*corev1.Node
	pods     []*corev1.Pod
	// denied is a verb and a resource that the person may not; unread a kind of list that cannot be read, for the reason.
	denied string
	unread map[string]error
}

func node(name, zone, cpu, memory string) *corev1.Node {
	return &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{corev1.LabelTopologyZone: zone}}, Status: corev1.NodeStatus{
		Allocatable: corev1.ResourceList{"cpu": resource.MustParse(cpu), "memory": resource.MustParse(memory)},
		Conditions:  []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}}}}
}

func class(name string, usual bool) *storagev1.StorageClass {
	c := &storagev1.StorageClass{ObjectMeta: metav1.ObjectMeta{Name: name}}
	if usual {
		c.Annotations = map[string]string{"storageclass.kubernetes.io/is-default-class": "true"}
	}
	return c
}

func taker(name, node, cpu string, phase corev1.PodPhase) *corev1.Pod {
	return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "x", Name: name}, Status: corev1.PodStatus{Phase: phase},
		Spec: corev1.PodSpec{NodeName: node, Containers: []corev1.Container{{Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{"cpu": resource.MustParse(cpu)}}}}}}
}

func newWorld() *world {
	return &world{
		operator: &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: "hypershift", Name: "operator"}, Spec: appsv1.DeploymentSpec{Replicas: ptr.To[int32](2)}, Status: appsv1.DeploymentStatus{AvailableReplicas: 2}},
		classes:  []*storagev1.StorageClass{class("fast", false), class("usual", true)},
		nodes:    []*corev1.Node{node("a", "1", "6", "16Gi")},
		pods:     []*corev1.Pod{taker("p", "a", "2", corev1.PodRunning), taker("done", "a", "9", corev1.PodSucceeded), taker("elsewhere", "b", "9", corev1.PodRunning)},
	}
}

func (w *world) client() client.Client {
	var objects []client.Object
	if w.operator != nil {
		objects = append(objects, w.operator)
	}
	for _, o := range w.classes {
		objects = append(objects, o)
	}
	for _, o := range w.nodes {
		objects = append(objects, o)
	}
	for _, o := range w.pods {
		objects = append(objects, o)
	}
	return surveytest.Client(objects...).WithInterceptorFuncs(interceptor.Funcs{
		Create: func(_ context.Context, _ client.WithWatch, obj client.Object, _ ...client.CreateOption) error {
			review, ok := obj.(*authorizationv1.SelfSubjectAccessReview)
			if !ok {
				return errors.New("something is written")
			}
			review.Status.Allowed = review.Spec.ResourceAttributes.Verb+" "+review.Spec.ResourceAttributes.Resource != w.denied
			return nil
		},
		List: func(ctx context.Context, c client.WithWatch, list client.ObjectList, opts ...client.ListOption) error {
			kind := strings.TrimSuffix(typeOf(list), "List")
			if err := w.unread[kind]; err != nil {
				return err
			}
			return c.List(ctx, list, opts...)
		}}).Build()
}

func typeOf(list client.ObjectList) string {
	if u, ok := list.(*unstructured.UnstructuredList); ok {
		return u.GetKind()
	}
	switch list.(type) {
	case *corev1.NodeList:
		return "Node"
	case *storagev1.StorageClassList:
		return "StorageClass"
	}
	return ""
}

// TestManagement: each trouble, with the check that finds it, its word and its remedy.
func TestManagement(t *testing.T) {
	tally := preflighttest.New()
	forbidden := apierrors.NewForbidden(schema.GroupResource{Resource: "x"}, "", errors.New("no"))
	for _, tc := range []struct {
		title  string
		change func(*world, *preflight.Needs)
		check  string
		status preflight.Status
		word   string
	}{
		{"all is well", func(*world, *preflight.Needs) {}, "", preflight.Pass, ""},
		{"not installed", func(w *world, _ *preflight.Needs) {
			w.unread = map[string]error{"AzureMachine": &meta.NoKindMatchError{}}
		}, "kind AzureMachine", preflight.Fail, "does not know it"},
		{"kind not to be read", func(w *world, _ *preflight.Needs) { w.unread = map[string]error{"Machine": forbidden} }, "kind Machine", preflight.Skip, "forbidden"},
		{"no operator", func(w *world, _ *preflight.Needs) { w.operator = nil }, "operator", preflight.Fail, "there is no Deployment hypershift/operator"},
		{"operator elsewhere", func(_ *world, n *preflight.Needs) { n.Operator = "other" }, "operator", preflight.Fail, "there is no Deployment other/operator"},
		{"operator down", func(w *world, _ *preflight.Needs) { w.operator.Status.AvailableReplicas = 0 }, "operator", preflight.Fail, "0 of 2"},
		{"half an operator", func(w *world, _ *preflight.Needs) { w.operator.Status.AvailableReplicas = 1 }, "operator", preflight.Warn, "1 of 2"},
		{"no right", func(w *world, _ *preflight.Needs) { w.denied = "create nodepools" }, "right to create nodepools", preflight.Fail, "in namespace clusters"},
		{"no class", func(w *world, _ *preflight.Needs) { w.classes = nil }, "storage class of etcd", preflight.Fail, "there is none"},
		{"no default class", func(w *world, _ *preflight.Needs) { w.classes = w.classes[:1] }, "storage class of etcd", preflight.Fail, "there are: fast"},
		{"no such class", func(_ *world, n *preflight.Needs) { n.StorageClass = "slow" }, "storage class of etcd", preflight.Fail, "slow; there are: fast, usual"},
		{"two default classes", func(w *world, _ *preflight.Needs) { w.classes = append(w.classes, class("too", true)) }, "storage class of etcd", preflight.Warn, "too and usual"},
		{"classes not to be read", func(w *world, _ *preflight.Needs) { w.unread = map[string]error{"StorageClass": forbidden} }, "storage class of etcd", preflight.Skip, "forbidden"},
		{"no room", func(w *world, _ *preflight.Needs) { w.pods = append(w.pods, taker("q", "a", "1", corev1.PodRunning)) }, "room for a control plane", preflight.Warn, "3.0 CPU and 16.0 GiB"},
		{"a node that takes no pods", func(w *world, _ *preflight.Needs) { w.nodes[0].Spec.Unschedulable = true }, "room for a control plane", preflight.Warn, "0.0 CPU"},
		{"a node that is not ready", func(w *world, _ *preflight.Needs) { w.nodes[0].Status.Conditions = nil }, "room for a control plane", preflight.Warn, "0.0 CPU"},
		{"no room for three", func(_ *world, n *preflight.Needs) { n.HighlyAvailable = true }, "room for a control plane", preflight.Warn, "about 12 and 24"},
		{"no zones for three", func(w *world, n *preflight.Needs) {
			n.HighlyAvailable = true
			w.nodes = append(w.nodes, node("b", "1", "20", "64Gi"), node("c", "2", "20", "64Gi"))
		}, "zones for three replicas", preflight.Warn, "in 2 zones: 1, 2"},
		{"nodes not to be read", func(w *world, _ *preflight.Needs) { w.unread = map[string]error{"Node": forbidden} }, "room for a control plane", preflight.Skip, "forbidden"},
	} {
		t.Run(tc.title, func(t *testing.T) {
			w, needs := newWorld(), preflight.Needs{Namespace: "clusters", Operator: "hypershift"}
			tc.change(w, &needs)
			checks, err := preflight.Management(t.Context(), w.client(), needs)
			if err != nil {
				t.Fatal(err)
			}
			tally.Found(t, checks)
			found := false
			for _, c := range checks {
				if c.Name == tc.check {
					found = true
					if c.Status != tc.status || !strings.Contains(c.Detail, tc.word) {
						t.Errorf("%+v, want %s with %q", c, tc.status, tc.word)
					}
				}
			}
			if !found && tc.check != "" || len(checks) < 10 {
				t.Errorf("%d checks: %+v", len(checks), checks)
			}
			worst := tc.status
			if worst == preflight.Skip {
				worst = preflight.Pass
			}
			if got := preflight.Worst(checks); got != worst {
				t.Errorf("worst is %s, want %s: %+v", got, worst, checks)
			}
		})
	}
	tally.Complete(t, preflight.AtManagement)
}

func TestManagementThatDoesNotAnswer(t *testing.T) {
	w := newWorld()
	w.unread = map[string]error{"Node": errors.New("no answer")}
	if _, err := preflight.Management(t.Context(), w.client(), preflight.Needs{Namespace: "clusters", Operator: "hypershift"}); err == nil || !strings.Contains(err.Error(), "no answer") {
		t.Errorf("%v", err)
	}
}

// TestManagementRounds: where the API server takes 100 ms to answer, the look ends in three seconds, discovery of its kinds included.
func TestManagementRounds(t *testing.T) {
	var r *preflighttest.Rounds
	config := rest.CopyConfig(kubetest.Start(t))
	config.QPS = -1
	config.Wrap(func(next http.RoundTripper) http.RoundTripper {
		r = &preflighttest.Rounds{Next: next}
		return r
	})
	scheme := surveytest.Client().Build().Scheme()
	c, err := client.New(config, client.Options{Scheme: scheme})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := preflight.Management(t.Context(), c, preflight.Needs{Namespace: "clusters", Operator: "hypershift", HighlyAvailable: true}); err != nil {
		t.Fatal(err)
	}
	rounds, calls := r.Counted()
	t.Logf("%d calls in %d rounds", calls, rounds)
	if most := preflighttest.MostRounds; calls < 10 || rounds > most {
		t.Errorf("%d calls in %d rounds, may be %d", calls, rounds, most)
	}
}
