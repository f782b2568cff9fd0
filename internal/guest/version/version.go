// Package version tells which version a hosted cluster has: ClusterOperators, ClusterVersion, HostedControlPlane.
package version

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	configv1 "github.com/openshift/api/config/v1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/cluster"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	hyperv1 "github.com/hypershift-on-azure/hypershift/api/v1beta1"
	"github.com/hypershift-on-azure/hypershift/internal/guest/addons"
	"github.com/hypershift-on-azure/hypershift/internal/guest/configuration"
	"github.com/hypershift-on-azure/hypershift/internal/guest/inside"
	"github.com/hypershift-on-azure/hypershift/internal/guest/plane"
	"github.com/hypershift-on-azure/hypershift/internal/kube"
	"github.com/hypershift-on-azure/hypershift/internal/release"
)

// reconciler tells which version the hosted cluster has:
//  1. the ClusterOperators, from the components of the control plane and the workloads in the guest
//  2. the ClusterVersion, from the ClusterOperators and the components
//  3. the status of the HostedControlPlane, from the ClusterVersion
//
// With a payload of OpenShift's the second is the version operator's, and the first are those of operators that a hosted control plane lacks.
type reconciler struct {
	guest, management client.Client
	facts             inside.ReadFacts
	namespace         string
	now               func() time.Time
}

// Setup registers the controller, once the guest serves ClusterVersion and ClusterOperator; namespace is the control plane's.
func Setup(manager ctrl.Manager, management cluster.Cluster, namespace string, facts inside.ReadFacts) error {
	r := &reconciler{guest: manager.GetClient(), management: management.GetClient(), facts: facts, namespace: namespace, now: time.Now}
	once, changed := plane.Once(), predicate.ResourceVersionChangedPredicate{}
	build := ctrl.NewControllerManagedBy(manager).Named("version").
		WatchesRawSource(source.Kind[client.Object](management.GetCache(), &hyperv1.HostedControlPlane{}, once, changed)).
		WatchesRawSource(source.Kind[client.Object](management.GetCache(), &hyperv1.ControlPlaneComponent{}, once, changed))
	for _, kind := range []client.Object{&appsv1.DaemonSet{}, &appsv1.Deployment{}, &configv1.ClusterVersion{}, &configv1.ClusterOperator{}} {
		build = build.Watches(kind, once, builder.WithPredicates(changed))
	}
	return build.Complete(r)
}

func (r *reconciler) Reconcile(ctx context.Context, _ reconcile.Request) (ctrl.Result, error) {
	hcp, err := plane.Find(ctx, r.management, r.namespace)
	if err != nil {
		return ctrl.Result{}, err
	}
	version := &configv1.ClusterVersion{}
	if err := r.guest.Get(ctx, client.ObjectKey{Name: configuration.ClusterVersionName}, version); err != nil {
		// Without one there is nothing to tell; the resources controller makes it, and its event comes here.
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	err = r.clearDesiredUpdate(ctx, version)
	if err == nil {
		err = r.observe(ctx, hcp, version)
	}
	if err != nil {
		return ctrl.Result{}, ignoreConflict(err)
	}
	if version.Status.Desired.Image == "" {
		return ctrl.Result{}, nil
	}
	err = plane.MutateStatus(ctx, r.management, hcp, func(status *hyperv1.HostedControlPlaneStatus) {
		reportVersion(status, version.Status, hcp.Generation)
	})
	if err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(ignoreConflict(err))
	}
	// What hangs makes no event.
	return ctrl.Result{RequeueAfter: plane.Resync}, nil
}

// ignoreConflict: the cache is behind, and what it misses comes as an event.
func ignoreConflict(err error) error {
	if apierrors.IsConflict(err) {
		return nil
	}
	return err
}

// clearDesiredUpdate: the version of a hosted cluster is chosen in its HostedCluster.
func (r *reconciler) clearDesiredUpdate(ctx context.Context, version *configv1.ClusterVersion) error {
	if version.Spec.DesiredUpdate == nil {
		return nil
	}
	before := version.DeepCopy()
	version.Spec.DesiredUpdate = nil
	if err := r.guest.Patch(ctx, version, client.MergeFrom(before), client.FieldOwner(inside.FieldManager)); err != nil {
		return fmt.Errorf("clear desiredUpdate of the ClusterVersion: %w", err)
	}
	return nil
}

