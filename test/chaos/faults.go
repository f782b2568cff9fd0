package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/utils/ptr"
)

// fault is something that goes wrong for a while.
type fault struct {
	name string
	// begin makes it, and returns what it hit; end undoes it, nil where nothing is to be undone.
	begin func(ctx context.Context, random *rand.Rand) (hit string, end func(context.Context) error, err error)
}

// made is a fault that was made, for the report.
type made struct {
	At, For   time.Duration
	Name, Hit string
}

// world is what faults are made in.
type world struct {
	management kubernetes.Interface
	// plane is the namespace of the control plane.
	plane string
	// hypershift is the program.
	hypershift string
}

func (w *world) run(ctx context.Context, args ...string) ([]byte, error) {
	out, err := exec.CommandContext(ctx, w.hypershift, args...).CombinedOutput()
	if err != nil {
		return out, fmt.Errorf("hypershift %s: %w: %s", strings.Join(args, " "), err, out)
	}
	return out, nil
}

// faults that can be made here: nodes fail only where there are several.
func (w *world) faults(ctx context.Context) ([]fault, error) {
	nodes, err := w.management.CoreV1().Nodes().List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, fmt.Errorf("list the nodes of the management cluster: %w", err)
	}
	all := []fault{
		{"a pod of the control plane is killed", w.killPod},
		{"Azure is slow", w.azure("chaos-slow", "--latency", "2s")},
		{"Azure throttles", w.azure("chaos-throttled", "--preset", "throttled", "--probability", "0.5")},
		{"the registry is away", w.stopRegistry},
	}
	if len(nodes.Items) > 1 {
		var further []string
		for _, n := range nodes.Items {
			further = append(further, n.Name)
		}
		slices.Sort(further)
		all = append(all, fault{"a node dies", w.node(further[1:], "down")}, fault{"a node is cut off", w.node(further[1:], "partition")})
	}
	return all, nil
}

// killPod ends one at random, as a lost machine would: without a word.
func (w *world) killPod(ctx context.Context, random *rand.Rand) (string, func(context.Context) error, error) {
	pods, err := w.management.CoreV1().Pods(w.plane).List(ctx, metav1.ListOptions{})
	if err != nil {
		return "", nil, fmt.Errorf("list the pods of %s: %w", w.plane, err)
	}
	if len(pods.Items) == 0 {
		return "", nil, fmt.Errorf("there are no pods in %s", w.plane)
	}
	slices.SortFunc(pods.Items, func(a, b corev1.Pod) int { return strings.Compare(a.Name, b.Name) })
	victim := pods.Items[random.IntN(len(pods.Items))].Name
	return victim, nil, w.management.CoreV1().Pods(w.plane).Delete(ctx, victim, metav1.DeleteOptions{GracePeriodSeconds: ptr.To[int64](0)})
}

func (w *world) azure(id string, args ...string) func(context.Context, *rand.Rand) (string, func(context.Context) error, error) {
	return func(ctx context.Context, _ *rand.Rand) (string, func(context.Context) error, error) {
		_, err := w.run(ctx, append([]string{"sandbox", "fault", "add", "--id", id}, args...)...)
		return strings.Join(args, " "), func(ctx context.Context) error {
			_, err := w.run(ctx, "sandbox", "fault", "clear", id)
			return err
		}, err
	}
}

func (w *world) node(names []string, state string) func(context.Context, *rand.Rand) (string, func(context.Context) error, error) {
	return func(ctx context.Context, random *rand.Rand) (string, func(context.Context) error, error) {
		name := names[random.IntN(len(names))]
		_, err := w.run(ctx, "sandbox", "fault", "node", name, state)
		return name, func(ctx context.Context) error {
			_, err := w.run(ctx, "sandbox", "fault", "node", name, "up")
			return err
		}, err
	}
}

// stopRegistry stops its process, so that who asks gets no answer.
func (w *world) stopRegistry(ctx context.Context, _ *rand.Rand) (string, func(context.Context) error, error) {
	out, err := w.run(ctx, "sandbox", "status", "-o", "json")
	if err != nil {
		return "", nil, err
	}
	var status struct {
		Parts map[string]struct {
			PID int `json:"pid"`
		} `json:"parts"`
	}
	if err := json.Unmarshal(out, &status); err != nil {
		return "", nil, fmt.Errorf("read what the sandbox says: %w", err)
	}
	pid := status.Parts["registry"].PID
	if pid <= 1 {
		return "", nil, errors.New("the sandbox names no process of its registry")
	}
	return fmt.Sprintf("process %d", pid), func(context.Context) error {
		if err := syscall.Kill(pid, syscall.SIGCONT); err != nil && !errors.Is(err, syscall.ESRCH) {
			return fmt.Errorf("let the registry go on: %w", err)
		}
		return nil
	}, syscall.Kill(pid, syscall.SIGSTOP)
}

// harm makes faults one after the other until the context ends, and undoes the last one.
func harm(ctx context.Context, all []fault, hold, pause time.Duration, random *rand.Rand, began time.Time) ([]made, error) {
	var list []made
	for wait(ctx, pause) {
		f := all[random.IntN(len(all))]
		at := time.Since(began)
		hit, end, err := f.begin(ctx, random)
		if err == nil && end != nil {
			wait(ctx, hold)
			// Also when the time is over: nothing stays broken.
			err = end(context.WithoutCancel(ctx))
		}
		if err != nil && ctx.Err() == nil {
			return list, fmt.Errorf("%s: %w", f.name, err)
		}
		list = append(list, made{at, time.Since(began) - at, f.name, hit})
	}
	return list, nil
}

// wait is true after the time, and false when the context ended before.
func wait(ctx context.Context, d time.Duration) bool {
	select {
	case <-ctx.Done():
		return false
	case <-time.After(d):
		return true
	}
}
