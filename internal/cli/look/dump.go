package look

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hypershift-on-azure/hypershift/api/v1beta1"
	"github.com/hypershift-on-azure/hypershift/internal/cli/azureflags"
	"github.com/hypershift-on-azure/hypershift/internal/cli/command"
	"github.com/hypershift-on-azure/hypershift/internal/cli/management"
	"github.com/hypershift-on-azure/hypershift/internal/cli/progress"
	"github.com/hypershift-on-azure/hypershift/internal/dump"
)

const (
	dumpedLines = 200_000
	dumpedBytes = 32 << 20
)

// NewDumpCommand is dump.
func NewDumpCommand() *cobra.Command {
	return command.Parent("dump", "Write what a support engineer needs into a folder", newDumpClusterCommand())
}

// dumping are the flags of dump cluster.
type dumping struct {
	namespace, operator, folder, kubeconfig, credentials, cloud string
	guest                                                       bool
}

func newDumpClusterCommand() *cobra.Command {
	f := &dumping{}
	cmd := &cobra.Command{
		Use:   "cluster NAME",
		Short: "Write manifests, events and logs of a hosted cluster into a folder, without secrets",
		Long: `Writes the HostedCluster with its NodePools, all objects of its control plane's namespace, the operator's workloads, events and logs, in the
folders of ` + "`oc adm inspect`" + ` and must-gather; below hostedcluster-NAME what the system has inside of the hosted cluster, nothing of what its users run;
with --azure-creds, below azure, its machines, disks, load balancers and network as Azure has them. Values of Secrets are left out, and what
looks like a password, a token, a private key or the signature of an address is taken out of everything else. Nothing of other clusters is read.
What cannot be read is said and left out. Look through it all the same before you hand it on: names, addresses and subscription ids stay.`,
		Example: `  hypershift dump cluster demo
  hypershift dump cluster demo --azure-creds azure-credentials.json
  hypershift dump cluster demo --output-dir demo-dump && tar czf demo-dump.tar.gz demo-dump`,
		Args:              command.OneName,
		ValidArgsFunction: management.CompleteClusters,
		RunE:              func(cmd *cobra.Command, args []string) error { return f.run(cmd, args[0]) },
	}
	flags := cmd.Flags()
	flags.StringVarP(&f.namespace, "namespace", "n", management.ClustersNamespace, "namespace of the hosted cluster")
	flags.StringVar(&f.operator, "operator-namespace", management.OperatorNamespace, "namespace of the operator")
	flags.StringVar(&f.folder, "output-dir", "", "folder to make (mode 0700); NAME-dump-TIME when empty")
	flags.BoolVar(&f.guest, "guest", true, "look inside the hosted cluster too, with its administrator's kubeconfig")
	flags.StringVar(&f.credentials, "azure-creds", "", "Azure credentials file, to ask Azure too: subscriptionId, tenantId, clientId, clientSecret")
	flags.StringVar(&f.cloud, "cloud", "AzurePublicCloud", "Azure cloud")
	management.AddKubeconfig(cmd, &f.kubeconfig)
	return cmd
}

func (f *dumping) run(cmd *cobra.Command, name string) error {
	what := dump.What{Namespace: f.namespace, Name: name, Operator: f.operator, Folder: f.folder, Say: progress.Line(cmd)}
	if f.credentials != "" {
		session, err := (&azureflags.Flags{Credentials: f.credentials, Cloud: f.cloud}).Session()
		if err != nil {
			return err
		}
		what.Azure = session
	}
	c, logs, err := management.Connect(f.kubeconfig)
	if err != nil {
		return err
	}
	asked, err := management.NewDiscovery(f.kubeconfig)
	if err != nil {
		return err
	}
	kinds, err := kindsOf(discovery.ServerPreferredNamespacedResources(asked))
	if err != nil {
		return err
	}
	if what.Folder == "" {
		what.Folder = name + "-dump-" + time.Now().UTC().Format("20060102T150405Z")
	}
	if f.guest {
		what.Guest = func(ctx context.Context, hc *hyperv1.HostedCluster) (*dump.Source, error) { return inside(ctx, c, hc) }
	}
	files, err := dump.Write(cmd.Context(), dump.Source{Client: c, Kinds: kinds, Log: logs.Tail(dumpedLines, dumpedBytes)}, what)
	if apierrors.IsNotFound(err) {
		return management.NoCluster(cmd.Context(), c, f.namespace, name)
	}
	if err != nil {
		return fmt.Errorf("cannot dump HostedCluster %s/%s: %w", f.namespace, name, err)
	}
	_, err = fmt.Fprintf(cmd.OutOrStdout(), "%s: %d files\n", what.Folder, files)
	return err
}

// inside connects to a hosted cluster, as its administrator.
func inside(ctx context.Context, c client.Reader, hc *hyperv1.HostedCluster) (*dump.Source, error) {
	raw, err := management.AdminKubeconfig(ctx, c, hc)
	if err != nil {
		return nil, err
	}
	guest, err := management.ConnectHosted(raw)
	if err != nil {
		return nil, err
	}
	kinds, err := kindsOf(discovery.ServerPreferredResources(guest.Discovery))
	if err != nil {
		return nil, err
	}
	return &dump.Source{Client: guest.Client, Kinds: kinds, Log: guest.Logs.Tail(dumpedLines, dumpedBytes)}, nil
}

// kindsOf are the kinds that a cluster says it has. A group that does not answer, as when its own server is down, is left out.
func kindsOf(lists []*metav1.APIResourceList, err error) ([]dump.Kind, error) {
	var partly *discovery.ErrGroupDiscoveryFailed
	if err != nil && !errors.As(err, &partly) {
		return nil, fmt.Errorf("cannot ask for the kinds that there are: %w", err)
	}
	var kinds []dump.Kind
	for _, list := range lists {
		version, err := schema.ParseGroupVersion(list.GroupVersion)
		if err != nil {
			return nil, fmt.Errorf("group %q: %w", list.GroupVersion, err)
		}
		for _, resource := range list.APIResources {
			if slices.Contains(resource.Verbs, "list") && !strings.Contains(resource.Name, "/") {
				kinds = append(kinds, dump.Kind{GroupVersionKind: version.WithKind(resource.Kind), Resource: resource.Name, Wide: !resource.Namespaced})
			}
		}
	}
	return kinds, nil
}
