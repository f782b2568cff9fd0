package tuning

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	hyperv1 "github.com/hypershift-on-azure/hypershift/api/v1beta1"
	"github.com/hypershift-on-azure/hypershift/internal/contract"
)

func source(name, text string) *corev1.ConfigMap {
	return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name}, Data: map[string]string{SourceKey: text}}
}

func pool() *hyperv1.NodePool {
	return &hyperv1.NodePool{ObjectMeta: metav1.ObjectMeta{Namespace: "clusters", Name: "np"}}
}

const (
	tuned   = "apiVersion: tuned.openshift.io/v1\nkind: Tuned\nmetadata: {name: t}\nspec: {recommend: []}\n"
	profile = "apiVersion: performance.openshift.io/v2\nkind: PerformanceProfile\nmetadata: {name: p}\nspec: {cpu: {isolated: 1-3}}\n"
)

// TestConfigMaps: all Tuned documents go into one ConfigMap of the pool, the profile into one named after its source.
func TestConfigMaps(t *testing.T) {
	c := &Configuration{}
	for _, s := range []*corev1.ConfigMap{source("a", tuned), source("b", strings.Replace(tuned, "name: t", "name: u", 1)), source("c", profile)} {
		if err := c.Add(s); err != nil {
			t.Fatal(err)
		}
	}
	made := c.ConfigMaps(pool(), "ns")
	if len(made) != 2 || made[0].Name != "tuned-np" || made[0].Labels[TunedLabel] != "true" || strings.Count(made[0].Data[SourceKey], "kind: Tuned") != 2 ||
		!strings.Contains(made[0].Data[SourceKey], "\n---\n") {
		t.Errorf("made %+v", made)
	}
	if made[1].Name != "nodepool-config-c-np" || made[1].Labels[ProfileLabel] != "true" || made[1].Labels[hyperv1.NodePoolLabel] != "np" || made[1].Annotations[hyperv1.NodePoolAnnotation] != "clusters/np" {
		t.Errorf("made %+v", made[1])
	}
	for _, one := range made {
		if !IsOwn(one) {
			t.Errorf("%s is not known as the pool's own", one.Name)
		}
	}
}

// TestNames: whatever a user calls ConfigMaps and pools, no name is that of something of the control plane.
func TestNames(t *testing.T) {
	np := pool()
	np.Name = "config"
	made, _, err := Mirror(np, "ns", &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "kas"}, Data: map[string]string{hyperv1.NodePoolConfigKey: "kind: KubeletConfig"}})
	if err != nil || made.Name == "kas-config" || !strings.HasPrefix(made.Name, "nodepool-config-") {
		t.Errorf("%+v, %v", made, err)
	}
}

// TestRefused: what the operator would not read is told before it is written.
func TestRefused(t *testing.T) {
	for name, test := range map[string]struct{ text, want string }{
		"another kind":    {"apiVersion: v1\nkind: ConfigMap\n", "nothing that nodes are tuned by"},
		"another version": {strings.Replace(profile, "/v2", "/v1alpha1", 1), "nothing that nodes are tuned by"},
		"two documents":   {tuned + "---\n" + tuned, "has 2 documents"},
		"no name":         {strings.Replace(tuned, "{name: t}", "{}", 1), "no metadata.name"},
		"no spec":         {strings.Replace(tuned, "spec", "status", 1), "no spec"},
		"unknown member":  {tuned + "speck: {}\n", `unknown field "speck"`},
		"no YAML":         {"{", "read configuration document 1"},
	} {
		if err := (&Configuration{}).Add(source("a", test.text)); err == nil || !strings.Contains(err.Error(), test.want) || !strings.Contains(err.Error(), `"a"`) {
			t.Errorf("%s: %v", name, err)
		}
	}
	two := &Configuration{}
	if err := two.Add(source("a", profile)); err != nil {
		t.Fatal(err)
	}
	if err := two.Add(source("b", profile)); err == nil || !strings.Contains(err.Error(), "keep one") {
		t.Errorf("two profiles: %v", err)
	}
	if err := (&Configuration{}).Add(&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "a"}}); err == nil {
		t.Error("a ConfigMap without the key is taken")
	}
}

