package teardown

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hypershift-on-azure/hypershift/api/v1beta1"
	"github.com/hypershift-on-azure/hypershift/internal/clusterapi"
	"github.com/hypershift-on-azure/hypershift/internal/hostedcluster/cluster"
	"github.com/hypershift-on-azure/hypershift/internal/hostedcluster/dashboards"
	"github.com/hypershift-on-azure/hypershift/internal/kube"
	"github.com/hypershift-on-azure/hypershift/internal/tenancy"
)

// deleteMachines deletes the Cluster, which takes its Machines, the AzureCluster and, through the reference, the HostedControlPlane
// with it.
func (d *Deletion) deleteMachines(ctx context.Context) (string, error) {
	if d.InfraID() == "" {
		return "", nil
	}
	core, err := d.Find(ctx, clusterapi.Cluster, d.InfraID())
	if err != nil {
		return "", err
	}
	if core == nil {
		return d.deleteOrphans(ctx)
	}
	if core.GetDeletionTimestamp() == nil {
		if err := kube.DeleteIfExists(ctx, d.Client, core); err != nil {
			return "", err
		}
	}
	found := clusterapi.NewList(clusterapi.Machine)
	if err := d.Client.List(ctx, found, client.InNamespace(d.Namespace)); err != nil {
		return "", fmt.Errorf("list Machines: %w", err)
	}
	// A Machine stands for something that costs money: nobody but its provider may say that it is gone.
	if len(found.Items) > 0 {
		return strconv.Itoa(len(found.Items)) + " Machines of Cluster " + d.InfraID(), nil
	}
	// Its provider deletes a virtual machine only while there is an AzureCluster.
	if waitingFor, err := d.deleteOrphans(ctx); err != nil || waitingFor != "" {
		return waitingFor, err
	}
	azureCluster, err := d.Find(ctx, clusterapi.AzureCluster, d.Name)
	if err != nil {
		return "", err
	}
	if azureCluster != nil {
		err = d.abandon(ctx, azureCluster)
	}
	// Cluster API deletes the control plane after the machines.
	return "Cluster " + d.InfraID() + " and its control plane" + cloudResources(d.Plane), errors.Join(err, d.abandon(ctx, core))
}

// deleteOrphans deletes the AzureMachines that no Machine stands for, whose provider may never look at them. They are read past the cache:
// nobody else needs them, and one that is overlooked would hold the namespace.
func (d *Deletion) deleteOrphans(ctx context.Context) (string, error) {
	found := clusterapi.NewList(clusterapi.AzureMachine)
	if err := d.Live.List(ctx, found, client.InNamespace(d.Namespace)); err != nil {
		if meta.IsNoMatchError(err) {
			return "", nil
		}
		return "", fmt.Errorf("list AzureMachines: %w", err)
	}
	var names []string
	var errs []error
	for i := range found.Items {
		orphan := &found.Items[i]
		names = append(names, orphan.GetName())
		if orphan.GetDeletionTimestamp() == nil {
			errs = append(errs, kube.DeleteIfExists(ctx, d.Client, orphan))
			continue
		}
		errs = append(errs, d.abandon(ctx, orphan))
	}
	if len(names) == 0 {
		return "", nil
	}
	slices.Sort(names)
	return "AzureMachines " + strings.Join(names, ", ") + ", which no Machine stands for", errors.Join(errs...)
}

// leftInAzure names what an abandoned machine may have left to pay for; empty where the object knows of nothing.
func leftInAzure(obj client.Object) string {
	machine, ok := obj.(*unstructured.Unstructured)
	if !ok {
		return ""
	}
	id, _, _ := unstructured.NestedString(machine.Object, "spec", "providerID")
	if id == "" {
		return ""
	}
	return " Azure may still have " + id + "; look, and delete it."
}

// releaseUnborn lets go of machines that cannot exist. Cluster API's provider logs in to Azure with a token of the hosted cluster: where
// the API server never served, there was none, so it has made no virtual machine, and cannot find out either.
func (d *Deletion) releaseUnborn(ctx context.Context) error {
	if d.Plane == nil || d.Plane.Status.Initialized || kube.IsTrue(d.Plane.Status.Conditions, hyperv1.KubeAPIServerAvailable) {
		return nil
	}
	found := clusterapi.NewList(clusterapi.AzureMachine)
	if err := d.Client.List(ctx, found, client.InNamespace(d.Namespace)); err != nil && !meta.IsNoMatchError(err) {
		return fmt.Errorf("list AzureMachines: %w", err)
	}
	var errs []error
	for i := range found.Items {
		if id, _, _ := unstructured.NestedString(found.Items[i].Object, "spec", "providerID"); id == "" {
			errs = append(errs, d.abandonAfter(ctx, unbornLimit, &found.Items[i]))
		}
	}
	return errors.Join(errs...)
}

