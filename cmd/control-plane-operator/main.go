// control-plane-operator runs beside one hosted control plane and keeps it; its image also carries the in-pod helpers.
package main

import (
	"context"
	"fmt"
	"log/slog"
	"os"

	"github.com/go-logr/logr"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/hypershift-on-azure/hypershift/internal/buildinfo"
	"github.com/hypershift-on-azure/hypershift/internal/contract"
	"github.com/hypershift-on-azure/hypershift/internal/controlplane/metricsforwarding/endpointresolver"
	"github.com/hypershift-on-azure/hypershift/internal/controlplane/metricsforwarding/metricsproxy"
	"github.com/hypershift-on-azure/hypershift/internal/controlplane/pkioperator"
	"github.com/hypershift-on-azure/hypershift/internal/guest"
	"github.com/hypershift-on-azure/hypershift/internal/guest/approver"
	"github.com/hypershift-on-azure/hypershift/internal/guest/ingressdns"
	"github.com/hypershift-on-azure/hypershift/internal/ignition/server"
	"github.com/hypershift-on-azure/hypershift/internal/inpod/copyprogram"
	"github.com/hypershift-on-azure/hypershift/internal/inpod/featuregates"
	"github.com/hypershift-on-azure/hypershift/internal/inpod/kasbootstrap"
	"github.com/hypershift-on-azure/hypershift/internal/inpod/minter"
	"github.com/hypershift-on-azure/hypershift/internal/inpod/prober"
	"github.com/hypershift-on-azure/hypershift/internal/inpod/tunnelproxy"
	"github.com/hypershift-on-azure/hypershift/internal/kms"
)

func main() {
	// Helpers start in every pod of a control plane: logs are plain JSON lines without the weight of a logging library.
	ctrl.SetLogger(logr.FromSlogHandler(slog.NewJSONHandler(os.Stderr, nil)))
	if err := rootCommand().ExecuteContext(ctrl.SetupSignalHandler()); err != nil {
		fmt.Fprintln(os.Stderr, "control-plane-operator:", err)
		os.Exit(1)
	}
}

func rootCommand() *cobra.Command {
	run := runCommand()
	root := &cobra.Command{
		Use:           contract.ControlPlaneOperator,
		Short:         "Keep a hosted control plane",
		SilenceUsage:  true,
		SilenceErrors: true,
		Args:          cobra.NoArgs,
		RunE:          run.RunE,
	}
	root.Flags().AddFlagSet(run.Flags())
	var serve server.Options
	var config guest.Options
	var approve approver.Options
	var records ingressdns.Options
	var emergencies pkioperator.Options
	var mint minter.Options
	var probe prober.Options
	var resolve prober.ResolveOptions
	var wrap kms.Options
	var gates featuregates.Options
	var itself copyprogram.Options
	var begin kasbootstrap.Options
	var where endpointresolver.Options
	var show metricsproxy.Options
	var byHTTP, bySOCKS tunnelproxy.Options
	root.AddCommand(
		run,
		helper(contract.IgnitionServer, "Serve machines their first configuration", serve.AddFlags,
			func(ctx context.Context) error { return server.Run(ctx, serve) }),
		helper(contract.ConfigOperator, "Manage the objects inside the hosted cluster", config.AddFlags,
			func(ctx context.Context) error { return guest.Run(ctx, config) }),
		helper(contract.MachineApprover, "Approve the certificate requests of machines that exist", approve.AddFlags,
			func(ctx context.Context) error { return approver.Run(ctx, approve) }),
		helper(ingressdns.Name, "Keep the DNS records of the hosted cluster's applications", records.AddFlags,
			func(ctx context.Context) error { return ingressdns.Run(ctx, records) }),
		helper(pkioperator.Name, "Give access to the hosted cluster in emergencies", emergencies.AddFlags,
			func(ctx context.Context) error { return pkioperator.Run(ctrl.LoggerInto(ctx, ctrl.Log), emergencies) }),
		helper(contract.CommandTokenMinter, "Keep a token of a hosted cluster's service account in a file", mint.AddFlags,
			func(ctx context.Context) error { return minter.Run(ctx, mint) }),
		helper(contract.CommandProber, "Wait until something the pod needs answers", probe.AddFlags,
			func(ctx context.Context) error { return prober.Run(ctx, probe) }),
		helper(kasbootstrap.Name, "Create the first objects that the rest of the hosted cluster needs", begin.AddFlags,
			func(ctx context.Context) error { return kasbootstrap.Run(ctx, begin) }),
		helper(endpointresolver.Name, "Tell where the pods of the control plane are", where.AddFlags,
			func(ctx context.Context) error { return endpointresolver.Run(ctx, where) }),
		helper(metricsproxy.Name, "Show the control plane's metrics to its hosted cluster", show.AddFlags,
			func(ctx context.Context) error { return metricsproxy.Run(ctx, show) }),
		helper(contract.CommandCopyProgram, "Give this program to a container of another image", itself.AddFlags,
			func(ctx context.Context) error { return copyprogram.Run(ctx, itself) }),
		helper(contract.CommandSyncFeatureGates, "Store the feature gates that the payload's program has rendered", gates.AddFlags,
			func(ctx context.Context) error { return featuregates.Run(ctx, gates) }),
		inside(contract.CommandHTTPSProxy, "Reach the hosted cluster's network by HTTP proxy", byHTTP.AddHTTPFlags,
			func(ctx context.Context) error { return tunnelproxy.RunHTTP(ctrl.LoggerInto(ctx, ctrl.Log), byHTTP) }),
		inside(contract.CommandSOCKSProxy, "Reach the hosted cluster's network by SOCKS5 proxy", bySOCKS.AddSOCKSFlags,
			func(ctx context.Context) error { return tunnelproxy.RunSOCKS(ctrl.LoggerInto(ctx, ctrl.Log), bySOCKS) }),
		helper(contract.CommandResolveDNS, "Wait until a name leads to an address", resolve.AddFlags,
			func(ctx context.Context) error { return prober.Resolve(ctx, resolve) }),
		helper(contract.CommandKMSProvider, "Wrap the API server's keys with a key of an Azure Key Vault", wrap.AddFlags,
			func(ctx context.Context) error { return kms.Run(ctrl.LoggerInto(ctx, ctrl.Log), wrap) }),
		&cobra.Command{
			Use: "version", Short: "Print the version of this build", Args: cobra.NoArgs,
			RunE: func(cmd *cobra.Command, _ []string) error {
				info := buildinfo.Get()
				_, err := fmt.Fprintf(cmd.OutOrStdout(), "%s (commit %s, %s, %s)\n", info.Version, info.Commit, info.GoVersion, info.Platform)
				return err
			},
		},
	)
	return root
}

// inside is a helper whose one subcommand is run, as operators of payloads call it.
func inside(name, short string, addFlags func(*pflag.FlagSet), run func(context.Context) error) *cobra.Command {
	cmd := &cobra.Command{Use: name, Short: short, Args: cobra.NoArgs}
	cmd.AddCommand(helper("run", short, addFlags, run))
	return cmd
}

func helper(name, short string, addFlags func(*pflag.FlagSet), run func(context.Context) error) *cobra.Command {
	cmd := &cobra.Command{Use: name, Short: short, Args: cobra.NoArgs, RunE: func(cmd *cobra.Command, _ []string) error { return run(cmd.Context()) }}
	addFlags(cmd.Flags())
	return cmd
}
