package guest

import (
	"errors"
	"os"
	"os/exec"
	"os/signal"
	"sync"

	"golang.org/x/sys/unix"
)

// reaper collects every dead child of pid 1, those it started and those it inherited.
type reaper struct {
	mu      sync.Mutex
	waiting map[int]chan unix.WaitStatus
}

func newReaper() *reaper {
	r := &reaper{waiting: map[int]chan unix.WaitStatus{}}
	children := make(chan os.Signal, 1)
	signal.Notify(children, unix.SIGCHLD)
	go func() {
		for range children {
			r.collect()
		}
	}()
	return r
}

func (r *reaper) collect() {
	r.mu.Lock()
	defer r.mu.Unlock()
	for {
		var status unix.WaitStatus
		pid, err := unix.Wait4(-1, &status, unix.WNOHANG, nil)
		if errors.Is(err, unix.EINTR) {
			continue
		}
		if err != nil || pid <= 0 {
			return
		}
		if ch := r.waiting[pid]; ch != nil {
			ch <- status
			delete(r.waiting, pid)
		}
	}
}

// start starts a program whose outputs are files; its end arrives on the channel. The lock is held so that a quick death cannot be
// collected before it is expected.
func (r *reaper) start(cmd *exec.Cmd) (int, <-chan unix.WaitStatus, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if err := cmd.Start(); err != nil {
		return 0, nil, err
	}
	ch := make(chan unix.WaitStatus, 1)
	r.waiting[cmd.Process.Pid] = ch
	return cmd.Process.Pid, ch, nil
}
