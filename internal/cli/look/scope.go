// Package look has the commands that show what there is and why it is so: get, status and explain. They change nothing.
package look

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/hypershift-on-azure/hypershift/internal/cli/management"
	"github.com/hypershift-on-azure/hypershift/internal/cli/printing"
	"github.com/hypershift-on-azure/hypershift/internal/survey"
)

// scope are the flags that say what is looked at.
type scope struct {
	namespace, kubeconfig, output string
	all                           bool
	now                           func() time.Time
}

func (s *scope) add(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVarP(&s.namespace, "namespace", "n", management.ClustersNamespace, "namespace of the hosted clusters")
	flags.BoolVarP(&s.all, "all-namespaces", "A", false, "look at all namespaces")
	management.AddKubeconfig(cmd, &s.kubeconfig)
	flags.StringVarP(&s.output, "output", "o", "", "wide, json or yaml; a table by default")
	_ = cmd.RegisterFlagCompletionFunc("output", cobra.FixedCompletions([]string{"wide", "json", "yaml"}, cobra.ShellCompDirectiveNoFileComp))
	s.now = time.Now
}

// client checks the flags and connects.
func (s *scope) client(cmd *cobra.Command) (client.Client, error) {
	if err := printing.CheckTableFormat(s.output); err != nil {
		return nil, err
	}
	if s.all && cmd.Flags().Changed("namespace") {
		return nil, errors.New("--namespace and --all-namespaces exclude each other")
	}
	return management.NewClient(s.kubeconfig)
}

// read takes all clusters of the scope, or one of them by its name.
func (s *scope) read(ctx context.Context, c client.Reader, name string) (*survey.Fleet, error) {
	at := survey.Scope{Namespace: s.namespace, Cluster: name}
	if s.all {
		at.Namespace, at.Cluster = "", ""
	}
	fleet, err := survey.Read(ctx, c, at, s.now())
	switch {
	case errors.Is(err, survey.ErrNotInstalled):
		return nil, management.ErrNotInstalled
	case apierrors.IsNotFound(err):
		return nil, management.NoCluster(ctx, c, s.namespace, name)
	case err != nil:
		return nil, fmt.Errorf("cannot read what there is: %w", err)
	}
	if s.all && name != "" {
		return only(fleet, name)
	}
	return fleet, nil
}

// only are the clusters of a name, in whatever namespace.
func only(fleet *survey.Fleet, name string) (*survey.Fleet, error) {
	found := &survey.Fleet{Clusters: []survey.Cluster{}, Unseen: fleet.Unseen}
	var names []string
	for _, cluster := range fleet.Clusters {
		names = append(names, cluster.Name)
		if cluster.Name == name {
			found.Clusters = append(found.Clusters, cluster)
		}
	}
	if len(found.Clusters) == 0 {
		return nil, fmt.Errorf("there is no HostedCluster %s in any namespace%s", name, printing.Suggest(name, names))
	}
	return found, nil
}

func (s *scope) structured() bool { return s.output == "json" || s.output == "yaml" }

func (s *scope) wide() bool { return s.output == "wide" }

// nameOf is the argument of a command that takes at most one name.
func nameOf(args []string) string {
	if len(args) == 0 {
		return ""
	}
	return args[0]
}
