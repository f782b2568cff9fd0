package main

import (
	"context"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hypershift-on-azure/hypershift/api/v1beta1"

	"github.com/hypershift-on-azure/hypershift/test/bench/limits"
)

const (
	// manyNodes is how large the pool of hollow machines gets.
	manyNodes = 100
	// hollowTag makes the sandbox's machines hollow ones.
	hollowTag = "sandbox-hollow=true"
	// seenLabel is a label of nodes by which a change of the pool is seen to have arrived.
	seenLabel = "bench"
)

// nodes measures a pool of the demo's hosted cluster that grows to many hollow nodes, a change of the pool while they are there, and the
// control plane's memory with them.
func nodes(ctx context.Context, c client.Client, l *limits.Limits) error {
	b := &bench{Client: c, name: "hollow"}
	return b.withPool(ctx, 0, func() error { return b.grow(ctx, l) }, "--instance-type", "Standard_D2s_v5", "--additional-tags", hollowTag)
}

// fewMore measures a pool of three machines that becomes one of ten.
func fewMore(ctx context.Context, c client.Client, l *limits.Limits) error {
	b := &bench{Client: c, name: "more"}
	ready := func(want int) error {
		return until(ctx, func(ctx context.Context) (bool, error) {
			got, err := b.readyNodes(ctx)
			return got == want, err
		})
	}
	return b.withPool(ctx, 3, func() error {
		if err := ready(3); err != nil {
			return err
		}
		begin := time.Now()
		if err := b.change(ctx, `{"spec":{"replicas":10}}`); err != nil {
			return err
		}
		if err := ready(10); err != nil {
			return err
		}
		l.Hold("3 -> 10 nodes, all Ready, s", time.Since(begin).Seconds(), mostTenNodes, "")
		return nil
	})
}

// grow measures what nodes is about.
func (b *bench) grow(ctx context.Context, l *limits.Limits) error {
	if err := until(ctx, func(ctx context.Context) (bool, error) {
		_, err := b.deployment(ctx)
		return err == nil, client.IgnoreNotFound(err)
	}); err != nil {
		return err
	}
	begin := time.Now()
	if err := b.change(ctx, fmt.Sprintf(`{"spec":{"replicas":%d}}`, manyNodes)); err != nil {
		return err
	}
	if err := until(ctx, func(ctx context.Context) (bool, error) {
		ready, err := b.readyNodes(ctx)
		return ready == manyNodes, err
	}); err != nil {
		return err
	}
	l.Hold(fmt.Sprintf("%d hollow nodes in one hosted cluster, all Ready, s", manyNodes), time.Since(begin).Seconds(), mostManyNodes, "")
	begin = time.Now()
	if err := b.change(ctx, `{"spec":{"nodeLabels":{"`+seenLabel+`":"seen"}}}`); err != nil {
		return err
	}
	if err := until(ctx, func(ctx context.Context) (bool, error) {
		deployment, err := b.deployment(ctx)
		if err != nil {
			return false, err
		}
		labels, _, err := unstructured.NestedStringMap(deployment.Object, "spec", "template", "metadata", "labels")
		return labels[hyperv1.ManagedNodeLabelPrefix+"."+seenLabel] == "seen", err
	}); err != nil {
		return err
	}
	l.Hold("... a change of the NodePool is seen, s", time.Since(begin).Seconds(), mostSeen, "")
	mebibytes, err := anonymous(ctx, b.Client)
	if err != nil {
		return err
	}
	fmt.Printf("%-56s %8.2f\n", "... memory of the control plane, MiB anonymous", mebibytes)
	return nil
}

// change patches the pool.
func (b *bench) change(ctx context.Context, patch string) error {
	pool := &hyperv1.NodePool{}
	pool.Namespace, pool.Name = namespace, b.name
	return b.Patch(ctx, pool, client.RawPatch("application/merge-patch+json", []byte(patch)))
}

func (b *bench) deployment(ctx context.Context) (*unstructured.Unstructured, error) {
	out := &unstructured.Unstructured{}
	out.SetAPIVersion("cluster.x-k8s.io/v1beta2")
	out.SetKind("MachineDeployment")
	return out, b.Get(ctx, client.ObjectKey{Namespace: namespace + "-" + demo, Name: b.name}, out)
}

// readyNodes counts the pool's Machines that run with a Node that is Ready.
func (b *bench) readyNodes(ctx context.Context) (int, error) {
	list := &unstructured.UnstructuredList{}
	list.SetAPIVersion("cluster.x-k8s.io/v1beta2")
	list.SetKind("MachineList")
	if err := b.List(ctx, list, client.InNamespace(namespace+"-"+demo)); err != nil {
		return 0, err
	}
	count := 0
	for _, machine := range list.Items {
		if machine.GetAnnotations()[hyperv1.NodePoolAnnotation] == namespace+"/"+b.name && nodeReady(machine.Object) {
			count++
		}
	}
	return count, nil
}

// nodeReady tells whether a Machine runs, and its Node is Ready.
func nodeReady(machine map[string]any) bool {
	phase, _, _ := unstructured.NestedString(machine, "status", "phase")
	conditions, _, _ := unstructured.NestedSlice(machine, "status", "conditions")
	for _, item := range conditions {
		c, _ := item.(map[string]any)
		if c["type"] == "NodeReady" && c["status"] == "True" {
			return phase == "Running"
		}
	}
	return false
}
