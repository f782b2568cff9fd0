package supervise

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"syscall"
	"time"
)

// Keep restarts the supervisor when it ends. It waits for the lock that a
// living supervisor holds, so it costs nothing and notices at once.
func Keep(ctx context.Context, dir string, argv []string) error {
	for ctx.Err() == nil {
		free := make(chan error, 1)
		go func() { free <- awaitLock(dir) }()
		select {
		case <-ctx.Done():
			return nil
		case err := <-free:
			if err != nil {
				return err
			}
		}
		if ctx.Err() != nil {
			return nil
		}
		slog.Info("the supervisor is gone: starting it")
		if err := startSupervisor(dir, argv); err != nil {
			slog.Error("restart failed", "error", err)
		}
		awaitSupervisor(ctx, dir)
	}
	return nil
}

// awaitLock returns when nobody holds the lock.
func awaitLock(dir string) error {
	file, err := os.OpenFile(lockPath(dir), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return err
	}
	defer file.Close()
	for {
		err := syscall.Flock(int(file.Fd()), syscall.LOCK_EX)
		if !errors.Is(err, syscall.EINTR) {
			if err != nil {
				return fmt.Errorf("lock %s: %w", lockPath(dir), err)
			}
			return nil
		}
	}
}

// awaitSupervisor gives a new supervisor the time to take its lock.
func awaitSupervisor(ctx context.Context, dir string) {
	for range 100 {
		if _, err := Query(ctx, dir); err == nil || ctx.Err() != nil {
			return
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(50 * time.Millisecond):
		}
	}
}
