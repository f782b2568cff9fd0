package netpol

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
)

// Only pods with an address of their own are subject to policies.
func TestPolicyPod(t *testing.T) {
	whole := corev1.Pod{Status: corev1.PodStatus{PodIP: "10.200.0.9", Phase: corev1.PodRunning}, Spec: corev1.PodSpec{
		Containers: []corev1.Container{{Ports: []corev1.ContainerPort{{Name: "a"}}}, {Ports: []corev1.ContainerPort{{Name: "b"}}}}}}
	if p, ok := policyPod(whole); !ok || p.IP != "10.200.0.9" || len(p.Ports) != 2 {
		t.Errorf("%+v %v", p, ok)
	}
	for name, change := range map[string]func(*corev1.Pod){
		"of the host's network": func(p *corev1.Pod) { p.Spec.HostNetwork = true },
		"done":                  func(p *corev1.Pod) { p.Status.Phase = corev1.PodSucceeded },
		"failed":                func(p *corev1.Pod) { p.Status.Phase = corev1.PodFailed },
		"without an address":    func(p *corev1.Pod) { p.Status.PodIP = "" },
	} {
		pod := *whole.DeepCopy()
		change(&pod)
		if _, ok := policyPod(pod); ok {
			t.Errorf("a pod %s is taken", name)
		}
	}
}
