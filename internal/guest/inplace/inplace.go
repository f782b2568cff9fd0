// Package inplace changes the nodes of node pools where they are: it empties one, has a program on it fetch what its pool asks for and start
// again with that, and goes on to the next. Who wants what stands on the MachineSets of the control plane.
package inplace

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/flowcontrol"
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
	"github.com/hypershift-on-azure/hypershift/internal/clusterapi"
	"github.com/hypershift-on-azure/hypershift/internal/contract"
	"github.com/hypershift-on-azure/hypershift/internal/guest/inside"
	"github.com/hypershift-on-azure/hypershift/internal/guest/plane"
	"github.com/hypershift-on-azure/hypershift/internal/kube"
	"github.com/hypershift-on-azure/hypershift/internal/release"
)

// lookPeriod is how soon a node that is being changed is looked at again: evictions and pods tell nobody here.
const lookPeriod = 5 * time.Second

// reconciler brings the nodes of one MachineSet to its target:
//  1. find its Machines and their Nodes; what a node is stands on it, else it is what its Machine was made with
//  2. begin with as many nodes as may be away, beside those that are away already
//  3. take each node that was begun a step further: cordon, evict, run the program, uncordon
//  4. tell progress and failures on the MachineSet, and the end of it
type reconciler struct {
	guest, management client.Client
	// live reads the guest past the cache, which holds neither pods nor Secrets.
	live      client.Reader
	namespace string
	facts     inside.ReadFacts
	releases  release.Provider
	now       func() time.Time
	// pace holds back what a guest makes the control plane say.
	pace flowcontrol.RateLimiter
}

// Setup registers the controller; namespace is the control plane's.
func Setup(manager ctrl.Manager, management cluster.Cluster, namespace string, facts inside.ReadFacts, releases release.Provider) error {
	r := &reconciler{
		guest: manager.GetClient(), live: manager.GetAPIReader(), management: management.GetClient(), namespace: namespace, facts: facts, releases: releases, now: time.Now, pace: kube.NewPace(),
	}
	sets, machines := clusterapi.New(clusterapi.MachineSet, "", ""), clusterapi.New(clusterapi.Machine, "", "")
	wanted := predicate.NewTypedPredicateFuncs(func(obj client.Object) bool { return targetOf(obj) != "" })
	err := ctrl.NewControllerManagedBy(manager).Named("in-place-update").
		Watches(&corev1.Node{}, handler.EnqueueRequestsFromMapFunc(r.allSets), builder.WithPredicates(nodeChanged)).
		WatchesRawSource(source.Kind[client.Object](management.GetCache(), sets, &handler.EnqueueRequestForObject{}, wanted)).
		WatchesRawSource(source.Kind[client.Object](management.GetCache(), machines, handler.EnqueueRequestsFromMapFunc(setOfMachine))).
		Complete(r)
	if err != nil {
		return fmt.Errorf("set up the in-place update controller: %w", err)
	}
	return nil
}

// nodeChanged: a heartbeat must not start a pass.
var nodeChanged = predicate.Funcs{UpdateFunc: func(change event.UpdateEvent) bool {
	before, wasNode := change.ObjectOld.(*corev1.Node)
	now, isNode := change.ObjectNew.(*corev1.Node)
	return wasNode && isNode && (isReady(before) != isReady(now) || stateOf(before) != stateOf(now) ||
		slices.ContainsFunc([]string{desiredConfig, currentConfig, desiredDrain}, func(key string) bool { return before.Annotations[key] != now.Annotations[key] }))
}}

func targetOf(set client.Object) string {
	return set.GetAnnotations()[hyperv1.NodePoolTargetConfigVersionAnnotation]
}

// setOfMachine is called like its pool.
func setOfMachine(_ context.Context, machine client.Object) []reconcile.Request {
	_, pool, found := strings.Cut(machine.GetAnnotations()[hyperv1.NodePoolAnnotation], "/")
	if !found {
		return nil
	}
	return []reconcile.Request{{NamespacedName: client.ObjectKey{Namespace: machine.GetNamespace(), Name: pool}}}
}

func (r *reconciler) allSets(ctx context.Context, _ client.Object) []reconcile.Request {
	list := clusterapi.NewList(clusterapi.MachineSet)
	if err := r.management.List(ctx, list, client.InNamespace(r.namespace)); err != nil {
		ctrl.LoggerFrom(ctx).Error(err, "list MachineSets")
		return nil
	}
	var requests []reconcile.Request
	for i := range list.Items {
		if targetOf(&list.Items[i]) != "" {
			requests = append(requests, reconcile.Request{NamespacedName: client.ObjectKeyFromObject(&list.Items[i])})
		}
	}
	return requests
}

