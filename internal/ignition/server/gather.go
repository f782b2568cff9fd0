package server

import (
	"context"
	"errors"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hypershift-on-azure/hypershift/api/v1beta1"
	"github.com/hypershift-on-azure/hypershift/internal/component"
	"github.com/hypershift-on-azure/hypershift/internal/contract"
	"github.com/hypershift-on-azure/hypershift/internal/ignition"
	"github.com/hypershift-on-azure/hypershift/internal/release"
)

// sources are the Secrets whose change rebuilds every payload. Of the server's own certificate only its authority is read.
var sources = map[string]bool{
	contract.BootstrapKubeconfig: true, contract.PullSecret: true, contract.IgnitionServer: true,
}

// sourceMaps are the ConfigMaps whose change does.
var sourceMaps = map[string]bool{contract.KubeletClientCA: true, contract.CloudConfig: true, contract.UserCABundle: true, contract.MachineConfigServer: true}

var errNoControlPlane = errors.New("the namespace has no HostedControlPlane yet")

// gathered is what a token secret and the control-plane namespace say of a configuration.
type gathered struct {
	secret  *corev1.Secret
	hcp     *hyperv1.HostedControlPlane
	input   ignition.Input
	cloud   *corev1.ConfigMap
	access  release.Access
	payload *release.Release
}

func (r *tokenReconciler) gather(ctx context.Context, secret *corev1.Secret) (*gathered, error) {
	manifests, err := ignition.Decompress(secret.Data[ignition.TokenConfigKey])
	if err != nil {
		return nil, &invalidError{cause: fmt.Errorf("failed to decode and decompress config: %w", err)}
	}
	_, pool, _ := strings.Cut(secret.Annotations[hyperv1.NodePoolAnnotation], "/")
	// The name of the Secret ends with the hash.
	g := &gathered{secret: secret, input: ignition.Input{Manifests: manifests, NodePool: pool, InPlace: inPlace(secret), ConfigVersion: secret.Name[strings.LastIndex(secret.Name, "-")+1:]}}
	for _, step := range []func(context.Context, *gathered) error{r.gatherCluster, r.gatherSecrets, r.gatherConfigMaps} {
		if err := step(ctx, g); err != nil {
			return nil, err
		}
	}
	g.access = release.Access{PullSecret: g.input.PullSecret, TrustBundle: []byte(g.input.TrustBundle), Mirrors: g.input.Mirrors}
	if g.payload, err = r.releases.Lookup(ctx, string(secret.Data[ignition.TokenReleaseKey]), g.access); err != nil {
		return nil, releaseError(err)
	}
	g.input.Images = g.payload.Images
	return g, nil
}

func inPlace(secret *corev1.Secret) bool {
	return secret.Annotations[hyperv1.NodePoolUpgradeTypeAnnotation] == string(hyperv1.UpgradeTypeInPlace)
}

// releaseError tells apart what a retry may mend.
func releaseError(err error) error {
	var known *release.Error
	if errors.As(err, &known) && !known.Transient() {
		return &invalidError{cause: err}
	}
	return err
}

func (r *tokenReconciler) gatherCluster(ctx context.Context, g *gathered) error {
	var planes hyperv1.HostedControlPlaneList
	if err := r.client.List(ctx, &planes, client.InNamespace(r.namespace)); err != nil {
		return fmt.Errorf("list hosted control planes: %w", err)
	}
	if len(planes.Items) == 0 {
		return errNoControlPlane
	}
	g.hcp = &planes.Items[0]
	input := &g.input
	input.ServiceCIDR, input.Proxy = clusterFacts(g.hcp)
	input.OwnNetwork = component.OwnNetwork(g.hcp)
	input.Mirrors = release.ContentSources(g.hcp.Spec.ImageContentSources)
	return nil
}

// clusterFacts are the service network and the proxy of a hosted cluster.
func clusterFacts(hcp *hyperv1.HostedControlPlane) (string, ignition.Proxy) {
	var service string
	if networks := hcp.Spec.Networking.ServiceNetwork; len(networks) > 0 {
		service = string(networks[0].CIDR)
	}
	return service, ignition.ClusterProxy(hcp.Spec.Configuration, hcp.Spec.Networking, hcp.Spec.Platform.Type)
}

func (r *tokenReconciler) gatherSecrets(ctx context.Context, g *gathered) error {
	input := &g.input
	for _, wanted := range []struct {
		name, key string
		into      *[]byte
	}{
		{contract.BootstrapKubeconfig, hyperv1.KubeconfigKey, &input.BootstrapKubeconfig},
		{contract.PullSecret, hyperv1.PullSecretKey, &input.PullSecret},
	} {
		secret := &corev1.Secret{}
		if err := r.client.Get(ctx, client.ObjectKey{Namespace: r.namespace, Name: wanted.name}, secret); err != nil {
			return fmt.Errorf("read secret %s: %w", wanted.name, err)
		}
		if len(secret.Data[wanted.key]) == 0 {
			return fmt.Errorf("secret %s has no key %q", wanted.name, wanted.key)
		}
		*wanted.into = secret.Data[wanted.key]
	}
	serving := &corev1.Secret{}
	err := r.client.Get(ctx, client.ObjectKey{Namespace: r.namespace, Name: contract.IgnitionServer}, serving)
	if err == nil {
		input.ReportCA = serving.Data[contract.CAKey]
	}
	return client.IgnoreNotFound(err)
}

func (r *tokenReconciler) gatherConfigMaps(ctx context.Context, g *gathered) error {
	input := &g.input
	authority, err := r.configMapKey(ctx, contract.KubeletClientCA, contract.CAKey)
	if err != nil {
		return err
	}
	input.KubeletClientCA = []byte(authority)
	g.cloud = &corev1.ConfigMap{}
	cloud, err := r.configMapKey(ctx, contract.CloudConfig, contract.CloudConfigKey)
	if err == nil {
		err = r.client.Get(ctx, client.ObjectKey{Namespace: r.namespace, Name: contract.CloudConfig}, g.cloud)
	}
	if apierrors.IsNotFound(err) {
		return errCloudConfigPending
	}
	if err != nil {
		return err
	}
	input.CloudConfig = []byte(cloud)
	input.TrustBundle, err = r.configMapKey(ctx, contract.UserCABundle, hyperv1.TrustBundleKey)
	return client.IgnoreNotFound(err)
}

func (r *tokenReconciler) configMapKey(ctx context.Context, name, key string) (string, error) {
	config := &corev1.ConfigMap{}
	if err := r.client.Get(ctx, client.ObjectKey{Namespace: r.namespace, Name: name}, config); err != nil {
		return "", err
	}
	if config.Data[key] == "" {
		return "", fmt.Errorf("ConfigMap %s has no key %q", name, key)
	}
	return config.Data[key], nil
}
