package cluster

import (
	"errors"
	"slices"

	hyperv1 "github.com/hypershift-on-azure/hypershift/api/v1beta1"
	"github.com/hypershift-on-azure/hypershift/internal/cli/fieldflags"
	"github.com/hypershift-on-azure/hypershift/internal/cli/printing"
	"github.com/hypershift-on-azure/hypershift/internal/contract"
	"github.com/hypershift-on-azure/hypershift/internal/manifest"
	"github.com/hypershift-on-azure/hypershift/internal/release"
	"github.com/hypershift-on-azure/hypershift/internal/support"
)

// checkSupported refuses, before anything is made, what the operator would refuse afterwards, and warns of what was given in vain. A
// rendering that makes nothing may be for another operator. What a payload may have a program for waits for checkPayload.
func (c *creation) checkSupported(t typed, cluster manifest.Cluster) error {
	if err := t.checkTogether(); err != nil {
		return err
	}
	if t.given("default-dual") {
		c.say("warning: --default-dual: nothing changes: %s", ipv4Only)
	}
	return c.judge(t, support.Certain(problemsOf(t, cluster, nil)))
}

// checkPayload does the same with what a payload may have a program for, by the payload. One that was not read from here is judged by the
// operator.
func (c *creation) checkPayload(t typed, cluster manifest.Cluster, payload *release.Release) error {
	if payload == nil {
		for _, p := range support.Of(problemsOf(t, cluster, nil), support.Refused) {
			if p.Unless != "" {
				c.say("warning: unless the payload, which is not read here, has image %s, the operator will refuse %s", p.Unless, fieldflags.Tell(p))
			}
		}
		return nil
	}
	if t.given("oauth-publishing-strategy") && payload.Images[contract.ImageOAuthServer] == "" {
		c.say("warning: --oauth-publishing-strategy: no OAuth server runs, so nothing is published")
	}
	byPayload := slices.DeleteFunc(problemsOf(t, cluster, payload.Images), func(p support.Problem) bool { return p.Unless == "" })
	return c.judge(t, byPayload)
}

func (c *creation) judge(t typed, problems []support.Problem) error {
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
func problemsOf(t typed, cluster manifest.Cluster, payload support.Images) []support.Problem {
	hc := cluster.HostedCluster()
	if t.managed.Given() { // the infrastructure hands them on to the HostedCluster
		hc.Spec.Platform.Azure.AzureAuthenticationConfig.AzureAuthenticationConfigType = hyperv1.AzureManagedIdentities
	}
	problems := support.Cluster(hc, payload)
	if pools := cluster.Pools(); len(pools) > 0 {
		problems = append(problems, support.Pool(&pools[0].Spec, payload)...)
	}
	return problems
}
