// Package survey reads what there is on a management cluster, hosted clusters with their node pools and machines, in a number of calls that
// does not depend on how many there are.
package survey

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hypershift-on-azure/hypershift/api/v1beta1"
	"github.com/hypershift-on-azure/hypershift/internal/clusterapi"
	"github.com/hypershift-on-azure/hypershift/internal/contract"
	"github.com/hypershift-on-azure/hypershift/internal/kube"
	"github.com/hypershift-on-azure/hypershift/internal/pause"
	"github.com/hypershift-on-azure/hypershift/internal/release"
)

// ErrNotInstalled is the error of a management cluster that does not know HostedCluster.
var ErrNotInstalled = errors.New("the management cluster does not know HostedCluster")

// Scope says what is looked at.
type Scope struct {
	// Namespace of the hosted clusters; empty means all.
	Namespace string
	// Cluster is the name of one hosted cluster, in Namespace; empty means all.
	Cluster string
}

// Fleet is what there is. It is also the shape of what programs read, as JSON.
type Fleet struct {
	// Clusters are sorted by namespace and name.
	Clusters []Cluster `json:"clusters"`
	// Unseen says what could not be read, and why.
	Unseen []string `json:"unseen,omitempty"`
}

// Cluster is a hosted cluster.
type Cluster struct {
	Namespace string    `json:"namespace"`
	Name      string    `json:"name"`
	Created   time.Time `json:"created"`
	// Version is the newest that is completed; Target where a rollout goes, empty at rest.
	Version string `json:"version,omitempty"`
	Target  string `json:"target,omitempty"`
	// Progress is Completed or Partial, Paused, Deleting, or Pending before there is a version.
	Progress string `json:"progress"`
	// Available is True, False or Unknown; Message is what its condition says.
	Available string `json:"available"`
	Message   string `json:"message,omitempty"`
	Platform  string `json:"platform"`
	Location  string `json:"location,omitempty"`
	// Endpoint is host:port of the API server; empty before it is known.
	Endpoint string `json:"endpoint,omitempty"`
	// Image is the release payload that is wanted.
	Image     string `json:"image"`
	NodePools []Pool `json:"nodePools"`

	// Object is what it was read from.
	Object *hyperv1.HostedCluster `json:"-"`
}

// Pool is a node pool.
type Pool struct {
	Namespace string    `json:"namespace"`
	Name      string    `json:"name"`
	Cluster   string    `json:"cluster"`
	Created   time.Time `json:"created"`
	Version   string    `json:"version,omitempty"`
	// Nodes are those that are available, Wanted those that the pool is to have. With autoscaling Wanted is -1, and Minimum and Maximum hold.
	Nodes   int32 `json:"nodes"`
	Wanted  int32 `json:"wanted"`
	Minimum int32 `json:"minimum,omitempty"`
	Maximum int32 `json:"maximum,omitempty"`
	// Progress is Ready, Updating, Paused, Deleting or Waiting.
	Progress string `json:"progress"`
	Message  string `json:"message,omitempty"`
	// What costs: size of the virtual machines, disk in GiB and its kind, zone.
	Size     string `json:"size,omitempty"`
	DiskGiB  int32  `json:"diskGiB,omitempty"`
	DiskKind string `json:"diskKind,omitempty"`
	Zone     string `json:"zone,omitempty"`
	Arch     string `json:"arch,omitempty"`
	Image    string `json:"image"`
	// Machines are sorted by name; nil where they could not be read.
	Machines []Machine `json:"machines"`

	// Object is what it was read from.
	Object *hyperv1.NodePool `json:"-"`
}

// What a cluster or a pool is doing.
const (
	Completed = "Completed"
	Partial   = "Partial"
	Pending   = "Pending"
	Ready     = "Ready"
	Updating  = "Updating"
	Waiting   = "Waiting"
	Paused    = "Paused"
	Deleting  = "Deleting"
)

