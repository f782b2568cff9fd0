package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strconv"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes"
	typedv1 "k8s.io/client-go/kubernetes/typed/core/v1"

	"github.com/hypershift-on-azure/hypershift/test/chaos/history"
)

const (
	space = "chaos"
	// valueKey of the ConfigMaps that are written.
	valueKey = "value"
	// callLimit is how long a client waits for an answer.
	callLimit = 10 * time.Second
	// endKey is written last: a watch that has told of it has told of everything.
	endKey = "end"
)

// clients write, read and watch ConfigMaps of the hosted cluster.
type clients struct {
	maps typedv1.ConfigMapInterface
	keys []string
	// began has the reading of the monotonic clock, so that no step of the machine's clock changes a time since then.
	began time.Time
	retry bool // a call that fails is made once more

	lock        sync.Mutex
	operations  []history.Operation
	failedTwice int
}

func newClients(ctx context.Context, guest kubernetes.Interface, keys int) (*clients, error) {
	c := &clients{maps: guest.CoreV1().ConfigMaps(space), began: time.Now()}
	_ = guest.CoreV1().Namespaces().Delete(ctx, space, metav1.DeleteOptions{})
	err := retried(ctx, func(ctx context.Context) error {
		_, err := guest.CoreV1().Namespaces().Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: space}}, metav1.CreateOptions{})
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("make namespace %s: %w", space, err)
	}
	for i := range keys {
		c.keys = append(c.keys, fmt.Sprintf("key-%d", i))
	}
	for _, key := range append([]string{endKey}, c.keys...) {
		made := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: key}, Data: map[string]string{valueKey: ""}}
		if _, err := c.maps.Create(ctx, made, metav1.CreateOptions{}); err != nil {
			return nil, fmt.Errorf("make ConfigMap %s: %w", key, err)
		}
	}
	return c, nil
}

// retried tries again until it is done or the context ends.
func retried(ctx context.Context, do func(context.Context) error) error {
	for {
		limited, cancel := context.WithTimeout(ctx, callLimit)
		err := do(limited)
		cancel()
		if err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return errors.Join(err, ctx.Err())
		case <-time.After(time.Second):
		}
	}
}

func revisionOf(m metav1.Object) int64 {
	revision, err := strconv.ParseInt(m.GetResourceVersion(), 10, 64)
	if err != nil {
		return 0
	}
	return revision
}

// work makes calls of one client until the context ends, so many a second. What is under way then is awaited: its outcome counts.
func (c *clients) work(ctx context.Context, client int, write bool, perSecond float64, random *rand.Rand) {
	ticker := time.NewTicker(time.Duration(float64(time.Second) / perSecond))
	defer ticker.Stop()
	for n := 0; ; n++ {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		o := history.Operation{Client: client, Key: c.keys[random.IntN(len(c.keys))], Write: write}
		if c.do(o, fmt.Sprintf("%d.%d", client, n)) || !c.retry || c.do(o, fmt.Sprintf("%d.%d again", client, n)) {
			continue
		}
		c.lock.Lock()
		c.failedTwice++
		c.lock.Unlock()
	}
}

// do makes a call and records it. Every write has its own value, so a failed write can still be recognized when it took effect.
func (c *clients) do(o history.Operation, value string) bool {
	if o.Write {
		o.Value = value
	}
	o.Call = time.Since(c.began)
	c.call(&o)
	o.Return = time.Since(c.began)
	c.lock.Lock()
	defer c.lock.Unlock()
	c.operations = append(c.operations, o)
	return o.Acknowledged
}

// call makes one call, never twice, and notes the answer.
func (c *clients) call(o *history.Operation) {
	ctx, cancel := context.WithTimeout(context.Background(), callLimit)
	defer cancel()
	var answer *corev1.ConfigMap
	var err error
	if o.Write {
		answer, err = c.maps.Patch(ctx, o.Key, types.MergePatchType, fmt.Appendf(nil, `{"data":{%q:%q}}`, valueKey, o.Value), metav1.PatchOptions{})
	} else {
		answer, err = c.maps.Get(ctx, o.Key, metav1.GetOptions{})
	}
	if err != nil {
		return
	}
	o.Acknowledged, o.Revision = true, revisionOf(answer)
	if !o.Write {
		o.Value = answer.Data[valueKey]
	}
}

