package guest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// manager runs the units of a machine.
type manager struct {
	reap     *reaper
	logDir   string
	hostname string
	env      []string
	log      func(string, ...any)

	kept sync.WaitGroup
	mu   sync.Mutex
	logs map[string]*rotating
}

// unitLog is the one log of a unit; programs that outlive a restart go on writing to it.
func (m *manager) unitLog(name string) (*rotating, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if l := m.logs[name]; l != nil {
		return l, nil
	}
	l, err := openLog(filepath.Join(m.logDir, name+".log"))
	if err != nil {
		return nil, err
	}
	if m.logs == nil {
		m.logs = map[string]*rotating{}
	}
	m.logs[name] = l
	return l, nil
}

// start brings all units up, each as soon as what it is ordered after is, and returns when every one is active or failed.
// Services go on running and being restarted until ctx ends.
func (m *manager) start(ctx context.Context, set unitSet) {
	up := map[string]chan struct{}{}
	failed := map[string]error{}
	var mu sync.Mutex
	for name := range set {
		up[name] = make(chan struct{})
	}
	var all sync.WaitGroup
	for name, u := range set {
		all.Go(func() {
			var once sync.Once
			active := func(err error) {
				once.Do(func() {
					mu.Lock()
					failed[name] = err
					mu.Unlock()
					close(up[name])
				})
			}
			if err := m.await(ctx, u, set, up, func(dep string) error { mu.Lock(); defer mu.Unlock(); return failed[dep] }); err != nil {
				m.log("unit %s: not started: %v", name, err)
				active(err)
				return
			}
			m.kept.Go(func() { m.keep(ctx, u, active) })
			select {
			case <-up[name]:
			case <-ctx.Done():
			}
		})
	}
	all.Wait()
}

// stopped returns when every service has ended after the context given to start has.
func (m *manager) stopped() { m.kept.Wait() }

// await returns when the units before u are active or failed; an error is about one that u requires.
func (m *manager) await(ctx context.Context, u *Unit, set unitSet, up map[string]chan struct{}, failure func(string) error) error {
	for _, dep := range set.before(u) {
		select {
		case <-up[dep]:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	for _, dep := range u.Requires {
		if up[dep] == nil {
			return fmt.Errorf("it requires %s, which does not exist", dep)
		}
		if !slices.Contains(u.After, dep) { // started together: its failure is not waited for, as in systemd
			continue
		}
		if err := failure(dep); err != nil {
			return fmt.Errorf("it requires %s, which failed", dep)
		}
	}
	return nil
}

// keep runs a unit, restarting it as it asks. active is called when the unit is up, or has failed and will not be tried again.
func (m *manager) keep(ctx context.Context, u *Unit, active func(error)) {
	for _, c := range u.ConditionPathExists {
		path, negate := strings.CutPrefix(c, "!")
		if _, err := os.Stat(path); (err == nil) == negate {
			m.log("unit %s: skipped: ConditionPathExists=%s", u.Name, c)
			active(nil)
			return
		}
	}
	for ctx.Err() == nil {
		err := m.run(ctx, u, active)
		if ctx.Err() != nil {
			return
		}
		if !wantsRestart(u.Restart, err) {
			if err != nil {
				m.log("unit %s: failed: %v", u.Name, err)
			} else if u.Type != "oneshot" {
				m.log("unit %s: ended", u.Name)
			}
			active(err)
			return
		}
		m.log("unit %s: %s; restarting in %s", u.Name, ending(err), u.RestartPause)
		if u.Type != "oneshot" {
			active(nil) // ordering does not wait for a service that keeps failing
		}
		select {
		case <-ctx.Done():
		case <-time.After(u.RestartPause):
		}
	}
}

func ending(err error) string {
	if err == nil {
		return "ended"
	}
	return err.Error()
}

// exitError is the end of a program that did not exit with 0.
type exitError struct{ status unix.WaitStatus }

func (e *exitError) Error() string {
	if e.status.Signaled() {
		return "killed by " + e.status.Signal().String()
	}
	return fmt.Sprintf("exit status %d", e.status.ExitStatus())
}

func wantsRestart(policy string, err error) bool {
	var exit *exitError
	switch policy {
	case "always":
		return true
	case "on-failure":
		return err != nil
	case "on-success":
		return err == nil
	case "on-abnormal":
		return errors.As(err, &exit) && exit.status.Signaled()
	}
	return false
}

// run starts the unit once and returns when it has ended (a oneshot: when its programs have run).
func (m *manager) run(ctx context.Context, u *Unit, active func(error)) error {
	if strings.HasSuffix(u.Name, ".target") {
		active(nil)
		return nil
	}
	out, err := m.unitLog(u.Name)
	if err != nil {
		return err
	}
	s := &starter{manager: m, unit: u, out: out}
	for _, c := range u.ExecStartPre {
		if err := s.finish(ctx, c); err != nil {
			return fmt.Errorf("ExecStartPre: %w", err)
		}
	}
	if u.Type == "oneshot" {
		for _, c := range append(u.ExecStart, u.ExecStartPost...) {
			if err := s.finish(ctx, c); err != nil {
				return err
			}
		}
		m.log("unit %s: done", u.Name)
		active(nil)
		return nil
	}
	return s.service(ctx, active)
}

// starter starts the programs of one unit.
type starter struct {
	*manager
	unit   *Unit
	out    *rotating
	notify string
}

// finish runs a program to its end.
func (s *starter) finish(ctx context.Context, c Command) error {
	if s.unit.StartTimeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, s.unit.StartTimeout)
		defer cancel()
	}
	pid, ended, err := s.spawn(c)
	if err == nil {
		select {
		case status := <-ended:
			if status != 0 {
				err = fmt.Errorf("%s: %w", c.Words[0], &exitError{status})
			}
		case <-ctx.Done():
			_ = unix.Kill(-pid, unix.SIGKILL)
			err = fmt.Errorf("%s: %w", c.Words[0], ctx.Err())
		}
	}
	if c.IgnoreFailure {
		return nil
	}
	return err
}