// observe brings ClusterOperators and ClusterVersion up to date: those that stand for the control plane alone where the payload's version
// operator and the others write theirs.
func (r *reconciler) observe(ctx context.Context, hcp *hyperv1.HostedControlPlane, version *configv1.ClusterVersion) error {
	facts, err := r.facts(ctx, hcp)
	if err != nil {
		return err
	}
	if facts.Kind() == release.KindOpenShift {
		return r.writeHosted(ctx, facts)
	}
	states, waiting, err := r.look(ctx, hcp, facts)
	if err != nil {
		return err
	}
	operators, err := r.writeOperators(ctx, states)
	if err != nil {
		return err
	}
	roll := rollout{desired: configv1.Release{Version: facts.Version, Image: hcp.Spec.ReleaseImage}, operators: operators, waiting: waiting, now: r.now()}
	status := roll.version(version.Status, hcp.Status.VersionStatus, version.Generation)
	if apiequality.Semantic.DeepEqual(status, version.Status) {
		return nil
	}
	version.Status = status
	return r.writeVersion(ctx, version)
}

// writeVersion leaves out what the type prints and the definition of a plain feature set does not know.
func (r *reconciler) writeVersion(ctx context.Context, version *configv1.ClusterVersion) error {
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(version)
	if err != nil {
		return fmt.Errorf("convert the ClusterVersion: %w", err)
	}
	unstructured.RemoveNestedField(content, "spec", "signatureStores")
	object := &unstructured.Unstructured{Object: content}
	object.SetGroupVersionKind(configv1.GroupVersion.WithKind("ClusterVersion"))
	if err := r.guest.Status().Update(ctx, object); err != nil {
		return fmt.Errorf("write the status of the ClusterVersion: %w", err)
	}
	return nil
}

// look reads the parts of all operators, and names what does not run in the desired version yet.
func (r *reconciler) look(ctx context.Context, hcp *hyperv1.HostedControlPlane, facts *inside.Facts) ([]operatorState, []string, error) {
	var components hyperv1.ControlPlaneComponentList
	if err := r.management.List(ctx, &components, client.InNamespace(r.namespace)); err != nil {
		return nil, nil, fmt.Errorf("list the components of the control plane: %w", err)
	}
	var nodes corev1.NodeList
	if err := r.guest.List(ctx, &nodes); err != nil {
		return nil, nil, fmt.Errorf("list nodes: %w", err)
	}
	workloads, err := r.workloads(ctx, facts, nodes.Items)
	if err != nil {
		return nil, nil, err
	}
	management := managementVersion(hcp)
	var states []operatorState
	var waiting []string
	placed := map[string]bool{}
	for _, row := range operatorRows {
		state := row.state(facts, management, components.Items, workloads, placed)
		if row.notes != nil {
			state.notes = row.notes(facts, nodes.Items)
		}
		if len(state.parts) == 0 {
			continue
		}
		states = append(states, state)
		if !state.current() || state.available() == configv1.ConditionFalse {
			waiting = append(waiting, state.name)
		}
	}
	waiting = append(waiting, unplaced(components.Items, management, workloads, placed)...)
	slices.Sort(waiting)
	if management == "" || len(components.Items) == 0 {
		waiting = append(waiting, "the control plane")
	}
	return states, waiting, nil
}

// unplaced names what has no operator of OpenShift's and does not run in the desired version: it counts for the version all the same.
func unplaced(components []hyperv1.ControlPlaneComponent, management string, workloads map[string]part, placed map[string]bool) []string {
	var waiting []string
	for i := range components {
		if p := componentPart(&components[i], management, ""); !placed[p.name] && !p.current {
			waiting = append(waiting, p.name)
		}
	}
	for name, p := range workloads {
		if !placed[name] && !p.current {
			waiting = append(waiting, p.name)
		}
	}
	return waiting
}

