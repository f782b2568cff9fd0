package component

import (
	"errors"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"

	hyperv1 "github.com/hypershift-on-azure/hypershift/api/v1beta1"
)

// Result is what a pass learned about one component.
type Result struct {
	Name string
	// Absent: the component is disabled or the payload lacks its images; nothing waits for it.
	Absent bool
	// MissingImages are the payload keys whose absence made it absent.
	MissingImages []string
	// Leaves is what of the user's configuration the component leaves out; nil is nothing.
	Leaves    error
	Available metav1.Condition
	Rollout   metav1.Condition
}

// Ready tells that the component serves and runs the desired version.
func (r Result) Ready() bool {
	return r.Absent || (r.Available.Status == metav1.ConditionTrue && r.Rollout.Status == metav1.ConditionTrue)
}

// Reconcile brings one component to its desired state and records the outcome in its ControlPlaneComponent:
//
//  1. of another kind of payload, not wanted, or images missing: delete what is recorded as its own;
//  2. an upgrade waits for the dependencies' version; a first rollout does not, because its pods wait by init container;
//  3. objects -> defaults -> server-side apply;
//  4. the workload's status becomes the component's.
func Reconcile(ctx *Context, c Component) (Result, error) {
	result := Result{Name: c.Name, MissingImages: c.MissingImages(ctx.Images)}
	disabled := !c.exists(ctx)
	if disabled {
		result.MissingImages = nil
	}
	if disabled || len(result.MissingImages) > 0 {
		result.Absent = true
		return result, remove(ctx, c)
	}
	if c.Check != nil {
		result.Leaves = c.Check(ctx)
	}
	objects, err := rollOut(ctx, c, &result)
	if err == nil && result.Available.Type == "" {
		err = observe(ctx, c, &result)
	}
	if err != nil {
		result.Available = condition(hyperv1.ControlPlaneComponentAvailable, false, hyperv1.ReconciliationErrorReason, err.Error())
		result.Rollout = condition(hyperv1.ControlPlaneComponentRolloutComplete, false, hyperv1.ReconciliationErrorReason, err.Error())
	}
	return result, errors.Join(err, record(ctx, c, result, objects))
}

// rollOut applies the component's objects. When it must wait it sets the result's conditions and applies nothing.
func rollOut(ctx *Context, c Component, result *Result) ([]client.Object, error) {
	wait := func(reason string) {
		result.Available = condition(hyperv1.ControlPlaneComponentAvailable, false, hyperv1.WaitingForDependenciesReason, reason)
		result.Rollout = condition(hyperv1.ControlPlaneComponentRolloutComplete, false, hyperv1.WaitingForDependenciesReason, reason)
	}
	waiting, err := upgradeWaitsFor(ctx, c)
	if err != nil {
		return nil, err
	}
	if len(waiting) > 0 {
		wait("waits for version " + ctx.Version + " of " + strings.Join(waiting, ", "))
		return nil, nil
	}
	objects, err := desired(ctx, c)
	var missing *MissingInputError
	if errors.As(err, &missing) {
		wait(missing.Error())
		return nil, nil
	}
	var waits *WaitingError
	if errors.As(err, &waits) {
		wait(waits.Error())
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	former, err := endFormerJob(ctx, c, objects)
	if err != nil {
		return nil, err
	}
	if former {
		wait("the Job of the former version ends first: a Job cannot be changed")
		return nil, nil
	}
	if err := ctx.Keeper.Apply(ctx, ctx.Client, FieldManager, objects...); err != nil {
		return objects, fmt.Errorf("component %s: %w", c.Name, err)
	}
	return objects, nil
}

func desired(ctx *Context, c Component) ([]client.Object, error) {
	objects, err := c.Objects(ctx)
	if err != nil {
		return nil, fmt.Errorf("component %s: %w", c.Name, err)
	}
	workload, err := c.workloadOf(objects)
	if err != nil {
		return nil, err
	}
	for _, obj := range objects {
		obj.SetNamespace(ctx.Namespace())
		Own(ctx.HCP, obj)
	}
	ctx.Inputs.Put(objects...)
	if err := Stamp(ctx.HCP, ctx.Settings, c.Name, c.Traits, workload); err != nil {
		return nil, err
	}
	template, err := templateOf(workload)
	if err != nil {
		return nil, err
	}
	var reloads []string
	if c.Reloads != nil {
		reloads = c.Reloads(ctx)
	}
	hash, err := ctx.configHash(&template.Spec, reloads)
	if err != nil {
		return nil, err
	}
	template.Annotations[AnnotationConfigHash] = hash
	workload.SetAnnotations(map[string]string{AnnotationRelease: ctx.Version})
	if err := leaveResources(ctx, c, workload); err != nil {
		return nil, err
	}
	if err := markJob(workload, template); err != nil {
		return nil, err
	}
	if c.Budget && c.ReplicasOf(ctx.HCP) > 1 {
		objects = append(objects, budget(ctx, c.Name, template.Labels[LabelApp]))
	}
	return withServiceAccount(ctx, template.Spec.ServiceAccountName, objects), nil
}

// withServiceAccount adds the pods' service account, unless the component brings it, and lets it pull.
func withServiceAccount(ctx *Context, name string, objects []client.Object) []client.Object {
	pull := []corev1.LocalObjectReference{{Name: PullSecret}}
	for _, obj := range objects {
		if account, ok := obj.(*corev1.ServiceAccount); ok && account.Name == name {
			account.ImagePullSecrets = pull
			return objects
		}
	}
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: ctx.Namespace()}, ImagePullSecrets: pull}
	Own(ctx.HCP, account)
	return append([]client.Object{account}, objects...)
}

