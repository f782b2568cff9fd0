package install

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/hypershift-on-azure/hypershift/internal/cli/clitest"
	"github.com/hypershift-on-azure/hypershift/internal/install"
)

// A person who waits must read what blocks, not only that it takes long.
func TestInstallSaysWhatBlocks(t *testing.T) {
	waiting := func(reason, message string) corev1.PodStatus {
		return corev1.PodStatus{ContainerStatuses: []corev1.ContainerStatus{{State: corev1.ContainerState{
			Waiting: &corev1.ContainerStateWaiting{Reason: reason, Message: message}}}}}
	}
	crashing := waiting("CrashLoopBackOff", "back-off 10s")
	crashing.ContainerStatuses[0].LastTerminationState.Terminated = &corev1.ContainerStateTerminated{ExitCode: 1, Message: "starting\nno lease\n"}
	for _, tc := range []struct {
		name       string
		pod        corev1.PodStatus
		deployment appsv1.DeploymentStatus
		want       string // "" when the operator is available
	}{
		{"available", corev1.PodStatus{}, appsv1.DeploymentStatus{Replicas: 1, UpdatedReplicas: 1, AvailableReplicas: 1}, ""},
		{"starting", waiting("ContainerCreating", ""), appsv1.DeploymentStatus{}, "0 of 1 replicas are available; see"},
		{"image", waiting("ImagePullBackOff", "401 Unauthorized"), appsv1.DeploymentStatus{}, "ImagePullBackOff: 401 Unauthorized; check --hypershift-image and --pull-secret"},
		{"crash", crashing, appsv1.DeploymentStatus{}, "CrashLoopBackOff: exit code 1: no lease"},
		{"no room", corev1.PodStatus{Conditions: []corev1.PodCondition{{Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: "Unschedulable",
			Message: "0/1 nodes are available: 1 Insufficient memory."}}}, appsv1.DeploymentStatus{}, "Insufficient memory"},
		{"refused", corev1.PodStatus{}, appsv1.DeploymentStatus{Conditions: []appsv1.DeploymentCondition{{Type: appsv1.DeploymentReplicaFailure,
			Status: corev1.ConditionTrue, Reason: "FailedCreate", Message: "exceeded quota"}}}, "FailedCreate: exceeded quota"},
		{"stuck", corev1.PodStatus{}, appsv1.DeploymentStatus{Conditions: []appsv1.DeploymentCondition{{Type: appsv1.DeploymentProgressing,
			Status: corev1.ConditionFalse, Reason: "ProgressDeadlineExceeded"}}}, "did not become available"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			labels := map[string]string{"name": "operator"}
			d := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: "hypershift", Name: "operator"}, Status: tc.deployment,
				Spec: appsv1.DeploymentSpec{Replicas: new(int32(1)), Selector: &metav1.LabelSelector{MatchLabels: labels}}}
			pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "hypershift", Name: "operator-x", Labels: labels}, Status: tc.pod}
			var said []string
			i := &installer{opts: &install.Options{Namespace: "hypershift"}, client: clitest.Client(d, pod), patience: 20 * time.Millisecond,
				say: func(format string, args ...any) { said = append(said, fmt.Sprintf(format, args...)) }}
			err := i.waitForOperator(context.Background())
			if tc.want == "" {
				if err != nil {
					t.Error(err)
				}
				return
			}
			if err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("error %v, want one that contains %q", err, tc.want)
			}
			if len(said) < 2 {
				t.Errorf("progress %q tells nothing", said)
			}
		})
	}
}
