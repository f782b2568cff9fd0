// Package plane is the control plane as programs that work in a guest see it: its one HostedControlPlane and status, its Machines.
package plane

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/util/retry"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/cluster"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	hyperv1 "github.com/hypershift-on-azure/hypershift/api/v1beta1"
	"github.com/hypershift-on-azure/hypershift/internal/kube"
)

// Find is the one hosted control plane of the namespace.
func Find(ctx context.Context, management client.Client, namespace string) (*hyperv1.HostedControlPlane, error) {
	var list hyperv1.HostedControlPlaneList
	if err := management.List(ctx, &list, client.InNamespace(namespace)); err != nil {
		return nil, fmt.Errorf("list hosted control planes: %w", err)
	}
	if len(list.Items) != 1 {
		return nil, fmt.Errorf("namespace %s has %d HostedControlPlanes; it must have exactly one", namespace, len(list.Items))
	}
	return &list.Items[0], nil
}

// CleansUp tells whether what the guest has made in Azure goes now, before its control plane: nothing is made anew in it.
func CleansUp(hcp *hyperv1.HostedControlPlane) bool {
	return !hcp.DeletionTimestamp.IsZero() && hcp.Annotations[hyperv1.CleanupCloudResourcesAnnotation] == "true"
}

// SetCondition writes one condition of the hosted control plane. The list has other writers: the lock and the retry keep theirs.
func SetCondition(ctx context.Context, management client.Client, hcp *hyperv1.HostedControlPlane, condition metav1.Condition) error {
	return MutateStatus(ctx, management, hcp, func(status *hyperv1.HostedControlPlaneStatus) {
		apimeta.SetStatusCondition(&status.Conditions, condition)
	})
}

// MutateStatus changes the status of the hosted control plane, and writes nothing when that changes nothing. A guest may
// have a say in it: conditions are made such as the management cluster takes. The status has other writers: the lock and the retry keep theirs.
func MutateStatus(ctx context.Context, management client.Client, hcp *hyperv1.HostedControlPlane, mutate func(*hyperv1.HostedControlPlaneStatus)) error {
	current := hcp.DeepCopy()
	err := retry.RetryOnConflict(retry.DefaultBackoff, func() error {
		before := current.DeepCopy()
		mutate(&current.Status)
		current.Status.Conditions = kube.BoundConditions(current.Status.Conditions)
		if apiequality.Semantic.DeepEqual(before.Status, current.Status) {
			return nil
		}
		// A merge patch would drop the nulls that the version's status must have.
		err := management.Status().Update(ctx, current)
		if apierrors.IsConflict(err) {
			if readErr := management.Get(ctx, client.ObjectKeyFromObject(hcp), current); readErr != nil {
				return readErr
			}
		}
		return err
	})
	if err != nil && !apierrors.IsConflict(err) {
		return fmt.Errorf("write the status of HostedControlPlane %s: %w", hcp.Name, err)
	}
	return err
}

// Once maps whatever happened to the one request of a controller that has only one.
func Once() handler.EventHandler {
	return handler.EnqueueRequestsFromMapFunc(func(context.Context, client.Object) []reconcile.Request { return []reconcile.Request{{}} })
}

// MachineKind is Cluster API's Machine.
var MachineKind = schema.GroupVersionKind{Group: "cluster.x-k8s.io", Version: "v1beta2", Kind: "Machine"}

// NodeNames are the names under which a Machine may register: its Node when known, else its own name or its infrastructure's.
func NodeNames(machine *unstructured.Unstructured) []string {
	if name, _, _ := unstructured.NestedString(machine.Object, "status", "nodeRef", "name"); name != "" {
		return []string{name}
	}
	names := []string{machine.GetName()}
	if name, _, _ := unstructured.NestedString(machine.Object, "spec", "infrastructureRef", "name"); name != "" && name != machine.GetName() {
		names = append(names, name)
	}
	return names
}

// Connect is the management cluster seen through one control-plane namespace. Machines are read through its cache; Secrets are not,
// because a cache lists them all.
func Connect(scheme *runtime.Scheme, namespace string) (cluster.Cluster, error) {
	config, err := rest.InClusterConfig()
	if err != nil {
		return nil, fmt.Errorf("find the management cluster: %w", err)
	}
	return ConnectWith(config, scheme, namespace)
}

// ConnectWith is Connect with the configuration of a client.
func ConnectWith(config *rest.Config, scheme *runtime.Scheme, namespace string) (cluster.Cluster, error) {
	management, err := cluster.New(config, func(o *cluster.Options) {
		o.Scheme = scheme
		o.Cache.DefaultNamespaces = map[string]cache.Config{namespace: {}}
		o.Client.Cache = &client.CacheOptions{Unstructured: true, DisableFor: []client.Object{&corev1.Secret{}}}
	})
	if err != nil {
		return nil, fmt.Errorf("reach the management cluster: %w", err)
	}
	return paced{management, pacedClient{management.GetClient(), kube.NewPace()}}, nil
}

// Resync is how long a change that no watch reports may stay.
const Resync = 30 * time.Second
