package etcd

import (
	"slices"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	hyperv1 "github.com/hypershift-on-azure/hypershift/api/v1beta1"
	"github.com/hypershift-on-azure/hypershift/internal/component"
)

func objectsOf(t *testing.T, policy hyperv1.AvailabilityPolicy, initialized bool) ([]client.Object, *appsv1.StatefulSet) {
	t.Helper()
	hcp := &hyperv1.HostedControlPlane{}
	hcp.Namespace = "clusters-demo"
	hcp.Spec.ControllerAvailabilityPolicy, hcp.Status.Initialized = policy, initialized
	all, err := objects(&component.Context{Context: t.Context(), Client: fake.NewClientBuilder().Build(), HCP: hcp, Images: map[string]string{"etcd": "e"}, Settings: component.Settings{Image: "cpo"}, Inputs: &component.Inputs{}})
	if err != nil {
		t.Fatal(err)
	}
	return all, all[len(all)-1].(*appsv1.StatefulSet)
}

func find[T client.Object](objects []client.Object, name string) (found T, ok bool) {
	for _, obj := range objects {
		if typed, is := obj.(T); is && obj.GetName() == name {
			return typed, true
		}
	}
	return found, false
}

// A member that finds no data learns from the ConfigMap whether its cluster has some. The ConfigMap must not restart members when that changes.
func TestBegun(t *testing.T) {
	for _, initialized := range []bool{false, true} {
		all, _ := objectsOf(t, hyperv1.HighlyAvailable, initialized)
		begun, ok := find[*corev1.ConfigMap](all, begunConfigMap)
		if !ok || (begun.Data[begunKey] != "") != initialized {
			t.Errorf("initialized %t: %+v", initialized, begun)
		}
	}
	if !slices.Contains(reloads(nil), begunConfigMap) {
		t.Error("a change of the ConfigMap restarts the members")
	}
}

// Only the defragmenting container can do anything on the management cluster, and that is to hold its Lease.
func TestManagementToken(t *testing.T) {
	all, set := objectsOf(t, hyperv1.HighlyAvailable, true)
	pod := set.Spec.Template.Spec
	for _, c := range slices.Concat(pod.InitContainers, pod.Containers) {
		has := slices.ContainsFunc(c.VolumeMounts, func(m corev1.VolumeMount) bool { return m.Name == tokenVolume })
		if has != (c.Name == defragName) {
			t.Errorf("container %s has a token: %t", c.Name, has)
		}
	}
	role, ok := find[*rbacv1.Role](all, Name)
	if !ok || len(role.Rules) != 2 {
		t.Fatalf("role %+v", role)
	}
	for _, rule := range role.Rules {
		if !slices.Equal(rule.Resources, []string{"leases"}) || (!slices.Equal(rule.Verbs, []string{"create"}) && !slices.Equal(rule.ResourceNames, []string{defragName})) {
			t.Errorf("rule %+v", rule)
		}
	}
	if set.Spec.Template.Labels[component.LabelManagementAccess] != "true" {
		t.Error("the pods do not say that they need the management cluster's API")
	}
}

func TestSingleMember(t *testing.T) {
	all, set := objectsOf(t, hyperv1.SingleReplica, true)
	pod := set.Spec.Template.Spec
	if len(pod.InitContainers) != 0 || len(pod.Containers) != 3 || set.Spec.Template.Labels[component.LabelManagementAccess] != "" {
		t.Errorf("a single member has %d init containers and %d containers", len(pod.InitContainers), len(pod.Containers))
	}
	if _, ok := find[*rbacv1.Role](all, Name); ok {
		t.Error("a single member has rights on the management cluster")
	}
}
