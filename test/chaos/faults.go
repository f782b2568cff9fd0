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

// faults that can be made here: nodes fail only where there are several, the clock steps only where that is wanted.
func (w *world) faults(ctx context.Context, clock bool) ([]fault, error) {
	nodes, err := w.management.CoreV1().Nodes().List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, fmt.Errorf("list the nodes of the management cluster: %w", err)
	}
	var names []string
	for _, n := range nodes.Items {
		names = append(names, n.Name)
	}
	slices.Sort(names)
	return w.kinds(names, clock), nil
}

// kinds are all faults of a management cluster with these nodes, the first of which is the machine itself.
func (w *world) kinds(nodes []string, clock bool) []fault {
	all := []fault{
		{"a pod of the control plane is killed", w.killPod(w.plane)},
		{"a pod of the operator is killed", w.killPod("hypershift")},
		{"Azure is slow", w.azure("chaos-slow", "--latency", "2s")},
		{"Azure throttles", w.azure("chaos-throttled", "--preset", "throttled", "--probability", "0.5")},
		{"the registry is away", w.stop("registry")},
		{"the management cluster's API server hangs", w.stop("kube-apiserver")},
	}
	if len(nodes) > 1 {
		further := nodes[1:]
		all = append(all, fault{"a node dies", w.node(further, "down")}, fault{"a node is cut off", w.node(further, "partition")},
			// The etcd of the node ends when it needs room, and starts again in vain until there is some: as long as the space that it has
			// taken beforehand lasts, it notices nothing. The two others serve meanwhile, and it comes back by itself afterwards.
			fault{"a disk is full", w.node(further, "disk-full")},
			// The etcd of the node falls behind, or hands leadership over, and catches up.
			fault{"a disk is slow", w.node(further, "disk-slow")})
	}
	if clock {
		all = append(all, fault{"the clock steps", w.clock})
	}
	return all
}

// killPod ends one of the namespace at random, as a lost machine would: without a word.
func (w *world) killPod(namespace string) func(context.Context, *rand.Rand) (string, func(context.Context) error, error) {
	return func(ctx context.Context, random *rand.Rand) (string, func(context.Context) error, error) {
		pods, err := w.management.CoreV1().Pods(namespace).List(ctx, metav1.ListOptions{})
		if err != nil {
			return "", nil, fmt.Errorf("list the pods of %s: %w", namespace, err)
		}
		if len(pods.Items) == 0 {
			return "", nil, fmt.Errorf("there are no pods in %s", namespace)
		}
		slices.SortFunc(pods.Items, func(a, b corev1.Pod) int { return strings.Compare(a.Name, b.Name) })
		victim := pods.Items[random.IntN(len(pods.Items))].Name
		return victim, nil, w.management.CoreV1().Pods(namespace).Delete(ctx, victim, metav1.DeleteOptions{GracePeriodSeconds: ptr.To[int64](0)})
	}
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

// stop stops the process of a part of the sandbox, so that who asks it gets no answer.
func (w *world) stop(part string) func(context.Context, *rand.Rand) (string, func(context.Context) error, error) {
	return func(ctx context.Context, _ *rand.Rand) (string, func(context.Context) error, error) {
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
		pid := status.Parts[part].PID
		if pid <= 1 {
			return "", nil, fmt.Errorf("the sandbox names no process of its %s", part)
		}
		return fmt.Sprintf("process %d", pid), func(context.Context) error {
			if err := syscall.Kill(pid, syscall.SIGCONT); err != nil && !errors.Is(err, syscall.ESRCH) {
				return fmt.Errorf("let the %s go on: %w", part, err)
			}
			return nil
		}, syscall.Kill(pid, syscall.SIGSTOP)
	}
}

// harm makes faults one after the other until the context ends, and undoes the last one. Each is made once before one is made again.
func harm(ctx context.Context, all []fault, hold, pause time.Duration, random *rand.Rand, began time.Time) ([]made, error) {
	var list []made
	var round []int
	for wait(ctx, pause) {
		if len(round) == 0 {
			round = random.Perm(len(all))
		}
		f := all[round[0]]
		round = round[1:]
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

// notMade are the kinds of faults that were not made.
func notMade(all []fault, list []made) []string {
	var names []string
	for _, f := range all {
		if !slices.ContainsFunc(list, func(m made) bool { return m.Name == f.name }) {
			names = append(names, f.name)
		}
	}
	return names
}
