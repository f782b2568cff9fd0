// Package azureflags has what every command that changes Azure takes and prints: credentials, the plan, the result, the hand-off file.
package azureflags

import (
	"context"
	"fmt"
	"io"
	"sync"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/hypershift-on-azure/hypershift/internal/azure"
	"github.com/hypershift-on-azure/hypershift/internal/azure/clouds"
	"github.com/hypershift-on-azure/hypershift/internal/cli/printing"
	"github.com/hypershift-on-azure/hypershift/internal/stack"
)

// Flags are what every command that talks to Azure takes.
type Flags struct {
	Credentials string
	Cloud       string
	Location    string
	DryRun      bool
	Output      string
}

// Clouds are the values of --cloud.
var Clouds = clouds.Names

// CheckCloud refuses a value of --cloud that is none of them.
func CheckCloud(name string) error {
	_, _, err := clouds.Named(name)
	return err
}

// Add defines the flags that every command takes.
func (f *Flags) Add(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.Credentials, "azure-creds", "", "Azure credentials file: subscriptionId, tenantId, clientId, clientSecret")
	cmd.Flags().StringVar(&f.Cloud, "cloud", "AzurePublicCloud", "Azure cloud")
	cmd.Flags().StringVar(&f.Location, "location", "eastus", "Azure region")
	_ = cmd.RegisterFlagCompletionFunc("location", CompleteLocations)
	_ = cmd.MarkFlagRequired("azure-creds")
}

// AddPlan defines those of commands that change something.
func (f *Flags) AddPlan(cmd *cobra.Command) {
	cmd.Flags().BoolVar(&f.DryRun, "dry-run", false, "print what would be done and write nothing")
	cmd.Flags().StringVarP(&f.Output, "output", "o", "", "print the result as json or yaml")
}

// Session signs in with the credentials file.
func (f *Flags) Session() (*azure.Session, error) {
	if err := printing.CheckFormat(f.Output); err != nil {
		return nil, err
	}
	credentials, err := azure.ReadCredentials(f.Credentials)
	if err != nil {
		return nil, err
	}
	return azure.NewSession(credentials, f.Cloud)
}

// PrintPlan shows the steps as a table, or as the format asked for.
func (f *Flags) PrintPlan(w io.Writer, steps []stack.Step) error {
	if f.Output != "" {
		return printing.Object(w, f.Output, steps)
	}
	table := tabwriter.NewWriter(w, 0, 8, 2, ' ', 0)
	fmt.Fprintln(table, "ACTION\tKIND\tNAME")
	for _, s := range steps {
		fmt.Fprintf(table, "%s\t%s\t%s\n", s.Action, s.Kind, s.Name)
	}
	return table.Flush()
}

// PrintNothing is the result of a command that had nothing to do: an empty list, for a program.
func (f *Flags) PrintNothing(w io.Writer) error {
	if f.Output == "" {
		return nil
	}
	return printing.Object(w, f.Output, []stack.Step{})
}

// Removals are the steps of a destroy that removed something, which are its result.
type Removals struct {
	mu   sync.Mutex
	done []stack.Step
}

// Note keeps what is removed, and passes every step on.
func (r *Removals) Note(next stack.Progress) stack.Progress {
	return func(e stack.Event) {
		if e.Phase == stack.Deleted {
			r.mu.Lock()
			r.done = append(r.done, stack.Step{Kind: e.Node.Kind, Name: e.Node.Name, Action: "deleted"})
			r.mu.Unlock()
		}
		next(e)
	}
}

// Steps is never nil, so that a program that reads the result finds a list.
func (r *Removals) Steps() []stack.Step {
	r.mu.Lock()
	defer r.mu.Unlock()
	return append([]stack.Step{}, r.done...)
}

// WithPlan runs plan or work, and prints the result; no print is for what has nothing to say beyond its progress.
func WithPlan[T any](cmd *cobra.Command, f *Flags, plan func(context.Context, *azure.Session) ([]stack.Step, error),
	work func(context.Context, *azure.Session) (T, error), print func(io.Writer, T) error) error {
	session, err := f.Session()
	if err != nil {
		return err
	}
	if f.DryRun {
		steps, err := plan(cmd.Context(), session)
		if err != nil {
			return err
		}
		return f.PrintPlan(cmd.OutOrStdout(), steps)
	}
	result, err := work(cmd.Context(), session)
	if err != nil {
		return err
	}
	if f.Output != "" {
		return printing.Object(cmd.OutOrStdout(), f.Output, result)
	}
	if print == nil {
		return nil
	}
	return print(cmd.OutOrStdout(), result)
}
