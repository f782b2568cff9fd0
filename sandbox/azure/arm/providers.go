package arm

import (
	"github.com/hypershift-on-azure/hypershift/sandbox/azure/arm/authorization"
	"github.com/hypershift-on-azure/hypershift/sandbox/azure/arm/compute"
	"github.com/hypershift-on-azure/hypershift/sandbox/azure/arm/deployments"
	"github.com/hypershift-on-azure/hypershift/sandbox/azure/arm/identity"
	"github.com/hypershift-on-azure/hypershift/sandbox/azure/arm/marketplace"
	"github.com/hypershift-on-azure/hypershift/sandbox/azure/arm/network"
	"github.com/hypershift-on-azure/hypershift/sandbox/azure/arm/policy"
	"github.com/hypershift-on-azure/hypershift/sandbox/azure/arm/provider"
	"github.com/hypershift-on-azure/hypershift/sandbox/azure/arm/storage"
	"github.com/hypershift-on-azure/hypershift/sandbox/azure/arm/vaults"
	"github.com/hypershift-on-azure/hypershift/sandbox/azure/arm/zones"
)

// specs are the resource providers that the gateway serves, one row each. A namespace may have several.
var specs = []provider.Spec{
	authorization.Spec,
	policy.Spec,
	policy.Insights,
	compute.Spec,
	vaults.Spec,
	identity.Spec,
	marketplace.Spec,
	network.Spec,
	zones.Spec,
	deployments.Spec,
	storage.Spec,
}
