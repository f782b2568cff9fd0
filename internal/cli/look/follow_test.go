package look

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/hypershift-on-azure/hypershift/internal/survey/surveytest"
)

// spoken is what a command wrote.
type spoken struct {
	mu   sync.Mutex
	text strings.Builder
}

func (s *spoken) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.Write(p)
}

func (s *spoken) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.String()
}

// until waits for what is to be written.
func (s *spoken) until(t *testing.T, want string) {
	t.Helper()
	for range 1000 {
		if strings.Contains(s.String(), want) {
			return
		}
		time.Sleep(5 * time.Millisecond)
	}
	t.Fatalf("%q is not in\n%s", want, s)
}

// nodeLogs are logs as a node serves them: with the time of each line, and for as long as the container lives.
type nodeLogs struct {
	mu    sync.Mutex
	open  map[string]*io.PipeWriter
	asked []string
}

func (n *nodeLogs) Open(ctx context.Context, _, pod string, o *corev1.PodLogOptions) (io.ReadCloser, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	since := "-"
	if o.SinceTime != nil {
		since = o.SinceTime.UTC().Format(time.TimeOnly)
	}
	tail := int64(-1)
	if o.TailLines != nil {
		tail = *o.TailLines
	}
	n.asked = append(n.asked, fmt.Sprintf("%s tail %d since %s", pod, tail, since))
	r, w := io.Pipe()
	context.AfterFunc(ctx, func() { r.CloseWithError(ctx.Err()) })
	n.open[pod] = w
	return r, nil
}

// says writes the lines of a pod's container once it is read for the turn-th time.
func (n *nodeLogs) says(t *testing.T, pod string, turn int, lines ...string) *io.PipeWriter {
	t.Helper()
	var w *io.PipeWriter
	for range 1000 {
		n.mu.Lock()
		if got := strings.Count(strings.Join(n.asked, "\n")+"\n", pod+" tail"); got == turn {
			w = n.open[pod]
		}
		n.mu.Unlock()
		if w != nil {
			break
		}
		time.Sleep(5 * time.Millisecond)
	}
	if w == nil {
		t.Fatalf("%s is not read for the %d. time", pod, turn)
	}
	for _, line := range lines {
		if _, err := io.WriteString(w, line+"\n"); err != nil {
			t.Fatal(err)
		}
	}
	return w
}

// turnOf is how many times a log was read when that was asked for last.
func (n *nodeLogs) turnOf(t *testing.T, asked string) int {
	t.Helper()
	for range 1000 {
		n.mu.Lock()
		turn := len(n.asked)
		reached := n.asked[turn-1] == asked
		n.mu.Unlock()
		if reached {
			return turn
		}
		time.Sleep(5 * time.Millisecond)
	}
	t.Fatalf("%q is not asked", asked)
	return 0
}

// lives is a pod of etcd with a container of which the node says so.
func lives(name, uid, container string, state corev1.ContainerState, last *corev1.ContainerStateTerminated) *corev1.Pod {
	p := component("hypershift", name, "app", "etcd", "etcd")
	p.UID = types.UID(uid)
	p.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: "etcd", ContainerID: container, State: state,
		LastTerminationState: corev1.ContainerState{Terminated: last}}}
	return p
}

