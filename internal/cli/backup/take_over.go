package backup

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hypershift-on-azure/hypershift/api/v1beta1"
	"github.com/hypershift-on-azure/hypershift/internal/cli/management"
	"github.com/hypershift-on-azure/hypershift/internal/kube"
	"github.com/hypershift-on-azure/hypershift/internal/tenancy"
)

// takeOver makes the hosted cluster on this management cluster what it was on a former one:
//
//  1. refuse what cannot be taken over: a cluster that is here already, workers that would not find it, kinds that are not served;
//  2. say what comes, and ask;
//  3. make everything before the HostedCluster: nothing acts on it without that, and a run that was interrupted goes on;
//  4. make the HostedCluster, whose etcd begins with the backup;
//  5. wait, if asked to, until it is available and its pools have their nodes.
func (r *restoration) takeOver(ctx context.Context, out io.Writer, say func(string, ...any)) error {
	found, hc, err := r.readBelongings(r.managementFile)
	if err != nil {
		return err
	}
	if err := errors.Join(movable(hc), r.vacant(ctx, hc)); err != nil {
		return err
	}
	if err := r.served(found.Objects); err != nil {
		return err
	}
	from := found.SnapshotURL
	if r.snapshotURL != "" {
		from = r.snapshotURL
	}
	cloud := ""
	if hc.Spec.Platform.Azure != nil {
		cloud = hc.Spec.Platform.Azure.Cloud
	}
	address, err := r.sign(ctx, cloud, from, r.now(), r.validFor)
	if err != nil {
		return err
	}
	machines := 0
	for i := range found.Objects {
		if found.Objects[i].GetKind() == "Machine" {
			machines++
		}
	}
	if _, err := fmt.Fprintf(out, "HostedCluster %s/%s, as it was saved at %s, comes to this management cluster with %d objects, %d of them machines that run in Azure; its etcd begins with %s. "+
		"The former management cluster must be gone for good: two that look after the same machines destroy them.\n",
		r.namespace, r.name, found.SavedAt, len(found.Objects), machines, from); err != nil {
		return err
	}
	if r.dryRun {
		return nil
	}
	if err := r.agreed("take over"); err != nil {
		return err
	}
	if err := r.settle(ctx, found, address); err != nil {
		return err
	}
	if !r.wait {
		_, err := fmt.Fprintf(out, "It is made; follow it with: hypershift status cluster %s --namespace %s\n", r.name, r.namespace)
		return err
	}
	return r.awaitWorkers(ctx, out, say)
}

// vacant refuses when the hosted cluster, or somebody else in the namespace of its control plane, is here.
func (r *restoration) vacant(ctx context.Context, hc *hyperv1.HostedCluster) error {
	err := r.client.Get(ctx, client.ObjectKeyFromObject(hc), &hyperv1.HostedCluster{})
	switch {
	case err == nil:
		return fmt.Errorf("HostedCluster %s/%s is on this management cluster: --management-file takes over a cluster whose management cluster was lost; to send this one back to a backup use --in-place", hc.Namespace, hc.Name)
	case !apierrors.IsNotFound(err):
		return management.Unread("HostedCluster", hc.Namespace, hc.Name, err)
	}
	space := &corev1.Namespace{}
	err = r.client.Get(ctx, client.ObjectKey{Name: r.controlPlane()}, space)
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("read namespace %s: %w", r.controlPlane(), err)
	}
	if space.Annotations[hyperv1.HostedClusterAnnotation] != tenancy.Of(hc).Reference() || space.Annotations[hyperv1.HostedClusterUIDAnnotation] != "" || space.DeletionTimestamp != nil {
		return fmt.Errorf("namespace %s exists and is another cluster's, or a former one's of this name: delete it first if nothing needs it", space.Name)
	}
	return nil // of a run that was interrupted
}

