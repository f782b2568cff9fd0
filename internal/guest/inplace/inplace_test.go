package inplace

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/util/flowcontrol"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	hyperv1 "github.com/hypershift-on-azure/hypershift/api/v1beta1"
	"github.com/hypershift-on-azure/hypershift/internal/clusterapi"
	"github.com/hypershift-on-azure/hypershift/internal/contract"
	"github.com/hypershift-on-azure/hypershift/internal/guest/guesttest"
	"github.com/hypershift-on-azure/hypershift/internal/guest/inside"
)

const namespace = "clusters-demo"

var started = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

// world has a node pool np of which machines a, b and c are nodes of configuration "aaaa".
type world struct {
	t *testing.T
	*reconciler
	// held are pods whose budget holds them.
	held map[string]bool
	now  time.Time
}

func newWorld(t *testing.T) *world {
	t.Helper()
	w := &world{t: t, held: map[string]bool{}, now: started}
	guest := fake.NewClientBuilder().WithScheme(guesttest.Scheme(t)).
		WithIndex(&corev1.Pod{}, "spec.nodeName", func(obj client.Object) []string { return []string{obj.(*corev1.Pod).Spec.NodeName} }).
		WithInterceptorFuncs(interceptor.Funcs{SubResourceCreate: func(ctx context.Context, c client.Client, sub string, obj, _ client.Object, _ ...client.SubResourceCreateOption) error {
			if sub != "eviction" {
				return errors.New("unexpected " + sub)
			}
			if w.held[obj.GetName()] {
				return apierrors.NewTooManyRequests("disruption budget", 0)
			}
			return c.Delete(ctx, obj)
		}}).Build()
	management := fake.NewClientBuilder().WithScheme(guesttest.Scheme(t)).Build()
	w.reconciler = &reconciler{guest: guest, live: guest, management: management, namespace: namespace, now: func() time.Time { return w.now }, pace: flowcontrol.NewFakeAlwaysRateLimiter(),
		facts: func(context.Context, *hyperv1.HostedControlPlane) (*inside.Facts, error) {
			return guesttest.PlainFacts(), nil
		}}
	set := clusterapi.New(clusterapi.MachineSet, namespace, "np")
	set.SetAnnotations(map[string]string{hyperv1.NodePoolAnnotation: "clusters/np"})
	w.create(management, guesttest.AzurePlane(), set, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: contract.InPlaceUpdates},
		Data: map[string][]byte{"np.aaaa": []byte("settings a"), "np.bbbb": []byte("settings b"), "np.cccc": []byte("settings c")}})
	for _, name := range []string{"a", "b", "c"} {
		machine := clusterapi.NewWithSpec(clusterapi.Machine, namespace, "np-"+name, map[string]any{"bootstrap": map[string]any{"dataSecretName": "user-data-np-aaaa"}})
		machine.SetAnnotations(map[string]string{hyperv1.NodePoolAnnotation: "clusters/np"})
		w.create(management, machine)
		w.create(guest, &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "np-" + name, Labels: map[string]string{contract.StartedWithLabel: "aaaa"}},
			Status: corev1.NodeStatus{Conditions: []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}}}})
	}
	return w
}

func (w *world) must(err error) {
	w.t.Helper()
	if err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) create(c client.Client, objects ...client.Object) {
	w.t.Helper()
	for _, obj := range objects {
		w.must(c.Create(w.t.Context(), obj))
	}
}

func (w *world) annotations() map[string]string {
	w.t.Helper()
	set := clusterapi.New(clusterapi.MachineSet, namespace, "np")
	w.must(w.management.Get(w.t.Context(), client.ObjectKeyFromObject(set), set))
	return set.GetAnnotations()
}

// wants has the pool ask for a configuration.
func (w *world) wants(target string, limit int) {
	w.t.Helper()
	set := clusterapi.New(clusterapi.MachineSet, namespace, "np")
	w.must(w.management.Get(w.t.Context(), client.ObjectKeyFromObject(set), set))
	all := set.GetAnnotations()
	all[hyperv1.NodePoolTargetConfigVersionAnnotation], all[hyperv1.NodePoolMaxUnavailableAnnotation] = target, fmt.Sprint(limit)
	all[hyperv1.NodePoolReleaseVersionAnnotation] = "4.21." + target
	set.SetAnnotations(all)
	w.must(w.management.Update(w.t.Context(), set))
	// As Cluster API does: the template's user data are those of all Machines.
	machines := clusterapi.NewList(clusterapi.Machine)
	w.must(w.management.List(w.t.Context(), machines))
	for i := range machines.Items {
		w.must(unstructured.SetNestedField(machines.Items[i].Object, "user-data-np-"+target, "spec", "bootstrap", "dataSecretName"))
		w.must(w.management.Update(w.t.Context(), &machines.Items[i]))
	}
}

