package nodepool

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hypershift-on-azure/hypershift/api/v1beta1"
	"github.com/hypershift-on-azure/hypershift/internal/contract"
	"github.com/hypershift-on-azure/hypershift/internal/ignition"
)

const manifestSeparator = "\n---\n"

// config is the generated configuration of a pool.
type config struct {
	// raw holds every document, sorted.
	raw string
	// hash leaves the version out; version covers everything and names the secrets.
	hash, version string
	globalConfig  string
	proxy         ignition.Proxy
	// unread is what of the user's documents no node would act on.
	unread []string
}

func (r *Reconciler) machineConfig(ctx context.Context, p *pass) error {
	const condition = hyperv1.NodePoolValidMachineConfig
	if p.hc.Status.KubeConfig == nil {
		return p.stop()
	}
	generated, err := r.generate(ctx, p)
	if err != nil {
		p.set(condition, corev1.ConditionFalse, hyperv1.ValidationFailedReason, err.Error())
		return err
	}
	p.config = generated
	if len(generated.unread) > 0 {
		return p.refuseConfig()
	}
	p.set(condition, corev1.ConditionTrue, hyperv1.AsExpectedReason, "")
	return nil
}

func (r *Reconciler) generate(ctx context.Context, p *pass) (*config, error) {
	documents, mirrored, err := r.coreDocuments(ctx, p.namespace)
	if err != nil {
		return nil, err
	}
	user, err := r.userDocuments(ctx, p.np)
	if err != nil {
		return nil, err
	}
	proxy, err := apiProxy(p.hc, cmp.Or(p.np.Annotations[hyperv1.HAProxyImageAnnotation], p.release.Images[imageAPIProxy]))
	if err != nil {
		return nil, err
	}
	generatedByTuning, err := r.generatedDocuments(ctx, p)
	if err != nil {
		return nil, err
	}
	documents = append(slices.Concat(documents, user, generatedByTuning), proxy)
	mirrors, err := ignition.MirrorDocument(p.hc.Spec.ImageContentSources)
	if err != nil {
		return nil, err
	}
	if mirrors != "" && !mirrored { // a control-plane-operator of a former release does not write it
		documents = append(documents, mirrors)
	}
	global, err := globalConfig(p.hc)
	if err != nil {
		return nil, err
	}
	var bundle string
	if p.hc.Spec.AdditionalTrustBundle != nil {
		bundle = p.hc.Spec.AdditionalTrustBundle.Name
	}
	generated := newConfig(documents, p.release.Version, p.hc.Spec.PullSecret.Name, bundle, global)
	if generated.unread, err = ignition.Unread(p.release.Kind(), user); err != nil {
		return nil, err
	}
	generated.proxy = ignition.ClusterProxy(p.hc.Spec.Configuration, p.hc.Spec.Networking, p.hc.Spec.Platform.Type)
	return generated, nil
}

// newConfig hashes the inputs; of streams of operating systems only a chosen one would count.
func newConfig(documents []string, version, pullSecret, trustBundle, global string) *config {
	sorted := slices.Clone(documents)
	slices.Sort(sorted)
	raw := strings.Join(sorted, manifestSeparator)
	return &config{
		raw:          raw,
		globalConfig: global,
		hash:         ignition.Hash(raw + pullSecret + trustBundle),
		version:      ignition.Hash(raw + version + pullSecret + trustBundle + global),
	}
}

// coreDocuments are what the control-plane-operator wants on every node; mirrored tells whether mirrors are among it.
func (r *Reconciler) coreDocuments(ctx context.Context, namespace string) (documents []string, mirrored bool, err error) {
	var maps corev1.ConfigMapList
	if err := r.client.List(ctx, &maps, client.InNamespace(namespace), client.MatchingLabels{hyperv1.CoreIgnitionConfigLabel: "true"}); err != nil {
		return nil, false, fmt.Errorf("list core ignition ConfigMaps: %w", err)
	}
	if len(maps.Items) < ignition.CoreConfigMapCount {
		return nil, false, fmt.Errorf("%d of %d core ignition ConfigMaps exist in %s; the control plane is still writing them", len(maps.Items), ignition.CoreConfigMapCount, namespace)
	}
	for i := range maps.Items {
		found, err := ignition.Normalize(maps.Items[i].Data[hyperv1.NodePoolConfigKey])
		if err != nil {
			return nil, false, fmt.Errorf("core ignition ConfigMap %s: %w", maps.Items[i].Name, err)
		}
		if maps.Items[i].Name == ignition.MirrorsConfigMap { // as it is: in another form it would be another configuration than before it was there
			found, mirrored = []string{maps.Items[i].Data[hyperv1.NodePoolConfigKey]}, true
		}
		documents = append(documents, found...)
	}
	return documents, mirrored, nil
}

