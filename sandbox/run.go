package sandbox

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/hypershift-on-azure/hypershift/sandbox/cluster"
	"github.com/hypershift-on-azure/hypershift/sandbox/supervise"
)

// Run is one process of the sandbox; this program starts itself with it.
func Run(ctx context.Context, part string, args []string) error {
	if part == vmInit {
		return runVMInit(args)
	}
	giveBack()
	flags := flag.NewFlagSet(part, flag.ContinueOnError)
	flags.SetOutput(io.Discard)
	dir := flags.String("dir", DefaultDir(), "directory of the sandbox")
	edge := flags.Bool("edge", false, "listen on the edge too")
	profile := flags.String(strings.TrimPrefix(cluster.ProfileFlag, "--"), "", "how long what Azure has accepted takes to show")
	bin := flags.String("bin", "", "directory of the built parts")
	debian := flags.String("debian", "", "directory of Debian's programs")
	system := flags.String("system", "", "directory of the packages of virtual machines")
	node := flags.String(strings.TrimPrefix(cluster.NodeFlag, "--"), "", "name of a node of the management cluster")
	if err := flags.Parse(args); err != nil {
		return fmt.Errorf("sandbox run %s: %w", part, err)
	}
	c, err := config(*dir)
	if err != nil {
		return err
	}
	c.Bin, c.Debian, c.System, c.AzureProfile = *bin, *debian, *system, *profile
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
	defer stop()
	switch part {
	case "supervisor":
		return supervise.Run(ctx, c.Dir, c.Build())
	case supervise.KeeperName:
		return supervise.Keep(ctx, c.Dir, supervisorCommand(c))
	case cluster.Azure:
		return runAzure(ctx, c, *edge)
	case cluster.Machines:
		return runMachines(ctx, c)
	case cluster.Kubelet:
		return cluster.RunKubelet(c)
	case cluster.ManagementNode:
		return cluster.RunNode(ctx, c, *node)
	case cluster.ManagementNodeInit:
		return cluster.RunNodeInit(c, *node)
	case cluster.Policies:
		return cluster.RunPolicies(ctx, c)
	case cluster.Router:
		return cluster.RunRouter(ctx, c)
	}
	return fmt.Errorf("there is no part %q", part)
}
