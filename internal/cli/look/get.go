package look

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strconv"

	"github.com/spf13/cobra"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/hypershift-on-azure/hypershift/internal/cli/command"
	"github.com/hypershift-on-azure/hypershift/internal/cli/management"
	"github.com/hypershift-on-azure/hypershift/internal/cli/printing"
	"github.com/hypershift-on-azure/hypershift/internal/survey"
)

// NewGetCommand is get.
func NewGetCommand() *cobra.Command {
	return command.Parent("get", "List hosted clusters or node pools", newGetClustersCommand(), newGetNodePoolsCommand())
}

func newGetClustersCommand() *cobra.Command {
	s := &scope{}
	cmd := &cobra.Command{
		Use:     "clusters [NAME]",
		Aliases: []string{"cluster", "hostedclusters", "hostedcluster", "hc"},
		Short:   "List hosted clusters with their versions, nodes and state",
		Example: `  hypershift get clusters
  hypershift get clusters --all-namespaces -o wide
  hypershift get clusters demo -o json`,
		Args:              cobra.MaximumNArgs(1),
		ValidArgsFunction: management.CompleteClusters,
		RunE: func(cmd *cobra.Command, args []string) error {
			c, err := s.client(cmd)
			if err != nil {
				return err
			}
			return s.clusters(cmd.Context(), c, nameOf(args), cmd.OutOrStdout(), cmd.ErrOrStderr())
		},
	}
	s.add(cmd)
	return cmd
}

func (s *scope) clusters(ctx context.Context, c client.Reader, name string, out, messages io.Writer) error {
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
	return s.clusterTable(fleet).Print(out, printing.PainterFor(out))
}

// clusterTable has a row for each cluster.
func (s *scope) clusterTable(fleet *survey.Fleet) printing.Table {
	table := printing.Table{Head: []string{"NAMESPACE", "NAME", "VERSION", "PROGRESS", "AVAILABLE", "NODES", "AGE"}}
	if s.wide() {
		table.Head = append(table.Head, "PLATFORM", "LOCATION", "ENDPOINT", "RELEASE IMAGE")
	}
	table.Head = append(table.Head, "MESSAGE")
	for _, cluster := range fleet.Clusters {
		row := printing.Plain(cluster.Namespace, cluster.Name, versions(cluster.Version, cluster.Target), cluster.Progress, cluster.Available, nodesOf(cluster), printing.Age(cluster.Created, s.now()))
		row[3].Tone, row[4].Tone = progressTone(cluster.Progress), availableTone(cluster.Available)
		if s.wide() {
			row = append(row, printing.Plain(cluster.Platform, cluster.Location, cluster.Endpoint, cluster.Image)...)
		}
		table.Rows = append(table.Rows, append(row, printing.Cell{Text: printing.Shorten(cluster.Message)}))
	}
	return table
}

func newGetNodePoolsCommand() *cobra.Command {
	s := &scope{}
	var cluster string
	cmd := &cobra.Command{
		Use:     "nodepools [NAME]",
		Aliases: []string{"nodepool", "np"},
		Short:   "List node pools with their nodes, versions and sizes",
		Example: `  hypershift get nodepools
  hypershift get nodepools --cluster-name demo -o wide
  hypershift get nodepools demo -o yaml`,
		Args:              cobra.MaximumNArgs(1),
		ValidArgsFunction: management.CompleteNodePools,
		RunE: func(cmd *cobra.Command, args []string) error {
			c, err := s.client(cmd)
			if err != nil {
				return err
			}
			return s.pools(cmd.Context(), c, cluster, nameOf(args), cmd.OutOrStdout(), cmd.ErrOrStderr())
		},
	}
	s.add(cmd)
	cmd.Flags().StringVar(&cluster, "cluster-name", "", "only the pools of this hosted cluster")
	_ = cmd.RegisterFlagCompletionFunc("cluster-name", management.CompleteClusters)
	return cmd
}

// poolList is what programs read of get nodepools.
type poolList struct {
	NodePools []survey.Pool `json:"nodePools"`
	Unseen    []string      `json:"unseen,omitempty"`
}

