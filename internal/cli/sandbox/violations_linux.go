package sandbox

import (
	"encoding/json"
	"fmt"
	"io"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/hypershift-on-azure/hypershift/sandbox"
)

func sandboxViolations(dir *string) *cobra.Command {
	var output string
	cmd := &cobra.Command{
		Use:   "violations",
		Short: "List what requests to the embedded Azure, and its answers, have wrong",
		Long: `List what requests to the embedded Azure, and its answers, have wrong by the schemas of Azure's resource types: unknown
properties, wrong types, values that are none of the possible ones, missing properties.

They are counted by client from the access log, which is kept until the sandbox is purged. A violation of a request is
its client's fault, whether Azure refuses it or takes no notice; one of an answer is the embedded Azure's. The command
fails when there are any.`,
		Example: `  hypershift sandbox violations
  hypershift sandbox violations -o json`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			found, err := sandbox.Violations(*dir)
			if err != nil {
				return err
			}
			if err := printViolations(cmd.OutOrStdout(), found, output); err != nil {
				return err
			}
			if len(found) > 0 {
				return fmt.Errorf("requests or answers of the embedded Azure break its schemas in %d ways: the list says which and whose", len(found))
			}
			return nil
		},
	}
	outputFlag(cmd, &output)
	return cmd
}

func printViolations(w io.Writer, found []sandbox.Violation, output string) error {
	if output == "json" {
		encoder := json.NewEncoder(w)
		encoder.SetIndent("", "  ")
		return encoder.Encode(map[string]any{"violations": found})
	}
	if len(found) == 0 {
		_, err := fmt.Fprintln(w, "No violations.")
		return err
	}
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "COUNT\tSIDE\tCLIENT\tMETHOD\tTYPE\tAPI-VERSION\tREFUSED\tPROBLEM")
	for _, v := range found {
		fmt.Fprintf(t, "%d\t%s\t%s\t%s\t%s\t%s\t%t\t%s\n", v.Count, v.Side, v.Client, v.Method, v.Type, v.APIVersion, v.Refused, v.Problem)
	}
	return t.Flush()
}
