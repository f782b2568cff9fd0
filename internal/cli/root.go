// Package cli is the hypershift command: its root, its exit statuses and its version; a package below it has the commands of each kind of
// thing. Results go to stdout, progress and messages to stderr.
package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/go-logr/logr"
	"github.com/spf13/cobra"
	ctrllog "sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/hypershift-on-azure/hypershift/internal/cli/azure"
	"github.com/hypershift-on-azure/hypershift/internal/cli/backup"
	"github.com/hypershift-on-azure/hypershift/internal/cli/change"
	"github.com/hypershift-on-azure/hypershift/internal/cli/cluster"
	"github.com/hypershift-on-azure/hypershift/internal/cli/cluster/destroy"
	"github.com/hypershift-on-azure/hypershift/internal/cli/cluster/export"
	"github.com/hypershift-on-azure/hypershift/internal/cli/cluster/kubeconfig"
	"github.com/hypershift-on-azure/hypershift/internal/cli/command"
	"github.com/hypershift-on-azure/hypershift/internal/cli/images"
	"github.com/hypershift-on-azure/hypershift/internal/cli/install"
	"github.com/hypershift-on-azure/hypershift/internal/cli/look"
	"github.com/hypershift-on-azure/hypershift/internal/cli/nodepool"
	"github.com/hypershift-on-azure/hypershift/internal/cli/oadp"
	"github.com/hypershift-on-azure/hypershift/internal/cli/payload"
	"github.com/hypershift-on-azure/hypershift/internal/cli/preflight"
	"github.com/hypershift-on-azure/hypershift/internal/cli/printing"
	"github.com/hypershift-on-azure/hypershift/internal/cli/progress"
	"github.com/hypershift-on-azure/hypershift/internal/cli/sandbox"
	"github.com/hypershift-on-azure/hypershift/internal/version"
)

// Main runs the command line and returns the exit status; it is 130 after an interrupt.
func Main(args []string, stdout, stderr io.Writer) int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	// A second interrupt ends the program at once.
	context.AfterFunc(ctx, stop)
	ctrllog.SetLogger(logr.Discard())

	root := NewRoot()
	if len(args) > 0 && strings.HasPrefix(args[0], cobra.ShellCompRequestCmd) {
		completeFlags(root)
	}
	root.SetArgs(args)
	root.SetOut(stdout)
	root.SetErr(stderr)
	ctx, sofar := progress.WithJourney(ctx, args)
	err := root.ExecuteContext(ctx)
	switch {
	case err == nil:
		return 0
	case errors.Is(err, command.ErrHelp):
	case ctx.Err() != nil:
		sofar.ReportInterrupt(stderr, err)
		return progress.InterruptedStatus
	default:
		fmt.Fprintln(stderr, "error: "+printing.OneLine(err))
	}
	return 1
}

// NewRoot assembles the hypershift command.
func NewRoot() *cobra.Command {
	root := &cobra.Command{
		Use:   "hypershift",
		Short: "Self-managed HyperShift on Azure: hosted control planes on your management cluster",
		Long: `Self-managed HyperShift on Azure: hosted control planes on your management cluster.

Results go to stdout, progress and messages to stderr; --progress json makes each line of progress an object. Exit status: 0 done; 1 refused or failed, with the reason on stderr; 130 interrupted.
Colour is only on terminals, and never with NO_COLOR.`,
		Example: `  hypershift install --pull-secret pull-secret.json --limit-crd-install Azure
  hypershift create cluster azure --name demo --azure-creds azure-credentials.json --base-domain example.com ...
  hypershift create kubeconfig demo --output-file demo.kubeconfig
  hypershift status demo
  hypershift explain cluster demo`,
		Version:           version.Version,
		SilenceErrors:     true,
		SilenceUsage:      true,
		TraverseChildren:  true,
		PersistentPreRunE: judge,
		RunE:              command.NeedSubcommand,
	}
	root.SetFlagErrorFunc(command.FlagError)
	progress.AddFlags(root)
	root.AddCommand(
		look.NewGetCommand(), look.NewStatusCommand(), look.NewExplainCommand(), look.NewGraphCommand(), look.NewDashboardCommand(), look.NewLogsCommand(), look.NewConsoleLogsCommand(), look.NewDumpCommand(),
		preflight.NewCommand(cluster.PreflightCommands()...),
		change.NewUpgradeCommand(), change.NewScaleCommand(), change.NewPauseCommand(), change.NewResumeCommand(), change.NewWaitCommand(),
		backup.NewCommand(),
		install.NewCommand(), install.NewUninstallCommand(),
		newCreateCommand(), newDestroyCommand(),
		kubeconfig.NewCommand(""),
		command.Parent("export", "Write what is there as files", export.NewCommand(cluster.ForExport())),
		command.Parent("rotate", "Change keys and certificates without an interruption",
			azure.NewRotateOIDCIssuerCommand(), change.NewRotateCertificatesCommand(), change.NewRotateEncryptionKeyCommand()),
		azure.NewVerifyCommand(),
		images.NewCommand(), payload.NewCommand(), sandbox.NewCommand(), newVersionCommand(),
	)
	return root
}

func newCreateCommand() *cobra.Command {
	return command.Parent("create", "Create issuers, identities, DNS, infrastructure, clusters, node pools and kubeconfigs",
		azure.NewCreateOIDCIssuerCommand(), azure.NewCreateIAMCommand(), azure.NewCreateDNSCommand(), azure.NewCreateInfraCommand(), azure.NewCreatePrerequisitesCommand(), cluster.NewCreateCommand(), nodepool.NewCreateCommand(), kubeconfig.NewCommand("create"), kubeconfig.NewCredentialCommand(),
		oadp.NewBackupCommand(), oadp.NewRestoreCommand(), oadp.NewScheduleCommand())
}

func newDestroyCommand() *cobra.Command {
	return command.Parent("destroy", "Destroy clusters, node pools, infrastructure, DNS, identities and issuers",
		destroy.NewCommand(), nodepool.NewDestroyCommand(), azure.NewDestroyInfraCommand(), azure.NewDestroyDNSCommand(), azure.NewDestroyIAMCommand(), azure.NewDestroyOIDCIssuerCommand())
}
