package explain_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	hyperv1 "github.com/hypershift-on-azure/hypershift/api/v1beta1"
	"github.com/hypershift-on-azure/hypershift/internal/explain"
	"github.com/hypershift-on-azure/hypershift/internal/survey/surveytest"
)

// TestMachineWithoutASignOfLife: Azure calls a machine made once the machine has told it so. One that cannot be reached from its subnet never does:
// after some minutes the network is suspected, and not earlier.
func TestMachineWithoutASignOfLife(t *testing.T) {
	for _, test := range []struct {
		age  time.Duration
		want string
	}{{2 * time.Minute, "machine-creating"}, {4 * time.Minute, "ignition-not-reached"}} {
		w := newWorld()
		machine("InfrastructureReady False Creating Azure makes it")(w)
		w.objects[len(w.objects)-1].SetCreationTimestamp(metav1.NewTime(surveytest.Now.Add(-test.age)))
		poolSays(hyperv1.NodePoolReachedIgnitionEndpoint, hyperv1.IgnitionNotReachedReason, "no machine has asked for its configuration yet")(w)
		var found []string
		told := explain.Cluster(w.facts(t))
		told.Walk(func(f *explain.Finding) {
			if strings.HasPrefix(f.Object, "Machine") {
				found = append(found, f.Case)
			}
		})
		if !slices.Equal(found, []string{test.want}) {
			t.Errorf("after %s: %v, want %s", test.age, found, test.want)
		}
	}
}

// TestAdviceHasNames: a command in an advice has the names of what the finding is about, so that it can be typed as it stands.
func TestAdviceHasNames(t *testing.T) {
	for condition, wants := range map[string][]string{
		"InfrastructureReady False VMProvisionFailed SkuNotAvailable: not available": {"--size Standard_D4s_v5 "},
		"InfrastructureReady False VMProvisionFailed subnet could not be found":      {"--ids /subscriptions/s/resourceGroups/g/providers/Microsoft.Network/virtualNetworks/v/subnets/default`"},
		"InfrastructureReady True Ready":                                             {"--name demo-a-vm`"},
	} {
		w := newWorld()
		machine(condition)(w)
		var advice []string
		told := explain.Cluster(w.facts(t))
		told.Walk(func(f *explain.Finding) { advice = append(advice, f.Next...) })
		for _, want := range wants {
			if text := strings.Join(advice, "\n"); !strings.Contains(text, want) {
				t.Errorf("%s: no %q in\n%s", condition, want, text)
			}
		}
	}
}

// TestMachineThatIsGone: the operator, which asks Azure itself, has other words for it than Cluster API, and the node may still be known.
func TestMachineThatIsGone(t *testing.T) {
	w := newWorld()
	joined(w)
	surveytest.PoolSays(w.pool, hyperv1.NodePoolAllMachinesReady, corev1.ConditionFalse, "AzureError",
		"1 of 1 machines are not ready\nMachine demo-a: AzureError: its virtual machine is gone, and nobody here deleted it: read /subscriptions/s: the resource does not exist (ResourceNotFound)\n")
	var cases []string
	told := explain.Cluster(w.facts(t))
	told.Walk(func(f *explain.Finding) { cases = append(cases, f.Case) })
	if !slices.Contains(cases, "vm-deleted") {
		t.Errorf("found %v in %+v", cases, told)
	}
}
