package controlplane

import (
	"github.com/hypershift-on-azure/hypershift/internal/component"
	"github.com/hypershift-on-azure/hypershift/internal/contract"
	"github.com/hypershift-on-azure/hypershift/internal/controlplane/apiserver"
	"github.com/hypershift-on-azure/hypershift/internal/controlplane/autoscaler"
	"github.com/hypershift-on-azure/hypershift/internal/controlplane/catalogs"
	"github.com/hypershift-on-azure/hypershift/internal/controlplane/cloudprovider"
	"github.com/hypershift-on-azure/hypershift/internal/controlplane/configoperator"
	"github.com/hypershift-on-azure/hypershift/internal/controlplane/controllermanager"
	"github.com/hypershift-on-azure/hypershift/internal/controlplane/diskdriver"
	"github.com/hypershift-on-azure/hypershift/internal/controlplane/dnsoperator"
	"github.com/hypershift-on-azure/hypershift/internal/controlplane/etcd"
	"github.com/hypershift-on-azure/hypershift/internal/controlplane/featuregates"
	"github.com/hypershift-on-azure/hypershift/internal/controlplane/ignitionproxy"
	"github.com/hypershift-on-azure/hypershift/internal/controlplane/ignitionserver"
	"github.com/hypershift-on-azure/hypershift/internal/controlplane/ingressoperator"
	"github.com/hypershift-on-azure/hypershift/internal/controlplane/lifecyclemanager"
	"github.com/hypershift-on-azure/hypershift/internal/controlplane/machineapprover"
	"github.com/hypershift-on-azure/hypershift/internal/controlplane/metricsforwarding"
	"github.com/hypershift-on-azure/hypershift/internal/controlplane/networkoperator"
	"github.com/hypershift-on-azure/hypershift/internal/controlplane/oauthapiserver"
	"github.com/hypershift-on-azure/hypershift/internal/controlplane/oauthserver"
	"github.com/hypershift-on-azure/hypershift/internal/controlplane/openshiftapiserver"
	"github.com/hypershift-on-azure/hypershift/internal/controlplane/openshiftcontrollers"
	"github.com/hypershift-on-azure/hypershift/internal/controlplane/pkioperator"
	"github.com/hypershift-on-azure/hypershift/internal/controlplane/registryoperator"
	"github.com/hypershift-on-azure/hypershift/internal/controlplane/router"
	"github.com/hypershift-on-azure/hypershift/internal/controlplane/scheduler"
	"github.com/hypershift-on-azure/hypershift/internal/controlplane/storageoperator"
	"github.com/hypershift-on-azure/hypershift/internal/controlplane/tuningoperator"
	"github.com/hypershift-on-azure/hypershift/internal/controlplane/tunnelagent"
	"github.com/hypershift-on-azure/hypershift/internal/controlplane/versionmigrator"
	"github.com/hypershift-on-azure/hypershift/internal/controlplane/versionoperator"
	"github.com/hypershift-on-azure/hypershift/internal/publish"
	"github.com/hypershift-on-azure/hypershift/internal/release/catalog"
)

// components in the order of HyperShift's table of workloads, in which messages name them; plan has the order of their making. A component that exists with one kind of payload says so.
func components(endpoints publish.Endpoints) []component.Component {
	return []component.Component{
		pkioperator.Component(),
		etcd.Component(),
		featuregates.Component(),
		apiserver.Component(endpoints),
		controllermanager.Component(),
		scheduler.Component(),
		openshiftapiserver.Component(),
		oauthapiserver.Component(),
		autoscaler.Component(),
		versionoperator.Component(),
		openshiftcontrollers.ControllerManagerComponent(),
		oauthserver.Component(endpoints),
		openshiftcontrollers.RouteManagerComponent(),
		openshiftcontrollers.PolicyControllerComponent(),
		configoperator.Component(endpoints),
		cloudprovider.Component(),
		diskdriver.Component(),
		storageoperator.Component(),
		networkoperator.Component(endpoints),
		tuningoperator.Component(),
		dnsoperator.Component(),
		machineapprover.Component(),
		ingressoperator.Component(),
		ingressoperator.OpenShiftComponent(),
		storageoperator.SnapshotsComponent(),
		registryoperator.Component(),
		tunnelagent.Component(),
		ignitionserver.Component(),
		ignitionserver.OpenShiftComponent(),
		ignitionproxy.Component(),
		metricsforwarding.ResolverComponent(),
		metricsforwarding.ProxyComponent(endpoints),
		router.Component(),
		versionmigrator.Component(),
		lifecyclemanager.OperatorComponent(),
		lifecyclemanager.CatalogComponent(),
		lifecyclemanager.PackagesComponent(),
		lifecyclemanager.ProfilesComponent(),
		catalogs.Component(catalog.Certified),
		catalogs.Component(catalog.Community),
		catalogs.Component(catalog.Marketplace),
		catalogs.Component(catalog.RedHat),
	}
}

// openShiftOnly are the payload images of what exists only on OpenShift payloads: a Kubernetes payload runs without them, and the
// condition ValidReleaseInfo says so.
var openShiftOnly = []string{
	contract.ImageConfigAPI,
	contract.ImageAuthentication,
	contract.OpenShiftAPIServer,
	contract.ImageOAuthAPIServer,
	contract.ImageOAuthServer,
	contract.VersionOperator,
	contract.OpenShiftControllerManager,
	contract.ImageRouteManager,
	contract.PolicyController,
	contract.StorageOperator,
	contract.NetworkOperator,
	contract.TuningOperator,
	contract.ImageDNSOperator,
	contract.ImageIngressOperator,
	contract.ImageSnapshotOperator,
	contract.RegistryOperator,
	contract.ImageMachineConfig,
	contract.ImageLifecycleManager,
	contract.ImageOperatorRegistry,
	contract.ImageOVN,
	contract.ImageMultus,
	contract.ImageCloudNetworkConfig,
	contract.ImageDiskOperator,
	contract.ImageFileOperator,
	contract.FileDriver,
	contract.ImageRBACProxy,
	contract.VersionMigrator,
}