// Read makes at most four calls, whatever there is. What the person may not read is told in Unseen; a cluster that is not there is an error
// of Kubernetes (apierrors.IsNotFound).
func Read(ctx context.Context, c client.Reader, scope Scope, now time.Time) (*Fleet, error) {
	clusters, pools, machines := &hyperv1.HostedClusterList{}, &hyperv1.NodePoolList{}, &world{}
	all, ctx := errgroup.WithContext(ctx)
	all.Go(func() error { return readClusters(ctx, c, scope, clusters) })
	all.Go(func() error {
		if err := c.List(ctx, pools, client.InNamespace(scope.Namespace)); err != nil && !meta.IsNoMatchError(err) {
			return fmt.Errorf("list the NodePools: %w", err)
		}
		return nil
	})
	for _, kind := range []schema.GroupVersionKind{clusterapi.Machine, clusterapi.AzureMachine} {
		all.Go(func() error { return machines.read(ctx, c, kind, scope) })
	}
	if err := all.Wait(); err != nil {
		return nil, err
	}
	fleet := &Fleet{Clusters: []Cluster{}, Unseen: machines.unseen}
	for i := range clusters.Items {
		made, err := clusterOf(&clusters.Items[i], pools.Items, machines, now)
		if err != nil {
			return nil, err
		}
		fleet.Clusters = append(fleet.Clusters, made)
	}
	slices.SortFunc(fleet.Clusters, func(a, b Cluster) int {
		return strings.Compare(a.Namespace+"/"+a.Name, b.Namespace+"/"+b.Name)
	})
	return fleet, nil
}

func readClusters(ctx context.Context, c client.Reader, scope Scope, list *hyperv1.HostedClusterList) error {
	var err error
	if scope.Cluster == "" {
		err = c.List(ctx, list, client.InNamespace(scope.Namespace))
	} else {
		list.Items = make([]hyperv1.HostedCluster, 1)
		err = c.Get(ctx, client.ObjectKey{Namespace: scope.Namespace, Name: scope.Cluster}, &list.Items[0])
	}
	if meta.IsNoMatchError(err) {
		return ErrNotInstalled
	}
	if err != nil {
		return fmt.Errorf("read the HostedClusters: %w", err)
	}
	return nil
}

// read takes the objects of a kind. Where Cluster API is not installed there are none.
func (w *world) read(ctx context.Context, c client.Reader, kind schema.GroupVersionKind, scope Scope) error {
	list := clusterapi.NewList(kind)
	namespace := ""
	if scope.Cluster != "" {
		namespace = contract.ControlPlaneNamespace(scope.Namespace, scope.Cluster)
	}
	err := c.List(ctx, list, client.InNamespace(namespace))
	switch {
	case meta.IsNoMatchError(err):
		return nil
	case apierrors.IsForbidden(err):
		w.miss(kind.Kind, err)
		return nil
	case err != nil:
		return fmt.Errorf("list the %ss: %w", kind.Kind, err)
	}
	return w.take(kind, list.Items)
}

func clusterOf(hc *hyperv1.HostedCluster, pools []hyperv1.NodePool, machines *world, now time.Time) (Cluster, error) {
	out := Cluster{
		Namespace: hc.Namespace, Name: hc.Name, Created: hc.CreationTimestamp.UTC(), Version: completed(hc), Progress: Pending,
		Available: "Unknown", Platform: string(hc.Spec.Platform.Type), Image: hc.Spec.Release.Image, NodePools: []Pool{}, Object: hc,
	}
	if available := kube.Find(hc.Status.Conditions, hyperv1.HostedClusterAvailable); available != nil {
		out.Available, out.Message = string(available.Status), available.Message
	}
	if azure := hc.Spec.Platform.Azure; azure != nil {
		out.Location = azure.Location
	}
	if endpoint := hc.Status.ControlPlaneEndpoint; endpoint.Host != "" {
		out.Endpoint = fmt.Sprintf("%s:%d", endpoint.Host, endpoint.Port)
	}
	if v := hc.Status.Version; v != nil && len(v.History) > 0 {
		out.Progress = string(v.History[0].State)
		if v.History[0].State != hyperv1.CompletedUpdate {
			out.Target = v.Desired.Version
		}
	}
	if paused, _, err := pause.Read(hc.Spec.PausedUntil, now); err == nil && paused {
		out.Progress = Paused
	}
	if hc.DeletionTimestamp != nil {
		out.Progress = Deleting
	}
	for i := range pools {
		np := &pools[i]
		if np.Namespace != hc.Namespace || np.Spec.ClusterName != hc.Name {
			continue
		}
		made, err := poolOf(np, machines, now)
		if err != nil {
			return out, err
		}
		out.NodePools = append(out.NodePools, made)
	}
	slices.SortFunc(out.NodePools, func(a, b Pool) int { return strings.Compare(a.Name, b.Name) })
	return out, nil
}

