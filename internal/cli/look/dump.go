package look

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"

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

func newDumpClusterCommand() *cobra.Command {
	var namespace, operator, folder, kubeconfig string
	cmd := &cobra.Command{
		Use:   "cluster NAME",
		Short: "Write manifests, events and logs of a hosted cluster's management side into a folder, without secrets",
		Long: `Writes the HostedCluster with its NodePools, all objects of its control plane's namespace, the operator's workloads, events and logs, in the
folders of ` + "`oc adm inspect`" + ` and must-gather. Values of Secrets are left out, and what looks like a password, a token, a private key or the signature
of an address is taken out of everything else. Nothing of other clusters is read. Look through it all the same before you hand it on: names,
addresses and subscription ids stay.`,
		Example: `  hypershift dump cluster demo
  hypershift dump cluster demo --output-dir demo-dump && tar czf demo-dump.tar.gz demo-dump`,
		Args:              command.OneName,
		ValidArgsFunction: management.CompleteClusters,
		RunE: func(cmd *cobra.Command, args []string) error {
			c, logs, err := management.Connect(kubeconfig)
			if err != nil {
				return err
			}
			asked, err := management.NewDiscovery(kubeconfig)
			if err != nil {
				return err
			}
			kinds, err := kindsOf(asked)
			if err != nil {
				return err
			}
			if folder == "" {
				folder = args[0] + "-dump-" + time.Now().UTC().Format("20060102T150405Z")
			}
			files, err := dump.Write(cmd.Context(), dump.Source{Client: c, Kinds: kinds, Log: logs.Tail(dumpedLines, dumpedBytes)},
				dump.What{Namespace: namespace, Name: args[0], Operator: operator, Folder: folder, Say: progress.Line(cmd)})
			if apierrors.IsNotFound(err) {
				return management.NoCluster(cmd.Context(), c, namespace, args[0])
			}
			if err != nil {
				return fmt.Errorf("cannot dump HostedCluster %s/%s: %w", namespace, args[0], err)
			}
			_, err = fmt.Fprintf(cmd.OutOrStdout(), "%s: %d files\n", folder, files)
			return err
		},
	}
	flags := cmd.Flags()
	flags.StringVarP(&namespace, "namespace", "n", management.ClustersNamespace, "namespace of the hosted cluster")
	flags.StringVar(&operator, "operator-namespace", management.OperatorNamespace, "namespace of the operator")
	flags.StringVar(&folder, "output-dir", "", "folder to make (mode 0700); NAME-dump-TIME when empty")
	management.AddKubeconfig(cmd, &kubeconfig)
	return cmd
}

// kindsOf are the kinds that namespaces of the management cluster have. A group that does not answer, as when its own server is down, is left
// out.
func kindsOf(from discovery.DiscoveryInterface) ([]dump.Kind, error) {
	lists, err := discovery.ServerPreferredNamespacedResources(from)
	var partly *discovery.ErrGroupDiscoveryFailed
	if err != nil && !errors.As(err, &partly) {
		return nil, fmt.Errorf("cannot ask the management cluster for its kinds: %w", err)
	}
	var kinds []dump.Kind
	for _, list := range lists {
		version, err := schema.ParseGroupVersion(list.GroupVersion)
		if err != nil {
			return nil, fmt.Errorf("group %q of the management cluster: %w", list.GroupVersion, err)
		}
		for _, resource := range list.APIResources {
			if slices.Contains(resource.Verbs, "list") && !strings.Contains(resource.Name, "/") {
				kinds = append(kinds, dump.Kind{GroupVersionKind: version.WithKind(resource.Kind), Resource: resource.Name})
			}
		}
	}
	return kinds, nil
}
