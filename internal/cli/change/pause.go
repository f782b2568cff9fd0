package change

import (
	"context"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hypershift-on-azure/hypershift/api/v1beta1"
	"github.com/hypershift-on-azure/hypershift/internal/cli/command"
	"github.com/hypershift-on-azure/hypershift/internal/pause"
)

// NewPauseCommand is pause.
func NewPauseCommand() *cobra.Command {
	return command.Parent("pause", "Keep the controllers from changing a hosted cluster or a node pool",
		newPauseCommand("cluster", "Keep the controllers from changing a hosted cluster; its node pools have their own pause", false),
		newPauseCommand("nodepool", "Keep the controllers from changing a node pool", true))
}

func newPauseCommand(use, short string, pool bool) *cobra.Command {
	t, until := &target{pool: pool}, ""
	cmd := t.changes(t.verb(use, short, "  hypershift pause "+use+" demo\n  hypershift pause "+use+" demo --until 2030-01-02T03:04:05Z", func(cmd *cobra.Command) error {
		return t.pause(cmd.Context(), until, time.Now(), cmd.OutOrStdout())
	}))
	cmd.Flags().StringVar(&until, "until", "true", "time at which it goes on by itself, as 2030-01-02T03:04:05Z; true is until hypershift resume")
	return cmd
}

func (t *target) pause(ctx context.Context, until string, now time.Time, out io.Writer) error {
	paused, _, err := pause.Read(&until, now)
	if err != nil || !paused {
		return fmt.Errorf("--until %q is not a time in the future; use the form 2030-01-02T03:04:05Z, or leave it out", until)
	}
	words := "until `hypershift resume`"
	if until != "true" {
		words = "until " + until
	}
	return t.setPause(ctx, &until, "paused "+words, out)
}

// NewResumeCommand is resume.
func NewResumeCommand() *cobra.Command {
	return command.Parent("resume", "Let the controllers change a hosted cluster or a node pool again",
		newResumeCommand("cluster", "Let the controllers change a hosted cluster again", false),
		newResumeCommand("nodepool", "Let the controllers change a node pool again", true))
}

func newResumeCommand(use, short string, pool bool) *cobra.Command {
	t := &target{pool: pool}
	return t.changes(t.verb(use, short, "  hypershift resume "+use+" demo", func(cmd *cobra.Command) error {
		return t.setPause(cmd.Context(), nil, "not paused", cmd.OutOrStdout())
	}))
}

// setPause writes spec.pausedUntil unless it is so already.
func (t *target) setPause(ctx context.Context, value *string, words string, out io.Writer) error {
	obj := t.object()
	if err := t.read(ctx, obj); err != nil {
		return err
	}
	if has := pausedUntil(obj); ptr.Deref(has, "") == ptr.Deref(value, "") {
		_, err := fmt.Fprintf(out, "%s is %s already\n", t, words)
		return err
	}
	var spec any // null takes the member away
	if value != nil {
		spec = *value
	}
	if err := t.patch(ctx, obj, map[string]any{"pausedUntil": spec}); err != nil {
		return err
	}
	_, err := fmt.Fprintf(out, "%s %s %s\n", t, map[bool]string{false: "is", true: "would be"}[t.dryRun], words)
	return err
}

func pausedUntil(obj client.Object) *string {
	switch obj := obj.(type) {
	case *hyperv1.HostedCluster:
		return obj.Spec.PausedUntil
	case *hyperv1.NodePool:
		return obj.Spec.PausedUntil
	}
	return nil
}
