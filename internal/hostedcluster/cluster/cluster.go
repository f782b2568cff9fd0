// Package cluster is what every step of a pass knows of its hosted cluster: the HostedCluster, the names that follow from it, and the
// way to read, write and tell of what belongs to it.
package cluster

import (
	"context"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hypershift-on-azure/hypershift/api/v1beta1"
	"github.com/hypershift-on-azure/hypershift/internal/clusterapi"
	"github.com/hypershift-on-azure/hypershift/internal/contract"
	transitions "github.com/hypershift-on-azure/hypershift/internal/events"
	"github.com/hypershift-on-azure/hypershift/internal/kube"
	"github.com/hypershift-on-azure/hypershift/internal/steps"
)

// FieldManager is the name under which this operator applies objects.
const FieldManager = contract.Operator

// Environment is what all hosted clusters of a controller share.
type Environment struct {
	Client client.Client
	// Live reads past the cache.
	Live   client.Reader
	Events events.EventRecorder
	// Keeper holds what is applied as it was applied.
	Keeper *kube.Keeper
	// Now is the clock.
	Now func() time.Time
}

// Cluster is one hosted cluster.
type Cluster struct {
	Environment
	// Hosted is the user's object. Steps read its spec and set its status; the pass alone writes it.
	Hosted *hyperv1.HostedCluster
	// Name is that of the HostedCluster and of its HostedControlPlane.
	Name string
	// Namespace is the control-plane namespace.
	Namespace string
}

// New is the hosted cluster of a HostedCluster.
func New(hc *hyperv1.HostedCluster, environment Environment) *Cluster {
	return &Cluster{Environment: environment, Hosted: hc, Name: hc.Name, Namespace: contract.ControlPlaneNamespace(hc.Namespace, hc.Name)}
}

// InfraID is what the cloud resources of the cluster have in their names; empty before the first pass has chosen it.
func (c *Cluster) InfraID() string { return c.Hosted.Spec.InfraID }

// Reference is the value of the annotation by which each of the cluster's objects refers back to the HostedCluster.
func (c *Cluster) Reference() string { return c.Hosted.Namespace + "/" + c.Hosted.Name }

// ReferenceKey is the annotation on the user's objects that the HostedCluster names.
func (c *Cluster) ReferenceKey() string { return hyperv1.ReferencedResourcePrefix + "/" + c.Name }

// Conditions are those of the HostedCluster.
func (c *Cluster) Conditions() kube.ConditionSetter {
	return kube.Conditions(&c.Hosted.Status.Conditions, c.Hosted.Generation)
}

// Event tells of something on the HostedCluster. The kind is corev1.EventTypeNormal or EventTypeWarning.
func (c *Cluster) Event(kind, reason, message string) {
	c.Events.Eventf(c.Hosted, nil, kind, reason, reason, "%s", transitions.Note(message))
}

// Apply writes objects of the cluster, each with the reference back to the HostedCluster.
func (c *Cluster) Apply(ctx context.Context, objects ...client.Object) error {
	for _, obj := range objects {
		annotations := obj.GetAnnotations()
		if annotations == nil {
			annotations = map[string]string{}
		}
		annotations[hyperv1.HostedClusterAnnotation] = c.Reference()
		obj.SetAnnotations(annotations)
	}
	return c.Keeper.Apply(ctx, c.Client, FieldManager, objects...)
}

// ApplySecret writes a Secret of the control-plane namespace.
func (c *Cluster) ApplySecret(ctx context.Context, name string, kind corev1.SecretType, data map[string][]byte) error {
	return c.Apply(ctx, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: c.Namespace}, Type: kind, Data: data})
}

// Remove deletes an object of the control-plane namespace that is no longer wanted. obj is of its type and otherwise empty.
func (c *Cluster) Remove(ctx context.Context, obj client.Object, name string) error {
	obj.SetNamespace(c.Namespace)
	obj.SetName(name)
	// Looked up in the cache first: deleting what is not there would be a request per pass.
	if err := c.Client.Get(ctx, client.ObjectKeyFromObject(obj), obj); err != nil {
		if apierrors.IsNotFound(err) {
			return nil
		}
		return fmt.Errorf("read %s: %w", kube.Describe(obj), err)
	}
	return kube.DeleteIfExists(ctx, c.Client, obj)
}

// Owns tells whether the object refers back to this HostedCluster. Names are no proof: two clusters may lead to the same one.
func (c *Cluster) Owns(obj client.Object) bool {
	return obj.GetAnnotations()[hyperv1.HostedClusterAnnotation] == c.Reference()
}

// Find reads an object of another project's API in the control-plane namespace; nil when it, or its API, does not exist.
func (c *Cluster) Find(ctx context.Context, kind schema.GroupVersionKind, name string) (*unstructured.Unstructured, error) {
	obj := clusterapi.New(kind, c.Namespace, name)
	err := c.Client.Get(ctx, client.ObjectKeyFromObject(obj), obj)
	if apierrors.IsNotFound(err) && !c.Hosted.DeletionTimestamp.IsZero() {
		// A deletion must not skip what the cache does not show yet.
		err = c.Live.Get(ctx, client.ObjectKeyFromObject(obj), obj)
	}
	if apierrors.IsNotFound(err) || meta.IsNoMatchError(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read %s %s/%s: %w", kind.Kind, c.Namespace, name, err)
	}
	return obj, nil
}

// NodePools lists those of this cluster.
func (c *Cluster) NodePools(ctx context.Context) ([]hyperv1.NodePool, error) {
	pools := &hyperv1.NodePoolList{}
	if err := c.Client.List(ctx, pools, client.InNamespace(c.Hosted.Namespace)); err != nil {
		return nil, fmt.Errorf("list NodePools: %w", err)
	}
	return slices.DeleteFunc(pools.Items, func(pool hyperv1.NodePool) bool { return pool.Spec.ClusterName != c.Hosted.Name }), nil
}

// Confirm reads the HostedCluster past the cache before something is made that only its deletion removes: a cache that has just been
// filled may show a cluster whose deletion is over, and nobody would come back for what is made for it.
func (c *Cluster) Confirm(ctx context.Context) error {
	live := &hyperv1.HostedCluster{}
	err := c.Live.Get(ctx, client.ObjectKeyFromObject(c.Hosted), live)
	if client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("read the HostedCluster: %w", err)
	}
	if err != nil || live.UID != c.Hosted.UID || !live.DeletionTimestamp.IsZero() {
		return &steps.Waiting{For: "the cache to see the deletion of the HostedCluster"}
	}
	return nil
}
