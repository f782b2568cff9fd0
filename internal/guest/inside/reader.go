package inside

import (
	"context"
	"errors"
	"fmt"
	"maps"

	configv1 "github.com/openshift/api/config/v1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hypershift-on-azure/hypershift/api/v1beta1"
	"github.com/hypershift-on-azure/hypershift/internal/component"
	"github.com/hypershift-on-azure/hypershift/internal/contract"
	"github.com/hypershift-on-azure/hypershift/internal/pki"
	"github.com/hypershift-on-azure/hypershift/internal/release"
)

// SourceSecrets are the Secrets of the control-plane namespace that facts are read from, beside those that the user names.
var SourceSecrets = []string{contract.KonnectivityAgent, contract.PullSecret, pki.IngressServing, pki.MetricsServing}

// SourceConfigMaps are its ConfigMaps that facts are read from.
var SourceConfigMaps = map[string]bool{
	contract.KonnectivityCABundle: true, contract.UserCABundle: true, contract.KubeletCA: true, contract.CloudConfig: true, contract.RootCA: true,
	contract.LoginCABundle: true,
}

// SourceServices are its Services whose addresses the guest knows: those of OpenShift's aggregated API servers.
var SourceServices = []string{contract.OpenShiftAPIServer, contract.OAuthAPIServer, contract.PackageServer}

// Reader reads the facts of a guest.
type Reader struct {
	// Guest and Management are clients of the hosted cluster and of the management cluster.
	Guest, Management client.Client
	// Live reads the hosted cluster past the cache, which holds no objects of its users.
	Live client.Reader
	// Namespace is the control-plane namespace.
	Namespace string
	Releases  release.Provider
	// KonnectivityHost and KonnectivityPort are the published endpoint that agents dial.
	KonnectivityHost string
	KonnectivityPort int32

	kubeadmin passwordHash
}

// Facts of the guest of a hosted control plane.
func (r *Reader) Facts(ctx context.Context, hcp *hyperv1.HostedControlPlane) (*Facts, error) {
	facts, err := factsOf(hcp)
	if err != nil {
		return nil, err
	}
	facts.KonnectivityHost, facts.KonnectivityPort = r.KonnectivityHost, r.KonnectivityPort
	agent, pull, ingress, metrics := &corev1.Secret{}, &corev1.Secret{}, &corev1.Secret{}, &corev1.Secret{}
	authority, trust, root, kubelet := &corev1.ConfigMap{}, &corev1.ConfigMap{}, &corev1.ConfigMap{}, &corev1.ConfigMap{}
	for name, obj := range map[string]client.Object{
		contract.KonnectivityAgent: agent, contract.KonnectivityCABundle: authority, contract.PullSecret: pull, contract.RootCA: root,
		pki.IngressServing: ingress, pki.MetricsServing: metrics, contract.KubeletCA: kubelet,
	} {
		if err := r.Management.Get(ctx, client.ObjectKey{Namespace: r.Namespace, Name: name}, obj); err != nil {
			return nil, fmt.Errorf("read %s of the control plane: %w", name, err)
		}
	}
	if err := r.Management.Get(ctx, client.ObjectKey{Namespace: r.Namespace, Name: contract.UserCABundle}, trust); client.IgnoreNotFound(err) != nil {
		return nil, fmt.Errorf("read %s of the control plane: %w", contract.UserCABundle, err)
	}
	facts.KonnectivityCert, facts.KonnectivityKey = string(agent.Data[corev1.TLSCertKey]), string(agent.Data[corev1.TLSPrivateKeyKey])
	facts.KonnectivityCA, facts.RootCA = authority.Data[contract.CAKey], root.Data[contract.CAKey]
	facts.IngressCert, facts.IngressKey = string(ingress.Data[corev1.TLSCertKey]), string(ingress.Data[corev1.TLSPrivateKeyKey])
	facts.MetricsCert, facts.MetricsKey = string(metrics.Data[corev1.TLSCertKey]), string(metrics.Data[corev1.TLSPrivateKeyKey])
	facts.KubeletCA = kubelet.Data[contract.CAKey]
	if facts.KonnectivityCert == "" || facts.KonnectivityKey == "" || facts.KonnectivityCA == "" {
		return nil, errors.New("the control plane's konnectivity credentials are not complete yet")
	}
	payload, err := r.Releases.Lookup(ctx, hcp.Spec.ReleaseImage, release.Access{
		PullSecret: pull.Data[hyperv1.PullSecretKey], TrustBundle: []byte(trust.Data[hyperv1.TrustBundleKey]),
		Mirrors: release.ContentSources(hcp.Spec.ImageContentSources),
	})
	if err != nil {
		return nil, err
	}
	facts.HCP, facts.Version, facts.KubernetesVersion = hcp, payload.Version, payload.KubernetesVersion
	facts.Images, facts.PullSecret = payload.Images, pull.Data[hyperv1.PullSecretKey]
	if facts.MergedPullSecret, err = r.mergedPullSecret(ctx, facts.PullSecret); err != nil {
		return nil, err
	}
	if facts.OwnNetwork, err = r.OwnNetwork(ctx, hcp); err != nil {
		return nil, err
	}
	if facts.Copies, err = r.readCopies(ctx, hcp, payload.Kind()); err != nil {
		return nil, err
	}
	facts.Images = withAgentImage(hcp, payload.Images)
	for _, read := range readOf[payload.Kind()] {
		if err := read(r, ctx, facts); err != nil {
			return nil, err
		}
	}
	return facts, nil
}

