package hostedcluster

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hypershift-on-azure/hypershift/api/v1beta1"
	"github.com/hypershift-on-azure/hypershift/internal/component"
	"github.com/hypershift-on-azure/hypershift/internal/release"
	"github.com/hypershift-on-azure/hypershift/internal/steps"
)

// managesMachines: platform None has no machines, and the user may keep them for himself.
func (p *pass) managesMachines() bool {
	_, disabled := p.hc.Annotations[hyperv1.DisableMachineManagementAnnotation]
	return p.hc.Spec.Platform.Type == hyperv1.AzurePlatform && !disabled
}

// ensureClusterAPI writes what Machines hang on. Infrastructure comes before the Cluster that refers to it.
func (p *pass) ensureClusterAPI(ctx context.Context) error {
	if !p.managesMachines() {
		return nil
	}
	azure := p.hc.Spec.Platform.Azure
	azureCluster, err := p.azureCluster(azure, p.hcp.Status.ControlPlaneEndpoint)
	if err != nil {
		return err
	}
	if err := p.apply(ctx, p.azureIdentity(azure), azureCluster); err != nil {
		return err
	}
	if err := p.markInfrastructureReady(ctx); err != nil {
		return err
	}
	if err := p.apply(ctx, p.capiCluster()); err != nil {
		return err
	}
	return p.setCAPIPaused(ctx, false)
}

// markInfrastructureReady writes the status that Azure's provider leaves to us, because the AzureCluster is managed externally.
func (p *pass) markInfrastructureReady(ctx context.Context) error {
	live, err := p.readKind(ctx, azureClusterKind, p.cluster)
	if err != nil || live == nil {
		return err
	}
	if ready, _, _ := unstructured.NestedBool(live.Object, "status", "ready"); ready {
		return nil
	}
	before := live.DeepCopy()
	if err := unstructured.SetNestedField(live.Object, true, "status", "ready"); err != nil {
		return fmt.Errorf("AzureCluster %s has a malformed status: %w", p.cluster, err)
	}
	if err := p.Status().Patch(ctx, live, client.MergeFrom(before)); err != nil {
		return fmt.Errorf("mark AzureCluster %s ready: %w", p.cluster, err)
	}
	return nil
}

// setCAPIPaused pauses or resumes Cluster API. The field is patched beside the apply, so that the live value decides: a pause is a
// state of the moment, not of the desired object.
func (p *pass) setCAPIPaused(ctx context.Context, paused bool) error {
	live, err := p.readKind(ctx, clusterKind, p.infraID)
	if err != nil || live == nil {
		return err
	}
	if current, _, _ := unstructured.NestedBool(live.Object, "spec", "paused"); current == paused {
		return nil
	}
	before := live.DeepCopy()
	if err := unstructured.SetNestedField(live.Object, paused, "spec", "paused"); err != nil {
		return fmt.Errorf("Cluster %s has a malformed spec: %w", p.infraID, err)
	}
	if err := p.Patch(ctx, live, client.MergeFrom(before)); err != nil {
		return fmt.Errorf("set spec.paused=%t of Cluster %s: %w", paused, p.infraID, err)
	}
	return nil
}

// readKind reads an object of another project's API; nil when it, or its API, does not exist.
func (p *pass) readKind(ctx context.Context, kind schema.GroupVersionKind, name string) (*unstructured.Unstructured, error) {
	obj := newObject(kind, p.namespace, name, nil)
	err := p.Get(ctx, client.ObjectKeyFromObject(obj), obj)
	if apierrors.IsNotFound(err) && !p.hc.DeletionTimestamp.IsZero() {
		// A deletion must not skip what the cache does not show yet.
		err = p.Live.Get(ctx, client.ObjectKeyFromObject(obj), obj)
	}
	if apierrors.IsNotFound(err) || meta.IsNoMatchError(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read %s %s/%s: %w", kind.Kind, p.namespace, name, err)
	}
	return obj, nil
}

// ensureClusterAPIOperators runs Cluster API's managers for this namespace.
func (p *pass) ensureClusterAPIOperators(ctx context.Context) error {
	if !p.managesMachines() {
		return nil
	}
	objects := append(p.workloadAccess(clusterAPIName, clusterAPIRules()), p.workloadAccess(capiProviderName, capiProviderRules())...)
	if err := p.apply(ctx, objects...); err != nil {
		return err
	}
	if err := p.ensureWebhookCertificate(ctx); err != nil {
		return err
	}
	coreImage := p.componentImage(release.KeyClusterAPI)
	if err := p.applyWorkload(ctx, p.clusterAPIDeployment(coreImage), managerTraits); err != nil {
		return err
	}
	// The side-car mounts it. A pod that waits for a volume retries ever more slowly, so it is made when it can start.
	access := &corev1.Secret{}
	err := p.Get(ctx, client.ObjectKey{Namespace: p.namespace, Name: component.AdminKubeconfigSecret}, access)
	if apierrors.IsNotFound(err) {
		return &steps.Waiting{For: "the control plane to publish Secret " + component.AdminKubeconfigSecret}
	}
	if err != nil {
		return fmt.Errorf("read Secret %s: %w", component.AdminKubeconfigSecret, err)
	}
	image := p.componentImage(release.KeyAzureProvider)
	traits := managerTraits
	traits.ReachesCloud = true
	return p.applyWorkload(ctx, p.capiProviderDeployment(image, p.helperImage, p.hc.Spec.Platform.Azure), traits)
}