// settle makes the objects, those of an interrupted run left as they are, and the HostedCluster at last.
func (r *restoration) settle(ctx context.Context, found *belongings, address string) error {
	control := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: r.controlPlane(), Annotations: map[string]string{
		hyperv1.HostedClusterAnnotation: r.namespace + "/" + r.name}}}
	for _, space := range []*corev1.Namespace{{ObjectMeta: metav1.ObjectMeta{Name: r.namespace}}, control} {
		if err := r.client.Create(ctx, space); err != nil && !apierrors.IsAlreadyExists(err) {
			return fmt.Errorf("make namespace %s: %w", space.Name, err)
		}
	}
	last := len(found.Objects) - 1
	for i := range found.Objects {
		obj := found.Objects[i].DeepCopy()
		if i == last {
			if err := unstructured.SetNestedStringSlice(obj.Object, []string{address}, "spec", "etcd", "managed", "storage", "restoreSnapshotURL"); err != nil {
				return fmt.Errorf("give HostedCluster %s/%s its backup: %w", r.namespace, r.name, err)
			}
		}
		err := r.client.Create(ctx, obj, client.FieldOwner(management.FieldManager))
		if err != nil && (i == last || !apierrors.IsAlreadyExists(err)) {
			return fmt.Errorf("make %s: %w", kube.Describe(obj), err)
		}
	}
	return nil
}

// awaitWorkers tells how far the cluster is until it is available and its pools have their nodes.
func (r *restoration) awaitWorkers(ctx context.Context, out io.Writer, say func(string, ...any)) error {
	began, said, available := r.now(), "", time.Duration(0)
	nodes := &following{leases: r.leases}
	err := management.Within(ctx, waitPeriod, r.timeout, func(ctx context.Context) (bool, error) {
		hc := &hyperv1.HostedCluster{}
		if err := r.client.Get(ctx, client.ObjectKey{Namespace: r.namespace, Name: r.name}, hc); err != nil {
			return false, management.Unread("HostedCluster", r.namespace, r.name, err)
		}
		now, done := "the control plane does not serve yet", false
		if c := kube.Find(hc.Status.Conditions, hyperv1.HostedClusterAvailable); c != nil && c.Status == metav1.ConditionTrue {
			if available == 0 {
				available = r.now().Sub(began)
			}
			var err error
			if now, done, err = r.workersBack(ctx, hc, nodes); err != nil {
				return false, err
			}
		} else if c != nil {
			now = c.Message
		}
		if now != said {
			said = now
			say("%s", now)
		}
		return done, nil
	})
	if err != nil {
		return fmt.Errorf("HostedCluster %s/%s is not whole yet: %s: %w", r.namespace, r.name, said, err)
	}
	_, err = fmt.Fprintf(out, "HostedCluster %s/%s is available after %s, with its workers after %s\n", r.namespace, r.name, available.Round(time.Second), r.now().Sub(began).Round(time.Second))
	return err
}

// workersBack tells whether the pools have their nodes, and whether as many follow the new control plane.
func (r *restoration) workersBack(ctx context.Context, hc *hyperv1.HostedCluster, nodes *following) (now string, done bool, err error) {
	waiting, wanted, err := r.waitingPools(ctx)
	if err != nil {
		return "", false, err
	}
	// What cannot be seen from here yet may be later: the name of the hosted cluster's API server has another address now.
	back, err := nodes.count(ctx, hc)
	switch {
	case len(waiting) > 0:
		return "the control plane serves; nodes are awaited by " + strings.Join(waiting, ", "), false, nil
	case err != nil:
		return "the control plane serves; " + err.Error(), false, nil
	}
	return fmt.Sprintf("the control plane serves; %d of %d nodes follow it", back, wanted), back >= wanted, nil
}

// waitingPools are those that have fewer available nodes than they want; wanted is what all of the cluster want together.
func (r *restoration) waitingPools(ctx context.Context) (waiting []string, wanted int, err error) {
	pools := &hyperv1.NodePoolList{}
	if err := r.client.List(ctx, pools, client.InNamespace(r.namespace)); err != nil {
		return nil, 0, fmt.Errorf("list the node pools: %w", err)
	}
	for i := range pools.Items {
		np := &pools.Items[i]
		if np.Spec.ClusterName != r.name {
			continue
		}
		replicas := ptr.Deref(np.Spec.Replicas, 0)
		if wanted += int(replicas); np.Status.Replicas < replicas {
			waiting = append(waiting, fmt.Sprintf("%s (%d of %d)", np.Name, np.Status.Replicas, replicas))
		}
	}
	return waiting, wanted, nil
}