func (s *scope) pools(ctx context.Context, c client.Reader, cluster, name string, out, messages io.Writer) error {
	fleet, err := s.read(ctx, c, cluster)
	if err != nil {
		return err
	}
	list, names := poolList{NodePools: []survey.Pool{}, Unseen: fleet.Unseen}, []string{}
	for _, cluster := range fleet.Clusters {
		for _, pool := range cluster.NodePools {
			names = append(names, pool.Name)
			if name == "" || pool.Name == name {
				list.NodePools = append(list.NodePools, pool)
			}
		}
	}
	if name != "" && !slices.Contains(names, name) {
		return fmt.Errorf("there is no NodePool %s in %s%s", name, s.place(), printing.Suggest(name, names))
	}
	if s.structured() {
		return printing.Object(out, s.output, list)
	}
	tell(messages, fleet)
	if len(list.NodePools) == 0 {
		return s.none(messages, "node pools")
	}
	return s.poolTable(list.NodePools).Print(out, printing.PainterFor(out))
}

func (s *scope) poolTable(pools []survey.Pool) printing.Table {
	table := printing.Table{Head: []string{"NAMESPACE", "CLUSTER", "NAME", "NODES", "VERSION", "PROGRESS", "SIZE", "AGE"}}
	if s.wide() {
		table.Head = append(table.Head, "DISK", "ZONE", "ARCH", "RELEASE IMAGE")
	}
	table.Head = append(table.Head, "MESSAGE")
	for _, pool := range pools {
		row := printing.Plain(pool.Namespace, pool.Cluster, pool.Name, wanted(pool), pool.Version, pool.Progress, pool.Size, printing.Age(pool.Created, s.now()))
		row[5].Tone = progressTone(pool.Progress)
		if s.wide() {
			row = append(row, printing.Plain(disk(pool), pool.Zone, pool.Arch, pool.Image)...)
		}
		table.Rows = append(table.Rows, append(row, printing.Cell{Text: printing.Shorten(pool.Message)}))
	}
	return table
}

// tell says what could not be read.
func tell(messages io.Writer, fleet *survey.Fleet) {
	for _, unseen := range fleet.Unseen {
		fmt.Fprintln(messages, "warning: "+printing.Visible(unseen))
	}
}

func (s *scope) place() string {
	if s.all {
		return "any namespace"
	}
	return "namespace " + s.namespace
}

func (s *scope) none(messages io.Writer, what string) error {
	hint := "; --all-namespaces looks at the others"
	if s.all {
		hint = ""
	}
	_, err := fmt.Fprintf(messages, "no %s in %s%s\n", what, s.place(), hint)
	return err
}

// versions is the version that runs, and the one that it goes to.
func versions(from, to string) string {
	switch {
	case to == "" || to == from:
		return from
	case from == "":
		return "→ " + to
	}
	return from + " → " + to
}

func nodesOf(cluster survey.Cluster) string {
	var nodes, all int32
	for _, pool := range cluster.NodePools {
		nodes += pool.Nodes
		if pool.Wanted < 0 {
			all += max(pool.Nodes, pool.Minimum)
			continue
		}
		all += pool.Wanted
	}
	return fmt.Sprintf("%d/%d", nodes, all)
}

// wanted is how many nodes there are, and are to be.
func wanted(pool survey.Pool) string {
	if pool.Wanted < 0 {
		return fmt.Sprintf("%d (%d to %d)", pool.Nodes, pool.Minimum, pool.Maximum)
	}
	return fmt.Sprintf("%d/%d", pool.Nodes, pool.Wanted)
}

func disk(pool survey.Pool) string {
	if pool.DiskGiB == 0 {
		return pool.DiskKind
	}
	return strconv.Itoa(int(pool.DiskGiB)) + " GiB " + pool.DiskKind
}

func progressTone(progress string) printing.Tone {
	switch progress {
	case survey.Completed, survey.Ready:
		return printing.Good
	case survey.Failed:
		return printing.Bad
	}
	return printing.Warning
}

func availableTone(available string) printing.Tone {
	switch available {
	case "True":
		return printing.Good
	case "False":
		return printing.Bad
	}
	return printing.Warning
}
