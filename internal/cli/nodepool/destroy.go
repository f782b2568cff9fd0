package nodepool

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hypershift-on-azure/hypershift/api/v1beta1"
	"github.com/hypershift-on-azure/hypershift/internal/cli/azureflags"
	"github.com/hypershift-on-azure/hypershift/internal/cli/machines"
	"github.com/hypershift-on-azure/hypershift/internal/cli/management"
	"github.com/hypershift-on-azure/hypershift/internal/cli/progress"
	"github.com/hypershift-on-azure/hypershift/internal/stack"
)

// nodePoolDestroyer are the flags of destroy nodepool.
type nodePoolDestroyer struct {
	name, namespace, kubeconfig string
	credentials                 string
	dryRun, wait                bool
	timeout                     time.Duration
}

// NewDestroyCommand is typed with and without the platform: no call to it is made.
func NewDestroyCommand() *cobra.Command {
	cmd := destroyNodePool("nodepool", "Destroy a node pool: its machines go with it, the hosted cluster stays",
		`  hypershift destroy nodepool --name big
  hypershift destroy nodepool azure --name big --namespace clusters --dry-run`)
	cmd.AddCommand(destroyNodePool("azure", "Destroy a node pool on Azure", "  hypershift destroy nodepool azure --name big"))
	return cmd
}

func destroyNodePool(use, short, example string) *cobra.Command {
	d := &nodePoolDestroyer{}
	cmd := &cobra.Command{Use: use, Short: short, Example: example, Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if d.name == "" {
				return errors.New("--name is required: the name of the node pool")
			}
			c, err := management.NewClient(d.kubeconfig)
			if err != nil {
				return err
			}
			return d.run(cmd, c)
		}}
	f := cmd.Flags()
	f.StringVar(&d.name, "name", "", "name of the node pool")
	_ = cmd.RegisterFlagCompletionFunc("name", management.CompleteNodePools)
	f.StringVarP(&d.namespace, "namespace", "n", "clusters", "namespace of the hosted cluster")
	f.StringVar(&d.kubeconfig, "kubeconfig", "", "kubeconfig of the management cluster")
	f.StringVar(&d.credentials, "azure-creds", "", "accepted for compatibility; no call to Azure is made")
	f.BoolVar(&d.dryRun, "dry-run", false, "print what would be done and delete nothing")
	f.BoolVar(&d.wait, "wait", true, "wait until the machines are gone")
	f.DurationVar(&d.timeout, "timeout", 15*time.Minute, "how long to wait")
	return cmd
}

// run takes an absent pool as success, and names those that are there: the name may be mistyped.
func (d *nodePoolDestroyer) run(cmd *cobra.Command, c client.Client) error {
	ctx, say := cmd.Context(), progress.Line(cmd)
	pools := &hyperv1.NodePoolList{}
	err := c.List(ctx, pools, client.InNamespace(d.namespace))
	if meta.IsNoMatchError(err) {
		return management.ErrNotInstalled
	}
	if err != nil {
		return fmt.Errorf("cannot list the NodePools in %s: %w", d.namespace, err)
	}
	at := slices.IndexFunc(pools.Items, func(np hyperv1.NodePool) bool { return np.Name == d.name })
	if at < 0 {
		var names []string
		for _, np := range pools.Items {
			names = append(names, np.Name)
		}
		say("NodePool %s/%s is gone already, or never was; the namespace has: %s", d.namespace, d.name, orNone(names))
		return nil
	}
	np := &pools.Items[at]
	if d.dryRun {
		f := azureflags.Flags{}
		return f.PrintPlan(cmd.OutOrStdout(), []stack.Step{{Kind: "NodePool", Name: d.namespace + "/" + d.name, Action: "delete"}})
	}
	say("deleting NodePool %s/%s of HostedCluster %s", np.Namespace, np.Name, np.Spec.ClusterName)
	if err := c.Delete(ctx, np, client.Preconditions{UID: &np.UID}); client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("cannot delete NodePool %s/%s: %w", d.namespace, d.name, err)
	}
	if d.wait {
		if err := d.waitUntilGone(ctx, c, np, say); err != nil {
			return err
		}
	}
	_, err = fmt.Fprintf(cmd.OutOrStdout(), "NodePool %s %s\n", d.name, map[bool]string{true: "destroyed", false: "is being destroyed"}[d.wait])
	return err
}

func orNone(names []string) string {
	if len(names) == 0 {
		return "no NodePool"
	}
	return strings.Join(names, ", ")
}

// waitUntilGone says what the pool waits for, in the words of its conditions.
func (d *nodePoolDestroyer) waitUntilGone(ctx context.Context, c client.Client, np *hyperv1.NodePool, say func(string, ...any)) error {
	watch := progress.NewWatch(say, d.timeout)
	err := management.Within(ctx, time.Second, d.timeout, func(ctx context.Context) (bool, error) {
		live := &hyperv1.NodePool{}
		err := c.Get(ctx, client.ObjectKeyFromObject(np), live)
		switch {
		case management.IsTransient(err):
			return false, nil
		case err != nil || live.UID != np.UID:
			return client.IgnoreNotFound(err) == nil, client.IgnoreNotFound(err)
		}
		state := fmt.Sprintf("waiting for %d nodes to go", live.Status.Replicas)
		if problem := machines.Problem(live); problem != "" {
			state += "; " + problem
		}
		watch.Saw(state)
		return false, nil
	})
	if errors.Is(err, management.ErrTimeUp) {
		return fmt.Errorf("NodePool %s/%s is not gone after %s (%s); its deletion goes on: see `kubectl -n %s describe nodepool %s`, or wait with the same command again: %s",
			d.namespace, d.name, d.timeout, watch.Last(), d.namespace, d.name, progress.JourneyOf(ctx).Typed())
	}
	return err
}