// upgradeWaitsFor lists the dependencies that an existing workload of another version has to wait for.
func upgradeWaitsFor(ctx *Context, c Component) ([]string, error) {
	if len(c.DependsOn) == 0 {
		return nil, nil
	}
	live, err := liveWorkload(ctx, c)
	if err != nil || live == nil || live.GetAnnotations()[AnnotationRelease] == ctx.Version {
		return nil, err
	}
	var waiting []string
	for _, name := range c.DependsOn {
		dependency := &hyperv1.ControlPlaneComponent{}
		err := ctx.Client.Get(ctx, client.ObjectKey{Namespace: ctx.Namespace(), Name: name}, dependency)
		if client.IgnoreNotFound(err) != nil {
			return nil, fmt.Errorf("read component %s: %w", name, err)
		}
		if err != nil {
			waiting = append(waiting, name+" (not there yet)")
		} else if lack := lacking(dependency, ctx.Version); lack != "" {
			waiting = append(waiting, name+" ("+lack+")")
		}
	}
	return waiting, nil
}

// lacking says, for people, what a dependency lacks; empty when it serves and runs the version.
func lacking(c *hyperv1.ControlPlaneComponent, version string) string {
	for _, kind := range []string{hyperv1.ControlPlaneComponentAvailable, hyperv1.ControlPlaneComponentRolloutComplete} {
		state := meta.FindStatusCondition(c.Status.Conditions, kind)
		if state == nil {
			return "not reconciled yet"
		}
		if state.Status != metav1.ConditionTrue {
			return strings.TrimSuffix(state.Reason+": "+state.Message, ": ")
		}
	}
	if c.Status.Version != version {
		return "still runs version " + orUnknown(c.Status.Version)
	}
	return ""
}

func orUnknown(version string) string {
	if version == "" {
		return "unknown"
	}
	return version
}

// remove deletes what the component's record lists, then the record; without a record there is nothing of it.
func remove(ctx *Context, c Component) error {
	entry := &hyperv1.ControlPlaneComponent{}
	err := ctx.Client.Get(ctx, client.ObjectKey{Namespace: ctx.Namespace(), Name: c.Name}, entry)
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("read component %s: %w", c.Name, err)
	}
	if err := removeResources(ctx, c.Name, entry.Status.Resources); err != nil {
		return err
	}
	return client.IgnoreNotFound(ctx.Client.Delete(ctx, entry))
}

func removeResources(ctx *Context, name string, resources []hyperv1.ComponentResource) error {
	for _, resource := range resources {
		mapping, err := ctx.Client.RESTMapper().RESTMapping(schema.GroupKind{Group: resource.Group, Kind: resource.Kind})
		if err != nil {
			return fmt.Errorf("component %s: no API for its %s %s: %w", name, resource.Kind, resource.Name, err)
		}
		obj := &unstructured.Unstructured{}
		obj.SetGroupVersionKind(mapping.GroupVersionKind)
		obj.SetName(resource.Name)
		obj.SetNamespace(ctx.Namespace())
		if err := client.IgnoreNotFound(ctx.Client.Delete(ctx, obj, client.PropagationPolicy(metav1.DeletePropagationBackground))); err != nil {
			return fmt.Errorf("delete %s %s of component %s: %w", resource.Kind, resource.Name, name, err)
		}
	}
	return nil
}

func groupKindOf(ctx *Context, obj client.Object) (schema.GroupKind, error) {
	gvk, err := apiutil.GVKForObject(obj, ctx.Client.Scheme())
	return gvk.GroupKind(), err
}
