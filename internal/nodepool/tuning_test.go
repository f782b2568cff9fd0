package nodepool

import (
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hypershift-on-azure/hypershift/api/v1beta1"
	"github.com/hypershift-on-azure/hypershift/internal/contract"
	"github.com/hypershift-on-azure/hypershift/internal/ignition"
	"github.com/hypershift-on-azure/hypershift/internal/nodepool/tuning"
	"github.com/hypershift-on-azure/hypershift/internal/release"
)

// openShiftPass is one of a pool whose payload has operators of its own.
func openShiftPass(w *world, np *hyperv1.NodePool) *pass {
	payload := payload()
	payload.Images = map[string]string{"machine-config-operator": "m", "cluster-node-tuning-operator": "t", "haproxy-router": "h"}
	return &pass{reconciler: w.Reconciler, np: np, hc: hostedCluster(), namespace: cpns, release: payload}
}

func inNamespace(namespace, name string, labels map[string]string, data ...string) *corev1.ConfigMap {
	config := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, Labels: labels}, Data: map[string]string{}}
	for i := 0; i+1 < len(data); i += 2 {
		config.Data[data[i]] = data[i+1]
	}
	return config
}

const (
	aTuned   = "apiVersion: tuned.openshift.io/v1\nkind: Tuned\nmetadata: {name: t}\nspec: {}\n"
	aProfile = "apiVersion: performance.openshift.io/v2\nkind: PerformanceProfile\nmetadata: {name: p}\nspec: {}\n"
	aKubelet = "apiVersion: machineconfiguration.openshift.io/v1\nkind: KubeletConfig\nmetadata: {name: k}\nspec: {kubeletConfig: {maxPods: 10}}\n"
	anMC     = "apiVersion: machineconfiguration.openshift.io/v1\nkind: MachineConfig\nmetadata: {name: 50-tuned-demo}\nspec: {kernelArguments: [isolcpus=1]}\n"
)

// TestNodeTuning: the operator learns what the pool asks for, and what it makes of that reaches the nodes and the conditions; what is not asked for
// any more goes, and with the pool everything.
func TestNodeTuning(t *testing.T) {
	np := nodePool()
	np.Spec.TuningConfig = []corev1.LocalObjectReference{{Name: "tuned"}, {Name: "profile"}}
	np.Spec.Config = []corev1.LocalObjectReference{{Name: "kubelet"}}
	pool := map[string]string{hyperv1.NodePoolLabel: "demo"}
	generated := map[string]string{hyperv1.NodePoolLabel: "demo", tuning.GeneratedLabel: "true"}
	w := newWorld(t, append(surroundings(t), np,
		inNamespace("clusters", "tuned", nil, "tuning", aTuned), inNamespace("clusters", "profile", nil, "tuning", aProfile), inNamespace("clusters", "kubelet", nil, "config", aKubelet),
		inNamespace(cpns, "made-for-demo", generated, "config", anMC),
		inNamespace(cpns, "another", map[string]string{hyperv1.NodePoolLabel: "another", tuning.TunedLabel: "true"}),
		inNamespace(cpns, "former", map[string]string{hyperv1.NodePoolLabel: "demo", tuning.TunedLabel: "true"}),
		inNamespace(cpns, "status", map[string]string{hyperv1.NodePoolLabel: "demo", tuning.ProfileStatusLabel: "true"}, "status", "conditions: [{type: Degraded, status: \"False\"}]"))...)
	p := openShiftPass(w, np)
	for _, step := range []func(*Reconciler) error{
		func(r *Reconciler) error { return r.tuningConfig(t.Context(), p) },
		func(r *Reconciler) error { return r.machineConfig(t.Context(), p) },
		func(r *Reconciler) error { return r.tellOperator(t.Context(), p) },
	} {
		if err := step(w.Reconciler); err != nil {
			t.Fatal(err)
		}
	}
	if got := condition(np, hyperv1.NodePoolValidTuningConfig); got.Status != corev1.ConditionTrue {
		t.Errorf("%+v", got)
	}
	if got := condition(np, "performance.operator.openshift.io/Degraded"); got.Status != corev1.ConditionFalse {
		t.Errorf("the profile's condition: %+v", got)
	}
	if !strings.Contains(p.config.raw, "isolcpus=1") || !strings.Contains(p.config.raw, "maxPods") {
		t.Errorf("configuration %s", p.config.raw)
	}
	if got := ownMaps(t, w, pool); !slices.Equal(got, []string{"nodepool-config-kubelet-demo", "nodepool-config-profile-demo", "tuned-demo"}) {
		t.Errorf("the operator is told by %v", got)
	}
	if err := w.client.Get(t.Context(), client.ObjectKey{Namespace: cpns, Name: "another"}, &corev1.ConfigMap{}); err != nil {
		t.Errorf("what another pool asks for: %v", err)
	}
	np.Spec.TuningConfig = nil
	p = openShiftPass(w, np)
	if err := w.tuningConfig(t.Context(), p); err != nil {
		t.Fatal(err)
	}
	if got := condition(np, "performance.operator.openshift.io/Degraded"); got.Type != "" {
		t.Errorf("without a profile: %+v", got)
	}
	if err := w.forgetTuning(t.Context(), p, nil); err != nil {
		t.Fatal(err)
	}
	if got := ownMaps(t, w, pool); len(got) != 0 {
		t.Errorf("left: %v", got)
	}
	if err := w.client.Get(t.Context(), client.ObjectKey{Namespace: cpns, Name: "made-for-demo"}, &corev1.ConfigMap{}); err != nil {
		t.Errorf("the operator's own ConfigMap: %v", err)
	}
}