// TestFollow: what is followed goes on through a broken line, a restart and another pod in the first one's place; no line is lost and none
// is printed twice.
func TestFollow(t *testing.T) {
	runs := corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}
	killed := &corev1.ContainerStateTerminated{ExitCode: 137, Reason: "OOMKilled", ContainerID: "c1"}
	lists := make(chan error, 1)
	c := surveytest.Client(lives("etcd-0", "u1", "c1", runs, nil)).WithInterceptorFuncs(interceptor.Funcs{
		List: func(ctx context.Context, c client.WithWatch, list client.ObjectList, opts ...client.ListOption) error {
			select {
			case err := <-lists:
				return err
			default:
				return c.List(ctx, list, opts...)
			}
		}}).Build()
	update := func(obj *corev1.Pod) {
		t.Helper()
		old := &corev1.Pod{}
		if err := c.Get(t.Context(), client.ObjectKeyFromObject(obj), old); err != nil {
			t.Fatal(err)
		}
		if old.UID == obj.UID { // at once: a look must not find it missing
			old.Status = obj.Status
			if err := c.Status().Update(t.Context(), old); err != nil {
				t.Fatal(err)
			}
			return
		}
		if err := c.Delete(t.Context(), old); err != nil {
			t.Fatal(err)
		}
		if err := c.Create(t.Context(), obj); err != nil {
			t.Fatal(err)
		}
	}
	node, out, messages := &nodeLogs{open: map[string]*io.PipeWriter{}}, &spoken{}, &spoken{}
	l := &logReader{operatorNamespace: "hypershift", tail: 7, follow: true, every: 10 * time.Millisecond, open: node.Open}
	ctx, interrupt := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- l.run(ctx, c, "etcd", out, messages) }()

	const day = "2026-01-02T03:04:"
	w := node.says(t, "etcd-0", 1, day+"05.1Z one", day+"05.2Z two")
	out.until(t, "two\n")
	w.CloseWithError(errors.New("the line broke"))
	w = node.says(t, "etcd-0", 2, day+"05.1Z one", day+"05.2Z two", day+"05.3Z three")
	out.until(t, "three\n")
	update(lives("etcd-0", "u1", "c1", corev1.ContainerState{Terminated: killed}, nil))
	w.Close()
	messages.until(t, "etcd-0/etcd ended: exit code 137, OOMKilled\n")
	update(lives("etcd-0", "u1", "c1", corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "CrashLoopBackOff"}}, killed))
	lists <- &url.Error{Op: "Get", URL: "https://api", Err: io.EOF}
	messages.until(t, "going on as soon as it answers\n")
	update(lives("etcd-0", "u1", "c2", runs, killed))
	messages.until(t, "etcd-0/etcd started again: exit code 137, OOMKilled\n")
	node.says(t, "etcd-0", 3, day+"06.1Z four").Close()
	out.until(t, "four\n")
	update(lives("etcd-0", "u2", "c3", runs, nil))
	messages.until(t, "etcd-0/etcd joined\n")
	messages.until(t, "etcd-0/etcd ended: its pod is gone\n")

	node.says(t, "etcd-0", node.turnOf(t, "etcd-0 tail -1 since -"), day+"07.1Z five")
	out.until(t, "[etcd-0/etcd] five\n")
	if want := "one\ntwo\nthree\nfour\n[etcd-0/etcd] five\n"; out.String() != want {
		t.Errorf("got\n%s\nwant\n%s", out, want)
	}
	node.mu.Lock()
	asked := strings.Join(node.asked[:3], "\n") + "\n" + node.asked[len(node.asked)-1]
	node.mu.Unlock()
	first, later := "etcd-0 tail 7 since -\n", "etcd-0 tail -1 since 03:04:05\n"
	if want := first + later + later + "etcd-0 tail -1 since -"; asked != want {
		t.Errorf("asked\n%s\nwant\n%s", asked, want)
	}
	interrupt()
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Errorf("an interrupt ends it, with %v", err)
	}
}

// Who may not look any more is told so, and a pipe that is closed ends it.
func TestFollowEnds(t *testing.T) {
	runs := corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}
	denied := apierrors.NewForbidden(corev1.Resource("pods"), "", nil)
	turn := 0
	c := surveytest.Client(lives("etcd-0", "u1", "c1", runs, nil)).WithInterceptorFuncs(interceptor.Funcs{
		List: func(ctx context.Context, c client.WithWatch, list client.ObjectList, opts ...client.ListOption) error {
			if turn++; turn > 1 {
				return denied
			}
			return c.List(ctx, list, opts...)
		}}).Build()
	l := &logReader{operatorNamespace: "hypershift", tail: 7, follow: true, every: time.Millisecond}
	l.open = func(ctx context.Context, _, _ string, _ *corev1.PodLogOptions) (io.ReadCloser, error) {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	if err := l.run(t.Context(), c, "etcd", io.Discard, io.Discard); !errors.Is(err, denied) {
		t.Errorf("%v, want %v", err, denied)
	}
	turn, l.every = 0, time.Hour
	l.open = func(context.Context, string, string, *corev1.PodLogOptions) (io.ReadCloser, error) {
		return io.NopCloser(strings.NewReader("a line\n")), nil
	}
	closed, w := io.Pipe()
	closed.Close()
	if err := l.run(t.Context(), c, "etcd", w, io.Discard); !errors.Is(err, io.ErrClosedPipe) {
		t.Errorf("%v, want %v", err, io.ErrClosedPipe)
	}
}

// TestSince: a time means all its lines, unless their number is typed too; what no log has is refused.
func TestSince(t *testing.T) {
	l := &logReader{tail: 200, since: 1500 * time.Millisecond}
	if err := l.validate(false); err != nil {
		t.Fatal(err)
	}
	if o := l.asked(stream{}); o.TailLines != nil || *o.SinceSeconds != 2 {
		t.Errorf("%+v", o)
	}
	l.tail = 5
	if err := l.validate(true); err != nil || *l.asked(stream{}).TailLines != 5 {
		t.Errorf("%v, %d lines", err, l.tail)
	}
	for want, l := range map[string]*logReader{"--since -1s is negative": {since: -time.Second}, "--tail -2 is negative": {tail: -2}} {
		if err := l.validate(true); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
}
