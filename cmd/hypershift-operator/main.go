// hypershift-operator runs on the management cluster: it turns HostedClusters and NodePools into control planes and machines.
package main

import (
	"fmt"
	"os"

	"github.com/spf13/cobra"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/hypershift-on-azure/hypershift/internal/buildinfo"
	"github.com/hypershift-on-azure/hypershift/internal/contract"
)

func main() {
	root := &cobra.Command{
		Use:           contract.Operator,
		Short:         "Run hosted control planes on this management cluster",
		SilenceUsage:  true,
		SilenceErrors: true,
	}
	root.AddCommand(runCommand(), routerCommand(), dashboardCommand(), versionCommand())
	if err := root.ExecuteContext(ctrl.SetupSignalHandler()); err != nil {
		fmt.Fprintln(os.Stderr, "hypershift-operator:", err)
		os.Exit(1)
	}
}

func versionCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Print the version of this build",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			info := buildinfo.Get()
			_, err := fmt.Fprintf(cmd.OutOrStdout(), "%s (commit %s, %s, %s)\n", info.Version, info.Commit, info.GoVersion, info.Platform)
			return err
		},
	}
}

func runCommand() *cobra.Command {
	var c config
	cmd := &cobra.Command{
		Use:   "run",
		Short: "Run the controllers",
		Args:  cobra.NoArgs,
		RunE:  func(cmd *cobra.Command, _ []string) error { return run(cmd.Context(), c) },
	}
	flags := cmd.Flags()
	flags.StringVar(&c.namespace, "namespace", "hypershift", "namespace this operator runs in")
	flags.StringVar(&c.podName, "pod-name", "", "name of this pod, from which it learns its own image")
	flags.StringVar(&c.metricsAddr, "metrics-addr", "0", `address of the Prometheus endpoint; "0" is off`)
	flags.StringVar(&c.healthAddr, "health-addr", ":6060", "address of /healthz and /readyz")
	flags.IntVar(&c.webhookPort, "webhook-port", 0, "port of the webhook that converts between the versions of Cluster API's kinds; 0 is off")
	flags.StringVar(&c.ingressDomain, "ingress-domain", "", "domain for the management cluster's Routes; its own Ingress configuration says it when empty")
	flags.StringVar(&c.registryOverrides, "registry-overrides", "", "mirrors for images that run on the management cluster, as source=mirror,source=mirror")
	flags.BoolVar(&c.allowPrivateRegistries, "allow-private-registries", false, "read the images that HostedClusters and NodePools name from private networks too")
	flags.StringVar(&c.releaseKeys, "release-signature-keys", "", "PEM file with public keys, of which one must have signed every release; unsigned ones are taken when it is empty")
	flags.StringSliceVar(&c.egressBlockCIDRs, "hcp-egress-block-cidrs", nil, "networks that control planes must not reach")
	flags.StringVar(&c.controlPlaneOperatorImage, "control-plane-operator-image", "", "image of the control-plane operator of every cluster, instead of the payload's")
	flags.IntVar(&c.etcdBackupMaxCount, "etcd-backup-max-count", contract.DefaultBackupMaxCount, "successful HCPEtcdBackups that stay per hosted cluster, at least 1; what lies in the storage stays")
	flags.IntVar(&c.maxConcurrentUpgrades, "max-concurrent-upgrades", 0, "control planes that are upgraded at a time; 0 is no bound")
	flags.StringVar(&c.privatePlatform, "private-platform", "None", "platform of private endpoints; only None is served")
	flags.BoolVar(&c.clusterMonitoring, "enable-ocp-cluster-monitoring", false, "let the management cluster's monitoring scrape control planes")
	flags.BoolVar(&c.debug, "enable-ci-debug-output", false, "log debug messages")
	return cmd
}
