// Package inside has what the objects inside a hosted cluster depend on: facts of its control plane and its payload, and how they are read.
package inside

import (
	"fmt"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hypershift-on-azure/hypershift/api/v1beta1"
	"github.com/hypershift-on-azure/hypershift/internal/component"
	"github.com/hypershift-on-azure/hypershift/internal/contract"
	"github.com/hypershift-on-azure/hypershift/internal/ignition"
	"github.com/hypershift-on-azure/hypershift/internal/release"
)

const (
	// KubeSystem is the namespace of the guest's add-ons.
	KubeSystem = metav1.NamespaceSystem
	// FieldManager owns what this operator applies.
	FieldManager = contract.ConfigOperator
	// ManagedBy is the value of label hyperv1.ManagedByLabel on what this operator keeps.
	ManagedBy = contract.ConfigOperator
)

// Facts is what the objects of a guest depend on.
type Facts struct {
	// HCP is the hosted control plane itself, Version that of its release, KubernetesVersion that of the Kubernetes in it.
	HCP                        *hyperv1.HostedControlPlane
	Version, KubernetesVersion string
	// PullSecret is the user's, as nodes have it; Copies are objects that the control plane has and the guest sees.
	PullSecret []byte
	Copies     []client.Object
	// MergedPullSecret is PullSecret with registries that the guest's administrator added; nil where there are none.
	MergedPullSecret []byte
	// Images maps payload keys to pull specs as nodes see them.
	Images map[string]string
	// PodCIDR and ServiceCIDR are the first networks; DNSAddress is the tenth address of the second.
	PodCIDR, ServiceCIDR, DNSAddress string
	// APIAddress and APIPort are where nodes and pods find the API server: the node-local proxy.
	APIAddress string
	APIPort    int32
	// KonnectivityHost and KonnectivityPort are the published endpoint of the tunnel.
	KonnectivityHost string
	KonnectivityPort int32
	// KonnectivityCA, KonnectivityCert and KonnectivityKey let an agent in, PEM.
	KonnectivityCA, KonnectivityCert, KonnectivityKey string
	// RootCA signs what the control plane serves, PEM.
	RootCA string
	// Ingress is how the default router is published, empty where that is not known; IngressCert and IngressKey are what it shows, PEM.
	Ingress                 component.IngressScope
	IngressCert, IngressKey string
	// MetricsCert and MetricsKey are what the server of resource metrics shows, KubeletCA signs what kubelets show; PEM.
	MetricsCert, MetricsKey, KubeletCA string
	// Aggregated are the addresses, in the management cluster, of the Services of OpenShift's aggregated API servers that the control plane has.
	Aggregated map[string]string
	// LoginURL is the OAuth server of an OpenShift payload, LoginCA signs what it shows, PEM; empty where there is none.
	LoginURL, LoginCA string
	// KubeadminHash is of the first administrator's password, KubeadminNoted the one noted on it; empty where others log in.
	KubeadminHash, KubeadminNoted string
	// CatalogImages are those of the default catalogs of operators where they are pods of the guest, NoDefaultCatalogs: the guest wants none.
	CatalogImages     map[string]string
	NoDefaultCatalogs bool
	// Forwarding is where the guest's monitoring reads the metrics of the control plane; nil where it does not.
	Forwarding *Forwarding
	// KnownCapabilities are those that the payload's version operator says it knows; none where nothing chooses by capabilities.
	KnownCapabilities []string
	// LeftOut is what of the user's configuration has no effect here.
	LeftOut error
	// OwnNetwork: the user installs the network plugin.
	OwnNetwork bool
	// HighlyAvailable is the infrastructure's policy.
	HighlyAvailable bool
}

