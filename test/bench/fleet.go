package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hypershift-on-azure/hypershift/api/v1beta1"
	"github.com/hypershift-on-azure/hypershift/internal/kube"
	"github.com/hypershift-on-azure/hypershift/test/bench/limits"
)

const (
	// settle is how long a fleet is left alone before its use of the processor counts, idle for how long it is then looked at.
	settle, idle = time.Minute, 30 * time.Second
	cgroups      = "/sys/fs/cgroup"
)

// fleet makes that many hosted clusters at once, and prints when all were Available and what they use at rest.
func fleet(ctx context.Context, c client.Client, l *limits.Limits, work string, size int) error {
	members := make([]*bench, size)
	for i := range members {
		members[i] = &bench{Client: c, work: work, name: fmt.Sprintf("bench-%d", i)}
		if err := members[i].render(ctx); err != nil {
			return fmt.Errorf("render %s: %w", members[i].name, err)
		}
	}
	begin := time.Now()
	for _, b := range members {
		if err := b.apply(ctx); err != nil {
			return fmt.Errorf("apply %s: %w", b.name, err)
		}
	}
	err := until(ctx, func(ctx context.Context) (bool, error) { return allAvailable(ctx, c, members) })
	took := time.Since(begin)
	if err == nil {
		var cores, mebibytes float64
		cores, mebibytes, err = atRest(ctx, c, members)
		share := float64(size) / fleetOfLimits
		l.Hold(fmt.Sprintf("%d HostedClusters applied -> all Available, s", size), took.Seconds(), mostFleetAvailable*share, "")
		l.Hold("  their pods at rest, together, cores", cores, mostFleetCores*share, fmt.Sprintf(" %.0f MiB anonymous each", mebibytes/float64(size)))
	}
	return errors.Join(err, dissolve(ctx, members))
}

func allAvailable(ctx context.Context, c client.Client, members []*bench) (bool, error) {
	for _, b := range members {
		hc := &hyperv1.HostedCluster{}
		if err := c.Get(ctx, client.ObjectKey{Namespace: namespace, Name: b.name}, hc); err != nil {
			return false, err
		}
		if !kube.IsTrue(hc.Status.Conditions, "Available") {
			return false, nil
		}
	}
	return true, nil
}

// dissolve deletes all of them before it waits for any, and then their infrastructure.
func dissolve(ctx context.Context, members []*bench) error {
	var errs []error
	for _, b := range members {
		hc := &hyperv1.HostedCluster{}
		hc.Namespace, hc.Name = namespace, b.name
		errs = append(errs, client.IgnoreNotFound(b.Delete(ctx, hc)))
	}
	for _, b := range members {
		errs = append(errs, b.gone(ctx))
	}
	for _, b := range members {
		errs = append(errs, b.destroyInfra(ctx))
	}
	return errors.Join(errs...)
}

// atRest is what the pods of all members use: processor cores together, and anonymous memory in MiB.
func atRest(ctx context.Context, c client.Client, members []*bench) (cores, mebibytes float64, err error) {
	if err := pause(ctx, settle); err != nil {
		return 0, 0, err
	}
	pods := map[string]bool{}
	for _, b := range members {
		if err := podsOf(ctx, c, b.controlPlane(), pods); err != nil {
			return 0, 0, err
		}
	}
	before, begin := usage(pods), time.Now()
	if err := pause(ctx, idle); err != nil {
		return 0, 0, err
	}
	after := usage(pods)
	return (after.seconds - before.seconds) / time.Since(begin).Seconds(), after.anonymous / (1 << 20), nil
}

// podsOf adds the identifiers of the pods in a namespace.
func podsOf(ctx context.Context, c client.Client, namespace string, pods map[string]bool) error {
	list := &corev1.PodList{}
	if err := c.List(ctx, list, client.InNamespace(namespace)); err != nil {
		return err
	}
	for _, pod := range list.Items {
		pods[string(pod.UID)] = true
	}
	return nil
}

// memory holds the anonymous memory of the demo's control plane.
func memory(ctx context.Context, c client.Client, l *limits.Limits) error {
	hc := &hyperv1.HostedCluster{}
	if err := c.Get(ctx, client.ObjectKey{Namespace: namespace, Name: demo}, hc); err != nil {
		return err
	}
	used, err := anonymous(ctx, c)
	if err != nil {
		return err
	}
	l.Hold("memory of the demo's control plane, MiB anonymous", used, mostMebibytes, " "+string(hc.Spec.ControllerAvailabilityPolicy))
	return nil
}

// anonymous is the anonymous memory of the demo's control plane in MiB.
func anonymous(ctx context.Context, c client.Client) (float64, error) {
	pods := map[string]bool{}
	if err := podsOf(ctx, c, namespace+"-"+demo, pods); err != nil {
		return 0, err
	}
	used := usage(pods).anonymous / (1 << 20)
	if used == 0 {
		return 0, errors.New("the kernel has counted no memory of the demo's pods")
	}
	return used, nil
}

func pause(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(d):
		return nil
	}
}

// used is what the kernel has counted.
type used struct{ seconds, anonymous float64 }

// usage adds up the control groups of the pods, of both versions: their folders carry the pod's identifier, and the outermost one of
// each controller counts for all below it.
func usage(pods map[string]bool) used {
	var total used
	_ = filepath.WalkDir(cgroups, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || !entry.IsDir() { // a pod may end meanwhile
			return nil
		}
		uid, ok := podOfGroup(entry.Name())
		if !ok || !pods[uid] {
			return nil
		}
		total.seconds += float64(statistic(path+"/cpuacct.usage", ""))/1e9 + float64(statistic(path+"/cpu.stat", "usage_usec"))/1e6
		total.anonymous += float64(statistic(path+"/memory.stat", "total_rss") + statistic(path+"/memory.stat", "anon"))
		return fs.SkipDir
	})
	return total
}

// podOfGroup reads pod<uid> and kubepods-...-pod<uid with underscores>.slice.
func podOfGroup(folder string) (string, bool) {
	_, uid, ok := strings.Cut(strings.TrimSuffix(folder, ".slice"), "pod")
	if _, deeper, nested := strings.Cut(uid, "-pod"); nested {
		uid = deeper
	}
	return strings.ReplaceAll(uid, "_", "-"), ok && uid != ""
}

// statistic is the number in the file, or behind the key in it; zero where the kernel's version counts elsewhere.
func statistic(file, key string) int64 {
	text, err := os.ReadFile(file)
	if err != nil {
		return 0
	}
	for line := range strings.Lines(string(text)) {
		name, value, found := strings.Cut(strings.TrimSpace(line), " ")
		if !found {
			name, value = "", name
		}
		if name == key {
			number, err := strconv.ParseInt(value, 10, 64)
			if err != nil {
				return 0
			}
			return number
		}
	}
	return 0
}
