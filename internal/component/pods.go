package component

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// starting are the reasons of containers that only have to be waited for.
var starting = []string{"", "ContainerCreating", "PodInitializing"}

// backOff is the reason of a container that Kubernetes starts again after a while. Its message changes all the time; why it ended says more.
const backOff = "CrashLoopBackOff"

// PodTrouble is what keeps pods of a workload from serving, in the words of the scheduler, the kubelet or the container, of the first pod
// that has trouble; empty when they are only being started. A container that runs for longer than patience without being ready has trouble.
// It says the same as long as nothing changes.
func PodTrouble(pods []corev1.Pod, now time.Time, patience time.Duration) string {
	sorted := slices.Clone(pods)
	slices.SortFunc(sorted, func(a, b corev1.Pod) int { return strings.Compare(a.Name, b.Name) })
	for _, find := range []func(*corev1.Pod) string{
		unscheduled, cannotStart, func(pod *corev1.Pod) string { return silent(pod, now, patience) },
	} {
		for i := range sorted {
			if sorted[i].DeletionTimestamp != nil {
				continue
			}
			if trouble := find(&sorted[i]); trouble != "" {
				return "pod " + sorted[i].Name + " " + trouble
			}
		}
	}
	return ""
}

// unscheduled is the scheduler's word. It says how many nodes do not fit, but not what the pod asks of them.
func unscheduled(pod *corev1.Pod) string {
	for _, condition := range pod.Status.Conditions {
		if condition.Type != corev1.PodScheduled || condition.Status != corev1.ConditionFalse {
			continue
		}
		trouble := "cannot be scheduled: " + cmp.Or(condition.Message, condition.Reason)
		if len(pod.Spec.NodeSelector) > 0 {
			trouble += " It asks for nodes with " + labelsOf(pod.Spec.NodeSelector) + "."
		}
		return trouble
	}
	return ""
}

func labelsOf(selector map[string]string) string {
	var labels []string
	for key, value := range selector {
		labels = append(labels, key+"="+value)
	}
	slices.Sort(labels)
	return strings.Join(labels, ",")
}

// cannotStart is the kubelet's word about a container, or the last word of one that ended and is to be started again.
func cannotStart(pod *corev1.Pod) string {
	for _, container := range statuses(pod) {
		if container.Ready {
			continue
		}
		if waiting := container.State.Waiting; waiting != nil && waiting.Reason != backOff {
			if !slices.Contains(starting, waiting.Reason) {
				return fmt.Sprintf("container %s: %s", container.Name, joined(waiting.Reason, waiting.Message))
			}
			continue
		}
		ended := container.LastTerminationState.Terminated
		if container.State.Terminated != nil {
			ended = container.State.Terminated
		}
		// Also while it runs again: it has not shown yet that this time is better.
		if ended != nil && ended.ExitCode != 0 {
			return fmt.Sprintf("container %s %s", container.Name, joined(fmt.Sprintf("ends with %d (%s)", ended.ExitCode, ended.Reason), ended.Message))
		}
	}
	return ""
}

// silent is about a container that runs and is not ready.
func silent(pod *corev1.Pod, now time.Time, patience time.Duration) string {
	for _, container := range pod.Status.ContainerStatuses {
		running := container.State.Running
		if running != nil && !container.Ready && now.Sub(running.StartedAt.Time) > patience {
			return fmt.Sprintf("container %s runs and is not ready", container.Name)
		}
	}
	return ""
}

func statuses(pod *corev1.Pod) []corev1.ContainerStatus {
	return slices.Concat(pod.Status.InitContainerStatuses, pod.Status.ContainerStatuses)
}

func joined(reason, message string) string {
	if message = strings.Join(strings.Fields(message), " "); message != "" {
		return reason + ": " + message
	}
	return reason
}