// state of the row's operator, without parts where nothing of it runs. What it consists of is noted as placed.
func (row operatorRow) state(facts *inside.Facts, management string, components []hyperv1.ControlPlaneComponent, workloads map[string]part, placed map[string]bool) operatorState {
	state := operatorState{name: row.name, version: facts.Version}
	for i := range components {
		if c := &components[i]; slices.Contains(row.components, c.Name) {
			state.parts = append(state.parts, componentPart(c, management, row.namespace))
			placed[c.Name] = true
			if len(row.workloads) == 0 {
				state.version = management
			}
		}
	}
	for _, name := range row.workloads {
		if p, ok := workloads[name]; ok {
			state.parts = append(state.parts, p)
			placed[name] = true
		}
	}
	return state
}

// managementVersion is what the components of the control plane must have; empty as long as the control plane has not seen the
// release that is wanted.
func managementVersion(hcp *hyperv1.HostedControlPlane) string {
	wanted := hcp.Spec.ReleaseImage
	if own := hcp.Spec.ControlPlaneReleaseImage; own != nil && *own != "" {
		wanted = *own
	}
	if version := hcp.Status.ControlPlaneVersion; version != nil && version.Desired.Image == wanted {
		return version.Desired.Version
	}
	return ""
}

// workloads compares those that belong into the guest with those that are there, by namespace/name.
func (r *reconciler) workloads(ctx context.Context, facts *inside.Facts, nodes []corev1.Node) (map[string]part, error) {
	out := map[string]part{}
	for _, desired := range addons.Objects(facts) {
		// Whether nodes reach the API server has a condition of its own and is no matter of the version.
		if desired.GetName() == addons.CheckerName {
			continue
		}
		var live client.Object
		switch desired.(type) {
		case *appsv1.DaemonSet:
			live = &appsv1.DaemonSet{}
		case *appsv1.Deployment:
			live = &appsv1.Deployment{}
		default:
			continue
		}
		if err := r.guest.Get(ctx, client.ObjectKeyFromObject(desired), live); client.IgnoreNotFound(err) != nil {
			return nil, fmt.Errorf("read %s: %w", kube.Describe(desired), err)
		}
		out[desired.GetNamespace()+"/"+desired.GetName()] = workloadPart(desired, live, len(nodes))
	}
	return out, nil
}

// writeOperators makes the ClusterOperators what the states say, and removes our own that stand for nothing any more.
func (r *reconciler) writeOperators(ctx context.Context, states []operatorState) ([]configv1.ClusterOperator, error) {
	var list configv1.ClusterOperatorList
	if err := r.guest.List(ctx, &list); err != nil {
		return nil, fmt.Errorf("list ClusterOperators: %w", err)
	}
	var out []configv1.ClusterOperator
	var failed []error
	for _, state := range states {
		operator := operatorNamed(&list, state.name)
		failed = append(failed, r.writeOperator(ctx, operator, state.status(operator.Status, r.now())))
		out = append(out, *operator)
	}
	for i := range list.Items {
		o := &list.Items[i]
		if o.Labels[hyperv1.ManagedByLabel] == inside.ManagedBy && !slices.ContainsFunc(states, func(s operatorState) bool { return s.name == o.Name }) {
			failed = append(failed, kube.DeleteIfExists(ctx, r.guest, o))
		}
	}
	return out, errors.Join(failed...)
}

// writeOperator makes an operator that does not exist yet, and gives it the status.
func (r *reconciler) writeOperator(ctx context.Context, operator *configv1.ClusterOperator, status configv1.ClusterOperatorStatus) error {
	if operator.ResourceVersion == "" {
		if err := r.guest.Create(ctx, operator); err != nil {
			return fmt.Errorf("make ClusterOperator %s: %w", operator.Name, err)
		}
	}
	if apiequality.Semantic.DeepEqual(status, operator.Status) {
		return nil
	}
	operator.Status = status
	if err := r.guest.Status().Update(ctx, operator); err != nil {
		return fmt.Errorf("write the status of ClusterOperator %s: %w", operator.Name, err)
	}
	return nil
}
