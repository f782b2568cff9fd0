package apiserver

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"

	"github.com/hypershift-on-azure/hypershift/internal/clusterconfig"
	"github.com/hypershift-on-azure/hypershift/internal/component"
	"github.com/hypershift-on-azure/hypershift/internal/contract"
)

const auditWebhookKubeconfig = contract.AuditWebhookKey

// auditRule is a rule of audit.k8s.io/v1; the first that matches a request decides.
type auditRule struct {
	Level           string          `json:"level"`
	UserGroups      []string        `json:"userGroups,omitempty"`
	Verbs           []string        `json:"verbs,omitempty"`
	Resources       []auditResource `json:"resources,omitempty"`
	NonResourceURLs []string        `json:"nonResourceURLs,omitempty"`
}

type auditResource struct {
	Group     string   `json:"group"`
	Resources []string `json:"resources,omitempty"`
}

var (
	writes = []string{"create", "update", "patch", "delete", "deletecollection"}

	// noise is what no profile logs.
	noise = []auditRule{
		{Level: "None", Resources: []auditResource{{Group: "apiserver.openshift.io", Resources: []string{"apirequestcounts", "apirequestcounts/*"}}}},
		{Level: "None", UserGroups: []string{"system:authenticated", "system:unauthenticated"},
			NonResourceURLs: []string{"/api*", "/version", "/healthz", "/readyz", "/livez"}},
	}
	// identities are logged with their bodies, so that a name can be matched with what logged in under it.
	identities = []auditRule{{Level: "RequestResponse", Verbs: []string{"create", "update", "patch", "delete"}, Resources: []auditResource{
		{Group: "user.openshift.io", Resources: []string{"identities"}},
		{Group: "oauth.openshift.io", Resources: []string{"oauthaccesstokens", "oauthauthorizetokens"}},
	}}}
	// confidential bodies are in no log, whatever the profile.
	confidential = auditRule{Level: "Metadata", Resources: []auditResource{
		{Resources: []string{"secrets", "serviceaccounts/token"}},
		{Group: "authentication.k8s.io", Resources: []string{"tokenreviews", "tokenrequests"}},
		{Group: "route.openshift.io", Resources: []string{"routes", "routes/status"}},
		{Group: "oauth.openshift.io", Resources: []string{"oauthclients", "tokenreviews"}},
	}}
	metadata = auditRule{Level: "Metadata"}

	auditProfiles = map[string][]auditRule{
		"Default":            append(identities[:1:1], metadata),
		"WriteRequestBodies": append(identities[:1:1], confidential, auditRule{Level: "RequestResponse", Verbs: writes}, metadata),
		"AllRequestBodies":   append(identities[:1:1], confidential, auditRule{Level: "RequestResponse"}),
		"None":               {{Level: "None"}},
	}
)

func profileRules(field, profile string) ([]auditRule, error) {
	if profile == "" {
		profile = "Default"
	}
	rules, ok := auditProfiles[profile]
	if !ok {
		return nil, fmt.Errorf("spec.configuration.apiServer.audit.%s is %q; it must be Default, WriteRequestBodies, AllRequestBodies or None", field, profile)
	}
	return rules, nil
}

// AuditPolicy is the policy of the profile, preceded by those of the groups that have one of their own.
func AuditPolicy(audit clusterconfig.Audit) (string, error) {
	rules := noise[:len(noise):len(noise)]
	for i, custom := range audit.CustomRules {
		own, err := profileRules(fmt.Sprintf("customRules[%d].profile", i), custom.Profile)
		if err != nil {
			return "", err
		}
		for _, rule := range own {
			rule.UserGroups = []string{custom.Group}
			rules = append(rules, rule)
		}
	}
	last, err := profileRules("profile", audit.Profile)
	if err != nil {
		return "", err
	}
	text, err := yaml.Marshal(map[string]any{
		"apiVersion": "audit.k8s.io/v1", "kind": "Policy",
		"omitStages": []string{"RequestReceived"},
		// Who owns which field of a body is several times the body.
		"omitManagedFields": true,
		"rules":             append(rules, last...),
	})
	if err != nil {
		return "", fmt.Errorf("render the audit policy: %w", err)
	}
	return string(text), nil
}

// addAuditWebhook sends the events of the audit log to the user's webhook too.
func addAuditWebhook(ctx *component.Context, pod *corev1.PodSpec) {
	webhook := ctx.HCP.Spec.AuditWebhook
	if webhook == nil || webhook.Name == "" {
		return
	}
	const dir = "/etc/kubernetes/auditwebhook"
	pod.Volumes = append(pod.Volumes, component.SecretVolume("audit-webhook", webhook.Name))
	c := &pod.Containers[0]
	c.VolumeMounts = append(c.VolumeMounts, component.Mount("audit-webhook:"+dir))
	c.Command = append(c.Command,
		"--audit-webhook-config-file="+dir+"/"+auditWebhookKubeconfig, "--audit-webhook-mode=batch", "--audit-webhook-initial-backoff=5s")
}
