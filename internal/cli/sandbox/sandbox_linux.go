package sandbox

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/hypershift-on-azure/hypershift/internal/cli/command"
	"github.com/hypershift-on-azure/hypershift/internal/version"
	"github.com/hypershift-on-azure/hypershift/sandbox"
)

// NewCommand is sandbox with all its commands.
func NewCommand() *cobra.Command {
	var dir string
	cmd := command.Parent(commandName, summary,
		sandboxUp(&dir), sandboxDown(&dir), sandboxStatus(&dir), sandboxEnv(&dir), sandboxParts(), sandboxRun(), sandboxFault(&dir), sandboxViolations(&dir), sandboxCalls(&dir), sandboxPayload(&dir), sandboxReset(&dir))
	cmd.Long = summary + `.

"hypershift sandbox up" starts an embedded Azure that unmodified clients talk to, and a real Kubernetes.
Nothing outside this machine is needed or reached.`
	cmd.PersistentFlags().StringVar(&dir, "dir", sandbox.DefaultDir(), "directory of the sandbox ($HYPERSHIFT_SANDBOX_DIR)")
	return cmd
}

func sandboxUp(dir *string) *cobra.Command {
	var o sandbox.Options
	var timeout time.Duration
	var output string
	cmd := &cobra.Command{
		Use:   "up",
		Short: "Start the sandbox, or what of it does not run",
		Example: `  hypershift sandbox up
  hypershift sandbox up --azure-only --dir "$HOME/azure"`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			ctx, stop := signal.NotifyContext(cmd.Context(), os.Interrupt, syscall.SIGTERM)
			defer stop()
			ctx, cancel := context.WithTimeoutCause(ctx, timeout, fmt.Errorf("not ready after %s (--timeout)", timeout))
			defer cancel()
			if err := sandbox.LeaveInternet(); err != nil {
				return err
			}
			o.Dir, o.Version = *dir, version.Version
			o.Step, o.Changes = stepPrinter(cmd.ErrOrStderr()), changesPrinter(cmd.ErrOrStderr())
			began := time.Now()
			if err := sandbox.Up(ctx, o); err != nil {
				return err
			}
			if output == "json" {
				return printStatus(ctx, cmd.OutOrStdout(), *dir, output)
			}
			fmt.Fprintf(cmd.ErrOrStderr(), "The sandbox is up (%s). Point this shell at it with:\n  eval \"$(hypershift sandbox env)\"\n", short(time.Since(began)))
			return nil
		},
	}
	cmd.Flags().BoolVar(&o.AzureOnly, "azure-only", false, "start only the embedded Azure; needs no root")
	cmd.Flags().StringVar(&o.AzureProfile, "azure-profile", "", "how long what Azure has accepted takes to show: realistic (the default), or fast, where everything shows at once")
	cmd.Flags().StringVar(&o.Management, "management", "", "kind of the management cluster: openshift (the default), or plain, which has neither Routes nor config.openshift.io")
	cmd.Flags().IntVar(&o.ManagementNodes, "management-nodes", 0, "nodes of the management cluster, 1 (the default) to 9, in three zones; a node beyond the first has namespaces and a disk of its own, and can fail")
	cmd.Flags().DurationVar(&timeout, "timeout", 60*time.Minute, "give up after this time, compiling included")
	cmd.Flags().StringVar(&o.Cache, "cache", "", "directory of built parts (default $HYPERSHIFT_CACHE or the user's cache)")
	outputFlag(cmd, &output)
	return cmd
}

func outputFlag(cmd *cobra.Command, output *string) {
	cmd.Flags().StringVarP(output, "output", "o", "", "output format: json, or a text for people")
	cmd.PreRunE = func(*cobra.Command, []string) error {
		if *output != "" && *output != "json" && *output != "text" {
			return fmt.Errorf("--output %s: use json or text", *output)
		}
		return nil
	}
}

// changesPrinter says what the machine will have until the sandbox goes.
func changesPrinter(w io.Writer) func([]string) {
	return func(changes []string) {
		if len(changes) > 0 {
			fmt.Fprintf(w, "On this machine, until \"hypershift sandbox down\":\n  %s\n", strings.Join(changes, "\n  "))
		}
	}
}

// stepPrinter prints one line for each step when it is done, and for what takes
// long a line now and then.
func stepPrinter(w io.Writer) func(sandbox.Step) {
	const detailInterval = 5 * time.Second
	last := time.Now()
	return func(s sandbox.Step) {
		switch {
		case s.Done:
			fmt.Fprintf(w, "  %-32s %8s\n", s.Name, short(s.Elapsed))
		case s.Detail != "" && time.Since(last) >= detailInterval:
			last = time.Now()
			fmt.Fprintf(w, "  %-32s %8s  %s\n", s.Name, short(s.Elapsed), s.Detail)
		}
	}
}

func short(d time.Duration) string {
	if d < 10*time.Second {
		return fmt.Sprintf("%.1fs", d.Seconds())
	}
	return d.Round(time.Second).String()
}