func (w *world) pass() {
	w.t.Helper()
	_, err := w.Reconcile(w.t.Context(), ctrl.Request{NamespacedName: client.ObjectKey{Namespace: namespace, Name: "np"}})
	w.must(err)
}

func (w *world) node(name string) *corev1.Node {
	w.t.Helper()
	node := &corev1.Node{}
	w.must(w.guest.Get(w.t.Context(), client.ObjectKey{Name: name}, node))
	return node
}

// away are the nodes that take no pods.
func (w *world) away() []string {
	w.t.Helper()
	var list corev1.NodeList
	w.must(w.guest.List(w.t.Context(), &list))
	var out []string
	for _, node := range list.Items {
		if node.Spec.Unschedulable {
			out = append(out, node.Name)
		}
	}
	slices.Sort(out)
	return out
}

func (w *world) pod(node string) *corev1.Pod {
	w.t.Helper()
	pod := &corev1.Pod{}
	err := w.guest.Get(w.t.Context(), client.ObjectKey{Namespace: inside.KubeSystem, Name: podName(node)}, pod)
	if apierrors.IsNotFound(err) {
		return nil
	}
	w.must(err)
	return pod
}

// ends has the program on a node end.
func (w *world) ends(node string, phase corev1.PodPhase, said string) {
	w.t.Helper()
	w.now = w.now.Add(time.Second)
	pod := w.pod(node)
	if pod == nil {
		w.t.Fatalf("no program runs on %s", node)
	}
	pod.Status.Phase = phase
	pod.Status.ContainerStatuses = []corev1.ContainerStatus{{State: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{Message: said, StartedAt: metav1.NewTime(w.now), FinishedAt: metav1.NewTime(w.now)}}}}
	w.must(w.guest.Status().Update(w.t.Context(), pod))
	if phase == corev1.PodSucceeded {
		w.pass()
		w.is("the node is not given back before its new kubelet has told that it is ready", w.node(node).Annotations[configState] == working || w.node(node).Annotations[configState] == degraded)
		w.beats(node)
	}
}

// beats has the kubelet of a node tell that it is ready.
func (w *world) beats(name string) {
	w.t.Helper()
	node := w.node(name)
	node.Status.Conditions[0].LastHeartbeatTime = metav1.NewTime(w.now)
	w.must(w.guest.Status().Update(w.t.Context(), node))
}

func (w *world) is(what string, ok bool) {
	w.t.Helper()
	if !ok {
		w.t.Errorf("%s; annotations of the MachineSet: %v", what, w.annotations())
	}
}

func TestNodesChangeOneByOne(t *testing.T) {
	w := newWorld(t)
	w.wants("aaaa", 1)
	w.pass()
	w.is("nobody asked for another configuration", len(w.away()) == 0 && w.annotations()[hyperv1.NodePoolCurrentConfigVersionAnnotation] == "aaaa")

	w.wants("bbbb", 1)
	for i, name := range []string{"np-a", "np-b", "np-c"} {
		w.pass()
		w.pass()
		w.is("one node is away", slices.Equal(w.away(), []string{name}))
		w.is("the pool is of no one configuration", w.annotations()[hyperv1.NodePoolCurrentConfigVersionAnnotation] == "")
		w.is("progress is told", strings.Contains(w.annotations()[hyperv1.NodePoolUpgradeInProgressTrueAnnotation], fmt.Sprintf("Target Config version: bbbb. Total Nodes: 3. Upgraded: %d. %s: ", i, name)))
		secret := &corev1.Secret{}
		w.must(w.guest.Get(t.Context(), client.ObjectKey{Namespace: inside.KubeSystem, Name: w.pod(name).Spec.Volumes[0].Secret.SecretName}, secret))
		w.is("the program reads the settings of the target", string(secret.Data[settingsKey]) == "settings b")
		w.ends(name, corev1.PodSucceeded, "")
		w.pass()
		node := w.node(name)
		w.is("the node is given back", !node.Spec.Unschedulable && node.Annotations[currentConfig] == "bbbb" && stateOf(node) == done && w.pod(name) == nil)
		machine := clusterapi.New(clusterapi.Machine, namespace, name)
		w.must(w.management.Get(t.Context(), client.ObjectKeyFromObject(machine), machine))
		w.is("the Machine is of the release", machine.GetAnnotations()[hyperv1.NodePoolReleaseVersionAnnotation] == "4.21.bbbb")
	}
	w.pass()
	told := w.annotations()
	w.is("the pool has arrived", told[hyperv1.NodePoolCurrentConfigVersionAnnotation] == "bbbb" && told[hyperv1.NodePoolUpgradeInProgressTrueAnnotation] == "")
	var left corev1.SecretList
	w.must(w.guest.List(t.Context(), &left))
	w.is("no token is left in the guest", len(left.Items) == 0)
}

