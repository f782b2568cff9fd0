package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hypershift-on-azure/hypershift/api/v1beta1"
)

const (
	// demo is the hosted cluster that is there already.
	demo = "demo"
	// poolSize is what a first node pool usually has.
	poolSize = 2
)

// nodePool measures a new pool of the demo's hosted cluster, and deletes it.
func (b *bench) nodePool(ctx context.Context) (float64, error) {
	begin := time.Now()
	var problem bytes.Buffer
	cmd := exec.CommandContext(ctx, "hypershift", "create", "nodepool", "azure", "--cluster-name", demo, "--namespace", namespace,
		"--name", b.name, "--replicas", fmt.Sprint(poolSize), "--release-image", os.Getenv("RELEASE_IMAGE"))
	cmd.Stderr = &problem
	if err := cmd.Run(); err != nil {
		return 0, fmt.Errorf("%w: %s", err, problem.Bytes())
	}
	err := until(ctx, func(ctx context.Context) (bool, error) {
		running, _, err := b.machines(ctx)
		return running == poolSize, err
	})
	if err != nil {
		return 0, err
	}
	took := time.Since(begin).Seconds()
	pool := &hyperv1.NodePool{}
	pool.Namespace, pool.Name = namespace, b.name
	if err := b.Delete(ctx, pool); err != nil {
		return 0, err
	}
	return took, until(ctx, func(ctx context.Context) (bool, error) {
		if err := b.Get(ctx, client.ObjectKeyFromObject(pool), pool); !apierrors.IsNotFound(err) {
			return false, err
		}
		_, all, err := b.machines(ctx)
		return all == 0, err
	})
}

// machines counts those of the pool.
func (b *bench) machines(ctx context.Context) (running, all int, err error) {
	list := &unstructured.UnstructuredList{}
	list.SetAPIVersion("cluster.x-k8s.io/v1beta2")
	list.SetKind("MachineList")
	if err := b.List(ctx, list, client.InNamespace(namespace+"-"+demo)); err != nil {
		return 0, 0, err
	}
	for _, machine := range list.Items {
		if machine.GetAnnotations()[hyperv1.NodePoolAnnotation] != namespace+"/"+b.name {
			continue
		}
		all++
		if phase, _, _ := unstructured.NestedString(machine.Object, "status", "phase"); phase == "Running" {
			running++
		}
	}
	return running, all, nil
}
