package controlplane

import (
	"github.com/hypershift-on-azure/hypershift/internal/component"
	"github.com/hypershift-on-azure/hypershift/internal/controlplane/apiserver"
	"github.com/hypershift-on-azure/hypershift/internal/controlplane/autoscaler"
	"github.com/hypershift-on-azure/hypershift/internal/controlplane/cloudprovider"
	"github.com/hypershift-on-azure/hypershift/internal/controlplane/configoperator"
	"github.com/hypershift-on-azure/hypershift/internal/controlplane/controllermanager"
	"github.com/hypershift-on-azure/hypershift/internal/controlplane/etcd"
	"github.com/hypershift-on-azure/hypershift/internal/controlplane/ignitionproxy"
	"github.com/hypershift-on-azure/hypershift/internal/controlplane/ignitionserver"
	"github.com/hypershift-on-azure/hypershift/internal/controlplane/ingressoperator"
	"github.com/hypershift-on-azure/hypershift/internal/controlplane/machineapprover"
	"github.com/hypershift-on-azure/hypershift/internal/controlplane/router"
	"github.com/hypershift-on-azure/hypershift/internal/controlplane/scheduler"
	"github.com/hypershift-on-azure/hypershift/internal/publish"
)

// components in the order of HyperShift's table of workloads, in which messages name them; plan has the order of their making. The rows between them are OpenShift's own; see openShiftOnly.
func components(endpoints publish.Endpoints) []component.Component {
	return []component.Component{
		etcd.Component(),
		apiserver.Component(),
		controllermanager.Component(),
		scheduler.Component(),
		autoscaler.Component(),
		configoperator.Component(endpoints),
		cloudprovider.Component(),
		machineapprover.Component(),
		ingressoperator.Component(),
		// konnectivity-agent comes here, with the first aggregated API server of OpenShift's: those are what it makes reachable.
		ignitionserver.Component(),
		ignitionproxy.Component(),
		router.Component(),
	}
}

// openShiftOnly are the payload images of components that exist only on OpenShift payloads: a Kubernetes payload runs
// without them, and the condition ValidReleaseInfo says so.
var openShiftOnly = []string{
	"cluster-config-api",
	"openshift-apiserver",
	"oauth-apiserver",
	"oauth-server",
	"cluster-version-operator",
	"openshift-controller-manager",
	"route-controller-manager",
	"cluster-policy-controller",
	"cluster-storage-operator",
	"cluster-network-operator",
	"cluster-node-tuning-operator",
	"cluster-dns-operator",
	"cluster-ingress-operator",
	"cluster-csi-snapshot-controller-operator",
	"cluster-image-registry-operator",
	"operator-lifecycle-manager",
}
