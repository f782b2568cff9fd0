package cli

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	hyperv1 "github.com/hypershift-on-azure/hypershift/api/v1beta1"
	"github.com/hypershift-on-azure/hypershift/internal/support"
)

// flagOf names the flags of members of the objects that are made.
var flagOf = map[string]string{
	"spec.capabilities.enabled":                 "enable-cluster-capabilities",
	"spec.configuration.featureGate.featureSet": "feature-set",
	"spec.configuration.operatorhub":            "olm-disable-default-sources",
	"spec.fips":                                 "fips",
	"spec.management.upgradeType":               "node-upgrade-type",
	"spec.networking.networkType":               "network-type",
	"spec.olmCatalogPlacement":                  "olm-catalog-placement",
	"spec.secretEncryption.kms.azure.kms":       "kms-credentials-secret-name",
	"spec.platform.azure.topology":              "endpoint-access",
	"spec.platform.azure.private":               "endpoint-access-private-nat-subnet-id",
	"spec.arch":                                 "arch",

	"spec.operatorConfiguration.clusterNetworkOperator.disableMultiNetwork":                 "disable-multi-network",
	"spec.operatorConfiguration.clusterNetworkOperator.ovnKubernetesConfig":                 "ovn-kubernetes-mtu",
	"spec.platform.azure.azureAuthenticationConfig.azureAuthenticationConfigType":           "managed-identities-file",
	"spec.platform.azure.azureAuthenticationConfig.workloadIdentities.controlPlaneOperator": "workload-identities-file",
	"spec.platform.azure.azureAuthenticationConfig.managedIdentities.dataPlane":             "data-plane-identities-file",
	"spec.platform.azure.private.privateLink.additionalAllowedSubscriptions":                "endpoint-access-private-additional-allowed-subscriptions",
}

// asTyped tells of a problem as the user knows the member: by the flag where there is one.
func asTyped(p support.Problem) string {
	flag := flagOf[p.Field]
	if strings.HasPrefix(p.Field, "annotation ") {
		flag = "annotations"
	}
	if flag == "" {
		return p.String()
	}
	return fmt.Sprintf("--%s: %s (%s)", flag, p.Why, p.Field)
}

// refuse is the error for what no controller would act on.
func refuse(problems []support.Problem) error {
	var errs []error
	for _, p := range support.Of(problems, support.Refused) {
		errs = append(errs, errors.New(asTyped(p)))
	}
	return errors.Join(errs...)
}

// checkSupported refuses, before anything is made, what the operator would refuse afterwards, and warns of what was given in vain. A
// rendering that makes nothing may be for another operator.
func (c *clusterCreator) checkSupported() error {
	f := c.flags
	publishing := &f.cluster.Publishing
	if f.endpointAccess == string(hyperv1.AzureTopologyPublic) && (publishing.NATSubnetID != "" || len(publishing.AdditionalAllowedSubscriptions) > 0) {
		return errors.New("--endpoint-access-private-nat-subnet-id and --endpoint-access-private-additional-allowed-subscriptions are for private endpoints, " +
			"but --endpoint-access is Public; leave them out")
	}
	if f.infra.CustomRoles && !f.managed.given() {
		return errors.New("--assign-custom-hcp-roles is for managed identities, which are not supported; leave it out")
	}
	if f.machines.AvailabilityZone != "" && len(f.cluster.Zones) > 0 {
		return errors.New("--availability-zone and --availability-zones exclude each other: one pool in one zone, or one in each")
	}
	for _, vain := range []struct{ flag, why string }{
		{"default-dual", "nothing changes: " + ipv4Only},
		{"oauth-publishing-strategy", "no OAuth server runs, so nothing is published"},
	} {
		if given(c.cmd, vain.flag) {
			c.say("warning: --%s: %s", vain.flag, vain.why)
		}
	}
	hc := f.cluster.HostedCluster()
	if f.managed.given() { // the infrastructure hands them on to the HostedCluster
		hc.Spec.Platform.Azure.AzureAuthenticationConfig.AzureAuthenticationConfigType = hyperv1.AzureManagedIdentities
	}
	problems := support.Cluster(hc, nil)
	for _, obj := range f.cluster.Objects() {
		if pool, ok := obj.(*hyperv1.NodePool); ok {
			problems = append(problems, support.Pool(&pool.Spec)...)
			break // all have the same machines
		}
	}
	for _, p := range support.Of(problems, support.Inert) {
		if flag := flagOf[p.Field]; flag == "" || given(c.cmd, flag) {
			c.say("warning: %s", asTyped(p))
		}
	}
	err := refuse(problems)
	if err != nil && f.render && f.infraJSON != "" {
		c.say("warning: this version's operator will refuse what is rendered: %s", oneLine(err))
		return nil
	}
	return err
}

func given(cmd *cobra.Command, flag string) bool {
	f := cmd.Flags().Lookup(flag)
	return f != nil && f.Changed
}
