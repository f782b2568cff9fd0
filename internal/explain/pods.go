package explain

import (
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	hyperv1 "github.com/hypershift-on-azure/hypershift/api/v1beta1"
	"github.com/hypershift-on-azure/hypershift/internal/component"
	"github.com/hypershift-on-azure/hypershift/internal/contract"
)

// patience is how long a container may run without being ready.
const patience = 30 * time.Second

// conditionOf is the condition that a component's pods decide.
func conditionOf(name string) string {
	switch {
	case name == contract.Etcd:
		return hyperv1.EtcdAvailable
	case name == contract.APIServer:
		return hyperv1.KubeAPIServerAvailable
	case strings.HasPrefix(name, contract.IgnitionServer):
		return hyperv1.IgnitionEndpointAvailable
	}
	return hyperv1.HostedClusterDegraded
}

// componentName is which component a pod is of.
func componentName(pod *corev1.Pod) string {
	if name := pod.Labels[component.LabelComponent]; name != "" {
		return name
	}
	return pod.Labels[component.LabelApp]
}

// componentOf guesses the component of a pod by its name, which a Deployment lengthens by two words and a StatefulSet by one.
func componentOf(pod string) string {
	parts := strings.Split(pod, "-")
	switch last := parts[len(parts)-1]; {
	case len(parts) > 1 && strings.Trim(last, "0123456789") == "":
		return strings.Join(parts[:len(parts)-1], "-")
	case len(parts) > 2:
		return strings.Join(parts[:len(parts)-2], "-")
	}
	return pod
}

// troubledPods are findings about pods of some components that have no place in the tree yet.
func (t *teller) troubledPods(of func(component string) bool) []Finding {
	var found []Finding
	for i := range t.Pods {
		pod := &t.Pods[i]
		if t.placed["Pod "+pod.Name] || !of(componentName(pod)) {
			continue
		}
		said := component.PodTrouble([]corev1.Pod{*pod}, t.Now, patience)
		if said == "" {
			continue
		}
		t.placed["Pod "+pod.Name] = true
		out := Finding{Object: "Pod " + pod.Name, Says: strings.TrimPrefix(said, "pod "+pod.Name+" "), Since: podSince(pod), Reason: podReason(pod)}
		for _, line := range t.Logs {
			if line.Pod == pod.Name {
				out.Evidence = append(out.Evidence, Evidence{"log of container " + line.Container + ", last line", line.Text})
			}
		}
		out.Evidence = append(out.Evidence, t.events(func(e *corev1.Event) bool { return e.InvolvedObject.Kind == "Pod" && e.InvolvedObject.Name == pod.Name })...)
		found = append(found, out)
	}
	return found
}

func podSince(pod *corev1.Pod) *time.Time {
	for _, c := range pod.Status.Conditions {
		if (c.Type == corev1.PodReady || c.Type == corev1.PodScheduled) && c.Status != corev1.ConditionTrue && !c.LastTransitionTime.IsZero() {
			since := c.LastTransitionTime.UTC()
			return &since
		}
	}
	return nil
}

// podReason is the word for what a container waits for, or why it was not scheduled.
func podReason(pod *corev1.Pod) string {
	for _, c := range pod.Status.Conditions {
		if c.Type == corev1.PodScheduled && c.Status == corev1.ConditionFalse {
			return c.Reason
		}
	}
	for _, status := range slices.Concat(pod.Status.InitContainerStatuses, pod.Status.ContainerStatuses) {
		if status.State.Waiting != nil && !status.Ready {
			return status.State.Waiting.Reason
		}
	}
	return ""
}

// toldEvents is how many events are evidence of one finding.
const toldEvents = 2

// events are the newest warnings about something, each text once.
func (t *teller) events(about func(*corev1.Event) bool) []Evidence {
	var told []Evidence
	for i := range t.Events {
		e := &t.Events[i]
		said := Evidence{"event " + e.Reason + " of " + e.InvolvedObject.Kind + " " + e.InvolvedObject.Name, e.Message}
		if about(e) && !slices.Contains(told, said) && len(told) < toldEvents {
			told = append(told, said)
		}
	}
	return told
}

// evidenceFor a condition is what others say about what it depends on.
func (t *teller) evidenceFor(condition string) []Evidence {
	switch condition {
	case hyperv1.InfrastructureReady:
		return t.events(func(e *corev1.Event) bool { return e.InvolvedObject.Kind == "Service" })
	case hyperv1.EtcdAvailable:
		return t.events(func(e *corev1.Event) bool { return e.InvolvedObject.Kind == "PersistentVolumeClaim" })
	case hyperv1.ExternalDNSReachable:
		var told []Evidence
		for i := range t.ExternalDNS {
			if said := component.PodTrouble(t.ExternalDNS[i:i+1], t.Now, patience); said != "" {
				told = append(told, Evidence{"ExternalDNS", said})
			}
		}
		if len(t.ExternalDNS) == 0 {
			told = append(told, Evidence{"ExternalDNS", "no pod of it runs in namespace " + t.Operator})
		}
		for _, line := range t.Logs {
			if line.Container == externalDNS {
				told = append(told, Evidence{"log of ExternalDNS, last line", line.Text})
			}
		}
		return told
	}
	return nil
}