// factsOf reads what the hosted control plane itself knows.
func factsOf(hcp *hyperv1.HostedControlPlane) (*Facts, error) {
	networking := hcp.Spec.Networking
	if len(networking.ClusterNetwork) == 0 || len(networking.ServiceNetwork) == 0 {
		return nil, fmt.Errorf("HostedControlPlane %s has no cluster or service network", hcp.Name)
	}
	// With a strategy that the router does not know there is none; condition IngressDNSReady says why.
	ingress, err := component.DefaultIngress(hcp)
	if err != nil {
		ingress.Scope = ""
	}
	facts := &Facts{
		HCP: hcp, Ingress: ingress.Scope,
		PodCIDR:         string(networking.ClusterNetwork[0].CIDR),
		ServiceCIDR:     string(networking.ServiceNetwork[0].CIDR),
		APIAddress:      contract.DefaultAdvertiseAddress,
		APIPort:         ignition.DefaultAdvertisePort,
		HighlyAvailable: hcp.Spec.InfrastructureAvailabilityPolicy != hyperv1.SingleReplica,
	}
	if server := networking.APIServer; server != nil {
		if server.AdvertiseAddress != nil {
			facts.APIAddress = *server.AdvertiseAddress
		}
		if server.Port != nil {
			facts.APIPort = *server.Port
		}
	}
	facts.DNSAddress, err = ignition.ClusterDNS(facts.ServiceCIDR)
	return facts, err
}

// FlannelName is the payload key of the network plugin, and the name of its DaemonSet.
const FlannelName = "flannel"

// NodeManagerName is the DaemonSet that tells of each node what Azure knows of its machine, and its account.
const NodeManagerName = contract.AzureNodeManager

// RouterImage is the payload's key of the ingress controller.
const RouterImage = "skipper"

// MetricsImage is the payload's key of the server of resource metrics, MetricsService its Service in kube-system.
const (
	MetricsImage   = "kube-metrics-server"
	MetricsService = contract.MetricsServer
)

// DiskProvisioner is the name of the driver of Azure's disks.
const DiskProvisioner = "disk.csi.azure.com"

// HasDisks is true where the driver of Azure's disks runs: on Azure, with workload identities, for a payload that has it.
func (f *Facts) HasDisks() bool {
	azure := f.HCP.Spec.Platform.Azure
	return azure != nil && azure.AzureAuthenticationConfig.WorkloadIdentities != nil && f.Has(contract.DiskDriver)
}

// Capabilities of a hosted cluster that the user can disable.
const (
	IngressCapability  = "Ingress"
	RegistryCapability = "ImageRegistry"
)

// ClientSecretKey is the key of a Secret with the secret of an OIDC client.
const ClientSecretKey = "clientSecret"

// Capable tells whether the user has left a capability enabled.
func Capable(hcp *hyperv1.HostedControlPlane, capability hyperv1.OptionalCapability) bool {
	return hcp.Spec.Capabilities == nil || !slices.Contains(hcp.Spec.Capabilities.Disabled, capability)
}

// RunsFlannel is true where flannel is the network. It connects pods, and looks at no NetworkPolicy; where another network
// runs, whether it enforces them is its own operator's to say.
func (f *Facts) RunsFlannel() bool {
	return !f.OwnNetwork && f.Has(FlannelName)
}

// operatorOf names the operator that owns an add-on of the same purpose in an OpenShift payload.
var operatorOf = map[string]string{
	contract.KubeProxy: contract.NetworkOperator, FlannelName: contract.NetworkOperator, "coredns": contract.ImageDNSOperator,
	RouterImage: contract.ImageIngressOperator, contract.DiskDriver: contract.StorageOperator, MetricsImage: contract.ImageMonitoring,
}

// Kind returns which kind of payload the guest runs.
func (f *Facts) Kind() release.Kind { return release.KindOf(f.Images) }

// Of tells whether something that exists with one kind of payload, or with each where it names none, exists here.
func (f *Facts) Of(kind release.Kind) bool { return kind == "" || kind == f.Kind() }

// Has tells whether the payload has all of the images, and no operator of OpenShift's that brings the same.
func (f *Facts) Has(images ...string) bool {
	for _, key := range images {
		if f.Images[key] == "" || (operatorOf[key] != "" && f.Images[operatorOf[key]] != "") {
			return false
		}
	}
	return true
}

// Meta is the metadata of an object of kube-system that is found by its name as a label.
func Meta(name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Namespace: KubeSystem, Name: name, Labels: map[string]string{contract.AppLabel: name}}
}
