// Command chaos lets things go wrong around a hosted cluster of the sandbox while clients write, read and watch in it, judges afterwards
// whether what they were told is true, and prints a page about it. It fails when something is not.
//
// With -while it makes no faults and works as long as a file is there, at most for -duration, for who upgrades the hosted cluster meanwhile: every call that fails is
// made once more, and one that fails again fails the run. With -may-fail, too, calls may fail, for who also takes nodes away.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/signal"
	"strings"
	"sync"
	"syscall"
	"time"

	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"

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
	// The time of a run, of a fault, and between two: in the first, every kind of fault is made.
	usualDuration, usualHold, usualPause = 10 * time.Minute, 20 * time.Second, 10 * time.Second
)

// errFailed is how a run ends whose page tells of a failure.
var errFailed = errors.New("the page says what went wrong")

type options struct {
	guest, management, cluster, report, hypershift, while string
	duration, hold, pause                                 time.Duration
	seed                                                  uint64
	clock, mayFail                                        bool
}

func main() {
	var o options
	flag.StringVar(&o.guest, "guest", "", "kubeconfig of the hosted cluster")
	flag.StringVar(&o.management, "management", os.Getenv("KUBECONFIG"), "kubeconfig of the management cluster")
	flag.StringVar(&o.cluster, "cluster", "clusters/demo", "namespace and name of the hosted cluster")
	flag.StringVar(&o.report, "report", "", "file of the page; standard output when empty")
	flag.StringVar(&o.hypershift, "hypershift", "hypershift", "the program, which makes faults in the sandbox")
	flag.StringVar(&o.while, "while", "", "make no faults, and work as long as this file is there, at most for -duration")
	flag.BoolVar(&o.mayFail, "may-fail", false, "with -while, calls may fail, and are not made once more")
	flag.DurationVar(&o.duration, "duration", usualDuration, "how long things go wrong")
	flag.DurationVar(&o.hold, "hold", usualHold, "how long a fault lasts")
	flag.DurationVar(&o.pause, "pause", usualPause, "time between two faults")
	flag.Uint64Var(&o.seed, "seed", uint64(time.Now().UnixNano()), "of all choices; the same seed makes the same choices")
	flag.BoolVar(&o.clock, "clock", false, fmt.Sprintf("step this machine's clock by %s, too, and back; left out where this process may not", clockStep))
	ahead := flag.Duration(stepFlag, 0, "do nothing but step this machine's clock, and put it back when the input ends")
	flag.Parse()
	// A run that is interrupted undoes its fault before it ends.
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	do := func() error { return run(ctx, o) }
	if *ahead != 0 {
		do = func() error { return stepClock(*ahead, os.Stdin, os.Stdout) }
	}
	if err := do(); err != nil {
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
		if o.clock {
			if err := step(0); err != nil {
				fmt.Fprintln(os.Stderr, "the clock is left alone:", err)
				o.clock = false
			}
		}
		if all, err = place.faults(ctx, o.clock); err != nil {
			return err
		}
	}
	c, err := newClients(ctx, guest, keys)
	if err != nil {
		return err
	}
	c.retry = o.while != "" && !o.mayFail
	found := result{Cluster: o.cluster, Seed: o.seed, Calm: o.while != "", MayFail: o.mayFail}
	if err := found.live(ctx, c, all, o); err != nil {
		return err
	}
	over := time.Now()
	if found.Findings, err = whole(ctx, o, client.ObjectKey{Namespace: namespace, Name: name}, place.plane); err != nil {
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
	r.Lasted, r.NotMade = time.Since(c.began), notMade(all, r.Faults)
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
