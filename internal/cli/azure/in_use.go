package azure

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hypershift-on-azure/hypershift/api/v1beta1"
	"github.com/hypershift-on-azure/hypershift/internal/cli/command"
	"github.com/hypershift-on-azure/hypershift/internal/cli/management"
)

// useGuard looks for hosted clusters that live on what a destroy is about to remove, and then wants to be told that it is meant.
type useGuard struct {
	kubeconfig string
	yes        bool
}

func (g *useGuard) add(cmd *cobra.Command) {
	cmd.Flags().StringVar(&g.kubeconfig, "kubeconfig", "", "kubeconfig of the management cluster, which is asked whether a hosted cluster uses what goes")
	cmd.Flags().BoolVar(&g.yes, "yes", false, "do not ask: destroy it although it is in use, or although that cannot be found out")
}

// uses tells whether a hosted cluster needs the thing.
type uses func(*hyperv1.HostedCluster) bool

// allow returns nil where nobody uses what goes, or the person means it. A plan is warned and never asked.
func (g *useGuard) allow(cmd *cobra.Command, what string, plan bool, of uses) error {
	found, err := g.find(cmd.Context(), of)
	if cmd.Context().Err() != nil {
		return cmd.Context().Err()
	}
	var why, instead string
	switch {
	case err != nil:
		why, instead = fmt.Sprintf("the management cluster cannot tell whether a hosted cluster uses %s: %v", what, err), "set KUBECONFIG to a cluster that answers"
	case len(found) == 0:
		return nil
	default:
		why = fmt.Sprintf("HostedCluster %s would not work any more without %s", strings.Join(named(found), ", "), what)
		instead = fmt.Sprintf("destroy the cluster first: `hypershift destroy cluster azure --name %s --namespace %s --azure-creds FILE`", found[0].Name, found[0].Namespace)
	}
	return g.decide(cmd, why, instead, plan)
}

// decide goes on where the person means it. A plan is warned and never asked.
func (g *useGuard) decide(cmd *cobra.Command, why, instead string, plan bool) error {
	if plan || g.yes {
		fmt.Fprintln(cmd.ErrOrStderr(), "warning: "+why)
		return nil
	}
	if meant, asked := command.Ask(cmd, "warning: "+why+"\nDestroy it all the same? Type yes: "); asked {
		if meant {
			return nil
		}
		return errors.New("nothing was destroyed; " + instead)
	}
	return fmt.Errorf("nothing was destroyed: %s; %s, or give --yes to destroy it all the same", why, instead)
}

// guardLimit bounds the question to a management cluster that may be gone.
const guardLimit = 15 * time.Second

// find lists the hosted clusters that use it; none where no kubeconfig is at hand.
func (g *useGuard) find(ctx context.Context, of uses) ([]hyperv1.HostedCluster, error) {
	if g.kubeconfig == "" && !management.KubeconfigAtHand() {
		return nil, nil
	}
	ctx, cancel := context.WithTimeout(ctx, guardLimit)
	defer cancel()
	c, err := management.NewClient(g.kubeconfig)
	if err != nil {
		return nil, err
	}
	all := &hyperv1.HostedClusterList{}
	if err := c.List(ctx, all); err != nil {
		if meta.IsNoMatchError(err) {
			return nil, nil
		}
		return nil, fmt.Errorf("cannot list the HostedClusters: %w", err)
	}
	var found []hyperv1.HostedCluster
	for _, hc := range all.Items {
		if of(&hc) {
			found = append(found, hc)
		}
	}
	return found, nil
}

func named(clusters []hyperv1.HostedCluster) []string {
	var names []string
	for i := range clusters {
		names = append(names, client.ObjectKeyFromObject(&clusters[i]).String())
	}
	return names
}
