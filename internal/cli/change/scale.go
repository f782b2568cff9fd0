package change

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hypershift-on-azure/hypershift/api/v1beta1"
	"github.com/hypershift-on-azure/hypershift/internal/cli/command"
	"github.com/hypershift-on-azure/hypershift/internal/cli/machines"
	"github.com/hypershift-on-azure/hypershift/internal/cli/printing"
	"github.com/hypershift-on-azure/hypershift/internal/survey"
)

// NewScaleCommand is scale.
func NewScaleCommand() *cobra.Command {
	return command.Parent("scale", "Change the number of nodes", newScaleCommand())
}

func newScaleCommand() *cobra.Command {
	t, replicas := &target{pool: true}, int32(0)
	cmd := t.waits(t.changes(t.verb("nodepool", "Change the number of nodes of a node pool",
		"  hypershift scale nodepool demo --replicas 3\n  hypershift scale nodepool demo --replicas 3 --wait", func(cmd *cobra.Command) error {
			if !cmd.Flags().Changed("replicas") {
				return errors.New("--replicas is required: the number of nodes")
			}
			return t.scale(cmd.Context(), replicas, cmd.OutOrStdout())
		})), "the nodes are there, or gone")
	cmd.Flags().Int32Var(&replicas, "replicas", 0, "number of nodes (required)")
	return cmd
}

func (t *target) scale(ctx context.Context, replicas int32, out io.Writer) error {
	if replicas < 0 {
		return fmt.Errorf("--replicas %d is negative", replicas)
	}
	np := &hyperv1.NodePool{}
	if err := t.read(ctx, np); err != nil {
		return err
	}
	if scaling := np.Spec.AutoScaling; scaling != nil {
		return fmt.Errorf("%s scales itself, from %d to %d nodes: change spec.autoScaling, or take it away, with `kubectl -n %s edit nodepool %s`", t, scaling.Min, scaling.Max, t.namespace, t.name)
	}
	if np.DeletionTimestamp != nil {
		return fmt.Errorf("%s is being deleted", t)
	}
	before := ptr.Deref(np.Spec.Replicas, 0)
	if before != replicas {
		if err := t.patch(ctx, np, map[string]any{"replicas": replicas}); err != nil {
			return err
		}
	}
	if t.wait && !t.dryRun {
		err := t.until(ctx, fmt.Sprintf("%d nodes", replicas), false, func(ctx context.Context, obj client.Object) (string, bool, error) {
			return t.nodesAre(ctx, obj.(*hyperv1.NodePool), replicas)
		})
		if err != nil {
			return err
		}
	}
	words := map[bool]string{false: "%s: %d nodes become %d\n", true: "%s: %d nodes would become %d\n"}[t.dryRun]
	if before == replicas {
		words = "%s: %d nodes stay %d\n"
	}
	_, err := fmt.Fprintf(out, words, t, before, replicas)
	return err
}

// nodesAre tells whether the pool has as many nodes as wanted, each on a machine that is there to stay, and no machine besides. Who may not
// read machines is told what the pool says of itself.
func (t *target) nodesAre(ctx context.Context, np *hyperv1.NodePool, wanted int32) (string, bool, error) {
	found, err := survey.MachinesOf(ctx, t.client, np)
	if err != nil {
		return "", false, err
	}
	reached := np.Status.Replicas == wanted
	state := fmt.Sprintf("%d of %d nodes are available", np.Status.Replicas, wanted)
	if found != nil && len(found) != int(wanted) {
		reached = false
		state += map[bool]string{false: fmt.Sprintf("; there are %d machines", len(found)), true: "; there is 1 machine"}[len(found) == 1]
	}
	for _, machine := range found {
		if machine.Stage != survey.Ready {
			reached = false
			state += "; machine " + machine.Name + ": " + machine.Stage
		}
	}
	if problem := machines.Problem(np); problem != "" && !reached {
		state += "; " + problem
	}
	return printing.Shorten(printing.Visible(state)), reached, nil
}
