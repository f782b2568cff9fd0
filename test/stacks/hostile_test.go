package stacks_test

import (
	"cmp"
	"context"
	"strings"
	"testing"

	"github.com/hypershift-on-azure/hypershift/internal/azure"
	"github.com/hypershift-on-azure/hypershift/internal/provision/infra"
	"github.com/hypershift-on-azure/hypershift/internal/provision/roles"
)

// A tenant writes a HostedCluster and the record beside it. Whatever they name, an administrator's destroy takes nothing of others: neither
// their groups nor what is in them nor their roles.
func TestATenantsRecordDeletesNothingOfOthers(t *testing.T) {
	w := newWorld(t)
	scope, victim := w.group("theirs"), w.group("victim-prod-x")
	assignment := azure.Assignment{Name: azure.AssignmentName("prod-x", "capz", scope), Scope: scope, RoleGUID: roles.Contributor, PrincipalID: client}
	inside := victim + "/providers/Microsoft.Network/networkSecurityGroups/theirs"
	var theirs []string
	_, err := w.process(0, false, func(ctx context.Context, s *azure.Session) error {
		tags := map[string]string{"kubernetes.io_cluster_prod-x": "owned"}
		if _, err := s.Put(ctx, victim, "2021-04-01", azure.Resource{Location: location, Tags: tags}); err != nil {
			return err
		}
		for _, name := range []string{"web-demo-x-1", "demo-x-api"} {
			id := s.ResourceID("theirs", "Microsoft.Network/publicIPAddresses", name)
			theirs = append(theirs, id)
			if _, err := s.Put(ctx, id, "2023-11-01", azure.Resource{Location: location, SKU: map[string]any{"name": "Standard"},
				Properties: map[string]any{"publicIPAllocationMethod": "Static"}}); err != nil {
				return err
			}
		}
		if _, err := s.Put(ctx, inside, "2023-11-01", azure.Resource{Location: location, Tags: tags}); err != nil {
			return err
		}
		return s.Assign(ctx, assignment)
	})
	must(t, err)
	before := w.dump()
	yes := func(infra.Unproven) bool { return true }
	const anothers = "resource group victim-prod-x has the tag kubernetes.io_cluster_prod-x=owned, by which it is another hosted cluster's; it stays"
	trick := azure.Assignment{Scope: scope + "?api-version=2021-04-01&rest="}
	trick.Name = azure.AssignmentName(infraID, "capz", trick.Scope)
	record := append([]string{scope, victim, assignment.ID(), trick.ID(), scope + "/providers/Microsoft.Network/virtualNetworks/vnet"}, theirs...)
	for why, test := range map[string]struct {
		o      infra.DestroyOptions
		says   string
		warned bool // and done; else it ends with an error
	}{
		"their group":                                       {infra.DestroyOptions{ResourceGroup: "theirs"}, "kept the resource group theirs", false},
		"with the flag for the main":                        {infra.DestroyOptions{ResourceGroup: "theirs", DeleteResourceGroup: true}, "kept the resource group theirs", false},
		"another cluster's group":                           {infra.DestroyOptions{ResourceGroup: "victim-prod-x"}, anothers, true},
		"the same, and the user says yes":                   {infra.DestroyOptions{ResourceGroup: "victim-prod-x", Confirm: yes}, anothers, true},
		"the same, and all that he can type":                {infra.DestroyOptions{ResourceGroup: "victim-prod-x", DeleteResourceGroup: true, Adopt: true, Confirm: yes}, anothers, true},
		"the same, and what is in it is said to be brought": {infra.DestroyOptions{ResourceGroup: "victim-prod-x", NSGID: inside}, anothers, true},
		"another cluster's, by names that do":               {infra.DestroyOptions{Name: "victim-prod", InfraID: "x", DeleteResourceGroup: true, Adopt: true, Confirm: yes}, anothers, true},
	} {
		t.Run(why, func(t *testing.T) {
			o := test.o
			o.Name, o.InfraID, o.Inventory, o.GroupUnproven = cmp.Or(o.Name, cluster), cmp.Or(o.InfraID, infraID), record, true
			var warnings []string
			o.Warn = func(sentence string) { warnings = append(warnings, sentence) }
			_, err := w.process(0, false, func(ctx context.Context, s *azure.Session) error { return infra.Destroy(ctx, s, o, nil) })
			if test.warned {
				if err != nil || !strings.Contains(strings.Join(warnings, "\n"), test.says) {
					t.Errorf("error %v, warnings %q", err, warnings)
				}
			} else if err == nil || !strings.Contains(err.Error(), test.says) || !strings.Contains(err.Error(), infra.FieldConfirm.String()) {
				t.Errorf("error %v", err)
			}
			if d := differences(before, w.dump()); d != "" {
				t.Errorf("after the destroy:\n%s", d)
			}
		})
	}
}

// A group that has our tag and another name than we give goes when the user confirms it, and not before.
func TestATaggedGroupOfAnotherNameIsConfirmed(t *testing.T) {
	w := newWorld(t)
	before := w.dump()
	_, err := w.process(0, false, func(ctx context.Context, s *azure.Session) error {
		_, err := s.Put(ctx, w.group("other"), "2021-04-01", azure.Resource{Location: location, Tags: map[string]string{"kubernetes.io_cluster_" + infraID: "owned"}})
		return err
	})
	must(t, err)
	made := w.dump()
	o := infra.DestroyOptions{Name: cluster, InfraID: infraID, ResourceGroup: "other", GroupUnproven: true}
	destroy := func(ctx context.Context, s *azure.Session) error { return infra.Destroy(ctx, s, o, nil) }
	if _, err := w.process(0, false, destroy); err == nil || !strings.Contains(err.Error(), "it has the tag kubernetes.io_cluster_"+infraID+"=owned") {
		t.Errorf("error %v", err)
	}
	if d := differences(made, w.dump()); d != "" {
		t.Errorf("unconfirmed:\n%s", d)
	}
	var asked []infra.Unproven
	o.Confirm = func(u infra.Unproven) bool {
		asked = append(asked, u)
		return true
	}
	_, err = w.process(0, false, destroy)
	must(t, err)
	if len(asked) != 1 || asked[0].Group != "other" {
		t.Errorf("asked %+v", asked)
	}
	if d := differences(before, w.dump()); d != "" {
		t.Errorf("confirmed:\n%s", d)
	}
}

// An id with a query would lead elsewhere than it reads: nothing is deleted by it.
func TestAnIDWithAQueryDeletesNothing(t *testing.T) {
	w := newWorld(t)
	before := w.dump()
	for _, id := range []string{w.group("theirs") + "?api-version=2021-04-01&x=/providers/a", w.group("demo") + "/../theirs", w.group("theirs") + "#/providers/a", w.group("their%73")} {
		_, err := w.process(0, false, func(ctx context.Context, s *azure.Session) error { return s.Delete(ctx, id, "2021-04-01") })
		if err == nil || !strings.Contains(err.Error(), "not the id of a resource") {
			t.Errorf("%s: error %v", id, err)
		}
	}
	if d := differences(before, w.dump()); d != "" {
		t.Errorf("after:\n%s", d)
	}
}
