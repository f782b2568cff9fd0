package sandbox

import (
	"encoding/json"
	"fmt"
	"io"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/hypershift-on-azure/hypershift/sandbox"
)

func sandboxCalls(dir *string) *cobra.Command {
	var output string
	cmd := &cobra.Command{
		Use:   "calls",
		Short: "List what was written to the embedded Azure, and what real Azure may refuse of it",
		Long: `List what was written to the embedded Azure, by client, and what real Azure may refuse of it for reasons that no
imitation knows: quota, capacity of a region, policies, locks, terms of the Marketplace, names of other customers, rules of
the directory. Each has Azure's code and what to do.

The calls are counted from the access log, which is kept until the sandbox is purged. 'make rehearse' types the whole guide
and prints this list at its end.`,
		Example: `  hypershift sandbox calls
  hypershift sandbox calls -o json`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			found, err := sandbox.Calls(*dir)
			if err != nil {
				return err
			}
			return printCalls(cmd.OutOrStdout(), found, output)
		},
	}
	outputFlag(cmd, &output)
	return cmd
}

func printCalls(w io.Writer, found []sandbox.Call, output string) error {
	if output == "json" {
		encoder := json.NewEncoder(w)
		encoder.SetIndent("", "  ")
		return encoder.Encode(map[string]any{"calls": found})
	}
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "COUNT\tCLIENT\tMETHOD\tTYPE\tMAY BE REFUSED FOR\tCODE\tTHEN")
	for _, c := range found {
		fmt.Fprintf(t, "%d\t%s\t%s\t%s", c.Count, c.Client, c.Method, c.Type)
		if len(c.Refusals) == 0 {
			fmt.Fprint(t, "\t-\t\t\n")
		}
		for i, r := range c.Refusals {
			if i > 0 {
				fmt.Fprint(t, "\t\t\t")
			}
			fmt.Fprintf(t, "\t%s\t%s\t%s\n", r.Because, r.Code, r.Remedy)
		}
	}
	return t.Flush()
}
