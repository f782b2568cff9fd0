package look

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/hypershift-on-azure/hypershift/internal/cli/management"
	"github.com/hypershift-on-azure/hypershift/internal/cli/printing"
	"github.com/hypershift-on-azure/hypershift/internal/survey"
)

// watchPeriod is how often a status that is watched is read again.
const watchPeriod = 2 * time.Second

// status are the flags of status.
type status struct {
	scope
	watch bool
	// tick returns when it is time to look again, or an error when nobody looks any more.
	tick func(context.Context) error
}

// NewStatusCommand is status.
func NewStatusCommand() *cobra.Command {
	s := &status{}
	cmd := &cobra.Command{
		Use:   "status [CLUSTER]",
		Short: "Show hosted clusters with versions, progress, node pools and the boot stage of each machine",
		Long: `Shows hosted clusters, their node pools and machines. A machine is Asked for, Creating in Azure, Booting, Joined as a node that is not
ready, and Ready; or Failed, or Deleting. FOR is how long it is in its stage. With --watch the table is drawn again as things change.
Why something is as it is says ` + "`hypershift explain`.",
		Example: `  hypershift status
  hypershift status demo --watch
  hypershift status demo -o json`,
		Args:              cobra.MaximumNArgs(1),
		ValidArgsFunction: management.CompleteClusters,
		RunE: func(cmd *cobra.Command, args []string) error {
			if s.watch && (s.output == "json" || s.output == "yaml") {
				return errors.New("--watch shows tables; leave out --output " + s.output)
			}
			c, err := s.client(cmd)
			if err != nil {
				return err
			}
			return s.run(cmd.Context(), c, nameOf(args), cmd.OutOrStdout(), cmd.ErrOrStderr())
		},
	}
	s.add(cmd)
	s.tick = every(watchPeriod)
	cmd.Flags().BoolVarP(&s.watch, "watch", "w", false, "show it again whenever it changes, until interrupted")
	return cmd
}

func every(period time.Duration) func(context.Context) error {
	return func(ctx context.Context) error {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(period):
			return nil
		}
	}
}

func (s *status) run(ctx context.Context, c client.Reader, name string, out, messages io.Writer) error {
	if s.watch {
		return s.follow(ctx, c, name, out)
	}
	fleet, err := s.read(ctx, c, name)
	if err != nil {
		return err
	}
	if s.structured() {
		return printing.Object(out, s.output, fleet)
	}
	tell(messages, fleet)
	if len(fleet.Clusters) == 0 {
		return s.none(messages, "hosted clusters")
	}
	return s.print(out, printing.PainterFor(out), fleet)
}

// clearScreen puts the cursor at the beginning and deletes what is there.
const clearScreen = "\x1b[H\x1b[2J"

// follow draws a terminal again, and appends what has changed elsewhere. What is not answered for a moment is told and asked again.
func (s *status) follow(ctx context.Context, c client.Reader, name string, out io.Writer) error {
	terminal, painter, last := printing.IsTerminal(out), printing.PainterFor(out), ""
	for {
		var page, stable bytes.Buffer
		fleet, err := s.read(ctx, c, name)
		switch {
		case management.IsTransient(err):
			fmt.Fprintf(&page, "the management cluster does not answer: %v\n", err)
			stable = page
		case err != nil:
			return err
		default:
			if err := s.print(&page, painter, fleet); err != nil {
				return err
			}
			// Ages alone are no change.
			frozen := *s
			frozen.now = func() time.Time { return time.Time{} }
			if err := frozen.print(&stable, printing.Painter{}, fleet); err != nil {
				return err
			}
		}
		text := page.String()
		if terminal {
			text = clearScreen + text
		}
		if terminal || stable.String() != last {
			last = stable.String()
			if _, err := io.WriteString(out, text); err != nil {
				return err
			}
		}
		if err := s.tick(ctx); err != nil {
			return err
		}
	}
}

// print shows each cluster as a paragraph.
func (s *status) print(out io.Writer, painter printing.Painter, fleet *survey.Fleet) error {
	for i, cluster := range fleet.Clusters {
		if i > 0 {
			fmt.Fprintln(out)
		}
		if err := s.printCluster(out, painter, cluster); err != nil {
			return err
		}
	}
	return nil
}

func (s *status) printCluster(out io.Writer, painter printing.Painter, cluster survey.Cluster) error {
	title := painter.Paint(printing.Title, "Cluster "+cluster.Namespace+"/"+cluster.Name)
	facts := []string{painter.Paint(availableTone(cluster.Available), availability(cluster.Available)), painter.Paint(progressTone(cluster.Progress), strings.ToLower(cluster.Progress))}
	if version := versions(cluster.Version, cluster.Target); version != "" {
		facts = append(facts, "version "+version)
	}
	facts = append(facts, nodesOf(cluster)+" nodes", "age "+printing.Age(cluster.Created, s.now()))
	fmt.Fprintf(out, "%s: %s\n", title, strings.Join(facts, ", "))
	if s.wide() {
		fmt.Fprintf(out, "  %s %s, API %s, %s\n", cluster.Platform, cluster.Location, orUnknown(cluster.Endpoint), cluster.Image)
	}
	if cluster.Available != "True" || cluster.Progress != survey.Completed {
		if message := printing.Visible(cluster.Message); message != "" {
			fmt.Fprintf(out, "  %s\n", printing.Shorten(message))
		}
	}
	for _, pool := range cluster.NodePools {
		if err := s.printPool(out, painter, pool); err != nil {
			return err
		}
	}
	return nil
}

func (s *status) printPool(out io.Writer, painter printing.Painter, pool survey.Pool) error {
	facts := []string{painter.Paint(progressTone(pool.Progress), strings.ToLower(pool.Progress)), wanted(pool) + " nodes"}
	if pool.Version != "" {
		facts = append(facts, "version "+pool.Version)
	}
	if pool.Size != "" {
		facts = append(facts, strings.TrimSpace(pool.Size+" "+disk(pool)))
	}
	fmt.Fprintf(out, "  %s: %s, age %s\n", painter.Paint(printing.Title, "NodePool "+pool.Name), strings.Join(facts, ", "), printing.Age(pool.Created, s.now()))
	if message := printing.Visible(pool.Message); message != "" {
		fmt.Fprintf(out, "    %s\n", printing.Shorten(message))
	}
	if len(pool.Machines) == 0 {
		return nil
	}
	table := printing.Table{Indent: "    ", Head: []string{"MACHINE", "STAGE", "FOR", "NODE", "VERSION", "SIZE"}}
	if s.wide() {
		table.Head = append(table.Head, "ZONE", "ADDRESS", "VIRTUAL MACHINE")
	}
	table.Head = append(table.Head, "WHY")
	for _, m := range pool.Machines {
		row := printing.Plain(m.Name, m.Stage, printing.Age(m.Since, s.now()), m.Node, m.Version, m.Size)
		row[1].Tone = progressTone(m.Stage)
		if s.wide() {
			row = append(row, printing.Plain(m.Zone, m.Address, m.VM)...)
		}
		table.Rows = append(table.Rows, append(row, printing.Cell{Text: why(m)}))
	}
	return table.Print(out, painter)
}

func why(m survey.Machine) string {
	if m.Message == "" {
		return m.Reason
	}
	return printing.Shorten(strings.TrimPrefix(m.Reason+": "+printing.Visible(m.Message), ": "))
}

func availability(status string) string {
	switch status {
	case "True":
		return "available"
	case "False":
		return "not available"
	}
	return "not known to be available"
}

func orUnknown(text string) string {
	if text == "" {
		return "not known yet"
	}
	return text
}
