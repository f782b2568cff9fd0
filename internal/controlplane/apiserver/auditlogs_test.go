package apiserver

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/hypershift-on-azure/hypershift/internal/clusterconfig"
	"github.com/hypershift-on-azure/hypershift/internal/component"
)

func TestAuditLogsContainer(t *testing.T) {
	groups := func(profile string) []clusterconfig.AuditRule {
		return []clusterconfig.AuditRule{{Group: "a", Profile: profile}}
	}
	for title, c := range map[string]struct {
		image string
		audit clusterconfig.Audit
		want  int
	}{
		"default profile":      {"cli", clusterconfig.Audit{}, 1},
		"no events":            {"cli", clusterconfig.Audit{Profile: "None", CustomRules: groups("None")}, 0},
		"events of a group":    {"cli", clusterconfig.Audit{Profile: "None", CustomRules: groups("Default")}, 1},
		"a release without it": {"", clusterconfig.Audit{}, 0},
	} {
		pod := &corev1.PodSpec{}
		addAuditLogs(&component.Context{Images: map[string]string{"cli": c.image}}, pod, c.audit)
		if len(pod.Containers) != c.want {
			t.Errorf("%s: %d containers", title, len(pod.Containers))
		}
	}
}

// TestAuditLogsFollow runs the container's command beside a program that writes, rotates its file, and goes on for a while after the
// signal that both get.
func TestAuditLogsFollow(t *testing.T) {
	file := filepath.Join(t.TempDir(), "audit.log")
	output := &lockedBuffer{}
	command := exec.Command("sh", "-c", strings.ReplaceAll(component.AuditLogs(&component.Context{}, "", "", "").Command[2], "sleep 5", "sleep 1"), file)
	command.Stdout = output
	// As in a container, the signal reaches the first process alone; what is left of the others ends with the test.
	command.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = syscall.Kill(-command.Process.Pid, syscall.SIGKILL) })
	ended := make(chan error, 1)
	go func() {
		_, err := command.Process.Wait()
		ended <- err
	}()
	write := func(line string) {
		t.Helper()
		f, err := os.OpenFile(file, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		if _, err := f.WriteString(line + "\n"); err != nil {
			t.Fatal(err)
		}
	}
	write("first")
	output.await(t, "first\n")
	if err := os.Rename(file, file+".1"); err != nil {
		t.Fatal(err)
	}
	write("rotated")
	output.await(t, "first\nrotated\n")
	if err := command.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	write("after the signal")
	output.await(t, "first\nrotated\nafter the signal\n")
	select {
	case <-ended:
	case <-time.After(30 * time.Second):
		t.Error("it does not end after the signal")
	}
}

type lockedBuffer struct {
	mu   sync.Mutex
	data bytes.Buffer
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.data.Write(p)
}

func (b *lockedBuffer) await(t *testing.T, want string) {
	t.Helper()
	for deadline := time.Now().Add(30 * time.Second); ; time.Sleep(20 * time.Millisecond) {
		b.mu.Lock()
		got := b.data.String()
		b.mu.Unlock()
		if got == want {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("the log is %q, want %q", got, want)
		}
	}
}