func sandboxDown(dir *string) *cobra.Command {
	var purge bool
	cmd := &cobra.Command{
		Use:   "down",
		Short: "Stop the sandbox and remove what it left on this machine",
		Example: `  hypershift sandbox down
  hypershift sandbox down --purge`,
		Long: `Stop the sandbox and remove what it left on this machine.

What is on its disks stays: the next "hypershift sandbox up" goes on with the same Azure, the same management cluster
and the same virtual machines, which boot again. With --purge nothing is left but the cache of built parts.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return sandbox.Down(cmd.Context(), *dir, purge, stepPrinter(cmd.ErrOrStderr()))
		},
	}
	cmd.Flags().BoolVar(&purge, "purge", false, "remove the sandbox's directory with all data")
	return cmd
}

func sandboxStatus(dir *string) *cobra.Command {
	var output string
	cmd := &cobra.Command{
		Use:   "status",
		Short: "Show what runs",
		Example: `  hypershift sandbox status
  hypershift sandbox status -o json`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return printStatus(cmd.Context(), cmd.OutOrStdout(), *dir, output)
		},
	}
	outputFlag(cmd, &output)
	return cmd
}

func printStatus(ctx context.Context, w io.Writer, dir, output string) error {
	status, err := sandbox.GetStatus(ctx, dir)
	if errors.Is(err, fs.ErrPermission) {
		return fmt.Errorf("the sandbox in %s belongs to another user, who alone may ask for its state: ask as that user, for instance with sudo", status.Dir)
	}
	if err != nil {
		return err
	}
	if output == "json" {
		encoder := json.NewEncoder(w)
		encoder.SetIndent("", "  ")
		return encoder.Encode(status)
	}
	if !status.Running {
		fmt.Fprintf(w, "No sandbox is up in %s. Start one with: hypershift sandbox up\n", status.Dir)
		return nil
	}
	fmt.Fprintf(w, "Sandbox %s (%s), supervisor %d since %s\n\n", status.Dir, status.Mode, status.PID, status.Since.Format(time.DateTime))
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "PART\tSTATE\tPID\tRESTARTS\tSINCE\tADDRESS\tMESSAGE")
	for _, name := range slices.Sorted(maps.Keys(status.Parts)) {
		part := status.Parts[name]
		fmt.Fprintf(t, "%s\t%s\t%d\t%d\t%s\t%s\t%s\n", name, part.State, part.PID, part.Restarts, short(time.Since(part.Since)), part.Address, part.Message)
	}
	fmt.Fprintln(t)
	for _, endpoint := range status.Endpoints {
		fmt.Fprintf(t, "%s:\t%s\n", endpoint.Name, endpoint.Address)
	}
	fmt.Fprintf(t, "access log:\t%s\n", status.AccessLog)
	return t.Flush()
}

func sandboxEnv(dir *string) *cobra.Command {
	var unset bool
	var output string
	cmd := &cobra.Command{
		Use:   "env",
		Short: "Print shell exports that point clients at the sandbox",
		Example: `  eval "$(hypershift sandbox env)"
  eval "$(hypershift sandbox env --unset)"`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			variables, err := sandbox.Env(*dir)
			if err != nil {
				return err
			}
			out := cmd.OutOrStdout()
			switch {
			case output == "json":
				values := map[string]string{}
				for _, v := range variables {
					values[v.Name] = v.Value
				}
				return json.NewEncoder(out).Encode(values)
			case unset:
				_, err = io.WriteString(out, sandbox.Unset(variables, os.Environ()))
			default:
				_, err = io.WriteString(out, sandbox.Exports(variables, os.Environ()))
			}
			return err
		},
	}
	cmd.Flags().BoolVar(&unset, "unset", false, "print what undoes the exports")
	outputFlag(cmd, &output)
	return cmd
}

func sandboxParts() *cobra.Command {
	var cache string
	cmd := &cobra.Command{
		Use:   "parts",
		Short: "Build the parts of the sandbox ahead of time",
		Example: `  hypershift sandbox parts
  hypershift sandbox parts --cache /var/cache/hypershift`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			ctx, stop := signal.NotifyContext(cmd.Context(), os.Interrupt, syscall.SIGTERM)
			defer stop()
			if err := sandbox.LeaveInternet(); err != nil {
				return err
			}
			return sandbox.BuildParts(ctx, cache, stepPrinter(cmd.ErrOrStderr()))
		},
	}
	cmd.Flags().StringVar(&cache, "cache", "", "directory of built parts (default $HYPERSHIFT_CACHE or the user's cache)")
	return cmd
}

// sandboxRun is how the sandbox starts its own processes.
func sandboxRun() *cobra.Command {
	return &cobra.Command{
		Use:                "run PART [ARGUMENTS]",
		Short:              "Run one process of the sandbox in the foreground",
		Example:            "  hypershift sandbox run supervisor --dir /var/lib/hypershift-sandbox",
		Hidden:             true,
		DisableFlagParsing: true,
		SilenceUsage:       true,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return errors.New("name a part")
			}
			return sandbox.Run(cmd.Context(), args[0], args[1:])
		},
	}
}
