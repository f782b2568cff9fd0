// Package nodes gives the Nodes of a guest the labels and taints of their pools, and removes those of other clusters.
package nodes

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/tools/events"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/cluster"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	hyperv1 "github.com/hypershift-on-azure/hypershift/api/v1beta1"
	"github.com/hypershift-on-azure/hypershift/internal/guest/inside"
	"github.com/hypershift-on-azure/hypershift/internal/guest/plane"
)

const (
	workerRole = "node-role.kubernetes.io/worker"
	// conflictPause lets the cache catch up with the write that won.
	conflictPause = 100 * time.Millisecond
)

// reconciler gives every Node the labels and taints of its pool, which the pool wrote on the Machine. An annotation remembers what
// came from the pool: only that is taken away when the pool drops it. Nodes of other clusters are removed.
type reconciler struct {
	guest, management client.Client
	namespace         string
	events            events.EventRecorder
}

// appliedNodeAnnotation remembers keys of labels and taints that came from the pool.
const appliedNodeAnnotation = "hypershift.openshift.io/nodepool-applied"

type nodeKeys struct {
	Labels []string `json:"labels,omitempty"`
	Taints []string `json:"taints,omitempty"`
}

// Setup registers the controller; namespace is the control plane's.
func Setup(manager ctrl.Manager, management cluster.Cluster, namespace string) error {
	machine := &unstructured.Unstructured{}
	machine.SetGroupVersionKind(plane.MachineKind)
	err := ctrl.NewControllerManagedBy(manager).Named("node").
		For(&corev1.Node{}, builder.WithPredicates(predicate.Or(predicate.LabelChangedPredicate{}, predicate.AnnotationChangedPredicate{}, taintsChanged))).
		WatchesRawSource(source.Kind[client.Object](management.GetCache(), machine, handler.EnqueueRequestsFromMapFunc(nodeOfMachine))).
		Complete(&reconciler{
			guest: manager.GetClient(), management: management.GetClient(), namespace: namespace, events: manager.GetEventRecorder(inside.FieldManager),
		})
	if err != nil {
		return fmt.Errorf("set up the node controller: %w", err)
	}
	return nil
}

// taintsChanged: Nodes have no generation that would tell; a kubelet's heartbeat must not start a pass.
var taintsChanged = predicate.Funcs{UpdateFunc: func(change event.UpdateEvent) bool {
	before, wasNode := change.ObjectOld.(*corev1.Node)
	now, isNode := change.ObjectNew.(*corev1.Node)
	return wasNode && isNode && !apiequality.Semantic.DeepEqual(before.Spec.Taints, now.Spec.Taints)
}}

func nodeOfMachine(_ context.Context, obj client.Object) []reconcile.Request {
	machine, ok := obj.(*unstructured.Unstructured)
	if !ok {
		return nil
	}
	var requests []reconcile.Request
	for _, name := range plane.NodeNames(machine) {
		requests = append(requests, reconcile.Request{NamespacedName: client.ObjectKey{Name: name}})
	}
	return requests
}

func (r *reconciler) Reconcile(ctx context.Context, req reconcile.Request) (ctrl.Result, error) {
	node := &corev1.Node{}
	if err := r.guest.Get(ctx, req.NamespacedName, node); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	if removed, err := r.removeForeign(ctx, node); err != nil || removed {
		return ctrl.Result{}, err
	}
	machine, err := r.machineOf(ctx, node.Name)
	if err != nil || machine == nil {
		return ctrl.Result{}, err
	}
	changed := node.DeepCopy()
	if err := adjust(changed, machine); err != nil {
		return ctrl.Result{}, err
	}
	if apiequality.Semantic.DeepEqual(node, changed) {
		return ctrl.Result{}, nil
	}
	// Taints are one list that others write too, most of all while a node is new: the lock makes the loser look again.
	err = r.guest.Patch(ctx, changed, client.MergeFromWithOptions(node, client.MergeFromWithOptimisticLock{}))
	if apierrors.IsConflict(err) {
		return ctrl.Result{RequeueAfter: conflictPause}, nil
	}
	if err != nil {
		return ctrl.Result{}, fmt.Errorf("label and taint node %s: %w", node.Name, err)
	}
	return ctrl.Result{}, nil
}

