package addons

import (
	"testing"

	admissionv1 "k8s.io/api/admissionregistration/v1"

	"github.com/hypershift-on-azure/hypershift/internal/guest/guesttest"
	"github.com/hypershift-on-azure/hypershift/internal/guest/inside"
)

func TestWorkloadIdentityWebhook(t *testing.T) {
	found := func(facts *inside.Facts) *admissionv1.MutatingWebhookConfiguration {
		for _, obj := range Objects(facts) {
			if configuration, ok := obj.(*admissionv1.MutatingWebhookConfiguration); ok {
				return configuration
			}
		}
		return nil
	}
	facts := guesttest.PlainFacts()
	configuration := found(facts)
	if configuration == nil || len(configuration.Webhooks) != 1 {
		t.Fatalf("configuration %v", configuration)
	}
	webhook := configuration.Webhooks[0]
	if *webhook.ClientConfig.URL != "https://127.0.0.1:9443/mutate-v1-pod" || string(webhook.ClientConfig.CABundle) != "root" ||
		*webhook.FailurePolicy != admissionv1.Ignore || webhook.ObjectSelector.MatchLabels["azure.workload.identity/use"] != "true" {
		t.Errorf("webhook %+v", webhook)
	}
	delete(facts.Images, webhookName)
	if found(facts) != nil {
		t.Error("the API server is told to call a webhook that the payload does not have")
	}
}