// readOf is what is read with a kind of payload alone.
var readOf = map[release.Kind][]func(*Reader, context.Context, *Facts) error{
	release.KindOpenShift: {(*Reader).aggregated, (*Reader).login, (*Reader).catalogs, (*Reader).forwarding, (*Reader).kubeletConfigs, (*Reader).capabilities},
}

// aggregated are the addresses of the aggregated API servers; one whose Service is not there yet is left out.
func (r *Reader) aggregated(ctx context.Context, facts *Facts) error {
	facts.Aggregated = map[string]string{}
	for _, name := range SourceServices {
		service := &corev1.Service{}
		if err := r.Management.Get(ctx, client.ObjectKey{Namespace: r.Namespace, Name: name}, service); client.IgnoreNotFound(err) != nil {
			return fmt.Errorf("read Service %s of the control plane: %w", name, err)
		}
		if address := service.Spec.ClusterIP; address != "" {
			facts.Aggregated[name] = address
		}
	}
	return nil
}

// capabilities are told by the version operator: another version knows others, and its kind takes no other names.
func (r *Reader) capabilities(ctx context.Context, facts *Facts) error {
	version := &configv1.ClusterVersion{}
	err := r.Live.Get(ctx, client.ObjectKey{Name: "version"}, version)
	if err != nil && !apierrors.IsNotFound(err) && !apimeta.IsNoMatchError(err) {
		return fmt.Errorf("read the ClusterVersion of the guest: %w", err)
	}
	for _, name := range version.Status.Capabilities.KnownCapabilities {
		facts.KnownCapabilities = append(facts.KnownCapabilities, string(name))
	}
	return nil
}

// withAgentImage puts the user's image of the tunnel's agents in place of the payload's.
func withAgentImage(hcp *hyperv1.HostedControlPlane, images map[string]string) map[string]string {
	image := hcp.Annotations[hyperv1.KonnectivityAgentImageAnnotation]
	if image == "" {
		return images
	}
	images = maps.Clone(images)
	images[release.KeyKonnectivity] = image
	return images
}

// OwnNetwork tells whether the user's plugin is to be the only one. A cluster that has the payload's plugin already keeps it: its pods
// would lose their network.
func (r *Reader) OwnNetwork(ctx context.Context, hcp *hyperv1.HostedControlPlane) (bool, error) {
	if !component.OwnNetwork(hcp) {
		return false, nil
	}
	err := r.Guest.Get(ctx, client.ObjectKey{Namespace: KubeSystem, Name: FlannelName}, &appsv1.DaemonSet{})
	if apierrors.IsNotFound(err) {
		return true, nil
	}
	if err != nil {
		return false, fmt.Errorf("look for the network plugin in the guest: %w", err)
	}
	return false, nil
}

// ReadFacts reads the facts of the guest of a hosted control plane.
type ReadFacts func(context.Context, *hyperv1.HostedControlPlane) (*Facts, error)