// The kubelet of before may tell that it is ready while the program runs, as when the container runtime starts again: it is not believed.
func TestFormerKubeletIsNotBelieved(t *testing.T) {
	w := newWorld(t)
	w.wants("bbbb", 1)
	w.pass()
	w.pass()
	started := w.now.Add(20 * time.Second)
	w.now = w.now.Add(10 * time.Second)
	w.beats("np-a")
	w.now = w.now.Add(time.Minute)
	pod := w.pod("np-a")
	pod.Status.Phase = corev1.PodSucceeded
	pod.Status.ContainerStatuses = []corev1.ContainerStatus{{State: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{
		Message: fmt.Sprintln(started.Unix()), StartedAt: metav1.NewTime(started.Add(-15 * time.Second)), FinishedAt: metav1.NewTime(w.now)}}}}
	w.must(w.guest.Status().Update(t.Context(), pod))
	w.pass()
	w.is("the node waits for its new kubelet", stateOf(w.node("np-a")) == working)
	w.now = started
	w.beats("np-a")
	w.pass()
	w.is("the node is given back", stateOf(w.node("np-a")) == done)
}

func TestAsManyAsMayBeAway(t *testing.T) {
	w := newWorld(t)
	w.wants("bbbb", 2)
	w.pass()
	w.is("two are away", slices.Equal(w.away(), []string{"np-a", "np-b"}))

	w = newWorld(t)
	broken := w.node("np-c")
	broken.Status.Conditions[0].Status = corev1.ConditionUnknown
	w.must(w.guest.Status().Update(t.Context(), broken))
	w.wants("bbbb", 2)
	w.pass()
	w.is("with one that is broken one is away", slices.Equal(w.away(), []string{"np-a"}))
	w.wants("bbbb", 1)
	w.pass()
	w.is("no other begins", slices.Equal(w.away(), []string{"np-a"}))
}

// TestNodeIsEmptiedBefore: the program does not run as long as something runs that could run elsewhere.
func TestNodeIsEmptiedBefore(t *testing.T) {
	w := newWorld(t)
	pod := func(name string, change func(*corev1.Pod)) {
		p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name}, Spec: corev1.PodSpec{NodeName: "np-a"}}
		change(p)
		w.create(w.guest, p)
	}
	pod("app", func(*corev1.Pod) {})
	pod("guarded", func(*corev1.Pod) {})
	pod("of-a-daemon", func(p *corev1.Pod) {
		p.OwnerReferences = []metav1.OwnerReference{{Kind: "DaemonSet", Name: "d", Controller: ptr.To(true)}}
	})
	pod("static", func(p *corev1.Pod) { p.Annotations = map[string]string{corev1.MirrorPodAnnotationKey: "x"} })
	pod("over", func(p *corev1.Pod) { p.Status.Phase = corev1.PodSucceeded })
	pod("elsewhere", func(p *corev1.Pod) { p.Spec.NodeName = "np-b" })
	w.held["guarded"] = true
	w.wants("bbbb", 1)
	for range 3 {
		w.pass()
	}
	w.is("the program waits", w.pod("np-a") == nil)
	w.is("it is told for whom", strings.Contains(w.annotations()[hyperv1.NodePoolUpgradeInProgressTrueAnnotation], "default/guarded is held by its disruption budget"))
	delete(w.held, "guarded")
	w.pass()
	w.pass()
	w.is("the program runs", w.pod("np-a") != nil)
	var left corev1.PodList
	w.must(w.guest.List(t.Context(), &left, client.InNamespace("default")))
	w.is("what belongs to the node stays", len(left.Items) == 4)
}

