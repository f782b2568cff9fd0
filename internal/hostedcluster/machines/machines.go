// Package machines keeps what the machines of a hosted cluster hang on: the objects of Cluster API, and the managers that act on them
// with their rights.
package machines

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hypershift-on-azure/hypershift/api/v1beta1"
	"github.com/hypershift-on-azure/hypershift/internal/clusterapi"
	"github.com/hypershift-on-azure/hypershift/internal/clusterconfig"
	"github.com/hypershift-on-azure/hypershift/internal/contract"
	"github.com/hypershift-on-azure/hypershift/internal/hostedcluster/cluster"
	"github.com/hypershift-on-azure/hypershift/internal/hostedcluster/workloads"
	"github.com/hypershift-on-azure/hypershift/internal/release"
	"github.com/hypershift-on-azure/hypershift/internal/steps"
)

// Managed tells whether this operator looks after machines: platform None has none, and the user may keep them for himself.
func Managed(hc *hyperv1.HostedCluster) bool {
	_, disabled := hc.Annotations[hyperv1.DisableMachineManagementAnnotation]
	return hc.Spec.Platform.Type == hyperv1.AzurePlatform && !disabled
}

// EnsureCluster writes what Machines hang on. Infrastructure comes before the Cluster that refers to it. The endpoint is the control
// plane's; without a host it is not known yet.
func EnsureCluster(ctx context.Context, c *cluster.Cluster, endpoint hyperv1.APIEndpoint) error {
	if !Managed(c.Hosted) {
		return nil
	}
	azure := c.Hosted.Spec.Platform.Azure
	infrastructure, err := azureCluster(c, azure, endpoint)
	if err != nil {
		return err
	}
	if err := c.Apply(ctx, azureIdentity(c, azure), infrastructure); err != nil {
		return err
	}
	if err := markInfrastructureReady(ctx, c); err != nil {
		return err
	}
	if err := c.Apply(ctx, coreCluster(c)); err != nil {
		return err
	}
	return SetPaused(ctx, c, false)
}

// markInfrastructureReady writes the status that Azure's provider leaves to us, because the AzureCluster is managed externally.
func markInfrastructureReady(ctx context.Context, c *cluster.Cluster) error {
	live, err := c.Find(ctx, clusterapi.AzureCluster, c.Name)
	if err != nil || live == nil {
		return err
	}
	if ready, _, _ := unstructured.NestedBool(live.Object, "status", "ready"); ready {
		return nil
	}
	before := live.DeepCopy()
	if err := unstructured.SetNestedField(live.Object, true, "status", "ready"); err != nil {
		return fmt.Errorf("AzureCluster %s has a malformed status: %w", c.Name, err)
	}
	if err := c.Client.Status().Patch(ctx, live, client.MergeFrom(before)); err != nil {
		return fmt.Errorf("mark AzureCluster %s ready: %w", c.Name, err)
	}
	return nil
}

// SetPaused pauses or resumes Cluster API. The field is patched beside the apply, so that the live value decides: a pause is a
// state of the moment, not of the desired object.
func SetPaused(ctx context.Context, c *cluster.Cluster, paused bool) error {
	live, err := c.Find(ctx, clusterapi.Cluster, c.InfraID())
	if err != nil || live == nil {
		return err
	}
	if current, _, _ := unstructured.NestedBool(live.Object, "spec", "paused"); current == paused {
		return nil
	}
	before := live.DeepCopy()
	if err := unstructured.SetNestedField(live.Object, paused, "spec", "paused"); err != nil {
		return fmt.Errorf("Cluster %s has a malformed spec: %w", c.InfraID(), err)
	}
	if err := c.Client.Patch(ctx, live, client.MergeFrom(before)); err != nil {
		return fmt.Errorf("set spec.paused=%t of Cluster %s: %w", paused, c.InfraID(), err)
	}
	return nil
}

// Payload is what is known of the release whose programs Cluster API's managers are.
type Payload struct {
	// Core and Provider are the managers' images.
	Core, Provider string
	Kind           release.Kind
	Version        string
	// TLS is what the managers' servers take at least.
	TLS clusterconfig.TLS
}

// since gives arguments to OpenShift's programs that know them from a minor version on.
func (p Payload) since(major, minor uint, args ...string) []string {
	if known, err := release.AtLeast(p.Version, major, minor); err == nil && !known {
		return nil
	}
	return args
}

// EnsureManagers runs Cluster API's managers for this namespace.
func EnsureManagers(ctx context.Context, c *cluster.Cluster, payload Payload, settings workloads.Settings) error {
	if !Managed(c.Hosted) {
		return nil
	}
	for _, account := range Accounts(payload.Kind) {
		if err := c.Apply(ctx, account.Objects(c.Namespace)...); err != nil {
			return err
		}
	}
	if err := ensureWebhookCertificate(ctx, c); err != nil {
		return err
	}
	if err := settings.Apply(ctx, c, coreDeployment(c.Namespace, payload), managerTraits); err != nil {
		return err
	}
	// The side-car mounts it. A pod that waits for a volume retries ever more slowly, so it is made when it can start.
	access := &corev1.Secret{}
	err := c.Client.Get(ctx, client.ObjectKey{Namespace: c.Namespace, Name: contract.ServiceKubeconfig}, access)
	if apierrors.IsNotFound(err) {
		return &steps.Waiting{For: "the control plane to publish Secret " + contract.ServiceKubeconfig}
	}
	if err != nil {
		return fmt.Errorf("read Secret %s: %w", contract.ServiceKubeconfig, err)
	}
	traits := managerTraits
	traits.ReachesCloud = true
	return settings.Apply(ctx, c, providerDeployment(c.Namespace, payload, settings.HelperImage, c.Hosted.Spec.Platform.Azure), traits)
}
