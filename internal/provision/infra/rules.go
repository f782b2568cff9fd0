package infra

import (
	"context"
	"errors"
	"regexp"
	"slices"
	"strings"

	"github.com/hypershift-on-azure/hypershift/internal/azure"
	"github.com/hypershift-on-azure/hypershift/internal/azure/failure"
	"github.com/hypershift-on-azure/hypershift/internal/provision/node"
	"github.com/hypershift-on-azure/hypershift/internal/stack"
)

// byCloudProvider are names that the cloud provider gives to rules for Services: k8s-azure-lb_ today, the Service's name for balancers before.
var byCloudProvider = regexp.MustCompile(`^(k8s-azure-lb_|a[0-9a-f]{31}-)`)

// addRules finds the rules that the cloud provider has added to the user's network security group for addresses of this cluster, and not taken
// back: a cluster that was destroyed by force leaves them, and the addresses may become somebody else's. They go first, for they are known
// by the addresses. What is for other addresses as well keeps those; every other rule stays.
func (d *demolition) addRules(ctx context.Context) error {
	if id, err := azure.ParseID(d.NSGID); err != nil || !strings.EqualFold(id.Type, node.TypeNSG) {
		return nil
	}
	group, err := d.s.Get(ctx, d.NSGID, node.APINetwork)
	switch {
	case failure.IsNotFound(err):
		return nil
	case failure.CodeOf(err) == notAllowed:
		d.warn("cannot look for this cluster's rules in network security group " + d.NSGID + " (" + err.Error() + ")")
		return nil
	case err != nil:
		return err
	case d.marked(group):
		return nil // ours: it goes
	}
	addresses, err := d.addresses(ctx)
	if err != nil || len(addresses) == 0 {
		return err
	}
	rules, err := d.s.List(ctx, d.NSGID+"/securityRules", node.APINetwork, "")
	if failure.IsNotFound(err) {
		return nil // its owner has removed it
	}
	if err != nil {
		return err
	}
	var nodes []*stack.Node
	for i := range rules {
		kept, ours := without(&rules[i], addresses)
		if ours && byCloudProvider.MatchString(rules[i].Name) {
			nodes = append(nodes, d.ruleRemoval(&rules[i], kept))
		}
	}
	d.addStage(nodes...)
	return nil
}

// addresses are those of this cluster's balancers in its main group.
func (d *demolition) addresses(ctx context.Context) ([]string, error) {
	var out []string
	for _, kind := range []string{node.TypePublicIP, node.TypeLB} {
		all, err := d.s.List(ctx, d.s.GroupID(d.main)+"/providers/"+kind, node.APINetwork, "")
		if failure.IsNotFound(err) {
			continue
		}
		if err != nil {
			return nil, err
		}
		for i := range all {
			if d.owns(&all[i]) {
				out = append(out, addressesOf(&all[i])...)
			}
		}
	}
	return out, nil
}

// addressesOf are a public address, or the private ones of a balancer.
func addressesOf(r *azure.Resource) []string {
	out := []string{r.Property("ipAddress")}
	fronts, _ := r.Properties["frontendIPConfigurations"].([]any)
	for _, front := range fronts {
		properties, _ := front.(map[string]any)["properties"].(map[string]any)
		address, _ := properties["privateIPAddress"].(string)
		out = append(out, address)
	}
	return slices.DeleteFunc(out, func(address string) bool { return address == "" })
}

// without are the destinations of a rule that are none of the addresses, and whether some are.
func without(rule *azure.Resource, addresses []string) (kept []any, some bool) {
	destinations, _ := rule.Properties["destinationAddressPrefixes"].([]any)
	if one := rule.Property("destinationAddressPrefix"); one != "" {
		destinations = append(slices.Clone(destinations), one)
	}
	for _, destination := range destinations {
		text, _ := destination.(string)
		if slices.Contains(addresses, strings.TrimSuffix(text, "/32")) {
			some = true
		} else {
			kept = append(kept, destination)
		}
	}
	return kept, some
}

// ruleRemoval deletes a rule, or takes this cluster's addresses out of it. One rule of a group is written at a time.
func (d *demolition) ruleRemoval(rule *azure.Resource, kept []any) *stack.Node {
	n := d.deletion(rule.ID, "security rule", rule.Name, node.APINetwork)
	n.Lane = strings.ToLower(d.NSGID)
	if len(kept) == 0 {
		return n
	}
	n.Name += ", which other addresses keep"
	body := azure.Resource{Properties: map[string]any{}}
	for key, value := range rule.Properties {
		body.Properties[key] = value
	}
	delete(body.Properties, "provisioningState")
	delete(body.Properties, "destinationAddressPrefix")
	body.Properties["destinationAddressPrefixes"] = kept
	n.Delete = func(ctx context.Context) error {
		_, err := d.s.PutIf(ctx, rule.ID, node.APINetwork, rule.ETag, body)
		if azure.IsChanged(err) {
			return errors.New("somebody has changed the rule meanwhile; run the command again")
		}
		return err
	}
	return n
}
