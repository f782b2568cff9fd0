// Package infraflags has the flags of a hosted cluster's infrastructure that the commands for clusters and for infrastructure share.
package infraflags

import (
	"github.com/spf13/pflag"

	"github.com/hypershift-on-azure/hypershift/internal/provision/infra"
)

// AddBrought name the user's own resources: they are used, and neither changed nor deleted.
func AddBrought(f *pflag.FlagSet, o *infra.Options) {
	f.StringVar(&o.VNetID, "vnet-id", "", "existing virtual network")
	f.StringVar(&o.SubnetID, "subnet-id", "", "existing subnet of --vnet-id")
	f.StringVar(&o.NSGID, "network-security-group-id", "", "existing network security group")
	f.StringVar(&o.PrivateZoneID, "private-dns-zone-id", "", "existing private DNS zone of the cluster's domain; it is linked to the virtual network")
	f.StringVar(&o.PublicIPID, "public-ip-id", "", "existing Standard public IP by which the workers reach the world")
	f.StringVar(&o.LoadBalancerID, "load-balancer-id", "", "existing Standard load balancer, named as --infra-id in --resource-group-name, that has the address, outbound rule and backend pool")
}

// AddAppsZone says where the record of the cluster's applications lies.
func AddAppsZone(f *pflag.FlagSet, o *infra.Options) {
	f.StringVar(&o.AppsZone, "apps-zone", "", "where the record of the cluster's applications lies: in a public zone of its own, apps.CLUSTER.BASE (own, where roles are assigned), or in the zone of the base domain (shared)")
}

// WarnUnguarded says that a security group of ours guards nothing in a network of the user's, which is not changed.
func WarnUnguarded(o infra.Options, say func(string, ...any)) {
	if o.VNetID != "" && o.NSGID == "" {
		say("warning: the network security group that is made is not attached to %s, for that is yours; attach it, or give yours with --network-security-group-id", o.SubnetID)
	}
}
