package feasibility

import (
	"context"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/hypershift-on-azure/hypershift/internal/azure"
	"github.com/hypershift-on-azure/hypershift/internal/preflight"
	"github.com/hypershift-on-azure/hypershift/internal/provision/node"
)

// everyone is the principal of a deny assignment that is for all of the directory.
const everyone = "00000000-0000-0000-0000-000000000000"

const typeGroup = "Microsoft.Resources/resourceGroups"

// denials are deny assignments at a scope and above it, which no role outweighs: managed applications and deployment stacks make them.
func (e *examination) denials(ctx context.Context, self azure.Principal, scopes []node.ScopeRights) []preflight.Check {
	looks := make([]look, len(scopes))
	for i, scope := range scopes {
		looks[i].at = func(ctx context.Context) []preflight.Check { return e.denialsAt(ctx, self, scope) }
	}
	// An interruption is told by who asked for all of this.
	checks, _ := atOnce(ctx, looks)
	return checks
}

func (e *examination) denialsAt(ctx context.Context, self azure.Principal, scope node.ScopeRights) []preflight.Check {
	name := "deny assignments on " + placeOf(scope.Scope)
	all, err := e.s.DenyAssignments(ctx, scope.Scope)
	if err != nil {
		return unanswered(name, err)
	}
	const remedy = "have who made it exclude the service principal, or take another resource group: no role outweighs a deny assignment"
	var perhaps []string
	for _, denial := range all {
		denied := slices.DeleteFunc(slices.Clone(scope.Actions), func(action string) bool { return !denial.Permissions.Allow(action) })
		if len(denied) == 0 || denial.ScopeOnly && !strings.EqualFold(denial.Scope, scope.Scope) || slices.Contains(denial.Excluded, self.ObjectID) {
			continue
		}
		told := fmt.Sprintf("%q on %s denies %s", denial.Name, denial.Scope, strings.Join(denied, ", "))
		if slices.Contains(denial.Principals, self.ObjectID) || slices.Contains(denial.Principals, everyone) && len(denial.Excluded) == 0 {
			return one(preflight.Verdict(name, preflight.Fail, false, told, remedy))
		}
		perhaps = append(perhaps, told) // a group may have the principal, on either side
	}
	return one(preflight.Verdict(name, preflight.Warn, len(perhaps) == 0, describe(perhaps, "none denies what is written", " to groups, or to all but groups, in which the credentials may be"), remedy))
}

// placeOf is how a person calls a scope.
func placeOf(scope string) string {
	if strings.Count(scope, "/") == 2 {
		return "the subscription"
	}
	return "resource group " + path.Base(scope)
}

func describe(found []string, none, suffix string) string {
	if len(found) == 0 {
		return none
	}
	return strings.Join(found, "; ") + suffix
}

// policies are asked what they would deny of what a cluster consists of. Azure itself evaluates them, inherited ones too.
func (e *examination) policies(ctx context.Context) []preflight.Check {
	if e.Output != nil {
		return one(preflight.Verdict("policies", preflight.Fail, true, "the infrastructure is there", ""))
	}
	contents := e.contents()
	looks := make([]look, len(contents))
	for i, content := range contents {
		looks[i].at = func(ctx context.Context) []preflight.Check { return e.policiesOn(ctx, content) }
	}
	checks, _ := atOnce(ctx, looks)
	return checks
}

func (e *examination) policiesOn(ctx context.Context, content azure.Resource) []preflight.Check {
	name := "policies on " + content.Type
	scope := "/subscriptions/" + e.s.SubscriptionID
	if e.Infra.ResourceGroup != "" && content.Type != typeGroup {
		if _, err := e.s.Get(ctx, e.s.GroupID(e.Infra.ResourceGroup), node.APIGroups); err == nil {
			scope = e.s.GroupID(e.Infra.ResourceGroup)
		}
	}
	denying, err := e.s.PolicyRestrictions(ctx, scope, content)
	if err != nil {
		return unanswered(name, err)
	}
	return one(preflight.Verdict(name, preflight.Fail, len(denying) == 0, describe(denying, "none denies one such as the cluster's", " would deny it"),
		"have who assigned it exempt the cluster's resource groups (`az policy exemption create`), or meet its condition: --location, --resource-group-tags, --instance-type say what is made"))
}

// contents are one of each kind that a cluster has in Azure, by what policies are mostly about: kind, place, tags, size, public addresses.
func (e *examination) contents() []azure.Resource {
	o := e.complete()
	tags := map[string]string{"kubernetes.io_cluster_" + o.InfraID: "owned"}
	standard := map[string]any{"name": "Standard"}
	vm := map[string]any{"hardwareProfile": map[string]any{"vmSize": e.Machines.Size}, "storageProfile": map[string]any{"osDisk": map[string]any{"createOption": "FromImage"}}}
	all := []azure.Resource{
		{Type: "Microsoft.Network/virtualNetworks", Properties: map[string]any{"addressSpace": map[string]any{"addressPrefixes": []string{"10.0.0.0/16"}}}},
		{Type: "Microsoft.Network/networkSecurityGroups"},
		{Type: "Microsoft.Network/publicIPAddresses", SKU: standard, Properties: map[string]any{"publicIPAllocationMethod": "Static"}},
		{Type: "Microsoft.Network/loadBalancers", SKU: standard},
		{Type: "Microsoft.Compute/virtualMachines", Properties: vm},
		{Type: "Microsoft.Compute/disks", Properties: map[string]any{"creationData": map[string]any{"createOption": "Empty"}}},
	}
	groupTags := maps.Clone(tags)
	maps.Copy(groupTags, o.Tags)
	all = append(all, azure.Resource{Type: typeGroup, Tags: groupTags})
	for i := range all {
		all[i].Name, all[i].Location = o.Name+"-"+o.InfraID, o.Location
		if all[i].Tags == nil {
			all[i].Tags = tags
		}
	}
	return all
}