func (r *reconciler) machineOf(ctx context.Context, node string) (*unstructured.Unstructured, error) {
	machines, err := r.machines(ctx)
	if err != nil {
		return nil, err
	}
	for i := range machines {
		for _, name := range plane.NodeNames(&machines[i]) {
			if name == node {
				return &machines[i], nil
			}
		}
	}
	return nil, nil
}

func (r *reconciler) machines(ctx context.Context) ([]unstructured.Unstructured, error) {
	list := &unstructured.UnstructuredList{}
	list.SetGroupVersionKind(plane.MachineKind.GroupVersion().WithKind(plane.MachineKind.Kind + "List"))
	if err := r.management.List(ctx, list, client.InNamespace(r.namespace)); err != nil {
		return nil, fmt.Errorf("list Machines: %w", err)
	}
	return list.Items, nil
}

// adjust writes the pool's labels and taints into a Node and takes away those the pool no longer has.
func adjust(node *corev1.Node, machine *unstructured.Unstructured) error {
	labels, taints, err := wantedOf(machine)
	if err != nil {
		return err
	}
	var before nodeKeys
	if text := node.Annotations[appliedNodeAnnotation]; text != "" {
		// A mangled memory means nothing to take away; it is rewritten below.
		_ = json.Unmarshal([]byte(text), &before)
	}
	if node.Labels == nil {
		node.Labels = map[string]string{}
	}
	for _, key := range before.Labels {
		delete(node.Labels, key)
	}
	kept := node.Spec.Taints[:0:0]
	for _, taint := range node.Spec.Taints {
		if !contains(before.Taints, taintKey(taint)) && !hasTaint(taints, taint) {
			kept = append(kept, taint)
		}
	}
	var now nodeKeys
	for _, key := range sortedKeys(labels) {
		node.Labels[key] = labels[key]
		now.Labels = append(now.Labels, key)
	}
	for _, taint := range taints {
		kept = append(kept, taint)
		now.Taints = append(now.Taints, taintKey(taint))
	}
	node.Spec.Taints = inOrder(node.Spec.Taints, kept)
	encoded, err := json.Marshal(now)
	if err != nil {
		return fmt.Errorf("encode what node %s has from its pool: %w", node.Name, err)
	}
	if node.Annotations == nil {
		node.Annotations = map[string]string{}
	}
	node.Annotations[appliedNodeAnnotation] = string(encoded)
	return nil
}

func wantedOf(machine *unstructured.Unstructured) (map[string]string, []corev1.Taint, error) {
	labels := map[string]string{workerRole: ""}
	for key, value := range machine.GetLabels() {
		if name, ok := strings.CutPrefix(key, hyperv1.ManagedNodeLabelPrefix+"."); ok {
			labels[name] = value
		}
	}
	if _, pool, ok := strings.Cut(machine.GetAnnotations()[hyperv1.NodePoolAnnotation], "/"); ok {
		labels[hyperv1.NodePoolLabel] = pool
	}
	var wanted []hyperv1.Taint
	if text := machine.GetAnnotations()[hyperv1.NodePoolTaintsAnnotation]; text != "" {
		if err := json.Unmarshal([]byte(text), &wanted); err != nil {
			return nil, nil, fmt.Errorf("annotation %s of Machine %s: %w", hyperv1.NodePoolTaintsAnnotation, machine.GetName(), err)
		}
	}
	var taints []corev1.Taint
	for _, taint := range wanted {
		taints = append(taints, corev1.Taint{Key: taint.Key, Value: taint.Value, Effect: taint.Effect})
	}
	return labels, taints, nil
}