func TestFailureIsToldAndTriedAgain(t *testing.T) {
	w := newWorld(t)
	w.wants("bbbb", 1)
	w.pass()
	w.ends("np-a", corev1.PodFailed, "node-update: no\ndisk\x1b[2J")
	w.pass()
	w.is("the failure is told", w.annotations()[hyperv1.NodePoolUpgradeInProgressFalseAnnotation] == "Node np-a in nodepool degraded: node-update: no disk[2J")
	w.is("no other node begins", slices.Equal(w.away(), []string{"np-a"}))
	w.now = w.now.Add(retryPeriod + time.Second)
	w.pass()
	w.pass()
	w.is("it is tried again", w.pod("np-a") != nil && w.pod("np-a").Status.Phase == "")
	w.ends("np-a", corev1.PodSucceeded, "")
	w.pass()
	w.is("nothing is told any more", w.annotations()[hyperv1.NodePoolUpgradeInProgressFalseAnnotation] == "")
	w.is("the next one begins", stateOf(w.node("np-a")) == done)
}

// TestTakenBack: a pool that returns half-way to what it had changes the nodes back that were begun, and no other.
func TestTakenBack(t *testing.T) {
	w := newWorld(t)
	w.wants("aaaa", 1)
	w.pass()
	w.wants("bbbb", 1)
	w.pass()
	w.wants("aaaa", 1)
	w.pass()
	w.is("it has not arrived", w.annotations()[hyperv1.NodePoolCurrentConfigVersionAnnotation] == "")
	w.pass()
	w.is("the program of what is wanted runs", w.pod("np-a") != nil && w.pod("np-a").Labels[targetLabel] == "aaaa")
	w.ends("np-a", corev1.PodSucceeded, "")
	w.pass()
	w.pass()
	w.is("it has arrived", w.annotations()[hyperv1.NodePoolCurrentConfigVersionAnnotation] == "aaaa" && len(w.away()) == 0)
	w.is("no other node was begun", w.node("np-b").Annotations[desiredConfig] == "" && w.node("np-c").Annotations[desiredConfig] == "")
}

func TestPauseAndOthersCordon(t *testing.T) {
	w := newWorld(t)
	theirs := w.node("np-a")
	theirs.Spec.Unschedulable = true
	w.must(w.guest.Update(t.Context(), theirs))
	w.wants("bbbb", 1)
	set := clusterapi.New(clusterapi.MachineSet, namespace, "np")
	w.must(w.management.Get(t.Context(), client.ObjectKeyFromObject(set), set))
	set.SetAnnotations(map[string]string{contract.PausedAnnotation: "true", hyperv1.NodePoolAnnotation: "clusters/np", hyperv1.NodePoolTargetConfigVersionAnnotation: "bbbb"})
	w.must(w.management.Update(t.Context(), set))
	w.pass()
	w.is("a paused pool is left alone", stateOf(w.node("np-a")) == "")
	set.SetAnnotations(map[string]string{hyperv1.NodePoolAnnotation: "clusters/np", hyperv1.NodePoolTargetConfigVersionAnnotation: "bbbb"})
	w.must(w.management.Update(t.Context(), set))
	w.pass()
	w.ends("np-a", corev1.PodSucceeded, "")
	w.pass()
	w.pass()
	w.is("the next one begins", slices.Equal(w.away(), []string{"np-a", "np-b"}))
	w.must(w.management.Get(t.Context(), client.ObjectKeyFromObject(set), set))
	all := set.GetAnnotations()
	all[contract.PausedAnnotation] = "true"
	set.SetAnnotations(all)
	w.must(w.management.Update(t.Context(), set))
	w.ends("np-b", corev1.PodSucceeded, "")
	w.pass()
	w.pass()
	w.is("what was begun is ended in a pause, and nothing begins", stateOf(w.node("np-b")) == done && stateOf(w.node("np-c")) == "")
	w.is("a node that somebody else cordoned stays so", stateOf(w.node("np-a")) == done && w.node("np-a").Spec.Unschedulable)
}

// TestNewMachineIsNotChanged: what starts with the target is of it, and what starts with the former one is changed when it is a node.
func TestNewMachineIsNotChanged(t *testing.T) {
	late := func(data string) *member {
		return &member{machine: clusterapi.NewWithSpec(clusterapi.Machine, namespace, "x", map[string]any{"bootstrap": map[string]any{"dataSecretName": data}})}
	}
	if !allDone([]*member{late("user-data-my-pool-bbbb")}, "bbbb") || allDone([]*member{late("user-data-my-pool-aaaa")}, "bbbb") || !allDone(nil, "bbbb") {
		t.Error("a machine is not of what it starts with")
	}
	if len(choose([]*member{late("user-data-my-pool-aaaa")}, "bbbb", 5)) > 0 {
		t.Error("a machine that is no node is begun")
	}
}
