package look

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hypershift-on-azure/hypershift/api/v1beta1"
	"github.com/hypershift-on-azure/hypershift/internal/azure"
	"github.com/hypershift-on-azure/hypershift/internal/cli/azureflags"
	"github.com/hypershift-on-azure/hypershift/internal/cli/command"
	"github.com/hypershift-on-azure/hypershift/internal/cli/management"
	"github.com/hypershift-on-azure/hypershift/internal/cli/printing"
	"github.com/hypershift-on-azure/hypershift/internal/contract"
	"github.com/hypershift-on-azure/hypershift/internal/graph"
	"github.com/hypershift-on-azure/hypershift/internal/provision/node"
)

// drawings are the forms of a picture.
var drawings = map[string]func(*graph.Graph) string{"mermaid": (*graph.Graph).Mermaid, "dot": (*graph.Graph).Dot}

// NewGraphCommand is graph.
func NewGraphCommand() *cobra.Command {
	return command.Parent("graph", "Draw what a hosted cluster consists of", newGraphClusterCommand())
}

func newGraphClusterCommand() *cobra.Command {
	s, asking := &scope{now: time.Now}, &azureflags.Flags{}
	cmd := &cobra.Command{
		Use:   "cluster NAME",
		Short: "Draw a hosted cluster: in Azure, on the management cluster and inside of it",
		Long: `Prints a picture of a hosted cluster as text: its control plane and node pools on the management cluster, what it names in Azure and its virtual
machines there, and its nodes. Colours say how each is, as far as the management cluster knows. With --azure-creds Azure is asked, too, and
all that is in the cluster's resource group is drawn: disks, load balancers, addresses, and what nobody made for the cluster. Markdown pages draw
mermaid, and ` + "`dot -Tsvg`" + ` of Graphviz the other.`,
		Example: `  hypershift graph cluster demo > demo.mmd
  hypershift graph cluster demo --azure-creds azure-credentials.json > demo.mmd
  hypershift graph cluster demo -o dot | dot -Tsvg > demo.svg`,
		Args:              command.OneName,
		ValidArgsFunction: management.CompleteClusters,
		RunE: func(cmd *cobra.Command, args []string) error {
			if drawings[s.output] == nil {
				return fmt.Errorf("--output %q is unknown; use mermaid or dot%s", s.output, printing.Suggest(s.output, []string{"mermaid", "dot"}))
			}
			c, err := management.NewClient(s.kubeconfig)
			if err != nil {
				return err
			}
			var asked lister
			if asking.Credentials != "" {
				if asked, err = asking.Session(); err != nil {
					return err
				}
			}
			picture, err := s.draw(cmd.Context(), c, asked, args[0])
			if err != nil {
				return err
			}
			_, err = fmt.Fprint(cmd.OutOrStdout(), picture)
			return err
		},
	}
	flags := cmd.Flags()
	flags.StringVarP(&s.namespace, "namespace", "n", management.ClustersNamespace, "namespace of the hosted cluster")
	flags.StringVarP(&s.output, "output", "o", "mermaid", "mermaid or dot")
	_ = cmd.RegisterFlagCompletionFunc("output", cobra.FixedCompletions([]string{"mermaid", "dot"}, cobra.ShellCompDirectiveNoFileComp))
	flags.StringVar(&asking.Credentials, "azure-creds", "", "Azure credentials file, to ask Azure too: subscriptionId, tenantId, clientId, clientSecret")
	flags.StringVar(&asking.Cloud, "cloud", "AzurePublicCloud", "Azure cloud")
	management.AddKubeconfig(cmd, &s.kubeconfig)
	return cmd
}

// lister is what Azure is asked by; nil asks nothing.
type lister interface {
	List(ctx context.Context, path, apiVersion, filter string) ([]azure.Resource, error)
}

// resourcesOf are those in the resource group of the cluster, by type and name.
func resourcesOf(ctx context.Context, asked lister, hc *hyperv1.HostedCluster) ([]graph.Resource, error) {
	place := hc.Spec.Platform.Azure
	if asked == nil || place == nil {
		return nil, nil
	}
	found, err := asked.List(ctx, "/subscriptions/"+place.SubscriptionID+"/resourceGroups/"+place.ResourceGroupName+"/resources", node.APIGroups, "")
	if err != nil {
		return nil, err
	}
	out := make([]graph.Resource, len(found))
	for i := range found {
		out[i] = graph.Resource{Type: found[i].Type, Name: found[i].Name, Provisioning: found[i].Property("provisioningState")}
	}
	slices.SortFunc(out, func(a, b graph.Resource) int { return strings.Compare(a.Type+"/"+a.Name, b.Type+"/"+b.Name) })
	return out, nil
}

func (s *scope) draw(ctx context.Context, c client.Client, asked lister, name string) (string, error) {
	fleet, err := s.read(ctx, c, name)
	if err != nil {
		return "", err
	}
	if len(fleet.Unseen) > 0 {
		return "", errors.New("a picture of a part would mislead: " + fleet.Unseen[0])
	}
	workloads, err := workloadsOf(ctx, c, contract.ControlPlaneNamespace(s.namespace, name))
	if err != nil {
		return "", err
	}
	resources, err := resourcesOf(ctx, asked, fleet.Clusters[0].Object)
	if err != nil {
		return "", err
	}
	return drawings[s.output](graph.Of(&fleet.Clusters[0], workloads, resources)), nil
}

// workloadsOf are the Deployments and StatefulSets of a control plane, by name.
func workloadsOf(ctx context.Context, c client.Client, namespace string) ([]graph.Workload, error) {
	deployments, sets := &appsv1.DeploymentList{}, &appsv1.StatefulSetList{}
	for _, list := range []client.ObjectList{deployments, sets} {
		if err := c.List(ctx, list, client.InNamespace(namespace)); err != nil {
			return nil, fmt.Errorf("cannot read the control plane in namespace %s: %w", namespace, err)
		}
	}
	var out []graph.Workload
	for _, d := range deployments.Items {
		out = append(out, graph.Workload{Kind: "Deployment", Name: d.Name, Wanted: ptr.Deref(d.Spec.Replicas, 1), Ready: d.Status.ReadyReplicas})
	}
	for _, s := range sets.Items {
		out = append(out, graph.Workload{Kind: "StatefulSet", Name: s.Name, Wanted: ptr.Deref(s.Spec.Replicas, 1), Ready: s.Status.ReadyReplicas})
	}
	slices.SortFunc(out, func(a, b graph.Workload) int { return strings.Compare(a.Kind+a.Name, b.Kind+b.Name) })
	return out, nil
}
