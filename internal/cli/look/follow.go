package look

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/hypershift-on-azure/hypershift/internal/cli/management"
)

// follower prints what the containers of a component say, as they say it, until it is interrupted: through restarts, and in pods that take
// the place of others.
type follower struct {
	*logReader
	component     string
	all           *errgroup.Group
	out, messages io.Writer

	mu sync.Mutex // of the writers and several
	// several: lines carry the names of pod and container.
	several bool
	// trails are the containers that are followed, by their pod's identity and their name; only look touches the map.
	trails map[string]*trail
}

// trail is a container that is followed. What its reader writes is read by others when done is closed.
type trail struct {
	stream
	// joined: all lines are new, since the pod or the container was not there when the command began.
	joined bool
	// status is what the node said of the container at the last look.
	status corev1.ContainerStatus
	// instance is the container that was read last; each restart makes another one.
	instance string
	// ended: that the instance has ended is told, or was so before it was read.
	ended bool
	// missing: the pod was not there at the last look.
	missing bool
	stop    context.CancelFunc
	done    chan struct{}
	// whole: the log was read to its end.
	whole bool
	// last is when the last line was written.
	last time.Time
	// trouble is what was told last about a log that cannot be read.
	trouble string
}

// followComponent ends only when it is interrupted or may not look any more.
func (f *follower) followComponent(ctx context.Context, c client.Reader, pods []corev1.Pod) error {
	f.trails = map[string]*trail{}
	f.all, ctx = errgroup.WithContext(ctx)
	f.all.Go(func() error {
		again := time.NewTicker(f.every)
		defer again.Stop()
		trouble := ""
		for begins := true; ; begins = false {
			if trouble == "" {
				f.look(ctx, pods, begins)
			}
			select {
			case <-ctx.Done():
				return ctx.Err()
			case <-again.C:
			}
			var err error
			pods, err = f.pods(ctx, c)
			switch {
			case err == nil:
				trouble = ""
			case ctx.Err() != nil:
				return ctx.Err()
			case !passes(err):
				return err
			case trouble == "":
				trouble = err.Error()
				f.say("%v; going on as soon as it answers", err)
			}
		}
	})
	return f.all.Wait()
}

// passes tells whether the management cluster may answer a moment later.
func passes(err error) bool {
	var unreached *url.Error
	return management.IsTransient(err) || errors.As(err, &unreached)
}

// look begins to follow what is new, and goes on with what has ended and is there again.
func (f *follower) look(ctx context.Context, pods []corev1.Pod, begins bool) {
	there := map[string]bool{}
	for i := range pods {
		pod := &pods[i]
		if !slices.Contains(namesOf(pod), f.component) {
			continue
		}
		for _, s := range f.streamsOf(pod) {
			key := string(pod.UID) + "/" + s.String()
			there[key] = true
			t := f.trails[key]
			if t == nil {
				t = f.join(key, s, !begins)
			}
			t.missing, t.status = false, statusOfContainer(pod, s.container)
		}
	}
	for key := range there {
		f.goOn(ctx, f.trails[key])
	}
	for key, t := range f.trails {
		switch {
		case there[key]:
		case !t.reading():
			if !t.ended {
				f.say("%s ended: its pod is gone", t)
			}
			delete(f.trails, key)
		case t.missing: // a node that is lost with the pod never ends the stream
			t.stop()
		default:
			t.missing = true
		}
	}
}

func (f *follower) join(key string, s stream, later bool) *trail {
	t := &trail{stream: s, joined: later}
	f.trails[key] = t
	f.mu.Lock()
	f.several = f.several || later || len(f.trails) > 1
	f.mu.Unlock()
	if later {
		f.say("%s joined", t)
	}
	return t
}

// goOn reads a container that was not read yet, or whose log broke off; and tells when one has ended.
func (f *follower) goOn(ctx context.Context, t *trail) {
	status := t.status
	instance, end := instanceOf(status)
	switch {
	case t.reading():
		return
	case instance == "":
		if waits := status.State.Waiting; waits != nil && waits.Reason != t.trouble {
			t.trouble = waits.Reason
			f.say("no log of %s yet: %s", t, waits.Reason)
		}
		return
	case instance != t.instance:
		if t.instance != "" {
			t.joined = true
			f.say("%s started again%s", t, endOf(status.LastTerminationState.Terminated))
		}
		t.instance, t.ended = instance, end != nil
	case end != nil && t.whole:
		if !t.ended {
			t.ended = true
			f.say("%s ended%s", t, endOf(end))
		}
		return
	}
	options := f.asked(t.stream)
	switch {
	case !t.last.IsZero():
		options = &corev1.PodLogOptions{Container: t.container, Follow: true, SinceTime: &metav1.Time{Time: t.last}}
	case t.joined:
		options = &corev1.PodLogOptions{Container: t.container, Follow: true}
	}
	options.Timestamps = true
	ctx, t.stop = context.WithCancel(ctx)
	t.done = make(chan struct{})
	f.all.Go(func() error {
		defer close(t.done)
		defer t.stop()
		return f.read(ctx, t, options)
	})
}

// reading tells whether the log is open.
func (t *trail) reading() bool {
	select {
	case <-t.done:
		return false
	default:
		return t.done != nil
	}
}

// read prints a log until it ends. One that cannot be read, or breaks off, is read again at the next look.
func (f *follower) read(ctx context.Context, t *trail, options *corev1.PodLogOptions) error {
	var unwritten error
	before := t.last
	err := f.copy(ctx, t.stream, options, func(line string) error {
		stamp, text, _ := strings.Cut(line, " ")
		if at, err := time.Parse(time.RFC3339Nano, stamp); err == nil {
			if !at.After(before) { // the log is asked for by the second
				return nil
			}
			t.last, line = at, text
		}
		unwritten = f.write(t, line)
		return unwritten
	})
	t.whole = err == nil
	switch {
	case unwritten != nil || errors.Is(err, bufio.ErrTooLong):
		return fmt.Errorf("cannot print the logs: %w", err)
	case err != nil && ctx.Err() == nil && err.Error() != t.trouble:
		t.trouble = err.Error()
		f.say("no log of %s: %v; trying again", t, err)
	}
	return nil
}

func (f *follower) write(t *trail, line string) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.several {
		line = "[" + t.String() + "] " + line
	}
	_, err := fmt.Fprintln(f.out, line)
	return err
}

func (f *follower) say(format string, args ...any) {
	f.mu.Lock()
	defer f.mu.Unlock()
	fmt.Fprintf(f.messages, format+"\n", args...)
}

func statusOfContainer(pod *corev1.Pod, name string) corev1.ContainerStatus {
	for _, status := range slices.Concat(pod.Status.InitContainerStatuses, pod.Status.ContainerStatuses) {
		if status.Name == name {
			return status
		}
	}
	return corev1.ContainerStatus{}
}

// instanceOf is the container that the log is of: the one that runs or, until that begins, the one before, with its end; empty before there
// was any.
func instanceOf(status corev1.ContainerStatus) (string, *corev1.ContainerStateTerminated) {
	state, last := status.State, status.LastTerminationState.Terminated
	switch {
	case state.Running != nil:
		return status.ContainerID, nil
	case state.Terminated != nil:
		return status.ContainerID, state.Terminated
	case last != nil:
		return last.ContainerID, last
	}
	return "", nil
}

// endOf says how a container ended.
func endOf(end *corev1.ContainerStateTerminated) string {
	if end == nil {
		return ""
	}
	return fmt.Sprintf(": exit code %d, %s", end.ExitCode, end.Reason)
}
