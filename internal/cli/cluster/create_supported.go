package cluster

import (
	"errors"

	hyperv1 "github.com/hypershift-on-azure/hypershift/api/v1beta1"
	"github.com/hypershift-on-azure/hypershift/internal/cli/fieldflags"
	"github.com/hypershift-on-azure/hypershift/internal/cli/printing"
	"github.com/hypershift-on-azure/hypershift/internal/manifest"
	"github.com/hypershift-on-azure/hypershift/internal/support"
)

// checkSupported refuses, before anything is made, what the operator would refuse afterwards, and warns of what was given in vain. A
// rendering that makes nothing may be for another operator.
func (c *creation) checkSupported(t typed, cluster manifest.Cluster) error {
	if err := t.checkTogether(); err != nil {
		return err
	}
	for _, vain := range []struct{ flag, why string }{
		{"default-dual", "nothing changes: " + ipv4Only},
		{"oauth-publishing-strategy", "no OAuth server runs, so nothing is published"},
	} {
		if t.given(vain.flag) {
			c.say("warning: --%s: %s", vain.flag, vain.why)
		}
	}
	problems := problemsOf(t, cluster)
	for _, p := range support.Of(problems, support.Inert) {
		if flag := fieldflags.Of(p.Field); flag == "" || t.given(flag) {
			c.say("warning: %s", fieldflags.Tell(p))
		}
	}
	err := fieldflags.Refuse(problems)
	if err != nil && t.render && t.infraJSON != "" {
		c.say("warning: this version's operator will refuse what is rendered: %s", printing.OneLine(err))
		return nil
	}
	return err
}

// checkTogether refuses flags of which one alone would be fine.
func (t typed) checkTogether() error {
	publishing := t.cluster.Publishing
	switch {
	case t.endpointAccess == string(hyperv1.AzureTopologyPublic) && (publishing.NATSubnetID != "" || len(publishing.AdditionalAllowedSubscriptions) > 0):
		return errors.New("--endpoint-access-private-nat-subnet-id and --endpoint-access-private-additional-allowed-subscriptions are for private endpoints, " +
			"but --endpoint-access is Public; leave them out")
	case t.infra.CustomRoles && !t.managed.Given():
		return errors.New("--assign-custom-hcp-roles is for managed identities, which are not supported; leave it out")
	case t.machines.AvailabilityZone != "" && len(t.cluster.Zones) > 0:
		return errors.New("--availability-zone and --availability-zones exclude each other: one pool in one zone, or one in each")
	}
	return nil
}

// problemsOf is what the operator would not act on in the cluster and in its node pools, which all have the same machines.
func problemsOf(t typed, cluster manifest.Cluster) []support.Problem {
	hc := cluster.HostedCluster()
	if t.managed.Given() { // the infrastructure hands them on to the HostedCluster
		hc.Spec.Platform.Azure.AzureAuthenticationConfig.AzureAuthenticationConfigType = hyperv1.AzureManagedIdentities
	}
	problems := support.Cluster(hc, nil)
	if pools := cluster.Pools(); len(pools) > 0 {
		problems = append(problems, support.Pool(&pools[0].Spec, nil)...)
	}
	return problems
}
