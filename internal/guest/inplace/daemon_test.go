package inplace

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hypershift-on-azure/hypershift/api/v1beta1"
	"github.com/hypershift-on-azure/hypershift/internal/clusterapi"
	"github.com/hypershift-on-azure/hypershift/internal/contract"
	"github.com/hypershift-on-azure/hypershift/internal/guest/guesttest"
	"github.com/hypershift-on-azure/hypershift/internal/guest/inside"
	"github.com/hypershift-on-azure/hypershift/internal/release"
)

// poolRelease is what the pool's release has: another daemon than the control plane's.
type poolRelease struct{}

func (poolRelease) Lookup(_ context.Context, image string, _ release.Access) (*release.Release, error) {
	return &release.Release{Image: image, Version: "4.21.0", Images: map[string]string{daemonImage: "daemon of " + image}}, nil
}

// newDaemonWorld is one whose payload has its own daemon.
func newDaemonWorld(t *testing.T) *world {
	t.Helper()
	w := newWorld(t)
	w.releases = poolRelease{}
	w.facts = func(context.Context, *hyperv1.HostedControlPlane) (*inside.Facts, error) {
		facts := guesttest.PlainFacts()
		facts.HCP = guesttest.AzurePlane()
		facts.HCP.Spec.Configuration = &hyperv1.ClusterConfiguration{Proxy: &hyperv1.ProxySpec{HTTPSProxy: "http://proxy:3128"}}
		facts.Images = map[string]string{daemonImage: "daemon of the control plane"}
		return facts, nil
	}
	return w
}

// offers has the ignition server render the configuration.
func (w *world) offers(target string) {
	w.t.Helper()
	w.create(w.management, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: contract.PoolToken("np", target)}, Data: map[string][]byte{
		"payload": []byte("packed " + target), "release": []byte("release " + target), "release-version": []byte("4.21.0")}})
}

func (w *world) daemonOn(node string) *corev1.Pod {
	w.t.Helper()
	pod := &corev1.Pod{}
	err := w.guest.Get(w.t.Context(), client.ObjectKey{Namespace: "np-upgrade", Name: "machine-config-daemon-" + node}, pod)
	if apierrors.IsNotFound(err) {
		return nil
	}
	w.must(err)
	return pod
}

// says has the daemon write annotations of its Node.
func (w *world) says(name string, pairs ...string) {
	w.t.Helper()
	node := w.node(name)
	if node.Annotations == nil {
		node.Annotations = map[string]string{}
	}
	for i := 0; i < len(pairs); i += 2 {
		node.Annotations[pairs[i]] = pairs[i+1]
	}
	w.must(w.guest.Update(w.t.Context(), node))
}

// becomes plays the daemon on a node from its start to its end.
func (w *world) becomes(name, target string) {
	w.t.Helper()
	w.says(name, configState, working, desiredDrain, "drain-"+target)
	w.pass()
	w.is(name+" is drained", w.node(name).Annotations[appliedDrain] == "drain-"+target && w.node(name).Spec.Unschedulable)
	w.says(name, configState, done, currentConfig, target, desiredDrain, "uncordon-"+target)
	w.pass()
	node := w.node(name)
	w.is(name+" takes pods again", node.Annotations[appliedDrain] == "uncordon-"+target && !node.Spec.Unschedulable && w.daemonOn(name) == nil)
}

// TestDaemonChangesNodes: one by one, each by the daemon of the pool's own release, which gets the configuration and drains as it asks for.
func TestDaemonChangesNodes(t *testing.T) {
	w := newDaemonWorld(t)
	w.wants("bbbb", 1)
	w.pass()
	w.is("nothing begins before the configuration is rendered", w.daemonOn("np-a") == nil && w.node("np-a").Annotations[desiredConfig] == "")
	w.offers("bbbb")
	for i, name := range []string{"np-a", "np-b", "np-c"} {
		w.pass()
		pod := w.daemonOn(name)
		w.is("the daemon runs on "+name, pod != nil)
		if i == 0 {
			checkDaemon(t, w, pod)
		}
		w.is("no other begins", i == 2 || w.daemonOn([]string{"np-a", "np-b", "np-c"}[i+1]) == nil)
		w.is("progress is told", strings.Contains(w.annotations()[hyperv1.NodePoolUpgradeInProgressTrueAnnotation], "Total Nodes: 3. Upgraded: "+[]string{"0", "1", "2"}[i]))
		w.becomes(name, "bbbb")
		machine := clusterapi.New(clusterapi.Machine, namespace, name)
		w.must(w.management.Get(t.Context(), client.ObjectKeyFromObject(machine), machine))
		w.is("the Machine is of the release", machine.GetAnnotations()[hyperv1.NodePoolReleaseVersionAnnotation] == "4.21.bbbb")
	}
	w.pass()
	told := w.annotations()
	w.is("the pool has arrived", told[hyperv1.NodePoolCurrentConfigVersionAnnotation] == "bbbb" && told[hyperv1.NodePoolUpgradeInProgressTrueAnnotation] == "")
}

