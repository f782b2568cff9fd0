package ignition

import (
	"github.com/coreos/ignition/v2/config/v3_4"

	hyperv1 "github.com/hypershift-on-azure/hypershift/api/v1beta1"
	"github.com/hypershift-on-azure/hypershift/internal/contract"
	"github.com/hypershift-on-azure/hypershift/internal/release"
)

// Payload images that a node of a plain Kubernetes payload needs before its first pod.
const (
	imageHyperkube  = "hyperkube"
	imagePod        = "pod"
	imageAPIProxy   = contract.ImageRouter
	imageCNIPlugins = contract.ImageNetworkPlugins
	// What makes a node Ready, of which its pods bring the rest.
	imageNodeManager = contract.AzureNodeManager
	imageFlannel     = "flannel"
)

// Proxy is the node's way to the outside; empty fields are unset.
type Proxy struct {
	HTTPProxy, HTTPSProxy, NoProxy string
}

// Input is everything the configuration of a node depends on.
type Input struct {
	// Manifests are the documents of the node pool, the text under key config of its token secret.
	Manifests string
	// NodePool is the pool's name.
	NodePool string
	// Images maps payload keys to pull specs, as the node sees them.
	Images map[string]string
	// Mirrors are where release payloads may lie, too.
	Mirrors []release.Mirror
	// OwnNetwork: the user brings the network of pods, the payload's is not used.
	OwnNetwork bool
	// ServiceCIDR is the first service network.
	ServiceCIDR string
	// BootstrapKubeconfig, KubeletClientCA, PullSecret and CloudConfig come from the control-plane namespace.
	BootstrapKubeconfig, KubeletClientCA, PullSecret, CloudConfig []byte
	// TrustBundle holds the user's additional certificates, PEM.
	TrustBundle string
	// ReportCA is the certificate that signed the ignition server's, PEM; without it machines tell nobody why they are no nodes.
	ReportCA []byte
	Proxy    Proxy
	// InPlace: machines of the pool are changed where they are, see NodeUpdate.
	InPlace bool
	// ConfigVersion is the hash of the pool's configuration.
	ConfigVersion string
}

// labels are those that the kubelet registers the node with.
func (in *Input) labels() string {
	labels := hyperv1.NodePoolLabel + "=" + in.NodePool
	if in.InPlace && in.ConfigVersion != "" {
		labels += "," + contract.StartedWithLabel + "=" + in.ConfigVersion
	}
	return labels
}

// Render makes the configuration that a node of a plain payload asks for. Errors are the user's to mend: the input is complete but unusable.
func Render(in Input) ([]byte, error) {
	user, err := mergeUserConfig(in.Manifests)
	if err != nil {
		return nil, err
	}
	base, err := plainNode(in, user.kubelet)
	if err != nil {
		return nil, err
	}
	mirrors, err := mirrorFiles(in, user.mirrors)
	if err != nil {
		return nil, err
	}
	base.Storage.Files = append(base.Storage.Files, mirrors...)
	merged := v3_4.Merge(base, user.ignition)
	if in.InPlace {
		if merged, err = addInPlace(merged); err != nil {
			return nil, err
		}
	}
	return encode(merged, user.version)
}