// service runs the main program until it ends.
func (s *starter) service(ctx context.Context, active func(error)) error {
	var ready <-chan struct{}
	if s.unit.Type == "notify" {
		path, ch, done, err := notifySocket(s.unit.Name)
		if err != nil {
			return err
		}
		defer done()
		s.notify, ready = path, ch
	}
	pid, ended, err := s.spawn(s.unit.ExecStart[0])
	if err != nil {
		return err
	}
	s.log("unit %s: started, pid %d", s.unit.Name, pid)
	var timeout <-chan time.Time
	if ready == nil {
		s.up(ctx, active)
	} else if s.unit.StartTimeout > 0 {
		timeout = time.After(s.unit.StartTimeout)
	}
	for {
		select {
		case <-ready:
			ready, timeout = nil, nil
			s.log("unit %s: ready", s.unit.Name)
			s.up(ctx, active)
		case <-timeout:
			_ = unix.Kill(-pid, unix.SIGKILL)
			timeout = nil
		case <-ctx.Done():
			s.stop(pid, ended)
			return nil
		case status := <-ended:
			if s.unit.KillMode != "process" {
				_ = unix.Kill(-pid, unix.SIGKILL) // what the main program leaves behind
			}
			if status != 0 {
				return &exitError{status}
			}
			return nil
		}
	}
}

func (s *starter) up(ctx context.Context, active func(error)) {
	for _, c := range s.unit.ExecStartPost {
		if err := s.finish(ctx, c); err != nil {
			s.log("unit %s: ExecStartPost: %v", s.unit.Name, err)
		}
	}
	active(nil)
}

func (s *starter) stop(pid int, ended <-chan unix.WaitStatus) {
	for _, c := range s.unit.ExecStop {
		_ = s.finish(context.Background(), c)
	}
	_ = unix.Kill(pid, unix.SIGTERM)
	<-ended
}

// spawn starts a program in a process group of its own.
func (s *starter) spawn(c Command) (int, <-chan unix.WaitStatus, error) {
	env, err := s.unit.environment(s.env)
	if err != nil {
		return 0, nil, err
	}
	if s.notify != "" {
		env["NOTIFY_SOCKET"] = s.notify
	}
	words, err := expand(c.Words, s.unit.Name, s.hostname, env)
	if err != nil {
		return 0, nil, err
	}
	pipe, err := s.out.pipe()
	if err != nil {
		return 0, nil, err
	}
	defer pipe.Close()
	cmd := &exec.Cmd{Path: words[0], Args: words, Dir: s.unit.WorkingDir, Stdout: pipe, Stderr: pipe, SysProcAttr: &unix.SysProcAttr{Setsid: true}}
	if cmd.Dir == "" {
		cmd.Dir = "/"
	}
	for k, v := range env {
		cmd.Env = append(cmd.Env, k+"="+v)
	}
	pid, ended, err := s.reap.start(cmd)
	if err != nil {
		return 0, nil, fmt.Errorf("starting %s: %w", words[0], err)
	}
	return pid, ended, nil
}
