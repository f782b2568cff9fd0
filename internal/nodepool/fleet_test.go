package nodepool

import (
	"context"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"pgregory.net/rapid"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hypershift-on-azure/hypershift/api/v1beta1"
	"github.com/hypershift-on-azure/hypershift/internal/clusterapi"
	"github.com/hypershift-on-azure/hypershift/internal/contract"
)

// checkNeeded: what a machine was made of stays as long as it does. A MachineSet that loses a machine in the middle of an update makes it anew.
func (l *lives) checkNeeded(r *rapid.T, name string) {
	machines := l.list(r, clusterapi.Machine, name)
	for i := range machines {
		data, _, _ := unstructured.NestedString(machines[i].Object, "spec", "bootstrap", "dataSecretName")
		l.mustBe(r, name, clusterapi.New(clusterapi.AzureMachineTemplate, cpns, machines[i].GetAnnotations()[clonedFromAnnotation]))
		l.mustBe(r, name, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: cpns, Name: data}})
	}
}

func (l *lives) mustBe(r *rapid.T, name string, needed client.Object) {
	if err := l.client.Get(context.Background(), client.ObjectKeyFromObject(needed), needed); err != nil {
		r.Fatalf("%s has or wants a machine of it, and %v", name, err)
	}
}

func (l *lives) deployment(r *rapid.T, name string) *unstructured.Unstructured {
	found := clusterapi.New(clusterapi.MachineDeployment, cpns, name)
	err := l.client.Get(context.Background(), client.ObjectKeyFromObject(found), found)
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		r.Fatal(err)
	}
	return found
}

// targetOf is what makes a machine of a MachineDeployment, or a Machine, what it is.
func targetOf(obj *unstructured.Unstructured) string {
	spec, _, _ := unstructured.NestedMap(obj.Object, "spec")
	if template, found, _ := unstructured.NestedMap(obj.Object, "spec", "template", "spec"); found {
		spec = template
	}
	data, _, _ := unstructured.NestedString(spec, "bootstrap", "dataSecretName")
	template, _, _ := unstructured.NestedString(spec, "infrastructureRef", "name")
	if cloned, given := obj.GetAnnotations()[clonedFromAnnotation]; given {
		template = cloned
	}
	return fmt.Sprint(data, " ", template, " ", spec["version"])
}

func (l *lives) list(r *rapid.T, gvk schema.GroupVersionKind, pool string) []unstructured.Unstructured {
	list := clusterapi.NewList(gvk)
	if err := l.client.List(context.Background(), list, client.InNamespace(cpns)); err != nil {
		r.Fatal(err)
	}
	return slices.DeleteFunc(list.Items, func(item unstructured.Unstructured) bool {
		return item.GetAnnotations()[hyperv1.NodePoolAnnotation] != "clusters/"+pool
	})
}

// machinesStep is one step of Cluster API: a machine more or less, with a surge of one, and tells whether there was something to do.
func (l *lives) machinesStep(r *rapid.T, name string) bool {
	machines, deployment := l.list(r, clusterapi.Machine, name), l.deployment(r, name)
	if deployment == nil {
		for i := range machines {
			l.take(r, &machines[i])
		}
		return len(machines) > 0
	}
	if deployment.GetAnnotations()[contract.PausedAnnotation] == "true" {
		return false
	}
	replicas, _, _ := unstructured.NestedInt64(deployment.Object, "spec", "replicas")
	target := targetOf(deployment)
	former := slices.IndexFunc(machines, func(m unstructured.Unstructured) bool { return targetOf(&m) != target })
	count := int64(len(machines))
	changed := true
	switch {
	case count > replicas && former >= 0:
		l.take(r, &machines[former])
	case count > replicas:
		l.take(r, &machines[0])
	case count < replicas || former >= 0:
		l.make(r, name, deployment)
	default:
		changed = false
	}
	l.count(r, name, replicas)
	return changed
}

// make makes a machine of what the deployment names, which has to be there.
func (l *lives) make(r *rapid.T, name string, deployment *unstructured.Unstructured) {
	spec, _, err := unstructured.NestedMap(deployment.Object, "spec", "template", "spec")
	if err != nil {
		r.Fatal(err)
	}
	data, _, _ := unstructured.NestedString(spec, "bootstrap", "dataSecretName")
	template, _, _ := unstructured.NestedString(spec, "infrastructureRef", "name")
	l.mustBe(r, name, clusterapi.New(clusterapi.AzureMachineTemplate, cpns, template))
	l.mustBe(r, name, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: cpns, Name: data}})
	l.made++
	machine := clusterapi.NewWithSpec(clusterapi.Machine, cpns, fmt.Sprintf("%s-%d", name, l.made), spec)
	machine.SetAnnotations(map[string]string{hyperv1.NodePoolAnnotation: "clusters/" + name, clonedFromAnnotation: template})
	cloned := clusterapi.New(clusterapi.AzureMachine, cpns, machine.GetName())
	cloned.SetAnnotations(map[string]string{clonedFromAnnotation: template})
	if l.real {
		cloned.Object["spec"] = map[string]any{"vmSize": "any", "osDisk": map[string]any{"osType": "Linux"}, "sshPublicKey": "any"}
	}
	own := map[string]any{"apiGroup": clusterapi.InfrastructureGroup, "kind": clusterapi.AzureMachine.Kind, "name": machine.GetName()}
	if err := unstructured.SetNestedMap(machine.Object, own, "spec", "infrastructureRef"); err != nil {
		r.Fatal(err)
	}
	for _, obj := range []client.Object{machine, cloned} {
		if err := l.client.Create(context.Background(), obj); err != nil {
			r.Fatal(err)
		}
	}
}

func (l *lives) take(r *rapid.T, machine *unstructured.Unstructured) {
	for _, obj := range []client.Object{machine, clusterapi.New(clusterapi.AzureMachine, cpns, machine.GetName())} {
		if err := l.client.Delete(context.Background(), obj); client.IgnoreNotFound(err) != nil {
			r.Fatal(err)
		}
	}
}

// count tells what there is in the status of the deployment.
func (l *lives) count(r *rapid.T, name string, replicas int64) {
	deployment := l.deployment(r, name)
	upToDate, all := int64(0), l.list(r, clusterapi.Machine, name)
	for i := range all {
		if targetOf(&all[i]) == targetOf(deployment) {
			upToDate++
		}
	}
	status := map[string]any{"observedGeneration": deployment.GetGeneration(), "replicas": int64(len(all)), "availableReplicas": min(int64(len(all)), replicas), "upToDateReplicas": upToDate,
		"conditions": []any{conditionOf("Available", "True", "Available")}}
	if fmt.Sprint(deployment.Object["status"]) == fmt.Sprint(status) {
		return
	}
	deployment.Object["status"] = status
	write := func() error { return l.client.Update(context.Background(), deployment) }
	if l.real {
		write = func() error { return l.client.Status().Update(context.Background(), deployment) }
	}
	if err := write(); err != nil {
		r.Fatal(err)
	}
}
