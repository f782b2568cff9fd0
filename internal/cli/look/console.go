package look

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/sync/errgroup"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hypershift-on-azure/hypershift/api/v1beta1"
	"github.com/hypershift-on-azure/hypershift/internal/azure/failure"
	"github.com/hypershift-on-azure/hypershift/internal/cli/azureflags"
	"github.com/hypershift-on-azure/hypershift/internal/cli/command"
	"github.com/hypershift-on-azure/hypershift/internal/cli/management"
	"github.com/hypershift-on-azure/hypershift/internal/cli/progress"
	"github.com/hypershift-on-azure/hypershift/internal/survey"
	"github.com/hypershift-on-azure/hypershift/internal/wholefile"
)

// consoles are the flags of console-logs azure.
type consoles struct {
	name, namespace, pool, folder, kubeconfig, credentials, cloud string
	// read gives the console log of a virtual machine by its id.
	read func(ctx context.Context, id string) ([]byte, error)
	say  func(format string, args ...any)
}

// consolesAtOnce bounds the questions to Azure.
const consolesAtOnce = 8

// NewConsoleLogsCommand is console-logs.
func NewConsoleLogsCommand() *cobra.Command {
	return command.Parent("console-logs", "Fetch what machines have written to their serial consoles", newConsoleLogsAzureCommand())
}

func newConsoleLogsAzureCommand() *cobra.Command {
	f := &consoles{}
	cmd := &cobra.Command{
		Use:   "azure",
		Short: "Fetch the serial console of each machine from Azure's boot diagnostics",
		Long: `Writes the serial console of each machine of a hosted cluster, from its last start on, into a folder: a file for each, by the machine's name.
A machine that never became a node says there why. Azure keeps consoles of machines whose boot diagnostics are on: node pools made with
--diagnostics-storage-account-type Managed.`,
		Example: `  hypershift console-logs azure --name demo --azure-creds azure-credentials.json
  hypershift console-logs azure --name demo --nodepool demo --output-dir consoles --azure-creds azure-credentials.json`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if f.name == "" {
				return errors.New("--name is required: the hosted cluster whose machines these are")
			}
			session, err := (&azureflags.Flags{Credentials: f.credentials, Cloud: f.cloud}).Session()
			if err != nil {
				return err
			}
			c, err := management.NewClient(f.kubeconfig)
			if err != nil {
				return err
			}
			f.read, f.say = session.ConsoleLog, progress.Line(cmd)
			if f.folder == "" {
				f.folder = f.name + "-consoles-" + time.Now().UTC().Format("20060102T150405Z")
			}
			return f.run(cmd.Context(), c, cmd.OutOrStdout())
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&f.name, "name", "", "name of the hosted cluster (required)")
	flags.StringVarP(&f.namespace, "namespace", "n", management.ClustersNamespace, "namespace of the hosted cluster")
	flags.StringVar(&f.pool, "nodepool", "", "only machines of this node pool; those of all when empty")
	flags.StringVar(&f.folder, "output-dir", "", "folder to write to (made with mode 0700); NAME-consoles-TIME when empty")
	flags.StringVar(&f.credentials, "azure-creds", "", "Azure credentials file: subscriptionId, tenantId, clientId, clientSecret")
	flags.StringVar(&f.cloud, "cloud", "AzurePublicCloud", "Azure cloud")
	_ = cmd.MarkFlagRequired("azure-creds")
	_ = cmd.RegisterFlagCompletionFunc("name", management.CompleteClusters)
	_ = cmd.RegisterFlagCompletionFunc("nodepool", management.CompleteNodePools)
	management.AddKubeconfig(cmd, &f.kubeconfig)
	return cmd
}

func (f *consoles) run(ctx context.Context, c client.Client, out io.Writer) error {
	s := &scope{namespace: f.namespace, now: time.Now}
	fleet, err := s.read(ctx, c, f.name)
	if err != nil {
		return err
	}
	hc := &hyperv1.HostedCluster{}
	if err := c.Get(ctx, client.ObjectKey{Namespace: f.namespace, Name: f.name}, hc); err != nil {
		return management.Unread("HostedCluster", f.namespace, f.name, err)
	}
	place := hc.Spec.Platform.Azure
	if place == nil {
		return fmt.Errorf("HostedCluster %s/%s is not an Azure platform cluster (spec.platform.azure is missing)", f.namespace, f.name)
	}
	machines, err := f.machines(fleet.Clusters[0])
	if err != nil {
		return err
	}
	if err := os.MkdirAll(f.folder, 0o700); err != nil {
		return fmt.Errorf("cannot make the folder of --output-dir: %w", err)
	}
	failures := make([]error, len(machines))
	var all errgroup.Group
	all.SetLimit(consolesAtOnce)
	for i, machine := range machines {
		all.Go(func() error {
			id := "/subscriptions/" + place.SubscriptionID + "/resourceGroups/" + place.ResourceGroupName + "/providers/Microsoft.Compute/virtualMachines/" + machine
			log, err := f.read(ctx, id)
			if err == nil {
				err = wholefile.Replace(filepath.Join(f.folder, machine+".log"), log, 0o600)
			}
			failures[i] = err
			return ctx.Err()
		})
	}
	if err := all.Wait(); err != nil {
		return err
	}
	return f.tell(out, machines, failures)
}

// machines are the virtual machines of the cluster, or of one of its pools.
func (f *consoles) machines(cluster survey.Cluster) ([]string, error) {
	var names, pools []string
	for _, pool := range cluster.NodePools {
		pools = append(pools, pool.Name)
		if f.pool != "" && pool.Name != f.pool {
			continue
		}
		for _, machine := range pool.Machines {
			if machine.VM != "" {
				names = append(names, machine.VM)
			}
		}
	}
	switch {
	case f.pool != "" && !slices.Contains(pools, f.pool):
		return nil, fmt.Errorf("--nodepool %s: HostedCluster %s/%s has %s", f.pool, f.namespace, f.name, strings.Join(pools, ", "))
	case len(names) == 0:
		return nil, errors.New("there are no virtual machines yet; `hypershift explain cluster " + f.name + "` says why")
	}
	return names, nil
}

// tell names the files, and each machine whose console could not be had.
func (f *consoles) tell(out io.Writer, machines []string, failures []error) error {
	failed := 0
	for i, machine := range machines {
		if err := failures[i]; err != nil {
			failed++
			f.say("warning: %s: %v%s", machine, err, hint(err))
			continue
		}
		if _, err := fmt.Fprintln(out, filepath.Join(f.folder, machine+".log")); err != nil {
			return err
		}
	}
	if failed > 0 {
		return fmt.Errorf("the consoles of %d of %d machines could not be fetched", failed, len(machines))
	}
	return nil
}

func hint(err error) string {
	switch failure.CodeOf(err) {
	case "OperationNotAllowed":
		return "; make the node pool with --diagnostics-storage-account-type Managed"
	case "ResourceNotReady":
		return "; the machine has not started yet"
	}
	return ""
}
