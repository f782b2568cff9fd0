package hostedcluster

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hypershift-on-azure/hypershift/api/v1beta1"
	"github.com/hypershift-on-azure/hypershift/internal/contract"
	"github.com/hypershift-on-azure/hypershift/internal/hostedcluster/checks"
	"github.com/hypershift-on-azure/hypershift/internal/kube"
	"github.com/hypershift-on-azure/hypershift/internal/release"
	"github.com/hypershift-on-azure/hypershift/internal/support"
	"github.com/hypershift-on-azure/hypershift/internal/support/table"
)

// with is the cluster changed by an example of the table.
func with(t *testing.T, hc *hyperv1.HostedCluster, example map[string]any) *hyperv1.HostedCluster {
	t.Helper()
	raw, err := json.Marshal(hc.Spec)
	if err != nil {
		t.Fatal(err)
	}
	spec := map[string]any{}
	if err := json.Unmarshal(raw, &spec); err != nil {
		t.Fatal(err)
	}
	overlay(spec, example)
	if raw, err = json.Marshal(spec); err != nil {
		t.Fatal(err)
	}
	out := hc.DeepCopy()
	out.Spec = hyperv1.HostedClusterSpec{}
	if err := json.Unmarshal(raw, &out.Spec); err != nil {
		t.Fatal(err)
	}
	return out
}

func overlay(base, change map[string]any) {
	for key, value := range change {
		inner, isMap := value.(map[string]any)
		if current, ok := base[key].(map[string]any); ok && isMap {
			overlay(current, inner)
			continue
		}
		base[key] = value
	}
}

// TestWhatTheTableRefuses submits every example of the table to an API server and runs a pass: the condition tells of the member, and
// nothing is made. What is without effect is told, too.
func TestWhatTheTableRefuses(t *testing.T) {
	rows, err := table.Load("hostedcluster")
	if err != nil {
		t.Fatal(err)
	}
	f := newFixture(t, "table")
	f.create(t, f.pullSecret(), f.madeSecret())
	refused, told := 0, 0
	for i, row := range rows {
		if row.Example == nil {
			continue
		}
		hc := with(t, f.cluster(), row.Example)
		hc.Name = fmt.Sprintf("refused-%d", i)
		f.request.Name = hc.Name
		if err := f.client.Create(t.Context(), hc); err != nil {
			t.Errorf("%v: the API refuses the example already: %v", row.For, err)
			continue
		}
		if byPayload := slices.ContainsFunc(support.Cluster(hc, nil), func(p support.Problem) bool {
			return mentions(p.Field, "spec."+row.For[0]) && p.Unless != ""
		}); byPayload != (row.OpenShift != nil) {
			t.Errorf("%v: a payload of OpenShift acts on it: %t, and its row says %v", row.For, byPayload, row.OpenShift)
		}
		condition := f.passOver(t, hc, row)
		field := "spec." + row.For[0]
		switch {
		case condition == nil:
			t.Errorf("%s: the condition is not set", field)
		case row.Refused != "" && (condition.Status != metav1.ConditionFalse || !mentions(condition.Message, field)):
			t.Errorf("%s is not refused by %s: %+v", field, row.Refused, condition)
		case row.Inert != "" && (condition.Status != metav1.ConditionTrue || !mentions(condition.Message, field)):
			t.Errorf("%s is not told as without effect: %+v", field, condition)
		}
		if row.Refused != "" {
			refused++
			f.mustBeAbsent(t, hc)
		} else {
			told++
		}
		if err := f.client.Delete(t.Context(), hc); err != nil {
			t.Fatal(err)
		}
	}
	if refused < 20 || told < 20 {
		t.Errorf("%d rows were refused and %d told: the table is not read", refused, told)
	}
}

// mentions finds a member whose path in a message has the indices of lists, or names a member of it.
func mentions(message, field string) bool {
	plain := strings.NewReplacer("[0]", "", "[1]", "", "[4]", "").Replace(message)
	return strings.Contains(plain, field)
}

// passOver runs the whole pass of what is refused. Of what is inert, the checks suffice: the rest would make a control plane.
func (f *fixture) passOver(t *testing.T, hc *hyperv1.HostedCluster, row table.Row) *metav1.Condition {
	t.Helper()
	if row.Refused != "" {
		// The first pass gives the cluster its id, the second checks it; an invalid configuration is an error beside.
		for range 2 {
			if _, err := f.reconciler.Reconcile(t.Context(), f.request); err != nil && row.Refused == hyperv1.SupportedHostedCluster {
				t.Errorf("%v: %v", row.For, err)
			}
		}
		stored := &hyperv1.HostedCluster{}
		if err := f.client.Get(t.Context(), client.ObjectKeyFromObject(hc), stored); err != nil {
			t.Fatal(err)
		}
		return kube.Find(stored.Status.Conditions, row.Refused)
	}
	c := f.reconciler.newPass(hc).Cluster
	c.Conditions().True(hyperv1.ValidHostedClusterConfiguration, hyperv1.AsExpectedReason, "The configuration is valid.")
	checks.Inert(c, &release.Release{})
	return kube.Find(hc.Status.Conditions, row.Seen)
}

func (f *fixture) mustBeAbsent(t *testing.T, hc *hyperv1.HostedCluster) {
	t.Helper()
	namespace := &corev1.Namespace{}
	if err := f.client.Get(t.Context(), client.ObjectKey{Name: contract.ControlPlaneNamespace(hc.Namespace, hc.Name)}, namespace); !apierrors.IsNotFound(err) {
		t.Errorf("%s: the control plane's namespace is there: %v", hc.Name, err)
	}
}
