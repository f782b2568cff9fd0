package policy

import (
	"net/http"
	"strings"

	"github.com/hypershift-on-azure/hypershift/sandbox/azure/arm/provider"
	"github.com/hypershift-on-azure/hypershift/sandbox/azure/wire"
)

// Insights is what the gateway serves of questions about policies: what they would say of a resource that nobody has made.
var Insights = provider.Spec{Namespace: "Microsoft.PolicyInsights", Routes: []provider.Route{
	{Method: http.MethodPost, Pattern: "subscriptions/*/providers/microsoft.policyinsights/checkpolicyrestrictions", Handle: restrictions},
	{Method: http.MethodPost, Pattern: "subscriptions/*/resourcegroups/*/providers/microsoft.policyinsights/checkpolicyrestrictions", Handle: restrictions},
}}

// restrictions evaluates the policies that are assigned at or above the place that is asked, or beneath it where no group is told.
func restrictions(c *provider.Call) (*provider.Reply, error) {
	content := wire.Sub(wire.Sub(c.Body, "resourceDetails"), "resourceContent")
	typ := wire.Text(content, "type")
	if typ == "" {
		return nil, provider.BadRequest("InvalidCheckRestrictionsRequest", "The request content must have 'resourceDetails.resourceContent.type'.")
	}
	scope, _, _ := strings.Cut(c.Path.Raw, "/providers/")
	id := scope + "/providers/" + typ + "/" + wire.Text(content, "name")
	if strings.EqualFold(typ, provider.TypeResourceGroup) {
		id = scope + "/resourceGroups/" + wire.Text(content, "name")
	}
	r := &provider.Resource{ID: id, Type: typ, Name: wire.Text(content, "name"), Body: content}
	out := []any{}
	for _, a := range policyAssignments(c) {
		definition, e := evaluate(c, a, r)
		if e == nil {
			continue
		}
		out = append(out, wire.Doc{
			"policyInfo":       wire.Doc{"policyDefinitionId": definition.ID, "policyAssignmentId": a.ID},
			"evaluationResult": "NonCompliant", "evaluationDetails": wire.Doc{"evaluatedExpressions": e.seen}, "effectDetails": wire.Doc{"policyEffect": "Deny"},
		})
	}
	return provider.Answer(http.StatusOK, wire.Doc{"fieldRestrictions": []any{}, "contentEvaluationResult": wire.Doc{"policyEvaluations": out}}), nil
}
