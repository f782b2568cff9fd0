package infra

import (
	"cmp"
	"errors"
	"fmt"
	"net/netip"
	"strings"

	hyperv1 "github.com/hypershift-on-azure/hypershift/api/v1beta1"
	"github.com/hypershift-on-azure/hypershift/internal/azure"
	"github.com/hypershift-on-azure/hypershift/internal/field"
	"github.com/hypershift-on-azure/hypershift/internal/provision/identity"
	"github.com/hypershift-on-azure/hypershift/internal/provision/rules"
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
	CustomRoles                         bool                                    // for the machine provider
	NoImageRegistry                     bool                                    // the cluster has none, so its identity needs no role
	AssignRoles                         bool
	DNSZoneGroup                        string // "" is the group of the public zone, if there is one
	PublicZoneOptional                  bool   // without an external DNS domain the public zone may be missing
	AppsZone                            string // AppsZoneOwn or AppsZoneShared; "" is own where the run assigns the roles
	Ranges                              []Range
}

// Range are addresses that the virtual network must not have, with the name by which the user knows them.
type Range struct {
	Name   string
	Prefix netip.Prefix
}

// Missing names every field that has to be given and is not.
func (o Options) Missing() error {
	return errors.Join(rules.Required(FieldName, o.Name), rules.Required(FieldInfraID, o.InfraID), rules.Required(FieldBaseDomain, o.BaseDomain), rules.Required(FieldLocation, o.Location))
}

// Validate names the field that is wrong, before any call.
func (o Options) Validate() error {
	if err := o.Missing(); err != nil {
		return err
	}
	if !rules.IsDomain(o.BaseDomain) {
		return FieldBaseDomain.Wrong("%q is not a domain name such as example.com", o.BaseDomain)
	}
	if err := o.validateIDs(); err != nil {
		return err
	}
	if err := cmp.Or(rules.ClusterName(FieldName, o.Name), rules.InfraID(FieldInfraID, o.InfraID), rules.DerivedNames(FieldName, o.Name, FieldInfraID, o.InfraID), rules.Group(FieldResourceGroup, o.ResourceGroup),
		rules.Group(FieldDNSZoneGroup, o.DNSZoneGroup), rules.Tags(FieldTags, o.Tags), o.validateAppsZone(), o.validateBrought(), o.validateNetwork()); err != nil {
		return err
	}
	if o.AssignRoles && o.Identities == nil && o.Managed == nil {
		return field.Errorf(FieldIdentities, "assigning roles needs %s", FieldIdentities)
	}
	if err := o.checkRanges(vnetRange); o.VNetID == "" && err != nil {
		return err
	}
	return o.validateManaged()
}

// validateIDs refuses what is no id of Azure's.
func (o Options) validateIDs() error {
	for _, f := range []struct {
		name field.Field
		id   string
	}{
		{FieldVNetID, o.VNetID}, {FieldSubnetID, o.SubnetID}, {FieldNSGID, o.NSGID},
		{FieldPrivateZoneID, o.PrivateZoneID}, {FieldPublicIPID, o.PublicIPID}, {FieldLoadBalancerID, o.LoadBalancerID},
	} {
		if f.id == "" {
			continue
		}
		if _, err := azure.ParseID(f.id); err != nil {
			return f.name.Wrap(err)
		}
	}
	return nil
}

// validateNetwork refuses a subnet that is none of the virtual network.
func (o Options) validateNetwork() error {
	switch {
	case o.VNetID != "" && o.SubnetID == "":
		return FieldVNetID.Wrong("needs %s: the subnet the workers are placed in", FieldSubnetID)
	case o.VNetID == "" && o.SubnetID != "":
		return FieldSubnetID.Wrong("needs %s: the virtual network the subnet belongs to", FieldVNetID)
	case o.VNetID != "" && !strings.HasPrefix(strings.ToLower(o.SubnetID), strings.ToLower(o.VNetID)+"/subnets/"):
		return FieldSubnetID.Wrong("is not a subnet of %s", FieldVNetID)
	}
	return nil
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
				return fmt.Errorf("%s %s overlaps %s, the addresses of the virtual network; choose another range", r.Name, r.Prefix, prefix)
			}
		}
	}
	return nil
}

// validateBrought refuses what the controllers of the cluster would not find.
func (o Options) validateBrought() error {
	if id, err := azure.ParseID(o.PrivateZoneID); err == nil && !strings.EqualFold(id.Name, o.ClusterDomain()) {
		return field.Errorf(FieldPrivateZoneID, "%s: the zone is %s, the cluster's domain is %s", FieldPrivateZoneID, id.Name, o.ClusterDomain())
	}
	if o.LoadBalancerID == "" {
		return nil
	}
	id, err := azure.ParseID(o.LoadBalancerID)
	switch {
	case err != nil:
		return FieldLoadBalancerID.Wrap(err)
	case o.ResourceGroup == "" || !strings.EqualFold(id.ResourceGroup, o.ResourceGroup):
		return FieldLoadBalancerID.Wrong("needs %s with the group it is in: the cloud provider looks for it there", FieldResourceGroup)
	case id.Name != o.InfraID:
		return field.Errorf(FieldLoadBalancerID, "%s: the load balancer is named %s; the cloud provider looks for one that is named as %s, %s", FieldLoadBalancerID, id.Name, FieldInfraID, o.InfraID)
	case o.PublicIPID != "":
		return FieldPublicIPID.Wrong("is for the load balancer that is made; the one of %s has its own", FieldLoadBalancerID)
	}
	return nil
}

// ClusterDomain is the domain of the cluster: its name, or the prefix in its place, beneath the base domain.
func (o Options) ClusterDomain() string {
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
			return field.Errorf(FieldManaged, "%s: %s.clientID is needed to give the identity its roles", FieldManaged, c.Key)
		}
	}
	return nil
}
