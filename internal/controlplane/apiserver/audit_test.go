package apiserver

import (
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"

	hyperv1 "github.com/hypershift-on-azure/hypershift/api/v1beta1"
	"github.com/hypershift-on-azure/hypershift/internal/clusterconfig"
	"github.com/hypershift-on-azure/hypershift/internal/component"
)

// levelOf is what a policy decides for a request: the level of the first rule that matches.
func levelOf(t *testing.T, audit clusterconfig.Audit, userGroup, verb, group, resource string) string {
	t.Helper()
	text, err := AuditPolicy(audit)
	if err != nil {
		t.Fatal(err)
	}
	var policy struct{ Rules []auditRule }
	if err := yaml.UnmarshalStrict([]byte(strings.Replace(text, "apiVersion: audit.k8s.io/v1\nkind: Policy\nomitManagedFields: true\nomitStages:\n- RequestReceived\n", "", 1)), &policy); err != nil {
		t.Fatal(err)
	}
	allows := func(list []string, value string) bool { return len(list) == 0 || slices.Contains(list, value) }
	for _, rule := range policy.Rules {
		inResource := len(rule.Resources) == 0 && len(rule.NonResourceURLs) == 0 || slices.ContainsFunc(rule.Resources, func(r auditResource) bool {
			return r.Group == group && allows(r.Resources, resource)
		})
		if inResource && allows(rule.Verbs, verb) && allows(rule.UserGroups, userGroup) {
			return rule.Level
		}
	}
	t.Fatalf("no rule of\n%s\nmatches", text)
	return ""
}

func TestAuditProfiles(t *testing.T) {
	custom := clusterconfig.Audit{Profile: "WriteRequestBodies", CustomRules: []clusterconfig.AuditRule{
		{Group: "watched", Profile: "AllRequestBodies"}, {Group: "ignored", Profile: "None"}}}
	for _, test := range []struct {
		audit                                  clusterconfig.Audit
		userGroup, verb, group, resource, want string
	}{
		{clusterconfig.Audit{}, "", "create", "", "configmaps", "Metadata"},
		{clusterconfig.Audit{}, "", "create", "oauth.openshift.io", "oauthaccesstokens", "RequestResponse"},
		{clusterconfig.Audit{}, "", "patch", "", "events", "Metadata"},
		{clusterconfig.Audit{}, "", "watch", "", "services", "Metadata"},
		{clusterconfig.Audit{}, "", "get", "apiserver.openshift.io", "apirequestcounts", "None"},
		{clusterconfig.Audit{Profile: "WriteRequestBodies"}, "", "create", "", "configmaps", "RequestResponse"},
		{clusterconfig.Audit{Profile: "WriteRequestBodies"}, "", "get", "", "configmaps", "Metadata"},
		{clusterconfig.Audit{Profile: "AllRequestBodies"}, "", "get", "", "configmaps", "RequestResponse"},
		{clusterconfig.Audit{Profile: "AllRequestBodies"}, "", "get", "", "secrets", "Metadata"},
		{clusterconfig.Audit{Profile: "AllRequestBodies"}, "", "create", "", "serviceaccounts/token", "Metadata"},
		{clusterconfig.Audit{Profile: "None"}, "", "delete", "", "configmaps", "None"},
		{custom, "watched", "get", "", "configmaps", "RequestResponse"},
		{custom, "ignored", "delete", "", "configmaps", "None"},
		{custom, "others", "get", "", "configmaps", "Metadata"},
	} {
		if got := levelOf(t, test.audit, test.userGroup, test.verb, test.group, test.resource); got != test.want {
			t.Errorf("%+v: %s of %s/%s by %q is logged at %s, want %s", test.audit, test.verb, test.group, test.resource, test.userGroup, got, test.want)
		}
	}
}

func TestUnknownAuditProfileNamesItsField(t *testing.T) {
	_, err := AuditPolicy(clusterconfig.Audit{CustomRules: []clusterconfig.AuditRule{{Group: "a", Profile: "Some"}}})
	if err == nil || !strings.Contains(err.Error(), "spec.configuration.apiServer.audit.customRules[0].profile") {
		t.Errorf("error %v", err)
	}
}

func TestAuditWebhookIsMountedAndUsed(t *testing.T) {
	hcp := &hyperv1.HostedControlPlane{}
	pod := &corev1.PodSpec{Containers: []corev1.Container{{Name: Name}}}
	addAuditWebhook(&component.Context{HCP: hcp}, pod)
	if len(pod.Volumes) != 0 || len(pod.Containers[0].Command) != 0 {
		t.Errorf("without a webhook: %+v", pod)
	}
	hcp.Spec.AuditWebhook = &corev1.LocalObjectReference{Name: "audit"}
	addAuditWebhook(&component.Context{HCP: hcp}, pod)
	if len(pod.Volumes) != 1 || pod.Volumes[0].Secret.SecretName != "audit" ||
		!slices.Contains(pod.Containers[0].Command, "--audit-webhook-config-file=/etc/kubernetes/auditwebhook/webhook-kubeconfig") {
		t.Errorf("with a webhook: %+v", pod)
	}
}
