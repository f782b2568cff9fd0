package supervise

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// bootID is different after each boot of the machine.
func bootID() string {
	text, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return "unknown"
	}
	return strings.TrimSpace(string(text))
}

// identify returns the identity of a running process; a zombie does not run.
func identify(pid int) (Process, bool) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return Process{}, false
	}
	// The name, in parentheses, may contain anything.
	end := bytes.LastIndexByte(text, ')')
	if end < 0 {
		return Process{}, false
	}
	fields := strings.Fields(string(text[end+1:]))
	const state, startTime = 0, 19
	if len(fields) <= startTime || fields[state] == "Z" || fields[state] == "X" {
		return Process{}, false
	}
	start, err := strconv.ParseUint(fields[startTime], 10, 64)
	return Process{PID: pid, Start: start}, err == nil
}

// Alive tells whether exactly this process runs.
func (p Process) Alive() bool {
	if p.PID <= 0 {
		return false
	}
	now, ok := identify(p.PID)
	return ok && now.Start == p.Start
}

// wait returns when the process, child or not, has ended.
func (p Process) wait(ctx context.Context) error {
	fd, err := unix.PidfdOpen(p.PID, 0)
	if err != nil {
		return nil // it is gone
	}
	defer unix.Close(fd)
	if !p.Alive() {
		return nil
	}
	for ctx.Err() == nil {
		n, err := unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, 500)
		if n > 0 || (err != nil && !errors.Is(err, unix.EINTR)) {
			return nil
		}
	}
	return ctx.Err()
}

// stop ends a process: SIGTERM, after grace SIGKILL to it and its group.
func (p Process) stop(grace time.Duration) {
	if !p.Alive() {
		return
	}
	if grace > 0 {
		_ = syscall.Kill(p.PID, syscall.SIGTERM)
		ctx, cancel := context.WithTimeout(context.Background(), grace)
		err := p.wait(ctx)
		cancel()
		if err == nil {
			return
		}
	}
	_ = syscall.Kill(p.PID, syscall.SIGKILL)
	_ = syscall.Kill(-p.PID, syscall.SIGKILL)
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	_ = p.wait(ctx)
}

// launch starts a detached process that appends its output to a file, so that
// neither the end of the supervisor nor that of the shell touches it.
func launch(argv, env []string, logPath string) (Process, *exec.Cmd, error) {
	log, err := os.OpenFile(logPath, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o640)
	if err != nil {
		return Process{}, nil, err
	}
	defer log.Close()
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.Env = append(baseEnv(), env...)
	cmd.Dir = "/"
	cmd.Stdout, cmd.Stderr = log, log
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := cmd.Start(); err != nil {
		return Process{}, nil, err
	}
	process, ok := identify(cmd.Process.Pid)
	if !ok {
		_ = cmd.Wait()
		return Process{}, nil, fmt.Errorf("%s ended at once (%s): its log says why", argv[0], cmd.ProcessState)
	}
	return process, cmd, nil
}

// baseEnv is what every part gets. The user's proxy settings and temporary
// folder are not part of it: the sandbox must not depend on the shell it was
// started from, and outlives it.
func baseEnv() []string {
	const path = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
	env := []string{"PATH=" + path}
	for _, name := range []string{"HOME", "LANG"} {
		if value, ok := os.LookupEnv(name); ok {
			env = append(env, name+"="+value)
		}
	}
	return env
}
