package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hypershift-on-azure/hypershift/api/v1beta1"
	"github.com/hypershift-on-azure/hypershift/sandbox/azure/access"
	"github.com/hypershift-on-azure/hypershift/sandbox/azure/arm/compute"
)

const (
	// demo is the hosted cluster that is there already.
	demo = "demo"
	// poolSize is what a first node pool usually has.
	poolSize = 2
)

// poolTimes are seconds of a new pool: all from the apply to the last machine that runs, machine from the slowest virtual machine's creation.
type poolTimes struct{ all, machine float64 }

// nodePool measures a new pool of so many machines of the demo's hosted cluster, and deletes it.
func (b *bench) nodePool(ctx context.Context, size int) (poolTimes, error) {
	var took poolTimes
	begin := time.Now()
	err := b.withPool(ctx, size, func() error {
		var ran []time.Time
		err := until(ctx, func(ctx context.Context) (bool, error) {
			running, _, err := b.machines(ctx)
			for len(ran) < running {
				ran = append(ran, time.Now())
			}
			return running == size, err
		})
		if err != nil {
			return err
		}
		took.all = ran[size-1].Sub(begin).Seconds()
		took.machine, err = b.slowest(begin, ran)
		return err
	})
	return took, err
}

// withPool makes a pool of the demo's hosted cluster for the time of a measurement, and waits until it is gone with its machines.
func (b *bench) withPool(ctx context.Context, replicas int, measure func() error, flags ...string) error {
	if err := hypershift(ctx, append([]string{"create", "nodepool", "azure", "--cluster-name", demo, "--namespace", namespace, "--name", b.name,
		"--replicas", fmt.Sprint(replicas), "--release-image", os.Getenv("RELEASE_IMAGE")}, flags...)...); err != nil {
		return err
	}
	measured := measure()
	pool := &hyperv1.NodePool{}
	pool.Namespace, pool.Name = namespace, b.name
	return errors.Join(measured, b.Delete(ctx, pool), until(ctx, func(ctx context.Context) (bool, error) {
		if err := b.Get(ctx, client.ObjectKeyFromObject(pool), pool); !apierrors.IsNotFound(err) {
			return false, err
		}
		_, all, err := b.machines(ctx)
		return all == 0, err
	}))
}

// slowest is the most seconds from the creation of a virtual machine, of which the access log of the embedded Azure tells, to its being a
// machine that runs; the first that is made is taken for the first that runs.
func (b *bench) slowest(begin time.Time, ran []time.Time) (float64, error) {
	f, err := os.Open(filepath.Join(filepath.Dir(b.work), "azure", "access.log"))
	if err != nil {
		return 0, err
	}
	defer f.Close()
	var made []time.Time
	for lines := bufio.NewScanner(f); lines.Scan(); {
		var e access.Entry
		if err := json.Unmarshal(lines.Bytes(), &e); err != nil {
			return 0, fmt.Errorf("access log: %w", err)
		}
		if e.Method == http.MethodPut && e.Status == http.StatusCreated && e.Time.After(begin) && strings.Contains(e.URL, compute.TypeVM+"/") && !strings.Contains(e.URL, "/extensions/") {
			made = append(made, e.Time)
		}
	}
	if len(made) != len(ran) {
		return 0, fmt.Errorf("%d virtual machines were made for a pool of %d: leave the demo alone while it is measured", len(made), len(ran))
	}
	slices.SortFunc(made, time.Time.Compare)
	most := 0.0
	for i := range made {
		most = max(most, ran[i].Sub(made[i]).Seconds())
	}
	return most, nil
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