func (r *reconciler) Reconcile(ctx context.Context, req reconcile.Request) (ctrl.Result, error) {
	set := clusterapi.New(clusterapi.MachineSet, r.namespace, req.Name)
	if err := r.management.Get(ctx, client.ObjectKeyFromObject(set), set); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	target := targetOf(set)
	if target == "" {
		return ctrl.Result{}, nil
	}
	if set.GetDeletionTimestamp() != nil {
		return ctrl.Result{}, r.dropSettings(ctx, set.GetName())
	}
	members, err := r.members(ctx, set)
	if err != nil {
		return ctrl.Result{}, err
	}
	if set.GetAnnotations()[hyperv1.NodePoolCurrentConfigVersionAnnotation] != target {
		facts, err := r.readFacts(ctx)
		if err != nil {
			return ctrl.Result{}, err
		}
		if facts.Of(daemonsKind) {
			return (&daemon{r, facts, set, target, members}).change(ctx)
		}
	}
	if allDone(members, target) {
		return ctrl.Result{}, r.finish(ctx, set, target)
	}
	limit := maxUnavailable(set)
	if set.GetAnnotations()[contract.PausedAnnotation] == "true" {
		// What was begun comes to its end: a node that is empty serves nobody.
		limit = 0
	}
	if limit == 0 && !slices.ContainsFunc(members, (*member).underWay) {
		return ctrl.Result{}, nil
	}
	if err := r.leave(ctx, set); err != nil {
		return ctrl.Result{}, err
	}
	for _, chosen := range choose(members, target, limit) {
		if err := r.begin(ctx, chosen, target); err != nil {
			return ctrl.Result{}, err
		}
	}
	notes := r.proceed(ctx, set, members, target)
	return ctrl.Result{RequeueAfter: lookPeriod}, r.tell(ctx, set, members, target, func(m *member) bool { return m.done(target) }, notes)
}

// daemonsKind is the kind of payload whose own daemon changes nodes; those of others are changed by the program that came with their machines.
const daemonsKind = release.KindOpenShift

func (r *reconciler) readFacts(ctx context.Context) (*inside.Facts, error) {
	hcp, err := plane.Find(ctx, r.management, r.namespace)
	if err != nil {
		return nil, err
	}
	return r.facts(ctx, hcp)
}

// proceed takes every node that was begun a step further. What hinders one does not hold up another.
func (r *reconciler) proceed(ctx context.Context, set *unstructured.Unstructured, members []*member, target string) []string {
	var notes []string
	for _, m := range members {
		if m.node == nil || !m.underWay() {
			continue
		}
		note, err := r.step(ctx, set, m, target)
		if err != nil {
			ctrl.LoggerFrom(ctx).Error(err, "change a node in place", "node", m.node.Name)
			note = err.Error()
		}
		if note != "" {
			notes = append(notes, m.node.Name+": "+note)
		}
	}
	return notes
}

// step takes one node further, and says what it waits for; empty when the node is done.
func (r *reconciler) step(ctx context.Context, set *unstructured.Unstructured, m *member, target string) (string, error) {
	if m.node.Annotations[desiredConfig] != target {
		// The pool wants something else meanwhile.
		if err := r.begin(ctx, m, target); err != nil {
			return "", err
		}
	}
	waits, err := r.empty(ctx, m.node)
	if err != nil || waits != "" {
		return waits, err
	}
	outcome, err := r.run(ctx, set, m.node, target)
	if err != nil {
		return "", err
	}
	switch {
	case outcome.failure != "":
		return "its program failed", r.patchNode(ctx, m.node, func(node *corev1.Node) {
			node.Annotations[configState], node.Annotations[configReason] = degraded, kube.Shorten(outcome.failure, maxReason)
		})
	case !outcome.done:
		return outcome.waits, nil
	case !isReadySince(m.node, outcome.since):
		return "it has its configuration, and is not Ready with it yet", nil
	}
	return "", r.end(ctx, set, m, target)
}

