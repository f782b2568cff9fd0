package cluster

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
)

// A plain cluster knows nothing of OpenShift, and has the same parts else.
func TestPlain(t *testing.T) {
	c := testConfig(t)
	if err := c.ensureRegistries(); err != nil {
		t.Fatal(err)
	}
	full := len(c.Parts())
	c.Plain = true
	if plain := len(c.Parts()); plain != full-1 {
		t.Errorf("%d parts instead of one less than %d", plain, full)
	}
	for _, part := range c.Parts() {
		if part.Name == Router {
			t.Error("it has a router")
		}
	}
	objects, err := c.render(map[string]string{"coredns": "quay.io/a/coredns@sha256:1", "local-path-provisioner": "quay.io/a/local@sha256:2"})
	if err != nil {
		t.Fatal(err)
	}
	for _, o := range objects {
		if text := o.GetAPIVersion() + " " + o.GetNamespace() + " " + o.GetName(); strings.Contains(text, "openshift") {
			t.Errorf("it has %s %s", o.GetKind(), text)
		}
	}
	if len(objects) < 10 {
		t.Errorf("only %d objects are left", len(objects))
	}
}

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

// The first issuer signs; tokens of the other are only accepted.
func TestIssuerIsWhatTheAPIServerSigns(t *testing.T) {
	args := strings.Join(testConfig(t).apiServerArgs(), " ")
	first := strings.Index(args, "--service-account-issuer="+IssuerURL+" ")
	old := strings.Index(args, "--service-account-issuer="+oldIssuer+" ")
	if first < 0 || old < first {
		t.Errorf("the issuer of new tokens is not %s: %s", IssuerURL, args)
	}
}