// end writes the last key until it is acknowledged, and reads what all have.
func (c *clients) end(ctx context.Context) (map[string]history.Event, error) {
	final := map[string]history.Event{}
	err := retried(ctx, func(ctx context.Context) error {
		_, err := c.maps.Patch(ctx, endKey, types.MergePatchType, []byte(`{"data":{"value":"over"}}`), metav1.PatchOptions{})
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("write after the faults were over: %w", err)
	}
	err = retried(ctx, func(ctx context.Context) error {
		list, err := c.maps.List(ctx, metav1.ListOptions{})
		if err != nil {
			return err
		}
		for i := range list.Items {
			final[list.Items[i].Name] = eventOf(&list.Items[i])
		}
		return nil
	})
	return final, err
}

func eventOf(m *corev1.ConfigMap) history.Event {
	return history.Event{Key: m.Name, Value: m.Data[valueKey], Revision: revisionOf(m)}
}

// follow watches as an informer does until it is told of the last key: from where it was when it is cut, and from a new list when that is gone.
func (c *clients) follow(ctx context.Context, name string) (history.Watch, error) {
	seen := history.Watch{Name: name}
	at := int64(0)
	for {
		if at == 0 {
			revision, err := c.relist(ctx, &seen)
			if err != nil {
				return seen, err
			}
			at = revision
		}
		next, over, err := c.stream(ctx, &seen, at)
		if over || err != nil {
			seen.End = next
			return seen, err
		}
		at = next
	}
}

// relist begins with what is there. All that happened since the last event is a gap.
func (c *clients) relist(ctx context.Context, seen *history.Watch) (int64, error) {
	var revision int64
	err := retried(ctx, func(ctx context.Context) error {
		list, err := c.maps.List(ctx, metav1.ListOptions{})
		if err != nil {
			return err
		}
		if revision, err = strconv.ParseInt(list.ResourceVersion, 10, 64); err != nil {
			return err
		}
		if seen.Held == nil {
			seen.Start, seen.Held = revision, map[string]history.Event{}
			for i := range list.Items {
				seen.Held[list.Items[i].Name] = eventOf(&list.Items[i])
			}
			return nil
		}
		last := seen.Start
		if n := len(seen.Events); n > 0 {
			last = seen.Events[n-1].Revision
		}
		seen.Gaps = append(seen.Gaps, history.Gap{From: last, To: revision})
		return nil
	})
	return revision, err
}

// stream takes events until the watch is cut. It returns where to go on: 0 is a new list. over is true after the last key.
func (c *clients) stream(ctx context.Context, seen *history.Watch, at int64) (next int64, over bool, err error) {
	stream, err := c.maps.Watch(ctx, metav1.ListOptions{ResourceVersion: strconv.FormatInt(at, 10), AllowWatchBookmarks: true})
	if err != nil {
		if apierrors.IsResourceExpired(err) || apierrors.IsGone(err) {
			return 0, false, nil
		}
		select {
		case <-ctx.Done():
			return at, false, fmt.Errorf("watch %s: %w", seen.Name, errors.Join(err, ctx.Err()))
		case <-time.After(500 * time.Millisecond):
			return at, false, nil
		}
	}
	defer stream.Stop()
	for event := range stream.ResultChan() {
		m, ok := event.Object.(*corev1.ConfigMap)
		if event.Type == watch.Error || !ok {
			return 0, false, nil
		}
		at = revisionOf(m)
		if event.Type == watch.Bookmark {
			continue
		}
		seen.Events = append(seen.Events, eventOf(m))
		if m.Name == endKey && m.Data[valueKey] != "" {
			return at, true, nil
		}
	}
	return at, false, ctx.Err()
}
