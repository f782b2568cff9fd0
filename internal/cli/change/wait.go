package change

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hypershift-on-azure/hypershift/api/v1beta1"
	"github.com/hypershift-on-azure/hypershift/internal/cli/command"
	"github.com/hypershift-on-azure/hypershift/internal/cli/machines"
	"github.com/hypershift-on-azure/hypershift/internal/cli/printing"
	"github.com/hypershift-on-azure/hypershift/internal/kube"
	"github.com/hypershift-on-azure/hypershift/internal/survey"
)

// What can be waited for beside conditions.
const (
	forAvailable = "available"
	forReady     = "ready"
	forUpgraded  = "upgraded"
	forDeleted   = "deleted"
	// forCondition precedes the name of a condition.
	forCondition = "condition="
)

var (
	clusterGoals = []string{forAvailable, forUpgraded, forDeleted}
	poolGoals    = []string{forReady, forUpgraded, forDeleted}
)

// NewWaitCommand is wait.
func NewWaitCommand() *cobra.Command {
	return command.Parent("wait", "Wait until a hosted cluster or a node pool is as wanted",
		newWaitCommand("cluster", "Wait until a hosted cluster is available, upgraded, gone, or tells a condition", forAvailable, clusterGoals, false),
		newWaitCommand("nodepool", "Wait until a node pool has its nodes, is upgraded, gone, or tells a condition", forReady, poolGoals, true))
}

func newWaitCommand(use, short, usual string, goals []string, pool bool) *cobra.Command {
	t, goal := &target{pool: pool}, ""
	t.judge = func() error {
		_, err := t.reaches(goal, goals)
		return err
	}
	cmd := t.verb(use, short, "  hypershift wait "+use+" demo --for "+usual+"\n  hypershift wait "+use+" demo --for condition=ReconciliationActive=False --timeout 1m\n  hypershift wait "+use+" demo --for deleted",
		func(cmd *cobra.Command) error { return t.waitFor(cmd.Context(), goal, goals, cmd.OutOrStdout()) })
	cmd.Flags().StringVar(&goal, "for", usual, strings.Join(goals, ", ")+", or condition=TYPE[=STATUS]")
	cmd.Flags().DurationVar(&t.timeout, "timeout", waitLimit, "how long to wait")
	_ = cmd.RegisterFlagCompletionFunc("for", cobra.FixedCompletions(append(slices.Clone(goals), forCondition), cobra.ShellCompDirectiveNoFileComp|cobra.ShellCompDirectiveNoSpace))
	return cmd
}

func (t *target) waitFor(ctx context.Context, goal string, goals []string, out io.Writer) error {
	reached, err := t.reaches(goal, goals)
	if err != nil {
		return err
	}
	if err := t.until(ctx, goal, goal == forDeleted, reached); err != nil {
		return err
	}
	_, err = fmt.Fprintf(out, "%s is %s\n", t, strings.TrimPrefix(goal, forCondition))
	return err
}

// reaches is how a goal is told from what is not there yet.
func (t *target) reaches(goal string, goals []string) (done, error) {
	if condition, ok := strings.CutPrefix(goal, forCondition); ok && condition != "" {
		name, status, given := strings.Cut(condition, "=")
		if !given {
			status = string(corev1.ConditionTrue)
		}
		if err := t.checkCondition(name, status); err != nil {
			return nil, err
		}
		return func(_ context.Context, obj client.Object) (string, bool, error) {
			is, message := statusOf(obj, name)
			return fmt.Sprintf("%s is %s: %s", name, is, message), strings.EqualFold(is, status), nil
		}, nil
	}
	if !slices.Contains(goals, goal) {
		return nil, fmt.Errorf("--for %q is unknown; use %s or condition=TYPE[=STATUS]%s", goal, strings.Join(goals, ", "), printing.Suggest(goal, goals))
	}
	switch goal {
	case forDeleted:
		return func(_ context.Context, obj client.Object) (string, bool, error) {
			if obj.GetDeletionTimestamp() == nil {
				return "nobody has asked to delete it yet", false, nil
			}
			return "it is being deleted: " + stateOf(obj), false, nil
		}, nil
	case forUpgraded:
		return func(_ context.Context, obj client.Object) (string, bool, error) { return upgraded(obj, "") }, nil
	case forReady:
		return func(_ context.Context, obj client.Object) (string, bool, error) {
			is, _ := statusOf(obj, hyperv1.NodePoolReady)
			return stateOf(obj), is == "True" && enough(obj.(*hyperv1.NodePool)), nil
		}, nil
	}
	return func(_ context.Context, obj client.Object) (string, bool, error) {
		is, _ := statusOf(obj, hyperv1.HostedClusterAvailable)
		return stateOf(obj), is == "True", nil
	}, nil
}

// enough tells whether a pool has the nodes that it is to have.
func enough(np *hyperv1.NodePool) bool {
	if np.Spec.AutoScaling != nil {
		return np.Status.Replicas >= np.Spec.AutoScaling.Min
	}
	return np.Spec.Replicas == nil || np.Status.Replicas == *np.Spec.Replicas
}

// statusOf is the status of a condition, Unknown where nobody tells it, and its message on one line.
func statusOf(obj client.Object, name string) (status, message string) {
	switch obj := obj.(type) {
	case *hyperv1.HostedCluster:
		if c := kube.Find(obj.Status.Conditions, name); c != nil {
			return string(c.Status), printing.Visible(c.Message)
		}
	case *hyperv1.NodePool:
		if c := survey.PoolCondition(obj, name); c != nil {
			return string(c.Status), printing.Visible(c.Message)
		}
	}
	return string(corev1.ConditionUnknown), "nobody tells it yet"
}

// stateOf is what the object says of itself in a sentence.
func stateOf(obj client.Object) string {
	if np, ok := obj.(*hyperv1.NodePool); ok {
		state := fmt.Sprintf("%d nodes are available", np.Status.Replicas)
		if problem := machines.Problem(np); problem != "" {
			state += "; " + problem
		}
		return printing.Shorten(printing.Visible(state))
	}
	is, message := statusOf(obj, hyperv1.HostedClusterAvailable)
	return printing.Shorten("Available is " + is + ": " + message)
}
