package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"sync"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"
	"sigs.k8s.io/yaml"

	"github.com/hypershift-on-azure/hypershift/internal/azure"
	"github.com/hypershift-on-azure/hypershift/internal/stack"
)

// azureFlags are what every command that talks to Azure takes.
type azureFlags struct {
	credentials string
	cloud       string
	location    string
	dryRun      bool
	output      string
}

func (f *azureFlags) add(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.credentials, "azure-creds", "", "Azure credentials file: subscriptionId, tenantId, clientId, clientSecret")
	cmd.Flags().StringVar(&f.cloud, "cloud", "AzurePublicCloud", "Azure cloud")
	cmd.Flags().StringVar(&f.location, "location", "eastus", "Azure region")
	_ = cmd.MarkFlagRequired("azure-creds")
}

func (f *azureFlags) addPlan(cmd *cobra.Command) {
	cmd.Flags().BoolVar(&f.dryRun, "dry-run", false, "print what would be done and write nothing")
	cmd.Flags().StringVarP(&f.output, "output", "o", "", "print the result as json or yaml")
}

func (f *azureFlags) session() (*azure.Session, error) {
	if err := checkOutput(f.output); err != nil {
		return nil, err
	}
	credentials, err := azure.ReadCredentials(f.credentials)
	if err != nil {
		return nil, err
	}
	return azure.NewSession(credentials, f.cloud)
}

func checkOutput(format string) error {
	if format != "" && format != "json" && format != "yaml" {
		return fmt.Errorf("--output %q is unknown; use json or yaml", format)
	}
	return nil
}

// printPlan shows the steps as a table, or as the format asked for.
func (f *azureFlags) printPlan(w io.Writer, steps []stack.Step) error {
	if f.output != "" {
		return printObject(w, f.output, steps)
	}
	table := tabwriter.NewWriter(w, 0, 8, 2, ' ', 0)
	fmt.Fprintln(table, "ACTION\tKIND\tNAME")
	for _, s := range steps {
		fmt.Fprintf(table, "%s\t%s\t%s\n", s.Action, s.Kind, s.Name)
	}
	return table.Flush()
}

// printNothing is the result of a command that had nothing to do: an empty list, for a program.
func (f *azureFlags) printNothing(w io.Writer) error {
	if f.output == "" {
		return nil
	}
	return printObject(w, f.output, []stack.Step{})
}

// printObject writes v as json or yaml.
func printObject(w io.Writer, format string, v any) error {
	raw, err := json.MarshalIndent(v, "", "  ")
	if err == nil && format == "yaml" {
		raw, err = yaml.JSONToYAML(raw)
	}
	if err != nil {
		return fmt.Errorf("cannot print the result as %s: %w", format, err)
	}
	if format == "json" {
		raw = append(raw, '\n')
	}
	_, err = w.Write(raw)
	return err
}

// stackProgress prints one line per finished step on stderr, with the time since the command began.
func stackProgress(cmd *cobra.Command) stack.Progress {
	begin, sofar := time.Now(), journeyOf(cmd.Context())
	return func(e stack.Event) {
		sofar.note(e)
		interrupted := e.Err != nil && cmd.Context().Err() != nil // told once, at the end
		if e.Phase == stack.Applying || e.Phase == stack.Deleting || interrupted {
			return
		}
		line := fmt.Sprintf("%6.1fs  %-8s %s %s", time.Since(begin).Seconds(), e.Phase, e.Node.Kind, e.Node.Name)
		if e.Err != nil {
			line += ": " + e.Err.Error()
		}
		fmt.Fprintln(cmd.ErrOrStderr(), line)
	}
}

// removals are the steps of a destroy that removed something, which are its result.
type removals struct {
	mu   sync.Mutex
	done []stack.Step
}

func (r *removals) note(next stack.Progress) stack.Progress {
	return func(e stack.Event) {
		if e.Phase == stack.Deleted {
			r.mu.Lock()
			r.done = append(r.done, stack.Step{Kind: e.Node.Kind, Name: e.Node.Name, Action: "deleted"})
			r.mu.Unlock()
		}
		next(e)
	}
}

// steps is never nil, so that a program that reads the result finds a list.
func (r *removals) steps() []stack.Step {
	r.mu.Lock()
	defer r.mu.Unlock()
	return append([]stack.Step{}, r.done...)
}

// withPlan runs plan or work, and prints the result; no print is for what has nothing to say beyond its progress.
func withPlan[T any](cmd *cobra.Command, f *azureFlags, plan func(context.Context, *azure.Session) ([]stack.Step, error),
	work func(context.Context, *azure.Session) (T, error), print func(io.Writer, T) error) error {
	session, err := f.session()
	if err != nil {
		return err
	}
	if f.dryRun {
		steps, err := plan(cmd.Context(), session)
		if err != nil {
			return err
		}
		return f.printPlan(cmd.OutOrStdout(), steps)
	}
	result, err := work(cmd.Context(), session)
	if err != nil {
		return err
	}
	if f.output != "" {
		return printObject(cmd.OutOrStdout(), f.output, result)
	}
	if print == nil {
		return nil
	}
	return print(cmd.OutOrStdout(), result)
}
