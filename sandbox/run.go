package sandbox

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
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
	bin := flags.String("bin", "", "directory of the built parts")
	debian := flags.String("debian", "", "directory of Debian's programs")
	if err := flags.Parse(args); err != nil {
		return fmt.Errorf("sandbox run %s: %w", part, err)
	}
	c, err := config(*dir)
	if err != nil {
		return err
	}
	c.Bin, c.Debian = *bin, *debian
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
	case cluster.Policies:
		return cluster.RunPolicies(ctx, c)
	case cluster.Router:
		return cluster.RunRouter(ctx, c)
	}
	return fmt.Errorf("there is no part %q", part)
}
