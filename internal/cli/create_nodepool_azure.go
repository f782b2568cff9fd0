package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	hyperv1 "github.com/hypershift-on-azure/hypershift/api/v1beta1"
)

// nodePoolFlags are the flags of create nodepool azure.
type nodePoolFlags struct {
	machineFlags
	credentials string
	render      bool
}

func newCreateNodePoolCommand() *cobra.Command {
	return parent("nodepool", "Create a node pool of a hosted cluster",
		newCreateNodePoolAzureCommand())
}

func newCreateNodePoolAzureCommand() *cobra.Command {
	f := &nodePoolFlags{}
	cmd := &cobra.Command{
		Use:   "azure",
		Short: "Create a node pool on Azure",
		Example: `  hypershift create nodepool azure --cluster-name demo --name big --replicas 3 --instance-type Standard_D8s_v5
  hypershift create nodepool azure --cluster-name demo --name arm --arch arm64 --render`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if cmd.Flags().Changed("node-count") {
				fmt.Fprintln(cmd.ErrOrStderr(), "--node-count is deprecated, use --replicas")
			}
			if err := f.validate(); err != nil {
				return err
			}
			c, err := newKubeClient("")
			if err != nil {
				return err
			}
			return f.run(cmd.Context(), c, cmd.OutOrStdout(), cmd.ErrOrStderr())
		},
	}
	flags := cmd.Flags()
	f.add(flags)
	flags.StringVar(&f.Name, "name", "example", "name of the node pool")
	flags.StringVar(&f.Namespace, "namespace", "clusters", "namespace of the hosted cluster")
	flags.StringVar(&f.ClusterName, "cluster-name", "example", "name of the hosted cluster")
	flags.Int32Var(&f.Replicas, "replicas", 2, "number of nodes")
	// Not marked as deprecated: the flag library would print its notice on stdout, into what --render prints.
	flags.Int32Var(&f.Replicas, "node-count", 2, "alias of --replicas")
	_ = flags.MarkHidden("node-count")
	flags.StringVar(&f.ReleaseImage, "release-image", "", "release payload of the nodes; the hosted cluster's when empty")
	flags.StringVar(&f.credentials, "azure-creds", "", "accepted for compatibility; no call to Azure is made")
	flags.BoolVar(&f.render, "render", false, "print the NodePool instead of creating it")
	return cmd
}

func (f *nodePoolFlags) run(ctx context.Context, c client.Client, out, messages io.Writer) error {
	key := client.ObjectKey{Namespace: f.Namespace, Name: f.ClusterName}
	hc := &hyperv1.HostedCluster{}
	if err := c.Get(ctx, key, hc); meta.IsNoMatchError(err) {
		return errNotInstalled
	} else if err != nil {
		return fmt.Errorf("cannot read HostedCluster %s: %w; name an existing one with --cluster-name and --namespace", key, err)
	}
	if err := f.fit(hc); err != nil {
		return err
	}
	np := f.Object()
	if f.render {
		raw, err := yaml.Marshal(np)
		if err != nil {
			return fmt.Errorf("rendering the NodePool: %w", err)
		}
		fmt.Fprintf(messages, "NodePool %s rendered, not created\n", f.Name)
		_, err = out.Write(raw)
		return err
	}
	err := c.Create(ctx, np, client.FieldOwner(applyManager))
	switch {
	case apierrors.IsAlreadyExists(err):
		return fmt.Errorf("NodePool %s/%s already exists; choose another --name, or change it with `kubectl scale` or `kubectl edit`", f.Namespace, f.Name)
	case err != nil:
		return fmt.Errorf("cannot create NodePool %s/%s: %w", f.Namespace, f.Name, err)
	}
	_, err = fmt.Fprintf(out, "NodePool %s created\n", f.Name)
	return err
}

// fit checks the pool against its cluster and takes from it what was not given.
func (f *nodePoolFlags) fit(hc *hyperv1.HostedCluster) error {
	if hc.Spec.Platform.Type != hyperv1.AzurePlatform {
		return fmt.Errorf("HostedCluster %s is of platform %s, a node pool of platform %s cannot belong to it", hc.Name, hc.Spec.Platform.Type, hyperv1.AzurePlatform)
	}
	if payload := hc.Status.PayloadArch; payload != "" && payload != "Multi" && !strings.EqualFold(payload, f.Arch) {
		return fmt.Errorf("--arch %s is not supported by the HostedCluster payload type %s; use a multi-architecture release", f.Arch, payload)
	}
	if f.ReleaseImage == "" {
		f.ReleaseImage = hc.Spec.Release.Image
	}
	if f.SubnetID == "" {
		if hc.Spec.Platform.Azure == nil {
			return errors.New("the HostedCluster has no spec.platform.azure to take the subnet from; give --nodepool-subnet-id")
		}
		f.SubnetID = hc.Spec.Platform.Azure.SubnetID
	}
	return nil
}
