package nodepool

import (
	"maps"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hypershift-on-azure/hypershift/api/v1beta1"
	"github.com/hypershift-on-azure/hypershift/internal/clusterapi"
)

// TestTagsChangeWithoutNewMachines: the tags of a pool are those of its template and of the machines that there are, and other tags keep
// the template's name, and so the machines.
func TestTagsChangeWithoutNewMachines(t *testing.T) {
	np := nodePool()
	np.Annotations = map[string]string{hyperv1.AzureTagsAnnotation: "team=blue, cost=1"}
	objects := surroundings(t)
	objects[0].SetAnnotations(map[string]string{hyperv1.AzureTagsAnnotation: "Team=of the cluster,owner=web"})
	w := newWorld(t, append(objects, np)...)
	mustPass(t, w)
	template := w.template(t)
	if got := tagsIn(t, w.object(t, clusterapi.AzureMachineTemplate, template), "spec", "template", "spec"); !maps.Equal(got, map[string]string{"team": "blue", "cost": "1", "owner": "web"}) {
		t.Fatalf("tags of the template: %v", got)
	}
	w.makeMachine(t, "demo-0")
	foreign := clusterapi.New(clusterapi.AzureMachine, cpns, "other-0")
	w.create(t, foreign)

	for _, step := range []struct {
		cluster, annotation string
		want                map[string]string
	}{{"owner=web", "team=red", map[string]string{"team": "red", "owner": "web"}}, {"owner=api", "team=red", map[string]string{"team": "red", "owner": "api"}},
		{"", "", nil}, {"", "team=green", map[string]string{"team": "green"}}} {
		hc := &hyperv1.HostedCluster{}
		if err := w.client.Get(t.Context(), client.ObjectKey{Namespace: "clusters", Name: "demo"}, hc); err != nil {
			t.Fatal(err)
		}
		hc.Annotations = map[string]string{hyperv1.AzureTagsAnnotation: step.cluster}
		if err := w.client.Update(t.Context(), hc); err != nil {
			t.Fatal(err)
		}
		pool := w.pool(t)
		pool.Annotations[hyperv1.AzureTagsAnnotation] = step.annotation
		if err := w.client.Update(t.Context(), pool); err != nil {
			t.Fatal(err)
		}
		mustPass(t, w)
		if now := w.template(t); now != template {
			t.Fatalf("tags %q: the machines are made of template %s, and were made of %s", step.annotation, now, template)
		}
		if got := tagsIn(t, w.object(t, clusterapi.AzureMachineTemplate, template), "spec", "template", "spec"); !maps.Equal(got, step.want) {
			t.Errorf("tags of the template: %v, want %v", got, step.want)
		}
		if got := tagsIn(t, w.object(t, clusterapi.AzureMachine, "demo-0"), "spec"); !maps.Equal(got, step.want) {
			t.Errorf("tags of the machine: %v, want %v", got, step.want)
		}
		if got := tagsIn(t, w.object(t, clusterapi.AzureMachine, "other-0"), "spec"); got != nil {
			t.Errorf("tags of another pool's machine: %v", got)
		}
	}
}

func TestTagsThatAzureRefusesStopThePool(t *testing.T) {
	np := nodePool()
	np.Annotations = map[string]string{hyperv1.AzureTagsAnnotation: "azure=x"}
	w := newWorld(t, append(surroundings(t), np)...)
	mustPass(t, w)
	c := condition(w.pool(t), hyperv1.NodePoolValidPlatformConfig)
	if c.Status != corev1.ConditionFalse || !strings.Contains(c.Message, hyperv1.AzureTagsAnnotation) || !strings.Contains(c.Message, "begin with azure") {
		t.Errorf("ValidPlatformConfig = %+v", c)
	}
}

func mustPass(t *testing.T, w *world) {
	t.Helper()
	if _, err := w.pass(t); err != nil {
		t.Fatal(err)
	}
}

// template is the name of the template that machines are made of.
func (w *world) template(t *testing.T) string {
	t.Helper()
	name, _, err := unstructured.NestedString(w.object(t, clusterapi.MachineDeployment, "demo").Object, "spec", "template", "spec", "infrastructureRef", "name")
	if err != nil {
		t.Fatal(err)
	}
	return name
}

func tagsIn(t *testing.T, obj *unstructured.Unstructured, fields ...string) map[string]string {
	t.Helper()
	tags, _, err := unstructured.NestedStringMap(obj.Object, append(fields, "additionalTags")...)
	if err != nil {
		t.Fatal(err)
	}
	return tags
}
