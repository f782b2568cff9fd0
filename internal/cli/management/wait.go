package management

import (
	"context"
	"errors"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"
)

// ErrTimeUp is how a wait ends that has taken as long as it may.
var ErrTimeUp = errors.New("the time is up")

// Within asks until it is done or fails. After the limit it returns errTimeUp, whatever call that interrupts. The limit is no deadline of
// the context: a Kubernetes client that limits its own rate refuses, in words of its own, a call that it cannot make before a deadline.
func Within(ctx context.Context, every, limit time.Duration, done func(context.Context) (bool, error)) error {
	bounded, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	timer := time.AfterFunc(limit, func() { cancel(ErrTimeUp) })
	defer timer.Stop()
	err := wait.PollUntilContextCancel(bounded, every, true, done)
	if err != nil && errors.Is(context.Cause(bounded), ErrTimeUp) {
		return ErrTimeUp
	}
	return err
}
