package nodepool

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hypershift-on-azure/hypershift/api/v1beta1"
	"github.com/hypershift-on-azure/hypershift/internal/clusterapi"
	"github.com/hypershift-on-azure/hypershift/internal/support/table"
)

// TestWhatTheTableRefuses runs a pass over every example of the table: the condition is False, and no machines are made.
func TestWhatTheTableRefuses(t *testing.T) {
	rows, err := table.Load("nodepool")
	if err != nil {
		t.Fatal(err)
	}
	seen := 0
	for _, row := range rows {
		if row.Refused == "" {
			continue
		}
		seen++
		np, objects := nodePool(), surroundings(t)
		if row.Document != nil {
			np.Spec.Config = []corev1.LocalObjectReference{{Name: "theirs"}}
			objects = append(objects, configMapOf(t, row.Document))
		} else {
			overlay(t, np, row.Example)
		}
		w := newWorld(t, append(objects, np)...)
		_, _ = w.pass(t) // some tell by an error beside the condition
		if got := condition(w.pool(t), row.Refused); got.Status != corev1.ConditionFalse || got.Message == "" {
			t.Errorf("%v (%s) is not refused by %s: %+v", row.For, row.When, row.Refused, got)
		}
		err := w.client.Get(t.Context(), client.ObjectKey{Namespace: cpns, Name: "demo"}, clusterapi.New(clusterapi.MachineDeployment, cpns, "demo"))
		if !apierrors.IsNotFound(err) && row.For[0] != "platform.type" {
			t.Errorf("%v (%s): machines are made: %v", row.For, row.When, err)
		}
	}
	if seen < 10 {
		t.Errorf("only %d rows are refused: the table is not read", seen)
	}
}

func overlay(t *testing.T, np *hyperv1.NodePool, example map[string]any) {
	t.Helper()
	raw, err := json.Marshal(example)
	if err != nil {
		t.Fatal(err)
	}
	// Members that are there stay where the example does not name them.
	if err := json.Unmarshal(raw, &np.Spec); err != nil {
		t.Fatal(err)
	}
}

func configMapOf(t *testing.T, document map[string]any) *corev1.ConfigMap {
	t.Helper()
	raw, err := json.Marshal(document)
	if err != nil {
		t.Fatal(err)
	}
	return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "clusters", Name: "theirs"}, Data: map[string]string{hyperv1.NodePoolConfigKey: string(raw)}}
}

// TestRunningPoolsAreKeptUp: a pool whose machines run with what is refused now still follows its number of replicas. What would be new
// for its machines does not reach them.
func TestRunningPoolsAreKeptUp(t *testing.T) {
	np := nodePool()
	w := newWorld(t, append(surroundings(t), np)...)
	if _, err := w.pass(t); err != nil {
		t.Fatal(err)
	}
	document := configMapOf(t, map[string]any{"apiVersion": "machineconfiguration.openshift.io/v1", "kind": "MachineConfig",
		"metadata": map[string]any{"name": "m"}, "spec": map[string]any{"fips": true}})
	if err := w.client.Create(t.Context(), document); err != nil {
		t.Fatal(err)
	}
	scale := func(replicas int32, change func(*hyperv1.NodePool)) *hyperv1.NodePool {
		pool := w.pool(t)
		pool.Spec.Replicas = ptr.To(replicas)
		change(pool)
		if err := w.client.Update(t.Context(), pool); err != nil {
			t.Fatal(err)
		}
		if _, err := w.pass(t); err != nil {
			t.Fatal(err)
		}
		return w.pool(t)
	}
	if pool := scale(2, func(p *hyperv1.NodePool) { p.Spec.TuningConfig = []corev1.LocalObjectReference{{Name: "x"}} }); !strings.Contains(
		condition(pool, hyperv1.NodePoolValidTuningConfig).Message, "kept up") {
		t.Errorf("%+v", pool.Status.Conditions)
	}
	pool := scale(4, func(p *hyperv1.NodePool) { p.Spec.Config = []corev1.LocalObjectReference{{Name: "theirs"}} })
	if got := condition(pool, hyperv1.NodePoolValidMachineConfig); got.Status != corev1.ConditionFalse || strings.Contains(got.Message, "kept up") {
		t.Errorf("a document that is new: %+v", got)
	}
	if slices.Contains(w.writes, "apply demo") {
		t.Error("the machines move to a configuration that is refused")
	}
	// As if an operator that refused nothing had brought it to the machines.
	probe := &pass{np: pool, hc: hostedCluster(), namespace: cpns, release: payload()}
	generated, err := w.generate(t.Context(), probe)
	if err != nil {
		t.Fatal(err)
	}
	pool = scale(5, func(p *hyperv1.NodePool) { p.Annotations[hyperv1.NodePoolCurrentConfigAnnotation] = generated.hash })
	if got := condition(pool, hyperv1.NodePoolValidMachineConfig); got.Status != corev1.ConditionFalse || !strings.Contains(got.Message, "kept up") {
		t.Errorf("a document that the machines have: %+v", got)
	}
}
