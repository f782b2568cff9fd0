package sandbox

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/hypershift-on-azure/hypershift/sandbox/cluster"
	"github.com/hypershift-on-azure/hypershift/sandbox/cluster/names"
	"github.com/hypershift-on-azure/hypershift/sandbox/machine"
)

// vmInit is the first process of a virtual machine.
const vmInit = "vm-init"

func runVMInit(args []string) error { return machine.RunInit(args) }

func machineConfig(c cluster.Config) machine.Config {
	return machine.Config{
		Dir: filepath.Join(c.Dir, "machines"), AdminSocket: filepath.Join(c.Dir, "azure", "admin.sock"),
		CABundle: c.Bundle(), System: c.System, Self: c.Self,
		EdgeBridge: names.EdgeBridge, EdgeAddress: names.EdgeIP + names.EdgePrefix,
		Log: func(format string, args ...any) { fmt.Fprintf(os.Stderr, format+"\n", args...) },
	}
}

func runMachines(ctx context.Context, c cluster.Config) error {
	return machine.Run(ctx, machineConfig(c))
}

// haltMachines ends the virtual machines and removes their networks; what is on their disks stays.
func haltMachines(ctx context.Context, c cluster.Config) error {
	return machine.Halt(ctx, machineConfig(c))
}

// removeMachines leaves nothing of them.
func removeMachines(ctx context.Context, c cluster.Config) error {
	return machine.Cleanup(ctx, machineConfig(c))
}