// ownMaps are the names of the ConfigMaps that the pool has written for the operator.
func ownMaps(t *testing.T, w *world, labels map[string]string) []string {
	t.Helper()
	list := &corev1.ConfigMapList{}
	if err := w.client.List(t.Context(), list, client.InNamespace(cpns), client.MatchingLabels(labels)); err != nil {
		t.Fatal(err)
	}
	var names []string
	for i := range list.Items {
		if tuning.IsOwn(&list.Items[i]) {
			names = append(names, list.Items[i].Name)
		}
	}
	slices.Sort(names)
	return names
}

// TestNodeTuningRefused: kubelets are configured once; nobody tunes without the capability; a document that nobody reads ends the pass.
func TestNodeTuningRefused(t *testing.T) {
	np := nodePool()
	np.Spec.Config = []corev1.LocalObjectReference{{Name: "kubelet"}}
	w := newWorld(t, append(surroundings(t), np, inNamespace("clusters", "kubelet", nil, "config", aKubelet), inNamespace("clusters", "broken", nil, "tuning", aKubelet),
		inNamespace(cpns, "theirs", map[string]string{hyperv1.NodePoolLabel: "demo", tuning.GeneratedLabel: "true", contract.KubeletConfigLabel: "true"}, "config", aKubelet))...)
	p := openShiftPass(w, np)
	if err := w.machineConfig(t.Context(), p); err == nil || !strings.Contains(condition(np, hyperv1.NodePoolValidMachineConfig).Message, "configured 2 times") {
		t.Errorf("two KubeletConfigs: %v", err)
	}
	np.Spec.TuningConfig = []corev1.LocalObjectReference{{Name: "broken"}}
	if err := w.tuningConfig(t.Context(), openShiftPass(w, np)); err == nil || condition(np, hyperv1.NodePoolValidTuningConfig).Status != corev1.ConditionFalse {
		t.Errorf("a document of another kind: %v", err)
	}
	disabled := openShiftPass(w, np)
	disabled.hc.Spec.Capabilities = &hyperv1.Capabilities{Disabled: []hyperv1.OptionalCapability{nodeTuning}}
	if err := w.tuningConfig(t.Context(), disabled); err == nil || !strings.Contains(condition(np, hyperv1.NodePoolValidTuningConfig).Message, "NodeTuning is disabled") {
		t.Errorf("without the capability: %v", err)
	}
	if err := w.client.Get(t.Context(), client.ObjectKey{Namespace: cpns, Name: "tuned-demo"}, &corev1.ConfigMap{}); !apierrors.IsNotFound(err) {
		t.Error("the operator is told of what is refused")
	}
}

// TestOpenShiftDocuments: what only the payload's own programs read is refused of a plain pool, and not of theirs.
func TestOpenShiftDocuments(t *testing.T) {
	for kind, refused := range map[release.Kind]bool{release.KindKubernetes: true, release.KindOpenShift: false} {
		problems, err := ignition.Unread(kind, []string{anMC, "apiVersion: machineconfiguration.openshift.io/v1\nkind: ContainerRuntimeConfig\nmetadata: {name: r}\n"})
		if err != nil || (len(problems) == 2) != refused {
			t.Errorf("%s: %v, %v", kind, problems, err)
		}
	}
}
