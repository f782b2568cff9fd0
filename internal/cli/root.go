// Package cli is the hypershift command: one file per verb and noun. Results go to stdout, progress and messages to stderr.
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

	_ "github.com/hypershift-on-azure/hypershift/internal/cli/fieldflags" // errors name flags
	"github.com/hypershift-on-azure/hypershift/internal/version"
)

// errHelp ends a command that was given no subcommand: help was printed, and nothing was done.
var errHelp = errors.New("a subcommand is needed")

// Main runs the command line and returns the exit status; it is 130 after an interrupt.
func Main(args []string, stdout, stderr io.Writer) int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	// A second interrupt ends the program at once.
	context.AfterFunc(ctx, stop)
	ctrllog.SetLogger(logr.Discard())

	root := NewRoot()
	root.SetArgs(args)
	root.SetOut(stdout)
	root.SetErr(stderr)
	ctx, sofar := withJourney(ctx, args)
	err := root.ExecuteContext(ctx)
	switch {
	case err == nil:
		return 0
	case errors.Is(err, errHelp):
	case ctx.Err() != nil:
		sofar.reportInterrupt(stderr, err)
		return interruptedStatus
	default:
		fmt.Fprintln(stderr, "error: "+oneLine(err))
	}
	return 1
}

// oneLine keeps an error that joins several others readable and greppable.
func oneLine(err error) string {
	lines := strings.FieldsFunc(err.Error(), func(r rune) bool { return r == '\n' || r == '\r' })
	for i := range lines {
		lines[i] = strings.TrimSpace(lines[i])
	}
	return strings.Join(lines, "; ")
}

// NewRoot assembles the hypershift command.
func NewRoot() *cobra.Command {
	root := &cobra.Command{
		Use:   "hypershift",
		Short: "Self-managed HyperShift on Azure: hosted control planes on your management cluster",
		Example: `  hypershift install --pull-secret pull-secret.json --limit-crd-install Azure
  hypershift create cluster azure --name demo --azure-creds azure-credentials.json --base-domain example.com ...
  hypershift create kubeconfig demo --output-file demo.kubeconfig`,
		Version:          version.Version,
		SilenceErrors:    true,
		SilenceUsage:     true,
		TraverseChildren: true,
		RunE:             needSubcommand,
	}
	root.CompletionOptions.HiddenDefaultCmd = true
	root.AddCommand(newInstallCommand(), newUninstallCommand(), newCreateCommand(), newDestroyCommand(), newRotateCommand(), newVerifyCommand(), newSandboxCommand(), newVersionCommand())
	return root
}

func newCreateCommand() *cobra.Command {
	return parent("create", "Create issuers, identities, DNS, infrastructure, clusters, node pools and kubeconfigs",
		newCreateOIDCIssuerCommand(), newCreateIAMCommand(), newCreateDNSCommand(), newCreateInfraCommand(), newCreatePrerequisitesCommand(), newCreateClusterCommand(), newCreateNodePoolCommand(), newCreateKubeconfigCommand())
}

func newDestroyCommand() *cobra.Command {
	return parent("destroy", "Destroy clusters, node pools, infrastructure, DNS, identities and issuers",
		newDestroyClusterCommand(), newDestroyNodePoolCommand(), newDestroyInfraCommand(), newDestroyDNSCommand(), newDestroyIAMCommand(), newDestroyOIDCIssuerCommand())
}

// parent is a command that only leads to others; its examples are the first one of each.
func parent(use, short string, children ...*cobra.Command) *cobra.Command {
	cmd := &cobra.Command{Use: use, Short: short, RunE: needSubcommand}
	cmd.AddCommand(children...)
	var examples []string
	for _, child := range children {
		if !child.Hidden {
			examples = append(examples, firstExample(child.Example))
		}
	}
	cmd.Example = strings.Join(examples, "\n")
	return cmd
}

// firstExample is the first command line, continued lines included.
func firstExample(text string) string {
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		if !strings.HasSuffix(line, `\`) {
			return strings.Join(lines[:i+1], "\n")
		}
	}
	return text
}

func needSubcommand(cmd *cobra.Command, args []string) error {
	if len(args) > 0 {
		return fmt.Errorf("unknown command %q for %q; see `%s -h`", args[0], cmd.CommandPath(), cmd.CommandPath())
	}
	if err := cmd.Help(); err != nil {
		return err
	}
	return errHelp
}
