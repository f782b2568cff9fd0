// Command chaos lets things go wrong around a hosted cluster of the sandbox while clients write, read and watch in it, judges afterwards
// whether what they were told is true, and prints a page about it. It fails when something is not.
//
// With -while it makes no faults and works as long as a file is there, at most for -duration, for who upgrades the hosted cluster meanwhile: every call that fails is
// made once more, and one that fails again fails the run.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hypershift-on-azure/hypershift/api/v1beta1"
	"github.com/hypershift-on-azure/hypershift/test/chaos/history"
)

const (
	writers, readers, watchers  = 4, 4, 2
	writesASecond, readsASecond = 1.25, 5 // of each client: together five writes and twenty reads
	keys                        = 8
	// recovery is how long after the last fault everything may take to be as it should be.
	recovery = 5 * time.Minute
	// mostGap is how many seconds nobody may be answered while a file is there; see docs/benchmarks.md.
	mostGap = 2
)

// errFailed is how a run ends whose page tells of a failure.
var errFailed = errors.New("the page says what went wrong")

type options struct {
	guest, management, cluster, report, hypershift, while string
	duration, hold, pause                                 time.Duration
	seed                                                  uint64
}

func main() {
	var o options
	flag.StringVar(&o.guest, "guest", "", "kubeconfig of the hosted cluster")
	flag.StringVar(&o.management, "management", os.Getenv("KUBECONFIG"), "kubeconfig of the management cluster")
	flag.StringVar(&o.cluster, "cluster", "clusters/demo", "namespace and name of the hosted cluster")
	flag.StringVar(&o.report, "report", "", "file of the page; standard output when empty")
	flag.StringVar(&o.hypershift, "hypershift", "hypershift", "the program, which makes faults in the sandbox")
	flag.StringVar(&o.while, "while", "", "make no faults, and work as long as this file is there, at most for -duration")
	flag.DurationVar(&o.duration, "duration", 10*time.Minute, "how long things go wrong")
	flag.DurationVar(&o.hold, "hold", 20*time.Second, "how long a fault lasts")
	flag.DurationVar(&o.pause, "pause", 10*time.Second, "time between two faults")
	flag.Uint64Var(&o.seed, "seed", uint64(time.Now().UnixNano()), "of all choices; the same seed makes the same choices")
	flag.Parse()
	if err := run(context.Background(), o); err != nil {
		fmt.Fprintln(os.Stderr, "error:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, o options) error {
	namespace, name, ok := strings.Cut(o.cluster, "/")
	if !ok || o.guest == "" {
		return errors.New("give -guest, the kubeconfig of the hosted cluster, and its -cluster as NAMESPACE/NAME")
	}
	guest, err := clientOf(o.guest)
	if err != nil {
		return err
	}
	management, err := clientOf(o.management)
	if err != nil {
		return err
	}
	place := &world{management: management, plane: namespace + "-" + strings.ReplaceAll(name, ".", "-"), hypershift: o.hypershift}
	var all []fault
	if o.while == "" {
		if all, err = place.faults(ctx); err != nil {
			return err
		}
	}
	c, err := newClients(ctx, guest, keys)
	if err != nil {
		return err
	}
	c.retry = o.while != ""
	found := result{Cluster: o.cluster, Seed: o.seed, Calm: o.while != ""}
	if err := found.live(ctx, c, all, o); err != nil {
		return err
	}
	over := time.Now()
	if err := awaitWhole(ctx, o, guest, client.ObjectKey{Namespace: namespace, Name: name}); err != nil {
		found.Broken = err.Error()
	}
	found.Recovered = time.Since(over)
	return found.tell(o.report)
}

// live has clients work while faults are made, and judges what they saw.
func (r *result) live(ctx context.Context, c *clients, all []fault, o options) error {
	ending, cancel := context.WithTimeout(ctx, o.duration+recovery)
	defer cancel()
	working, stop := context.WithTimeout(ctx, o.duration)
	defer stop()
	r.Watches = make([]history.Watch, watchers)
	failures := make([]error, watchers+1)
	var watching, busy sync.WaitGroup
	for i := range watchers {
		watching.Go(func() { r.Watches[i], failures[i] = c.follow(ending, fmt.Sprintf("watch %d", i)) })
	}
	for i := range writers + readers {
		random := rand.New(rand.NewPCG(o.seed, uint64(i+1)))
		rate := float64(readsASecond)
		if i < writers {
			rate = writesASecond
		}
		busy.Go(func() { c.work(working, i, i < writers, rate, random) })
	}
	if r.Calm {
		failures[watchers] = awaitGone(working, o.while)
	} else {
		r.Faults, failures[watchers] = harm(working, all, o.hold, o.pause, rand.New(rand.NewPCG(o.seed, 0)), c.began)
	}
	stop()
	busy.Wait()
	r.Lasted = time.Since(c.began)
	final, err := c.end(ending)
	if err != nil {
		return err
	}
	watching.Wait()
	r.FailedTwice = c.failedTwice
	r.Operations, r.Violations = c.operations, history.Check(c.operations, r.Watches, final)
	return errors.Join(failures...)
}

// awaitGone returns when the file is gone.
func awaitGone(ctx context.Context, file string) error {
	for {
		if _, err := os.Stat(file); errors.Is(err, os.ErrNotExist) {
			return nil
		} else if err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("%s is still there after -duration", file)
		case <-time.After(time.Second):
		}
	}
}

// tell writes the page.
func (r *result) tell(file string) error {
	var out io.Writer = os.Stdout
	if file != "" {
		page, err := os.Create(file)
		if err != nil {
			return fmt.Errorf("write the page: %w", err)
		}
		defer page.Close()
		out = page
	}
	if err := r.write(out); err != nil {
		return fmt.Errorf("write the page: %w", err)
	}
	if r.failed() {
		return errFailed
	}
	return nil
}

func clientOf(kubeconfig string) (*kubernetes.Clientset, error) {
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return nil, fmt.Errorf("kubeconfig %s: %w", kubeconfig, err)
	}
	config.QPS, config.Burst = 200, 200
	return kubernetes.NewForConfig(config)
}