func (r *Reconciler) userDocuments(ctx context.Context, np *hyperv1.NodePool) ([]string, error) {
	var documents []string
	for _, ref := range np.Spec.Config {
		source := &corev1.ConfigMap{}
		if err := r.client.Get(ctx, client.ObjectKey{Namespace: np.Namespace, Name: ref.Name}, source); err != nil {
			return nil, fmt.Errorf("read ConfigMap %q of spec.config: %w", ref.Name, err)
		}
		text, ok := source.Data[hyperv1.NodePoolConfigKey]
		if !ok {
			return nil, fmt.Errorf("ConfigMap %q of spec.config has no key %q", ref.Name, hyperv1.NodePoolConfigKey)
		}
		found, err := ignition.Normalize(text)
		if err != nil {
			return nil, fmt.Errorf("ConfigMap %q of spec.config: %w", ref.Name, err)
		}
		documents = append(documents, found...)
	}
	return documents, nil
}

// imageAPIProxy is the payload's key for the proxy's image.
const imageAPIProxy = contract.ImageRouter

// apiProxy is the document of the node-local API proxy in front of the published endpoint.
func apiProxy(hc *hyperv1.HostedCluster, image string) (string, error) {
	if image == "" {
		return "", fmt.Errorf("the release payload has no image %q, which the nodes' API proxy needs", imageAPIProxy)
	}
	endpoint := hc.Status.ControlPlaneEndpoint
	if endpoint.Host == "" || endpoint.Port == 0 {
		return "", fmt.Errorf("the HostedCluster has not published its API endpoint yet")
	}
	proxy := ignition.APIProxy{
		Image: image, Host: endpoint.Host, Port: endpoint.Port,
		ListenAddress: ignition.DefaultAdvertiseAddress, ListenPort: ignition.DefaultAdvertisePort,
	}
	if server := hc.Spec.Networking.APIServer; server != nil {
		if server.AdvertiseAddress != nil {
			proxy.ListenAddress = *server.AdvertiseAddress
		}
		if server.Port != nil {
			proxy.ListenPort = *server.Port
		}
	}
	return proxy.MachineConfig()
}

// globalConfig is the cluster configuration that reaches nodes: proxy (with what must bypass it) and images.
func globalConfig(hc *hyperv1.HostedCluster) (string, error) {
	configuration := hc.Spec.Configuration
	if configuration == nil || (configuration.Proxy == nil && configuration.Image == nil) {
		return "", nil
	}
	proxy := ignition.ClusterProxy(configuration, hc.Spec.Networking, hc.Spec.Platform.Type)
	encoded, err := json.Marshal(map[string]any{"proxy": configuration.Proxy, "noProxy": proxy.NoProxy, "image": configuration.Image})
	if err != nil {
		return "", fmt.Errorf("encode the global configuration: %w", err)
	}
	return string(encoded), nil
}

func (r *Reconciler) updatingConfig(_ context.Context, p *pass) error {
	p.annotate(hyperv1.NodePoolTargetConfigVersionAnnotation, p.config.version)
	p.updating(hyperv1.NodePoolUpdatingConfig, p.np.Annotations[hyperv1.NodePoolCurrentConfigAnnotation] != p.config.hash,
		"Updating config in progress. Target config: "+p.config.hash)
	return nil
}

func (r *Reconciler) updatingVersion(_ context.Context, p *pass) error {
	p.updating(hyperv1.NodePoolUpdatingVersion, p.np.Status.Version != p.release.Version,
		"Updating version in progress. Target version: "+p.release.Version)
	return nil
}

func (p *pass) annotate(key, value string) {
	if p.np.Annotations == nil {
		p.np.Annotations = map[string]string{}
	}
	p.np.Annotations[key] = value
}
