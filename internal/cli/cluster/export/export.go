// Package export writes the cluster file of a hosted cluster that is there, and says what of the cluster the file does not say.
package export

import (
	"context"
	"fmt"
	"io"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hypershift-on-azure/hypershift/api/v1beta1"
	"github.com/hypershift-on-azure/hypershift/internal/cli/command"
	"github.com/hypershift-on-azure/hypershift/internal/cli/flagfile"
	"github.com/hypershift-on-azure/hypershift/internal/cli/management"
	"github.com/hypershift-on-azure/hypershift/internal/provision/identity"
	"github.com/hypershift-on-azure/hypershift/internal/wholefile"
)

// Beside is what a command that reads the file is given beside it.
type Beside struct {
	// Files are the flags that name files.
	Files []string
	// What these files hold, and what is found in Azure.
	SubscriptionID, TenantID string
	Identities               *identity.WorkloadIdentities
	Managed                  *hyperv1.AzureResourceManagedIdentities
	ImageContentSources      []hyperv1.ImageContentSource
	RestoreSnapshotURL       string
	PublicZoneID             string
}

// Remake returns the HostedCluster and the node pools that the command makes of a file; the error is what it refuses.
type Remake func(file []byte, beside Beside) ([]client.Object, error)

// Creation is the command that reads the file.
type Creation struct {
	// Flags are those whose names are the members of the file.
	Flags  func() *pflag.FlagSet
	Remake Remake
}

// NewCommand is export cluster.
func NewCommand(creation Creation) *cobra.Command {
	var kubeconfig, namespace, file string
	cmd := &cobra.Command{
		Use:   "cluster NAME",
		Short: "Write the cluster file of a hosted cluster that is there",
		Long: `Writes the file that create cluster azure --file reads, from the HostedCluster and the node pools that were made with it. What is
as by default is left out, and so is what our own stack has made in Azure. Secrets stay where they are: members that
name files are there as comments.

What no member of the file can say is named, path by path, in comments and on stderr: it is for you to write by hand.`,
		Example: `  hypershift export cluster demo > demo-cluster.yaml
  hypershift export cluster demo --namespace clusters --output-file demo-cluster.yaml`,
		Args:              command.OneName,
		ValidArgsFunction: management.CompleteClusters,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := flagfile.CheckWritable("--output-file", file); err != nil {
				return err
			}
			c, err := management.NewClient(kubeconfig)
			if err != nil {
				return err
			}
			found, err := Of(cmd.Context(), c, client.ObjectKey{Namespace: namespace, Name: args[0]}, creation)
			if err != nil {
				return err
			}
			found.Warn(cmd.ErrOrStderr())
			if file != "" {
				return wholefile.Replace(file, found.File, 0o600)
			}
			_, err = cmd.OutOrStdout().Write(found.File)
			return err
		},
	}
	cmd.Flags().StringVarP(&namespace, "namespace", "n", management.ClustersNamespace, "namespace of the hosted cluster")
	cmd.Flags().StringVar(&file, "output-file", "", "file to write, mode 0600, instead of stdout")
	management.AddKubeconfig(cmd, &kubeconfig)
	return cmd
}

// Exported is a cluster file, and what of the cluster it does not say.
type Exported struct {
	File   []byte
	Unsaid []string
	advice []string
}

// Warn says what the file does not.
func (e *Exported) Warn(w io.Writer) {
	if len(e.Unsaid) == 0 {
		return
	}
	for _, one := range e.Unsaid {
		_, _ = fmt.Fprintf(w, "warning: the file does not say %s\n", one)
	}
	for _, line := range e.advice {
		_, _ = fmt.Fprintln(w, line)
	}
}

// Of exports a hosted cluster. Its objects are read as they are stored: this program need not know all of their fields.
func Of(ctx context.Context, c client.Client, key client.ObjectKey, creation Creation) (*Exported, error) {
	stored := &unstructured.Unstructured{}
	stored.SetGroupVersionKind(hyperv1.GroupVersion.WithKind("HostedCluster"))
	if err := c.Get(ctx, key, stored); err != nil {
		if apierrors.IsNotFound(err) {
			return nil, management.NoCluster(ctx, c, key.Namespace, key.Name)
		}
		return nil, fmt.Errorf("cannot read HostedCluster %s: %w", key, err)
	}
	hc := &hyperv1.HostedCluster{}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(stored.Object, hc); err != nil {
		return nil, fmt.Errorf("cannot understand HostedCluster %s: %w", key, err)
	}
	if hc.Spec.Platform.Azure == nil {
		return nil, fmt.Errorf("HostedCluster %s is of platform %s, and the cluster file is for Azure", key, hc.Spec.Platform.Type)
	}
	pools, err := poolsOf(ctx, c, key)
	if err != nil {
		return nil, err
	}
	e := &exported{key: key, flags: creation.Flags(), spec: map[string]any{}}
	e.cluster(hc)
	e.network(hc)
	if err := e.platform(hc); err != nil {
		return nil, err
	}
	e.brought(ctx, c)
	e.pools(hc, pools)
	e.files(hc)
	return e.finish(stored, pools, creation.Remake)
}

// pool is a node pool as it is stored, and as this program knows it.
type pool struct {
	hyperv1.NodePool
	stored *unstructured.Unstructured
}

func poolsOf(ctx context.Context, c client.Client, key client.ObjectKey) ([]pool, error) {
	list := &unstructured.UnstructuredList{}
	list.SetGroupVersionKind(hyperv1.GroupVersion.WithKind("NodePoolList"))
	if err := c.List(ctx, list, client.InNamespace(key.Namespace)); err != nil {
		return nil, fmt.Errorf("cannot read the node pools of HostedCluster %s: %w", key, err)
	}
	var pools []pool
	for i := range list.Items {
		p := pool{stored: &list.Items[i]}
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(p.stored.Object, &p.NodePool); err != nil {
			return nil, fmt.Errorf("cannot understand NodePool %s: %w", client.ObjectKeyFromObject(p.stored), err)
		}
		if p.Spec.ClusterName == key.Name {
			pools = append(pools, p)
		}
	}
	return pools, nil
}
