package infra

import (
	"errors"
	"fmt"
	"net/netip"
	"strings"

	"github.com/hypershift-on-azure/hypershift/internal/provision/identity"
	"github.com/hypershift-on-azure/hypershift/internal/provision/rules"

	hyperv1 "github.com/hypershift-on-azure/hypershift/api/v1beta1"
	"github.com/hypershift-on-azure/hypershift/internal/azure"
)

// Options describe the infrastructure of one hosted cluster. The three ids are the user's own resources.
type Options struct {
	Name, InfraID, BaseDomain, Location string
	BaseDomainPrefix                    *string // nil: the cluster's name; "": none
	ResourceGroup                       string  // existing group for everything; "" makes the default ones
	Tags                                map[string]string
	VNetID, SubnetID, NSGID             string
	PrivateZoneID                       string // existing zone of the cluster's domain
	PublicIPID                          string // existing address by which the workers reach the world
	LoadBalancerID                      string // existing load balancer that has it
	Identities                          *identity.WorkloadIdentities
	Managed                             *hyperv1.AzureResourceManagedIdentities // the managed flavour, in place of Identities
	CustomRoles                         bool                                    // in place of Contributor
	NoImageRegistry                     bool                                    // the cluster has none, so its identity needs no role
	AssignRoles                         bool
	DNSZoneGroup                        string // "" is the group of the public zone, if there is one
	PublicZoneOptional                  bool   // without an external DNS domain the public zone may be missing
	Ranges                              []Range
}

// Range are addresses that the virtual network must not have, with the flag that says so.
type Range struct {
	Flag   string
	Prefix netip.Prefix
}

// Missing names every flag that has to be given and is not.
func (o Options) Missing() error {
	return errors.Join(rules.Required("--name", o.Name), rules.Required("--infra-id", o.InfraID), rules.Required("--base-domain", o.BaseDomain), rules.Required("--location", o.Location))
}

// Validate names the flag that is wrong, before any call.
func (o Options) Validate() error {
	if err := o.Missing(); err != nil {
		return err
	}
	if !rules.IsDomain(o.BaseDomain) {
		return fmt.Errorf("--base-domain %q is not a domain name such as example.com", o.BaseDomain)
	}
	for _, f := range []struct{ flag, id string }{
		{"--vnet-id", o.VNetID}, {"--subnet-id", o.SubnetID}, {"--network-security-group-id", o.NSGID},
		{"--private-dns-zone-id", o.PrivateZoneID}, {"--public-ip-id", o.PublicIPID}, {"--load-balancer-id", o.LoadBalancerID},
	} {
		if f.id == "" {
			continue
		}
		if _, err := azure.ParseID(f.id); err != nil {
			return fmt.Errorf("%s: %w", f.flag, err)
		}
	}
	if err := rules.FirstError(rules.ClusterName(o.Name), rules.InfraID(o.InfraID), rules.DerivedNames(o.Name, o.InfraID), rules.Group("--resource-group-name", o.ResourceGroup),
		rules.Group("--dns-zone-rg-name", o.DNSZoneGroup), rules.Tags("--resource-group-tags", o.Tags), o.validateBrought()); err != nil {
		return err
	}
	switch {
	case o.VNetID != "" && o.SubnetID == "":
		return errors.New("--vnet-id needs --subnet-id: the subnet the workers are placed in")
	case o.VNetID == "" && o.SubnetID != "":
		return errors.New("--subnet-id needs --vnet-id: the virtual network the subnet belongs to")
	case o.VNetID != "" && !strings.HasPrefix(strings.ToLower(o.SubnetID), strings.ToLower(o.VNetID)+"/subnets/"):
		return errors.New("--subnet-id is not a subnet of --vnet-id")
	case o.AssignRoles && o.Identities == nil && o.Managed == nil:
		return errors.New("assigning roles needs --workload-identities-file")
	}
	if err := o.checkRanges(vnetRange); o.VNetID == "" && err != nil {
		return err
	}
	return o.validateManaged()
}

// checkRanges refuses addresses of pods and Services that are those of the virtual network: machines could not reach one of the two.
func (o Options) checkRanges(prefixes ...string) error {
	for _, text := range prefixes {
		prefix, err := netip.ParsePrefix(text)
		if err != nil {
			continue // Azure's, and none that it would take
		}
		for _, r := range o.Ranges {
			if r.Prefix.Overlaps(prefix) {
				return fmt.Errorf("%s %s overlaps %s, the addresses of the virtual network; choose another range", r.Flag, r.Prefix, prefix)
			}
		}
	}
	return nil
}

// validateBrought refuses what the controllers of the cluster would not find.
func (o Options) validateBrought() error {
	if id, err := azure.ParseID(o.PrivateZoneID); err == nil && !strings.EqualFold(id.Name, o.clusterDomain()) {
		return fmt.Errorf("--private-dns-zone-id: the zone is %s, the cluster's domain is %s", id.Name, o.clusterDomain())
	}
	if o.LoadBalancerID == "" {
		return nil
	}
	id, err := azure.ParseID(o.LoadBalancerID)
	switch {
	case err != nil:
		return fmt.Errorf("--load-balancer-id: %w", err)
	case o.ResourceGroup == "" || !strings.EqualFold(id.ResourceGroup, o.ResourceGroup):
		return errors.New("--load-balancer-id needs --resource-group-name with the group it is in: the cloud provider looks for it there")
	case id.Name != o.InfraID:
		return fmt.Errorf("--load-balancer-id: the load balancer is named %s; the cloud provider looks for one that is named as --infra-id, %s", id.Name, o.InfraID)
	case o.PublicIPID != "":
		return errors.New("--public-ip-id is for the load balancer that is made; the one of --load-balancer-id has its own")
	}
	return nil
}

func (o Options) clusterDomain() string {
	prefix := o.Name
	if o.BaseDomainPrefix != nil {
		prefix = *o.BaseDomainPrefix
	}
	if prefix == "" {
		return o.BaseDomain
	}
	return prefix + "." + o.BaseDomain
}

// validateManaged refuses what roles cannot be given to.
func (o Options) validateManaged() error {
	if !o.AssignRoles || o.Managed == nil {
		return nil
	}
	for _, c := range identity.ControlPlane(&o.Managed.ControlPlane) {
		if c.Identity.ClientID == "" {
			return fmt.Errorf("--managed-identities-file: %s.clientID is needed to give the identity its roles", c.Key)
		}
	}
	return nil
}
