package management

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/spf13/cobra"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hypershift-on-azure/hypershift/api/v1beta1"
	"github.com/hypershift-on-azure/hypershift/internal/cli/printing"
)

// ClustersNamespace is where hosted clusters are unless told otherwise.
const ClustersNamespace = "clusters"

// CompletionLimit is how long a person waits for the tab key.
const CompletionLimit = 2 * time.Second

// AddKubeconfig adds the flag --kubeconfig.
func AddKubeconfig(cmd *cobra.Command, kubeconfig *string) {
	cmd.Flags().StringVar(kubeconfig, "kubeconfig", "", "kubeconfig of the management cluster")
}

// CompleteClusters offers the hosted clusters of the namespace that is typed.
func CompleteClusters(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	return complete(cmd, args, &hyperv1.HostedClusterList{})
}

// CompleteNodePools offers the node pools of the namespace that is typed.
func CompleteNodePools(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	return complete(cmd, args, &hyperv1.NodePoolList{})
}

// CompleteNamespaces offers the namespaces that have hosted clusters.
func CompleteNamespaces(cmd *cobra.Command, _ []string, _ string) ([]string, cobra.ShellCompDirective) {
	const none = cobra.ShellCompDirectiveNoFileComp
	kubeconfig := ""
	if f := cmd.Flag("kubeconfig"); f != nil {
		kubeconfig = f.Value.String()
	}
	c, err := NewClient(kubeconfig)
	if err != nil {
		return nil, none
	}
	ctx, cancel := context.WithTimeout(cmd.Context(), CompletionLimit)
	defer cancel()
	list := &hyperv1.HostedClusterList{}
	if err := c.List(ctx, list); err != nil {
		return nil, none
	}
	var names []string
	for i := range list.Items {
		names = append(names, list.Items[i].Namespace)
	}
	slices.Sort(names)
	return slices.Compact(names), none
}

// complete offers names while there is no name yet. A management cluster that does not answer offers none.
func complete(cmd *cobra.Command, args []string, list client.ObjectList) ([]string, cobra.ShellCompDirective) {
	const none = cobra.ShellCompDirectiveNoFileComp
	if len(args) > 0 {
		return nil, none
	}
	text := func(name string) string {
		if f := cmd.Flag(name); f != nil {
			return f.Value.String()
		}
		return ""
	}
	c, err := NewClient(text("kubeconfig"))
	if err != nil {
		return nil, none
	}
	namespace := text("namespace")
	if text("all-namespaces") == "true" {
		namespace = ""
	}
	ctx, cancel := context.WithTimeout(cmd.Context(), CompletionLimit)
	defer cancel()
	names, err := Names(ctx, c, namespace, list)
	if err != nil {
		return nil, none
	}
	return names, none
}

// Names are those of the HostedClusters or NodePools of a namespace; all namespaces where that is empty.
func Names(ctx context.Context, c client.Reader, namespace string, list client.ObjectList) ([]string, error) {
	if err := c.List(ctx, list, client.InNamespace(namespace)); err != nil {
		return nil, fmt.Errorf("list names: %w", err)
	}
	var names []string
	switch list := list.(type) {
	case *hyperv1.HostedClusterList:
		for i := range list.Items {
			names = append(names, list.Items[i].Name)
		}
	case *hyperv1.NodePoolList:
		for i := range list.Items {
			names = append(names, list.Items[i].Name)
		}
	}
	return names, nil
}

// NoCluster is the error for a hosted cluster that is not there; it names the one that may be meant.
func NoCluster(ctx context.Context, c client.Reader, namespace, name string) error {
	return absent(ctx, c, "HostedCluster", "clusters", namespace, name, &hyperv1.HostedClusterList{})
}

// NoNodePool is the error for a node pool that is not there; it names the one that may be meant.
func NoNodePool(ctx context.Context, c client.Reader, namespace, name string) error {
	return absent(ctx, c, "NodePool", "nodepools", namespace, name, &hyperv1.NodePoolList{})
}

func absent(ctx context.Context, c client.Reader, kind, list, namespace, name string, of client.ObjectList) error {
	names, err := Names(ctx, c, namespace, of)
	if err != nil {
		names = nil // what is known has to do
	}
	return fmt.Errorf("there is no %s %s/%s%s; see `hypershift get %s --all-namespaces`", kind, namespace, name, printing.Suggest(name, names), list)
}