// tell writes progress and failures on the MachineSet, where the pool's conditions have them from.
func (r *reconciler) tell(ctx context.Context, set *unstructured.Unstructured, members []*member, target string, arrived func(*member) bool, notes []string) error {
	upgraded := 0
	var failures []string
	for _, m := range members {
		if arrived(m) {
			upgraded++
		}
		if m.node != nil && (stateOf(m.node) == degraded || stateOf(m.node) == unreconciled) {
			failures = append(failures, fmt.Sprintf("Node %s in nodepool degraded: %s", m.node.Name, readable(m.node.Annotations[configReason])))
		}
	}
	progress := fmt.Sprintf("Nodepool update in progress. Target Config version: %s. Total Nodes: %d. Upgraded: %d", target, len(members), upgraded)
	if len(notes) > 0 {
		progress += ". " + readable(strings.Join(notes, "; "))
	}
	return r.annotate(ctx, set, map[string]string{
		hyperv1.NodePoolUpgradeInProgressTrueAnnotation:  kube.Shorten(progress, kube.MessageLimit),
		hyperv1.NodePoolUpgradeInProgressFalseAnnotation: kube.Shorten(strings.Join(failures, "; "), kube.MessageLimit),
	})
}

// leave says before the first node changes that the pool is of no one configuration any more: also one that is taken back has nodes to change.
func (r *reconciler) leave(ctx context.Context, set *unstructured.Unstructured) error {
	return r.annotate(ctx, set, map[string]string{hyperv1.NodePoolCurrentConfigVersionAnnotation: ""})
}

func (r *reconciler) finish(ctx context.Context, set *unstructured.Unstructured, target string) error {
	changed := set.GetAnnotations()[hyperv1.NodePoolCurrentConfigVersionAnnotation] != target
	err := r.annotate(ctx, set, map[string]string{
		hyperv1.NodePoolCurrentConfigVersionAnnotation:   target,
		hyperv1.NodePoolUpgradeInProgressTrueAnnotation:  "",
		hyperv1.NodePoolUpgradeInProgressFalseAnnotation: "",
	})
	if err != nil || !changed {
		return err
	}
	return r.dropSettings(ctx, set.GetName())
}

// annotate has the annotations of an object of the control plane be these; an empty one is none.
func (r *reconciler) annotate(ctx context.Context, obj *unstructured.Unstructured, wanted map[string]string) error {
	differs := map[string]any{}
	present := obj.GetAnnotations()
	for key, value := range wanted {
		switch known, there := present[key]; {
		case value == "" && there:
			differs[key] = nil
		case value != "" && known != value:
			differs[key] = value
		}
	}
	if len(differs) == 0 {
		return nil
	}
	if err := r.pace.Wait(ctx); err != nil {
		return fmt.Errorf("wait to write %s %s: %w", obj.GetKind(), obj.GetName(), err)
	}
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{"annotations": differs}})
	if err != nil {
		return fmt.Errorf("encode annotations: %w", err)
	}
	if err := r.management.Patch(ctx, obj, client.RawPatch(types.MergePatchType, patch)); client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("annotate %s %s: %w", obj.GetKind(), obj.GetName(), err)
	}
	return nil
}

// members are the Machines of the set that stay, each with its Node, in order of their names.
func (r *reconciler) members(ctx context.Context, set *unstructured.Unstructured) ([]*member, error) {
	list := clusterapi.NewList(clusterapi.Machine)
	if err := r.management.List(ctx, list, client.InNamespace(r.namespace)); err != nil {
		return nil, fmt.Errorf("list Machines: %w", err)
	}
	var out []*member
	for i := range list.Items {
		machine := &list.Items[i]
		if machine.GetDeletionTimestamp() != nil || machine.GetAnnotations()[hyperv1.NodePoolAnnotation] != set.GetAnnotations()[hyperv1.NodePoolAnnotation] {
			continue
		}
		node, err := r.nodeOf(ctx, machine)
		if err != nil {
			return nil, err
		}
		out = append(out, &member{machine, node})
	}
	slices.SortFunc(out, func(a, b *member) int { return strings.Compare(a.machine.GetName(), b.machine.GetName()) })
	return out, nil
}

// nodeOf is nil while the machine is no node.
func (r *reconciler) nodeOf(ctx context.Context, machine *unstructured.Unstructured) (*corev1.Node, error) {
	for _, name := range plane.NodeNames(machine) {
		node := &corev1.Node{}
		err := r.guest.Get(ctx, client.ObjectKey{Name: name}, node)
		if err == nil {
			return node, nil
		}
		if client.IgnoreNotFound(err) != nil {
			return nil, fmt.Errorf("read node %s: %w", name, err)
		}
	}
	return nil, nil
}

func maxUnavailable(set *unstructured.Unstructured) int {
	number, err := strconv.Atoi(set.GetAnnotations()[hyperv1.NodePoolMaxUnavailableAnnotation])
	if err != nil {
		return 1
	}
	return max(number, 1)
}