// completed is empty while the first version is being rolled out, unlike release.Completed.
func completed(hc *hyperv1.HostedCluster) string {
	if v := hc.Status.Version; v == nil || !slices.ContainsFunc(v.History, func(u hyperv1.UpdateHistory) bool { return u.State == hyperv1.CompletedUpdate }) {
		return ""
	}
	return release.Completed(hc)
}

func poolOf(np *hyperv1.NodePool, machines *world, now time.Time) (Pool, error) {
	out := Pool{
		Namespace: np.Namespace, Name: np.Name, Cluster: np.Spec.ClusterName, Created: np.CreationTimestamp.UTC(), Version: np.Status.Version,
		Nodes: np.Status.Replicas, Wanted: ptr.Deref(np.Spec.Replicas, 0), Arch: np.Spec.Arch, Image: np.Spec.Release.Image, Object: np,
	}
	if scaling := np.Spec.AutoScaling; scaling != nil {
		out.Wanted, out.Minimum, out.Maximum = -1, scaling.Min, scaling.Max
	}
	if azure := np.Spec.Platform.Azure; azure != nil {
		out.Size, out.Zone, out.DiskGiB, out.DiskKind = azure.VMSize, azure.AvailabilityZone, azure.OSDisk.SizeGiB, string(azure.OSDisk.DiskStorageAccountType)
	}
	out.Progress, out.Message = progressOf(np, now)
	var err error
	out.Machines, err = machines.of(np)
	return out, err
}

func progressOf(np *hyperv1.NodePool, now time.Time) (progress, message string) {
	ready := PoolCondition(np, hyperv1.NodePoolReady)
	if ready != nil && ready.Status != corev1.ConditionTrue {
		message = ready.Message
	}
	paused, _, err := pause.Read(np.Spec.PausedUntil, now)
	switch {
	case np.DeletionTimestamp != nil:
		return Deleting, message
	case err == nil && paused:
		return Paused, message
	}
	for _, updating := range []string{hyperv1.NodePoolUpdatingVersion, hyperv1.NodePoolUpdatingConfig, hyperv1.NodePoolUpdatingPlatformMachineTemplate} {
		if c := PoolCondition(np, updating); c != nil && c.Status == corev1.ConditionTrue {
			return Updating, c.Message
		}
	}
	if ready != nil && ready.Status == corev1.ConditionTrue {
		return Ready, ""
	}
	return Waiting, message
}

// PoolCondition is a condition of a node pool, or nil.
func PoolCondition(np *hyperv1.NodePool, name string) *hyperv1.NodePoolCondition {
	for i := range np.Status.Conditions {
		if np.Status.Conditions[i].Type == name {
			return &np.Status.Conditions[i]
		}
	}
	return nil
}

// owner is the pool that an object of Cluster API was made for, which its annotation names: names of namespaces are ambiguous.
type owner struct{ namespace, pool string }

func ownerOf(obj *unstructured.Unstructured) owner {
	return owner{obj.GetNamespace(), obj.GetAnnotations()[hyperv1.NodePoolAnnotation]}
}
