package sandbox

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/hypershift-on-azure/hypershift/sandbox/cluster"
	"github.com/hypershift-on-azure/hypershift/sandbox/supervise"
)

// nodeFault is what can be done to a node of the management cluster: states that it goes through, or a command of kubectl.
type nodeFault struct {
	summary string
	states  []cluster.NodeState
	kubectl []string
}

var nodeFaults = map[string]nodeFault{
	"down":      {summary: "take its power: all that runs on it ends at once, its disk stays", states: []cluster.NodeState{cluster.NodeDown}},
	"up":        {summary: "give it power, network and its disk's room and speed again", states: []cluster.NodeState{cluster.NodeUp}},
	"reboot":    {summary: "take its power and give it again", states: []cluster.NodeState{cluster.NodeDown, cluster.NodeUp}},
	"partition": {summary: "pull its cable: it runs, and nothing reaches it or is reached by it", states: []cluster.NodeState{cluster.NodePartitioned}},
	"disk-full": {summary: "fill the disk of its volumes: a write that needs room fails", states: []cluster.NodeState{cluster.NodeDiskFull}},
	"disk-slow": {summary: "stall the disk of its volumes: a write takes up to 0.3 s", states: []cluster.NodeState{cluster.NodeDiskSlow}},
	"cordon":    {summary: "let no new pods come to it", kubectl: []string{"cordon"}},
	"uncordon":  {summary: "let pods come to it again", kubectl: []string{"uncordon"}},
	"drain":     {summary: "have its pods leave, as their disruption budgets let them", kubectl: []string{"drain", "--ignore-daemonsets", "--delete-emptydir-data", "--force"}},
}

// NodeFaults are what FaultNode can do, with what each does.
func NodeFaults() map[string]string {
	out := map[string]string{}
	for name, f := range nodeFaults {
		out[name] = f.summary
	}
	return out
}

// FaultNode does something to a node of the management cluster and returns when it is done. What kubectl says goes to messages.
func FaultNode(ctx context.Context, dir, name, fault string, messages io.Writer) error {
	f, known := nodeFaults[fault]
	if !known {
		return fmt.Errorf("nothing is known that is called %q: use one of %s", fault, strings.Join(slices.Sorted(maps.Keys(nodeFaults)), ", "))
	}
	c, err := config(dir)
	if err != nil {
		return err
	}
	if _, err := supervise.Query(ctx, c.Dir); errors.Is(err, supervise.ErrDown) {
		return fmt.Errorf("no sandbox is up in %s: start one with hypershift sandbox up --management-nodes 3, or name its directory with --dir", c.Dir)
	} else if err != nil {
		return err
	}
	if len(f.kubectl) > 0 {
		argv := append(slices.Clone(f.kubectl), name, "--kubeconfig", c.Kubeconfig())
		command := exec.CommandContext(ctx, filepath.Join(c.Dir, "bin", "kubectl"), argv...)
		command.Stdout, command.Stderr = messages, messages
		if err := command.Run(); err != nil {
			return fmt.Errorf("kubectl %s: %w", strings.Join(f.kubectl, " "), err)
		}
	}
	for _, state := range f.states {
		if err := c.SetNode(ctx, name, state); err != nil {
			return err
		}
	}
	return nil
}
