package backup

import (
	"context"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/hypershift-on-azure/hypershift/internal/cli/printing"
)

// listing is what list was asked for.
type listing struct {
	target
	output string
}

// row is one backup as it is printed.
type row struct {
	Name    string `json:"name"`
	Created string `json:"created"`
	State   string `json:"state"`
	URL     string `json:"url,omitempty"`
	Message string `json:"message"`
}

func newListCommand() *cobra.Command {
	l := &listing{}
	cmd := l.verb(&cobra.Command{
		Use: "list NAME", Short: "List the backups of a hosted cluster, the newest first",
		Example: "  hypershift backup list demo\n  hypershift backup list demo -o json",
	}, func(cmd *cobra.Command) error {
		return l.run(cmd.Context(), cmd.OutOrStdout(), cmd.ErrOrStderr())
	})
	cmd.Flags().StringVarP(&l.output, "output", "o", "", "json or yaml; a table when empty")
	return cmd
}

func (l *listing) run(ctx context.Context, out, messages io.Writer) error {
	if err := printing.CheckFormat(l.output); err != nil {
		return err
	}
	if _, err := l.read(ctx); err != nil {
		return err
	}
	all, err := l.backups(ctx)
	if err != nil {
		return err
	}
	table, rows := printing.Table{Head: []string{"NAME", "AGE", "STATE", "URL OR REASON"}}, []row{}
	for i := range all {
		b := &all[i]
		reason, message := stateOf(b)
		rows = append(rows, row{b.Name, b.CreationTimestamp.UTC().Format("2006-01-02T15:04:05Z"), reason, b.Status.SnapshotURL, message})
		last := b.Status.SnapshotURL
		if last == "" {
			last = message
		}
		table.Rows = append(table.Rows, printing.Plain(b.Name, printing.Age(b.CreationTimestamp.Time, l.now()), reason, last))
	}
	if l.output != "" {
		return printing.Object(out, l.output, rows)
	}
	if len(rows) == 0 {
		_, err := fmt.Fprintf(messages, "HostedCluster %s/%s has no backups; make one with: hypershift backup create %s --namespace %s\n", l.namespace, l.name, l.name, l.namespace)
		return err
	}
	return table.Print(out, printing.PainterFor(out))
}
