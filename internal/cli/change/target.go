// Package change has the commands that change hosted clusters and node pools from day to day: upgrade, scale, pause and resume; and wait,
// which waits for what they began.
package change

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hypershift-on-azure/hypershift/api/v1beta1"
	"github.com/hypershift-on-azure/hypershift/internal/cli/command"
	"github.com/hypershift-on-azure/hypershift/internal/cli/management"
	"github.com/hypershift-on-azure/hypershift/internal/cli/progress"
)

const (
	// waitPeriod is how often what is waited for is read again.
	waitPeriod = time.Second
	// waitLimit is how long is waited unless told otherwise.
	waitLimit = 30 * time.Minute
)

// target is what a command changes: a hosted cluster or a node pool.
type target struct {
	namespace, name, kubeconfig string
	// pool: it is a NodePool, else a HostedCluster.
	pool   bool
	dryRun bool
	wait   bool
	// judge refuses what is typed wrong before the management cluster is asked; nil refuses nothing.
	judge   func() error
	timeout time.Duration
	client  client.Client
	say     func(format string, args ...any)
}

// verb makes a command for a target: use is the kind's name, run is called with the client in place.
func (t *target) verb(use, short, example string, run func(*cobra.Command) error) *cobra.Command {
	complete := management.CompleteClusters
	if t.pool {
		complete = management.CompleteNodePools
	}
	cmd := &cobra.Command{
		Use: use + " NAME", Short: short, Example: example, Args: command.OneName, ValidArgsFunction: complete,
		RunE: func(cmd *cobra.Command, args []string) error {
			if t.judge != nil {
				if err := t.judge(); err != nil {
					return err
				}
			}
			c, err := management.NewClient(t.kubeconfig)
			if err != nil {
				return err
			}
			t.name, t.client, t.say = args[0], c, progress.Line(cmd)
			return run(cmd)
		},
	}
	cmd.Flags().StringVarP(&t.namespace, "namespace", "n", management.ClustersNamespace, "namespace of the hosted cluster")
	management.AddKubeconfig(cmd, &t.kubeconfig)
	return cmd
}

// changes adds the flags of a verb that writes.
func (t *target) changes(cmd *cobra.Command) *cobra.Command {
	cmd.Flags().BoolVar(&t.dryRun, "dry-run", false, "print what would be done and change nothing")
	return cmd
}

// waits adds the flags of a verb that may wait.
func (t *target) waits(cmd *cobra.Command, what string) *cobra.Command {
	cmd.Flags().BoolVar(&t.wait, "wait", false, "wait until "+what+", and tell how far it is")
	cmd.Flags().DurationVar(&t.timeout, "timeout", waitLimit, "how long to wait")
	return cmd
}

func (t *target) String() string {
	kind := "HostedCluster"
	if t.pool {
		kind = "NodePool"
	}
	return kind + " " + t.namespace + "/" + t.name
}

// read fills obj, a HostedCluster or a NodePool.
func (t *target) read(ctx context.Context, obj client.Object) error {
	err := t.client.Get(ctx, client.ObjectKey{Namespace: t.namespace, Name: t.name}, obj)
	switch {
	case apierrors.IsNotFound(err) && t.pool:
		return management.NoNodePool(ctx, t.client, t.namespace, t.name)
	case apierrors.IsNotFound(err):
		return management.NoCluster(ctx, t.client, t.namespace, t.name)
	case err != nil && t.pool:
		return management.Unread("NodePool", t.namespace, t.name, err)
	case err != nil:
		return management.Unread("HostedCluster", t.namespace, t.name, err)
	}
	return nil
}

// object is an empty one of the target's kind.
func (t *target) object() client.Object {
	if t.pool {
		return &hyperv1.NodePool{}
	}
	return &hyperv1.HostedCluster{}
}

// patch merges members into the spec of what was read, and fails when somebody has changed it since.
func (t *target) patch(ctx context.Context, read client.Object, spec map[string]any) error {
	return t.merge(ctx, read, map[string]any{}, spec)
}

// annotate sets an annotation of what was read, and fails when somebody has changed it since.
func (t *target) annotate(ctx context.Context, read client.Object, key, value string) error {
	return t.merge(ctx, read, map[string]any{"annotations": map[string]any{key: value}}, map[string]any{})
}

func (t *target) merge(ctx context.Context, read client.Object, metadata, spec map[string]any) error {
	metadata["resourceVersion"] = read.GetResourceVersion()
	raw, err := json.Marshal(map[string]any{"metadata": metadata, "spec": spec})
	if err != nil {
		return fmt.Errorf("encode the change of %s: %w", t, err)
	}
	var options []client.PatchOption
	if t.dryRun {
		options = append(options, client.DryRunAll)
	}
	options = append(options, client.FieldOwner(management.FieldManager))
	err = t.client.Patch(ctx, read, client.RawPatch(types.MergePatchType, raw), options...)
	if apierrors.IsConflict(err) {
		return fmt.Errorf("%s was changed by somebody else in this moment; look at it, and type the command again", t)
	}
	if err != nil {
		return fmt.Errorf("cannot change %s: %w", t, err)
	}
	return nil
}

// done tells whether what is waited for has come, and what the state is, for people.
type done func(ctx context.Context, obj client.Object) (state string, reached bool, err error)

// until tells each change of the state, until it is reached. gone is what it means that the object is not there any more.
func (t *target) until(ctx context.Context, what string, gone bool, reached done) error {
	watch := progress.NewWatch(t.say, t.timeout)
	err := management.Within(ctx, waitPeriod, t.timeout, func(ctx context.Context) (bool, error) {
		obj := t.object()
		err := t.client.Get(ctx, client.ObjectKey{Namespace: t.namespace, Name: t.name}, obj)
		switch {
		case management.IsTransient(err):
			return false, nil
		case apierrors.IsNotFound(err) && gone:
			return true, nil
		case err != nil:
			return false, t.read(ctx, obj)
		}
		state, ok, err := reached(ctx, obj)
		if management.IsTransient(err) {
			return false, nil
		}
		watch.Saw(state)
		return ok, err
	})
	if errors.Is(err, management.ErrTimeUp) {
		kind := map[bool]string{false: "cluster", true: "nodepool"}[t.pool]
		return fmt.Errorf("%s: %s has not come after %s (%s); it goes on by itself: `hypershift explain %s %s --namespace %s` says why, and the same command waits again",
			t, what, t.timeout, cmp.Or(watch.Last(), "nothing is known yet"), kind, t.name, t.namespace)
	}
	return err
}
