package management

import (
	"context"
	"errors"
	"testing"
	"time"

	"k8s.io/client-go/util/flowcontrol"
)

// A client that limits its own rate, and would have to wait beyond the limit, does not end the wait in words of its own.
func TestWithinEndsByItsOwnLimit(t *testing.T) {
	limiter := flowcontrol.NewTokenBucketRateLimiter(0.001, 1)
	limiter.Accept() // the next call has to wait for a quarter of an hour
	err := Within(t.Context(), time.Millisecond, 10*time.Millisecond, func(ctx context.Context) (bool, error) {
		return false, limiter.Wait(ctx)
	})
	if !errors.Is(err, ErrTimeUp) {
		t.Errorf("the wait ends with %v, want ErrTimeUp", err)
	}
}

func TestWithinEndsWithWhatItAsks(t *testing.T) {
	refused := errors.New("refused")
	if err := Within(t.Context(), time.Millisecond, time.Hour, func(context.Context) (bool, error) { return false, refused }); !errors.Is(err, refused) {
		t.Errorf("the wait ends with %v, want the error of the question", err)
	}
	if err := Within(t.Context(), time.Millisecond, time.Hour, func(context.Context) (bool, error) { return true, nil }); err != nil {
		t.Errorf("the wait ends with %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := Within(ctx, time.Millisecond, time.Hour, func(context.Context) (bool, error) { return false, nil }); !errors.Is(err, context.Canceled) {
		t.Errorf("an interrupted wait ends with %v", err)
	}
}
