// Package fieldflags knows which flag decides which field of the objects that are made, so that a problem with a field is told by its flag.
package fieldflags

import (
	"errors"
	"fmt"
	"strings"

	"github.com/hypershift-on-azure/hypershift/internal/support"
)

// names names the flags of members of the objects that are made.
var names = map[string]string{
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

// Of is the flag that decides a field, without dashes; "" where there is none.
func Of(field string) string { return names[field] }

// Tell is a problem as the user knows the member: by the flag where there is one.
func Tell(p support.Problem) string {
	flag := Of(p.Field)
	if strings.HasPrefix(p.Field, "annotation ") {
		flag = "annotations"
	}
	if flag == "" {
		return p.String()
	}
	return fmt.Sprintf("--%s: %s (%s)", flag, p.Why, p.Field)
}

// Refuse is the error for what no controller would act on.
func Refuse(problems []support.Problem) error {
	var errs []error
	for _, p := range support.Of(problems, support.Refused) {
		errs = append(errs, errors.New(Tell(p)))
	}
	return errors.Join(errs...)
}