func checkDaemon(t *testing.T, w *world, pod *corev1.Pod) {
	t.Helper()
	c := pod.Spec.Containers[0]
	if c.Image != "daemon of release bbbb" || c.Command[0] != "/usr/bin/machine-config-daemon" ||
		strings.Join(c.Args, " ") != "start --node-name=np-a --root-mount=/rootfs --kubeconfig=/var/lib/kubelet/kubeconfig --desired-configmap=/etc/machine-config-daemon-desired-config" {
		t.Errorf("it runs %s %v %v", c.Image, c.Command, c.Args)
	}
	if !pod.Spec.HostPID || !pod.Spec.HostNetwork || pod.Spec.RestartPolicy != corev1.RestartPolicyOnFailure || pod.Spec.NodeSelector["kubernetes.io/hostname"] != "np-a" || len(c.Env) != 2 {
		t.Errorf("its pod: %+v", pod.Spec)
	}
	config, space := &corev1.ConfigMap{}, &corev1.Namespace{}
	w.must(w.guest.Get(t.Context(), client.ObjectKey{Namespace: "np-upgrade", Name: "np-upgrade"}, config))
	w.must(w.guest.Get(t.Context(), client.ObjectKey{Name: "np-upgrade"}, space))
	if config.Data["config"] != "packed bbbb" || config.Data["hash"] != "bbbb" || space.Labels["pod-security.kubernetes.io/enforce"] != "privileged" {
		t.Errorf("it reads %v in a namespace with %v", config.Data, space.Labels)
	}
}

// TestDaemonDrains: what another node could run leaves, the daemon itself does not; of a node that says nothing nobody waits for pods.
func TestDaemonDrains(t *testing.T) {
	w := newDaemonWorld(t)
	w.offers("bbbb")
	w.wants("bbbb", 1)
	w.pass()
	w.held["guarded"] = true
	for _, name := range []string{"app", "guarded"} {
		w.create(w.guest, &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name}, Spec: corev1.PodSpec{NodeName: "np-a"}})
	}
	daemon := w.daemonOn("np-a")
	daemon.Spec.NodeName = "np-a"
	w.must(w.guest.Update(t.Context(), daemon))
	w.says("np-a", configState, working, desiredDrain, "drain-x")
	w.pass()
	w.pass()
	w.is("it waits for its pods", w.node("np-a").Annotations[appliedDrain] == "" && w.daemonOn("np-a") != nil)
	w.is("it is told for whom", strings.Contains(w.annotations()[hyperv1.NodePoolUpgradeInProgressTrueAnnotation], "default/guarded is held by its disruption budget"))
	node := w.node("np-a")
	node.Status.Conditions[0].Status = corev1.ConditionUnknown
	node.Status.Conditions[0].LastTransitionTime = metav1.NewTime(w.now.Add(-6 * time.Minute))
	w.must(w.guest.Status().Update(t.Context(), node))
	w.pass()
	w.is("a node that says nothing is drained", w.node("np-a").Annotations[appliedDrain] == "drain-x")
}

// TestDaemonFails: what it says of itself is told, one that ended is started again, and no other node begins meanwhile.
func TestDaemonFails(t *testing.T) {
	w := newDaemonWorld(t)
	w.offers("bbbb")
	w.wants("bbbb", 1)
	w.pass()
	w.says("np-a", configState, degraded, configReason, "cannot\x1b write")
	pod := w.daemonOn("np-a")
	pod.Status.Phase = corev1.PodFailed
	w.must(w.guest.Status().Update(t.Context(), pod))
	w.pass()
	w.is("the failure is told", w.annotations()[hyperv1.NodePoolUpgradeInProgressFalseAnnotation] == "Node np-a in nodepool degraded: cannot write")
	w.is("the pod that ended goes", w.daemonOn("np-a") == nil)
	w.pass()
	w.is("it is tried again", w.daemonOn("np-a") != nil && w.daemonOn("np-b") == nil)
	w.offers("cccc")
	w.wants("cccc", 1)
	w.pass()
	w.is("a node on its way goes to what is wanted now", w.node("np-a").Annotations[desiredConfig] == "cccc" && w.node("np-b").Annotations[desiredConfig] == "")
	w.pass()
	w.pass()
	w.is("by a daemon of that release", w.daemonOn("np-a") != nil && w.daemonOn("np-a").Spec.Containers[0].Image == "daemon of release cccc")
}

// TestDaemonBudget: as many as may be away, no more than there are, and none of a pool that rests.
func TestDaemonBudget(t *testing.T) {
	w := newDaemonWorld(t)
	w.offers("bbbb")
	w.wants("bbbb", 5)
	w.pass()
	var begun []string
	for _, name := range []string{"np-a", "np-b", "np-c"} {
		if w.node(name).Annotations[desiredConfig] == "bbbb" {
			begun = append(begun, name)
		}
	}
	w.is("all begin", slices.Equal(begun, []string{"np-a", "np-b", "np-c"}))
	w = newDaemonWorld(t)
	w.offers("bbbb")
	w.wants("bbbb", 1)
	set := clusterapi.New(clusterapi.MachineSet, namespace, "np")
	w.must(w.management.Get(t.Context(), client.ObjectKeyFromObject(set), set))
	all := set.GetAnnotations()
	all[contract.PausedAnnotation] = "true"
	set.SetAnnotations(all)
	w.must(w.management.Update(t.Context(), set))
	w.pass()
	w.is("none begins of a pool that rests", w.node("np-a").Annotations[desiredConfig] == "")
}
