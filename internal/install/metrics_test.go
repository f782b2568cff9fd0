package install

import (
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
)

// TestMetricsAreClosed: whatever of an installation tells metrics tells them to the management cluster's monitoring alone.
func TestMetricsAreClosed(t *testing.T) {
	objects := Everything("hypershift").Objects()
	var policy *networkingv1.NetworkPolicy
	for _, obj := range objects {
		if found, ok := obj.(*networkingv1.NetworkPolicy); ok {
			policy = found
		}
	}
	if policy == nil {
		t.Fatal("an installation has no NetworkPolicy")
	}
	selector, err := metav1.LabelSelectorAsSelector(&policy.Spec.PodSelector)
	if err != nil {
		t.Fatal(err)
	}
	for _, obj := range objects {
		deployment, ok := obj.(*appsv1.Deployment)
		if !ok {
			continue
		}
		template := deployment.Spec.Template
		for _, port := range template.Spec.Containers[0].Ports {
			if port.Name == "metrics" && !selector.Matches(labels.Set(template.Labels)) {
				t.Errorf("everybody reaches port %d of %s", port.ContainerPort, deployment.Name)
			}
		}
	}
	for _, rule := range policy.Spec.Ingress {
		monitoring := len(rule.From) == 1 && rule.From[0].NamespaceSelector.MatchLabels["network.openshift.io/policy-group"] == "monitoring"
		webhooks := len(rule.From) == 0 && len(rule.Ports) == 1 && rule.Ports[0].Port.IntValue() == webhookPort
		if monitoring == webhooks {
			t.Errorf("a rule for more than monitoring and webhooks: %+v", rule)
		}
	}
}