func (d *Deletion) deleteControlPlane(ctx context.Context) (string, error) {
	if d.Plane == nil {
		return "", nil
	}
	if d.Plane.DeletionTimestamp.IsZero() {
		if err := kube.DeleteIfExists(ctx, d.Client, d.Plane); err != nil {
			return "", err
		}
	}
	return "HostedControlPlane " + d.Namespace + "/" + d.Name + cloudResources(d.Plane), d.abandon(ctx, d.Plane)
}

// cloudResources says what of the guest in Azure has to go before its control plane does; empty when nothing has to.
func cloudResources(plane *hyperv1.HostedControlPlane) string {
	if plane == nil {
		return ""
	}
	told := kube.Find(plane.Status.Conditions, hyperv1.CloudResourcesDestroyed)
	if told == nil || told.Status == metav1.ConditionTrue || told.Reason == hyperv1.CloudResourcesCleanupSkipped || told.Reason == hyperv1.CloudResourcesDeletionTimedOut {
		return ""
	}
	return ", which first has removed in Azure what the hosted cluster made: " + told.Message + " (annotation " + hyperv1.CleanupCloudResourcesAnnotation + "=false of the HostedCluster leaves it there)"
}

// abandon bounds the wait for a controller that may never come back: its image may be gone, or its node. What it would have cleaned up
// ends with the namespace.
func (d *Deletion) abandon(ctx context.Context, obj client.Object) error {
	return d.abandonAfter(ctx, finalizerLimit, obj)
}

func (d *Deletion) abandonAfter(ctx context.Context, limit time.Duration, obj client.Object) error {
	deleted := obj.GetDeletionTimestamp()
	if deleted.IsZero() || d.Now().Before(deleted.Add(limit)) || len(obj.GetFinalizers()) == 0 {
		return nil
	}
	d.Event(corev1.EventTypeWarning, abandonedReason, fmt.Sprintf("%s has been waiting for %s since %s; its controller is given up.%s",
		kube.Describe(obj), strings.Join(obj.GetFinalizers(), ", "), deleted.UTC().Format("15:04:05"), leftInAzure(obj)))
	before, _ := obj.DeepCopyObject().(client.Object)
	obj.SetFinalizers(nil)
	if err := d.Client.Patch(ctx, obj, client.MergeFrom(before)); client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("take the finalizers off %s: %w", kube.Describe(obj), err)
	}
	return nil
}

// ownNamespace is the control-plane namespace, nil when it is gone, to be kept, or somebody else's that happens to have the name.
func ownNamespace(ctx context.Context, c *cluster.Cluster) (*corev1.Namespace, error) {
	if c.Hosted.Annotations[hyperv1.SkipDeleteNamespaceAnnotation] == skipNamespaceTrue {
		return nil, nil
	}
	namespace, err := tenancy.Read(ctx, c.Client, c.Live, tenancy.Of(c.Hosted))
	if tenancy.IsRefusal(err) {
		return nil, nil
	}
	return namespace, err
}

func (d *Deletion) deleteNamespace(ctx context.Context) (string, error) {
	namespace, err := ownNamespace(ctx, d.Cluster)
	if err != nil || namespace == nil {
		return "", err
	}
	if namespace.DeletionTimestamp.IsZero() {
		if err := kube.DeleteIfExists(ctx, d.Client, namespace); err != nil {
			return "", err
		}
	}
	return "namespace " + d.Namespace + namespaceProblems(namespace), nil
}

// namespaceProblems repeats what the API server says holds the namespace back.
func namespaceProblems(namespace *corev1.Namespace) string {
	var problems []string
	for _, condition := range namespace.Status.Conditions {
		if condition.Status == corev1.ConditionTrue && condition.Message != "" {
			problems = append(problems, condition.Message)
		}
	}
	if len(problems) == 0 {
		return ""
	}
	return ": " + strings.Join(problems, "; ")
}

func (d *Deletion) deleteClusterAccess(ctx context.Context) (string, error) {
	ends := slices.Clone(d.Outside)
	for _, account := range d.Accounts {
		ends = append(ends, account.ClusterObjects(d.Namespace)...)
	}
	for _, obj := range ends {
		// Past the cache, which may lag behind the pass that made it.
		err := d.Live.Get(ctx, client.ObjectKeyFromObject(obj), obj)
		if client.IgnoreNotFound(err) != nil {
			return "", fmt.Errorf("read %s: %w", kube.Describe(obj), err)
		}
		if err != nil || !d.Owns(obj) {
			continue
		}
		if err := kube.DeleteIfExists(ctx, d.Client, obj); err != nil {
			return "", err
		}
	}
	return "", nil
}

func (d *Deletion) deleteDashboard(ctx context.Context) (string, error) {
	return "", dashboards.Delete(ctx, d.Cluster)
}
