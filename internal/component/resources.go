package component

import (
	"encoding/json"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// leaveResources leaves resources that somebody else gave a container, such as a vertical autoscaler: live ones that are not what
// this operator wanted last, which an annotation remembers. The user's own override comes before both.
func leaveResources(ctx *Context, c Component, workload client.Object) error {
	template, err := templateOf(workload)
	if err != nil {
		return err
	}
	ours := map[string]corev1.ResourceRequirements{}
	for _, one := range lasting(&template.Spec) {
		ours[one.Name] = one.Resources
	}
	encoded, err := json.Marshal(ours)
	if err != nil {
		return fmt.Errorf("component %s: encode the resources of its containers: %w", c.Name, err)
	}
	annotations := workload.GetAnnotations()
	annotations[annotationResources] = string(encoded)
	workload.SetAnnotations(annotations)

	live, err := liveWorkload(ctx, c)
	if err != nil || live == nil {
		return err
	}
	before := map[string]corev1.ResourceRequirements{}
	if text := live.GetAnnotations()[annotationResources]; text == "" || json.Unmarshal([]byte(text), &before) != nil {
		// Made by a version that did not remember, or edited by hand: ours go in.
		return nil
	}
	there, err := templateOf(live)
	if err != nil {
		return err
	}
	for _, one := range lasting(&template.Spec) {
		_, overridden := ctx.HCP.Annotations[annotationRequestOverride+c.Name+"."+one.Name]
		if theirs, found := resourcesIn(lasting(&there.Spec), one.Name); found && !overridden && !equality.Semantic.DeepEqual(theirs, before[one.Name]) {
			one.Resources = theirs
		}
	}
	return nil
}

func resourcesIn(containers []*corev1.Container, name string) (corev1.ResourceRequirements, bool) {
	for _, c := range containers {
		if c.Name == name {
			return c.Resources, true
		}
	}
	return corev1.ResourceRequirements{}, false
}

// budget lets evictions take one pod of the workload at a time, and any that is not healthy.
func budget(ctx *Context, name, app string) client.Object {
	b := &policyv1.PodDisruptionBudget{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: ctx.Namespace()},
		Spec: policyv1.PodDisruptionBudgetSpec{
			MaxUnavailable:             ptr.To(intstr.FromInt32(1)),
			Selector:                   &metav1.LabelSelector{MatchLabels: map[string]string{LabelApp: app}},
			UnhealthyPodEvictionPolicy: ptr.To(policyv1.AlwaysAllow),
		},
	}
	Own(ctx.HCP, b)
	return b
}