// TestMirror: what configures kubelets or the runtime is copied as it is, with the labels of both.
func TestMirror(t *testing.T) {
	long := strings.Repeat("k", 70)
	both := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: long}, Data: map[string]string{"more": "x", hyperv1.NodePoolConfigKey: "kind: KubeletConfig\n---\nkind: ContainerRuntimeConfig\n"}}
	made, kubelets, err := Mirror(pool(), "ns", both)
	if err != nil || kubelets != 1 || made.Labels[contract.KubeletConfigLabel] != "true" || made.Labels[RuntimeLabel] != "true" || made.Labels[contract.MirroredLabel] != "true" || made.Data["more"] != "x" {
		t.Errorf("%+v, %d, %v", made, kubelets, err)
	}
	if len(made.Name) != maxName {
		t.Errorf("name %s of %d characters", made.Name, len(made.Name))
	}
	machine := &corev1.ConfigMap{Data: map[string]string{hyperv1.NodePoolConfigKey: "kind: MachineConfig\n"}}
	if made, _, err := Mirror(pool(), "ns", machine); made != nil || err != nil {
		t.Errorf("a MachineConfig is mirrored: %v, %v", made, err)
	}
}

// TestGenerated reads what the operator made; TestProfileStatus what it says of a profile.
func TestGenerated(t *testing.T) {
	made := corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "made-for-np", Labels: map[string]string{GeneratedLabel: "true"}}, Data: map[string]string{hyperv1.NodePoolConfigKey: `apiVersion: machineconfiguration.openshift.io/v1
kind: MachineConfig
metadata: {name: 50-tuned-np}
spec: {kernelArguments: [isolcpus=1]}
`}}
	kubelet := made
	kubelet.Labels = map[string]string{GeneratedLabel: "true", contract.KubeletConfigLabel: "true"}
	documents, kubelets, err := Generated([]corev1.ConfigMap{made, kubelet})
	if err != nil || len(documents) != 2 || kubelets != 1 || !strings.Contains(documents[0], "isolcpus=1") {
		t.Errorf("%v, %d, %v", documents, kubelets, err)
	}
	if IsOwn(&made) || IsOwn(&kubelet) {
		t.Error("the operator's ConfigMap is taken for the pool's own")
	}
}

// TestProfileStatus: known conditions are told, one profile alone has them.
func TestProfileStatus(t *testing.T) {
	status := corev1.ConfigMap{Data: map[string]string{"status": "conditions:\n- {type: Available, status: \"True\", reason: R, message: m}\n- {type: Other, status: \"True\"}\n- {type: Degraded, status: Perhaps}\n"}}
	got, err := ProfileStatus([]corev1.ConfigMap{status})
	if err != nil || len(got) != 1 || got[0].Type != "performance.operator.openshift.io/Available" || got[0].Status != corev1.ConditionTrue || got[0].Reason != "R" {
		t.Errorf("%+v, %v", got, err)
	}
	if got, err := ProfileStatus(nil); got != nil || err != nil {
		t.Errorf("nothing is told as %v, %v", got, err)
	}
	if _, err := ProfileStatus([]corev1.ConfigMap{status, status}); err == nil {
		t.Error("two are no error")
	}
}

// FuzzTuning: whatever a user asks for, or an operator says, is taken whole or refused.
func FuzzTuning(f *testing.F) {
	f.Add(tuned)
	f.Add(profile)
	f.Add("conditions: [{type: Available, status: \"True\"}]")
	f.Fuzz(func(t *testing.T, text string) {
		c := &Configuration{}
		if err := c.Add(source("a", text)); err == nil && (len(c.Tuned) == 1) == (c.Profile != "") {
			t.Fatalf("%q is taken as %+v", text, c)
		}
		told, err := ProfileStatus([]corev1.ConfigMap{{Data: map[string]string{"status": text}}})
		if err != nil && told != nil {
			t.Fatalf("%v with %v", told, err)
		}
		for _, condition := range told {
			if !strings.HasPrefix(condition.Type, ConditionPrefix) || condition.Status == "" {
				t.Fatalf("%+v is told", condition)
			}
		}
	})
}
