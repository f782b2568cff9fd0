package provision

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/hypershift-on-azure/hypershift/internal/provision/dns"
	"github.com/hypershift-on-azure/hypershift/internal/provision/iam"
	"github.com/hypershift-on-azure/hypershift/internal/provision/infra"
	"github.com/hypershift-on-azure/hypershift/internal/provision/issuer"
	"github.com/hypershift-on-azure/hypershift/internal/provision/provisiontest"
	"github.com/hypershift-on-azure/hypershift/internal/stack"
	"github.com/hypershift-on-azure/hypershift/internal/wholefile"
)

func prerequisitesOptions(t *testing.T) PrerequisitesOptions {
	vnet := "/subscriptions/" + provisiontest.Subscription + "/resourceGroups/theirs/providers/Microsoft.Network/virtualNetworks/v"
	return PrerequisitesOptions{
		Issuer: issuer.Options{Name: "demo", ResourceGroup: "os4-common", Location: "eastus", KeyDirectory: t.TempDir()},
		IAM:    iam.Options{Name: "demo", InfraID: "demo-x", ResourceGroup: "os4-common", Location: "eastus"},
		DNS:    dns.Options{Zone: "clusters.example.com", ResourceGroup: "os4-common", Location: "eastus", ManagementURL: "https://issuer.example.com"},
		Infra: infra.Options{Name: "demo", InfraID: "demo-x", BaseDomain: "example.com", Location: "eastus", AssignRoles: true,
			VNetID: vnet, SubnetID: vnet + "/subnets/s"},
	}
}

// TestNothingIsWrittenBeforeWhatTheUserHasIsFound follows the dependencies of every write, be it a file, back to everything the user must have.
func TestNothingIsWrittenBeforeWhatTheUserHasIsFound(t *testing.T) {
	p, err := preparePrerequisites(provisiontest.Session(t), prerequisitesOptions(t))
	if err != nil {
		t.Fatal(err)
	}
	byID := map[string]*stack.Node{}
	var theirs []string
	for _, n := range p.nodes {
		byID[n.ID] = n
		if n.Brought && len(n.DependsOn) == 0 {
			theirs = append(theirs, n.ID)
		}
	}
	slices.Sort(theirs)
	if want := []string{"dns/parent", "infra/publiczone", "infra/subnet", "infra/vnet", "published", "region", "rights"}; !slices.Equal(theirs, want) {
		t.Fatalf("the user must have %v, want %v", theirs, want)
	}
	var behind func(id string, seen map[string]bool)
	behind = func(id string, seen map[string]bool) {
		for _, dep := range byID[id].DependsOn {
			if !seen[dep] {
				seen[dep] = true
				behind(dep, seen)
			}
		}
	}
	for _, n := range p.nodes {
		if n.Brought {
			continue
		}
		seen := map[string]bool{n.ID: true}
		behind(n.ID, seen)
		for _, id := range append(theirs, "registration") {
			if !seen[id] {
				t.Errorf("%s does not wait for %s", n.ID, id)
			}
		}
	}
}

// TestOnePersistentGroup has the stacks share one, under a name that no stack's node has.
func TestOnePersistentGroup(t *testing.T) {
	p, err := preparePrerequisites(provisiontest.Session(t), prerequisitesOptions(t))
	if err != nil {
		t.Fatal(err)
	}
	shared := 0
	for _, n := range p.nodes {
		name, _, prefixed := strings.Cut(n.ID, "/")
		if n.Brought || n.Kind == "resource providers" {
			continue
		}
		if !prefixed {
			shared++
		} else if !slices.Contains([]string{issuer.Stack, iam.Stack, dns.Stack, infra.Stack}, name) {
			t.Errorf("%s does not tell its stack", n.ID)
		}
	}
	if shared != 1 {
		t.Errorf("%d nodes are of no stack, want the persistent group only", shared)
	}
}

// TestWrongInputIsRefusedBeforeAnythingIsKnown has no issuer and no identities yet.
func TestWrongInputIsRefusedBeforeAnythingIsKnown(t *testing.T) {
	o := prerequisitesOptions(t)
	if err := o.Validate(); err != nil {
		t.Fatal(err)
	}
	o.Infra.BaseDomain = ""
	if err := o.Validate(); err == nil || !strings.Contains(err.Error(), infra.FieldBaseDomain.String()) {
		t.Error(err)
	}
}

// TestAPlanWritesNothing has no folder for the key yet.
func TestAPlanWritesNothing(t *testing.T) {
	o := prerequisitesOptions(t)
	o.Issuer.KeyDirectory = filepath.Join(t.TempDir(), "keys")
	if _, err := preparePrerequisites(provisiontest.Session(t), o); err != nil || wholefile.Exists(o.Issuer.KeyDirectory) {
		t.Errorf("%v; folder made: %v", err, wholefile.Exists(o.Issuer.KeyDirectory))
	}
}

// TestAZoneAboveTheClustersIsRefused names the field, before any call.
func TestAZoneAboveTheClustersIsRefused(t *testing.T) {
	for zone, refused := range map[string]bool{"clusters.example.com": false, "example.com": true, "demo.example.com": true} {
		o := prerequisitesOptions(t)
		o.DNS.Zone = zone
		_, err := preparePrerequisites(provisiontest.Session(t), o)
		if (err != nil) != refused || refused && !strings.Contains(err.Error(), dns.FieldZone.String()) {
			t.Errorf("%s: %v", zone, err)
		}
	}
}
