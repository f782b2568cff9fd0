package payloadrender

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/hypershift-on-azure/hypershift/internal/contract"
)

const (
	// maxOutput is how much of a program's output goes into an error, in bytes: a condition that tells it has its end then.
	maxOutput = 3 << 10
	// endPatience is how long a program has to end after it was asked to.
	endPatience = 10 * time.Second
)

// passedOn are the variables of the environment that programs get: they may ask registries.
var passedOn = []string{
	contract.HTTPProxyEnv, contract.HTTPSProxyEnv, contract.NoProxyEnv, "http_proxy", "https_proxy", "no_proxy", "SSL_CERT_FILE", "SSL_CERT_DIR",
}

// command is a program of the payload that is about to run in the work directory, with no secret in its arguments or its environment.
// Whatever it starts ends with it.
func (r *render) command(ctx context.Context, name string, args ...string) (*exec.Cmd, *tail) {
	cmd := exec.CommandContext(ctx, filepath.Join(r.dir, "bin", name), args...)
	cmd.Dir, cmd.Env = r.dir, []string{"PATH=/usr/local/bin:/usr/bin:/bin", "HOME=" + r.dir, "TMPDIR=" + filepath.Join(r.dir, "tmp")}
	for _, name := range passedOn {
		if value, set := os.LookupEnv(name); set {
			cmd.Env = append(cmd.Env, name+"="+value)
		}
	}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return killGroup(cmd) }
	cmd.WaitDelay = endPatience
	said := &tail{}
	cmd.Stdout, cmd.Stderr = said, said
	return cmd, said
}

// killGroup ends a program and all that it has started.
func killGroup(cmd *exec.Cmd) error {
	err := syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
	if errors.Is(err, syscall.ESRCH) {
		return os.ErrProcessDone
	}
	return err
}

// runProgram runs a program to its end.
func (r *render) runProgram(ctx context.Context, name string, args ...string) error {
	limited, cancel := context.WithTimeout(ctx, r.Patience)
	defer cancel()
	cmd, said := r.command(limited, name, args...)
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("start %s: %w", name, err)
	}
	err := cmd.Wait()
	_ = killGroup(cmd) // what it has left behind
	return failure(limited, name, err, said)
}

// failure is what a program's end means; nil for one that went well.
func failure(limited context.Context, name string, ended error, said *tail) error {
	switch {
	case ended == nil:
		return nil
	case errors.Is(limited.Err(), context.DeadlineExceeded):
		return fmt.Errorf("%s did not end in time: %s", name, said)
	}
	return fmt.Errorf("%s: %w: %s", name, ended, said)
}

// tail keeps the end of what is written to it.
type tail struct {
	mu   sync.Mutex
	kept []byte
}

// Write implements io.Writer.
func (t *tail) Write(content []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.kept = append(t.kept, content...)
	if over := len(t.kept) - maxOutput; over > 0 {
		t.kept = append([]byte(nil), t.kept[over:]...)
	}
	return len(content), nil
}

// String is the end of the output, as it is the same for the same end: without the time and the process of klog's lines.
func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return strings.TrimSpace(klogHeader.ReplaceAllString(strings.ToValidUTF8(string(t.kept), ""), "$1 "))
}

var klogHeader = regexp.MustCompile(`(?m)^([IWEF])\d{4} \d\d:\d\d:\d\d\.\d+ +\d+ `)

// told is an error as it is the same for the same render: without the name of the work directory.
func told(err error, dir string) error {
	var failed *StageError
	if !errors.As(err, &failed) {
		return err
	}
	return &StageError{Stage: failed.Stage, Cause: &steady{cause: failed.Cause, text: strings.ReplaceAll(failed.Cause.Error(), dir, workPrefix)}}
}

// steady is an error with a text of its own.
type steady struct {
	cause error
	text  string
}

func (e *steady) Error() string { return e.text }
func (e *steady) Unwrap() error { return e.cause }
