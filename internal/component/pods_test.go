package component

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestPodTrouble(t *testing.T) {
	now := time.Unix(1700000000, 0)
	named := func(name string, change func(*corev1.Pod)) corev1.Pod {
		pod := corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name}}
		change(&pod)
		return pod
	}
	container := func(change func(*corev1.ContainerStatus)) func(*corev1.Pod) {
		return func(pod *corev1.Pod) {
			status := corev1.ContainerStatus{Name: "main"}
			change(&status)
			pod.Status.ContainerStatuses = []corev1.ContainerStatus{status}
		}
	}
	waiting := func(reason, message string) func(*corev1.Pod) {
		return container(func(c *corev1.ContainerStatus) {
			c.State.Waiting = &corev1.ContainerStateWaiting{Reason: reason, Message: message}
		})
	}
	pending := func(pod *corev1.Pod) {
		pod.Spec.NodeSelector = map[string]string{"zone": "b", "nosuch": "label"}
		pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: "Unschedulable",
			Message: "0/1 nodes are available: 1 node(s) didn't match Pod's node affinity/selector."}}
	}
	running := func(since time.Duration, ready bool) func(*corev1.Pod) {
		return container(func(c *corev1.ContainerStatus) {
			c.Ready, c.State.Running = ready, &corev1.ContainerStateRunning{StartedAt: metav1.NewTime(now.Add(-since))}
		})
	}
	crashed := container(func(c *corev1.ContainerStatus) {
		c.State.Waiting = &corev1.ContainerStateWaiting{Reason: "CrashLoopBackOff", Message: "back-off 40s restarting failed container"}
		c.LastTerminationState.Terminated = &corev1.ContainerStateTerminated{ExitCode: 1, Reason: "Error", Message: "ask store\n for it: 403\n"}
	})
	for name, test := range map[string]struct {
		pods []corev1.Pod
		want string
	}{
		"no pods":       {nil, ""},
		"just made":     {[]corev1.Pod{named("a", func(*corev1.Pod) {})}, ""},
		"being created": {[]corev1.Pod{named("a", waiting("ContainerCreating", ""))}, ""},
		"no node": {[]corev1.Pod{named("a", pending)},
			"pod a cannot be scheduled: 0/1 nodes are available: 1 node(s) didn't match Pod's node affinity/selector. It asks for nodes with nosuch=label,zone=b."},
		"no image":             {[]corev1.Pod{named("a", waiting("ImagePullBackOff", "Back-off pulling image \"x\""))}, `pod a container main: ImagePullBackOff: Back-off pulling image "x"`},
		"crashes":              {[]corev1.Pod{named("a", crashed)}, "pod a container main ends with 1 (Error): ask store for it: 403"},
		"starts":               {[]corev1.Pod{named("a", running(time.Second, false))}, ""},
		"hangs":                {[]corev1.Pod{named("a", running(2*time.Minute, false))}, "pod a container main runs and is not ready"},
		"serves":               {[]corev1.Pod{named("a", running(2*time.Minute, true))}, ""},
		"the reason of a hang": {[]corev1.Pod{named("a", running(2*time.Minute, false)), named("b", pending)}, "pod b cannot be scheduled: 0/1 nodes are available: 1 node(s) didn't match Pod's node affinity/selector. It asks for nodes with nosuch=label,zone=b."},
		"a pod that ends": {[]corev1.Pod{named("a", func(pod *corev1.Pod) {
			pending(pod)
			pod.DeletionTimestamp = &metav1.Time{Time: now}
		})}, ""},
	} {
		if got := PodTrouble(test.pods, now, time.Minute); got != test.want {
			t.Errorf("%s: %q, want %q", name, got, test.want)
		}
	}
}
