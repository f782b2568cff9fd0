// etcd-helper is what works on the etcd of a hosted control plane from its pods. It is a program of its own, in the control-plane-operator's
// image: with etcd's library in it, every other helper of a control plane would be heavier.
package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"

	"github.com/go-logr/logr"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	corev1 "k8s.io/api/core/v1"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/hypershift-on-azure/hypershift/internal/contract"
	"github.com/hypershift-on-azure/hypershift/internal/inpod/backup"
	"github.com/hypershift-on-azure/hypershift/internal/inpod/defrag"
	"github.com/hypershift-on-azure/hypershift/internal/inpod/expose"
	"github.com/hypershift-on-azure/hypershift/internal/inpod/rejoin"
	"github.com/hypershift-on-azure/hypershift/internal/inpod/replace"
	"github.com/hypershift-on-azure/hypershift/internal/inpod/snapshot"
)

func main() {
	ctrl.SetLogger(logr.FromSlogHandler(slog.NewJSONHandler(os.Stderr, nil)))
	root := &cobra.Command{Use: "etcd-helper", Short: "Work on the etcd of a hosted control plane", Args: cobra.NoArgs, SilenceUsage: true, SilenceErrors: true}
	var saved backup.Options
	var begin snapshot.Options
	var member rejoin.Options
	var waste defrag.Options
	var shown expose.Options
	var lost replace.Options
	root.AddCommand(
		helper(contract.CommandBackUp, "Keep a snapshot of an etcd in Azure blob storage", saved.AddFlags,
			func(ctx context.Context) error { return backup.Run(ctx, saved) }),
		helper(contract.CommandRestoreSnapshot, "Begin an etcd with a snapshot", begin.AddFlags,
			func(ctx context.Context) error { return snapshot.Run(ctx, begin) }),
		helper(contract.CommandResetMember, "Let an etcd that lost its disk join its cluster again", member.AddFlags,
			func(ctx context.Context) error { return rejoin.Run(ctx, member) }),
		helper(contract.CommandReplaceMember, "Replace the member of an etcd that cannot start by the data of the others", lost.AddFlags,
			func(ctx context.Context) error { return replace.Run(ctx, lost) }),
		helper(contract.EtcdDefragmenter, "Give back the space that etcd has freed inside its files", waste.AddFlags,
			func(ctx context.Context) error { return defrag.Run(ctx, waste) }),
		helper(expose.Name, "Show health or metrics of an etcd to who is no client of it", shown.AddFlags,
			func(ctx context.Context) error { return expose.Run(ctx, shown) }),
	)
	if err := root.ExecuteContext(ctrl.LoggerInto(ctrl.SetupSignalHandler(), ctrl.Log)); err != nil {
		fmt.Fprintln(os.Stderr, "etcd-helper:", err)
		// The kubelet shows it on the pod, from where it reaches the conditions; outside of a pod there is no such file.
		if log, openErr := os.OpenFile(corev1.TerminationMessagePathDefault, os.O_WRONLY|os.O_TRUNC, 0); openErr == nil {
			_, _ = fmt.Fprint(log, err)
			_ = log.Close()
		}
		os.Exit(exitCode(err))
	}
}

// exitCode is the error's own where it has one: who runs the program decides by it whether to run it again.
func exitCode(err error) int {
	var coded interface{ ExitCode() int }
	if errors.As(err, &coded) {
		return coded.ExitCode()
	}
	return 1
}

func helper(name, short string, addFlags func(*pflag.FlagSet), run func(context.Context) error) *cobra.Command {
	cmd := &cobra.Command{Use: name, Short: short, Args: cobra.NoArgs, RunE: func(cmd *cobra.Command, _ []string) error { return run(cmd.Context()) }}
	addFlags(cmd.Flags())
	return cmd
}
