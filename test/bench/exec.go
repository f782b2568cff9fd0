package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"time"

	"github.com/hypershift-on-azure/hypershift/test/bench/limits"
)

// execRounds is how often each side is asked; the sides take turns.
const execRounds = 21

// compareExec measures `kubectl exec`, from its start to its first byte, in a pod of the demo's hosted cluster, which goes through the
// tunnel, and in one of the management cluster. hack/bench.sh makes both pods.
func compareExec(ctx context.Context, l *limits.Limits, work string) error {
	hosted, management := "--kubeconfig="+work+"/kubeconfig", "--kubeconfig="+os.Getenv("KUBECONFIG")
	name, err := exec.CommandContext(ctx, "kubectl", hosted, "-n", "default", "get", "pods", "-l", "app=web", "-o", "name").Output()
	if err != nil {
		return fmt.Errorf("look for the demo's pods: %w", err)
	}
	web, _, _ := strings.Cut(string(name), "\n")
	var through, direct []time.Duration
	for range execRounds {
		t, err := firstByte(ctx, hosted, web)
		if err != nil {
			return fmt.Errorf("exec in the hosted cluster: %w", err)
		}
		d, err := firstByte(ctx, management, "pod/prober")
		if err != nil {
			return fmt.Errorf("exec in the management cluster: %w", err)
		}
		through, direct = append(through, t), append(direct, d)
	}
	slices.Sort(through)
	slices.Sort(direct)
	t, d := through[execRounds/2], direct[execRounds/2]
	l.Hold("kubectl exec, first byte, tunnel / management cluster", t.Seconds()/d.Seconds(), mostOfDirectExec,
		fmt.Sprintf(" %d ms to %d ms", t.Milliseconds(), d.Milliseconds()))
	return nil
}

func firstByte(ctx context.Context, kubeconfig, pod string) (time.Duration, error) {
	command := exec.CommandContext(ctx, "kubectl", kubeconfig, "-n", "default", "exec", pod, "--", "echo", "here")
	command.Stderr = os.Stderr
	out, err := command.StdoutPipe()
	if err != nil {
		return 0, err
	}
	begin := time.Now()
	if err := command.Start(); err != nil {
		return 0, err
	}
	_, readErr := out.Read(make([]byte, 1))
	took := time.Since(begin)
	if err := command.Wait(); err != nil {
		return 0, err
	}
	return took, readErr
}
