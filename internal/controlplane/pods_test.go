package controlplane

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/event"

	"github.com/hypershift-on-azure/hypershift/internal/contract"
)

// TestDecisivePods: a pass looks as soon as a member of etcd waits for its next start, and once for each wait; of the rest of what pods do it takes no notice.
func TestDecisivePods(t *testing.T) {
	pod := func(app string, restarts int32, waits bool) *corev1.Pod {
		state := corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}
		if waits {
			state = corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "CrashLoopBackOff"}}
		}
		return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: app + "-1", Labels: map[string]string{"app": app}},
			Status: corev1.PodStatus{ContainerStatuses: []corev1.ContainerStatus{{Name: app, RestartCount: restarts, State: state}}}}
	}
	for name, c := range map[string]struct {
		before, after *corev1.Pod
		want          bool
	}{
		"a member begins to fail":       {pod(contract.Etcd, 0, false), pod(contract.Etcd, 1, true), true},
		"a member fails again":          {pod(contract.Etcd, 1, false), pod(contract.Etcd, 2, true), true},
		"a member still waits":          {pod(contract.Etcd, 2, true), pod(contract.Etcd, 2, true), false},
		"a member starts":               {pod(contract.Etcd, 0, true), pod(contract.Etcd, 0, false), false},
		"a member starts again":         {pod(contract.Etcd, 2, true), pod(contract.Etcd, 2, false), false},
		"a new member waits to start":   {pod(contract.Etcd, 0, true), pod(contract.Etcd, 0, true), false},
		"an API server begins to fail":  {pod(contract.APIServer, 0, false), pod(contract.APIServer, 1, true), false},
		"an API server that fails runs": {pod(contract.APIServer, 1, true), pod(contract.APIServer, 1, false), false},
	} {
		if got := decisivePods.Update(event.UpdateEvent{ObjectOld: c.before, ObjectNew: c.after}); got != c.want {
			t.Errorf("%s: %t", name, got)
		}
	}
}