// awaitWhole returns when the hosted cluster says that it is available and every node says that it is ready, or why one does not.
func awaitWhole(ctx context.Context, o options, guest kubernetes.Interface, key client.ObjectKey) error {
	config, err := clientcmd.BuildConfigFromFlags("", o.management)
	if err != nil {
		return fmt.Errorf("kubeconfig %s: %w", o.management, err)
	}
	hosted, err := hostedClient(config)
	if err != nil {
		return err
	}
	limited, cancel := context.WithTimeout(ctx, recovery)
	defer cancel()
	return retried(limited, func(ctx context.Context) error {
		hc := &hyperv1.HostedCluster{}
		if err := hosted.Get(ctx, key, hc); err != nil {
			return fmt.Errorf("read HostedCluster %s: %w", key, err)
		}
		if !meta.IsStatusConditionTrue(hc.Status.Conditions, hyperv1.HostedClusterAvailable) {
			return fmt.Errorf("HostedCluster %s is not available", key)
		}
		nodes, err := guest.CoreV1().Nodes().List(ctx, metav1.ListOptions{})
		if err != nil {
			return fmt.Errorf("list the nodes: %w", err)
		}
		for i := range nodes.Items {
			if !ready(&nodes.Items[i]) {
				return fmt.Errorf("node %s is not Ready", nodes.Items[i].Name)
			}
		}
		return nil
	})
}

func ready(node *corev1.Node) bool {
	for _, c := range node.Status.Conditions {
		if c.Type == corev1.NodeReady {
			return c.Status == corev1.ConditionTrue
		}
	}
	return false
}

func hostedClient(config *rest.Config) (client.Client, error) {
	scheme := runtime.NewScheme()
	if err := hyperv1.AddToScheme(scheme); err != nil {
		return nil, fmt.Errorf("register kinds: %w", err)
	}
	return client.New(config, client.Options{Scheme: scheme})
}
