package main

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	hyperv1 "github.com/hypershift-on-azure/hypershift/api/v1beta1"
)

// sound is a hosted cluster without faults.
func sound() *state {
	s := &state{cluster: hyperv1.HostedCluster{ObjectMeta: metav1.ObjectMeta{Name: "demo", Generation: 2}}}
	for name, status := range expected {
		s.cluster.Status.Conditions = append(s.cluster.Status.Conditions, metav1.Condition{Type: name, Status: status, ObservedGeneration: 2})
	}
	for _, name := range []string{"etcd", "kube-apiserver"} {
		s.add(name, true, 1, 1, 1)
		s.components.Items = append(s.components.Items, hyperv1.ControlPlaneComponent{ObjectMeta: metav1.ObjectMeta{Name: name},
			Status: hyperv1.ControlPlaneComponentStatus{Conditions: []metav1.Condition{{Type: "Available", Status: metav1.ConditionTrue}, {Type: "RolloutComplete", Status: metav1.ConditionTrue}}}})
	}
	pool := hyperv1.NodePool{ObjectMeta: metav1.ObjectMeta{Name: "demo"}}
	pool.Spec.ClusterName, pool.Spec.Replicas, pool.Status.Replicas = "demo", ptr.To[int32](1), 1
	for _, name := range []string{hyperv1.NodePoolReady, hyperv1.NodePoolAllMachinesReady, hyperv1.NodePoolAllNodesHealthy} {
		pool.Status.Conditions = append(pool.Status.Conditions, hyperv1.NodePoolCondition{Type: name, Status: corev1.ConditionTrue})
	}
	s.pools.Items = append(s.pools.Items, pool, hyperv1.NodePool{ObjectMeta: metav1.ObjectMeta{Name: "of-another"}})
	s.pods.Items = []corev1.Pod{{Status: corev1.PodStatus{Phase: corev1.PodSucceeded}}, {Status: corev1.PodStatus{Phase: corev1.PodRunning,
		Conditions: []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}}}}
	s.nodes.Items = []corev1.Node{{Status: corev1.NodeStatus{Conditions: []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}}}}}
	return s
}

// TestFindings: a status that is not that of a cluster without faults is wrong, and so is a good one of something that is broken.
func TestFindings(t *testing.T) {
	if err := wrong(sound().findings()); err != nil {
		t.Fatalf("a cluster without faults: %v", err)
	}
	for name, c := range map[string]struct {
		spoil func(*state)
		told  string
	}{
		"a condition of an earlier generation": {func(s *state) { s.cluster.Generation = 3 }, "HostedCluster: Available"},
		"a condition that is missing":          {func(s *state) { s.cluster.Status.Conditions = nil }, "HostedCluster: Degraded"},
		"etcd that says it is whole":           {func(s *state) { s.workloads[0].whole = false }, "HostedCluster: EtcdAvailable"},
		"a component that rolls":               {func(s *state) { s.components.Items[1].Status.Conditions[1].Status = metav1.ConditionFalse }, "ControlPlaneComponent kube-apiserver"},
		"a pod that is not Ready":              {func(s *state) { s.pods.Items[1].Status.Conditions = nil }, "pod "},
		"a recovery that has not ended": {func(s *state) {
			s.cluster.Status.Conditions = append(s.cluster.Status.Conditions, metav1.Condition{Type: hyperv1.EtcdRecoveryActive, Status: metav1.ConditionTrue})
		}, "EtcdRecoveryActive"},
		"a pool that is not whole": {func(s *state) { s.pools.Items[0].Status.Conditions[1].Status = corev1.ConditionFalse }, "NodePool demo"},
		"a node too many":          {func(s *state) { s.nodes.Items = append(s.nodes.Items, s.nodes.Items[0]) }, "nodes says"},
		"a node that is lost":      {func(s *state) { s.nodes.Items[0].Status.Conditions = nil }, "nodes says"},
	} {
		t.Run(name, func(t *testing.T) {
			s := sound()
			c.spoil(s)
			if err := wrong(s.findings()); err == nil || !strings.Contains(err.Error(), c.told) {
				t.Errorf("got %v", err)
			}
		})
	}
}
