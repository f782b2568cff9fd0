// Package nodepool has the commands that create and destroy node pools.
package nodepool

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/util/validation"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	hyperv1 "github.com/hypershift-on-azure/hypershift/api/v1beta1"
	"github.com/hypershift-on-azure/hypershift/internal/cli/azureflags"
	"github.com/hypershift-on-azure/hypershift/internal/cli/command"
	"github.com/hypershift-on-azure/hypershift/internal/cli/feasibility"
	"github.com/hypershift-on-azure/hypershift/internal/cli/fieldflags"
	"github.com/hypershift-on-azure/hypershift/internal/cli/imagecheck"
	"github.com/hypershift-on-azure/hypershift/internal/cli/machines"
	"github.com/hypershift-on-azure/hypershift/internal/cli/management"
	"github.com/hypershift-on-azure/hypershift/internal/release"
	"github.com/hypershift-on-azure/hypershift/internal/support"
)

// nodePoolFlags are the flags of create nodepool azure.
type nodePoolFlags struct {
	machines.Flags
	credentials string
	render      bool
	dryRun      bool
	look        looker           // nil looks at nothing
	releases    release.Provider // nil reads registries
	payload     *release.Release // nil where it could not be read
	kubeconfig  string
}

// NewCreateCommand is create nodepool.
func NewCreateCommand() *cobra.Command {
	return command.Parent("nodepool", "Create a node pool of a hosted cluster",
		newCreateNodePoolAzureCommand())
}

func newCreateNodePoolAzureCommand() *cobra.Command {
	f := &nodePoolFlags{look: feasibility.Pool}
	cmd := &cobra.Command{
		Use:   "azure",
		Short: "Create a node pool on Azure",
		Long: `Creates a node pool of a hosted cluster; the operator makes its machines. With --azure-creds Azure is asked first whether it can have them: the size
in region and zone, the quotas, the image and its terms, the subnet. What it cannot have is refused, and nothing is made.`,
		Example: `  hypershift create nodepool azure --cluster-name demo --name big --replicas 3 --instance-type Standard_D8s_v5
  hypershift create nodepool azure --cluster-name demo --name big --replicas 3 --azure-creds creds.json --dry-run
  hypershift create nodepool azure --cluster-name demo --name arm --arch arm64 --render`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if cmd.Flags().Changed("node-count") {
				fmt.Fprintln(cmd.ErrOrStderr(), "--node-count is deprecated, use --replicas")
			}
			if err := f.check(); err != nil {
				return err
			}
			c, err := management.NewClient(f.kubeconfig)
			if err != nil {
				return err
			}
			return f.run(cmd.Context(), c, cmd.OutOrStdout(), cmd.ErrOrStderr())
		},
	}
	f.addAll(cmd.Flags())
	cmd.MarkFlagsMutuallyExclusive("dry-run", "render")
	management.AddKubeconfig(cmd, &f.kubeconfig)
	_ = cmd.RegisterFlagCompletionFunc("cluster-name", management.CompleteClusters)
	_ = cmd.RegisterFlagCompletionFunc("instance-type", f.completeSizes)
	return cmd
}

// completeSizes offers the sizes that the region of the hosted cluster has; none while it is not typed or does not answer.
func (f *nodePoolFlags) completeSizes(cmd *cobra.Command, _ []string, _ string) ([]string, cobra.ShellCompDirective) {
	const none = cobra.ShellCompDirectiveNoFileComp
	c, err := management.NewClient(f.kubeconfig)
	if err != nil {
		return nil, none
	}
	ctx, cancel := context.WithTimeout(cmd.Context(), management.CompletionLimit)
	defer cancel()
	hc := &hyperv1.HostedCluster{}
	if err := c.Get(ctx, client.ObjectKey{Namespace: f.Namespace, Name: f.ClusterName}, hc); err != nil || hc.Spec.Platform.Azure == nil {
		return nil, none
	}
	return azureflags.CompleteSizesIn(cmd, hc.Spec.Platform.Azure.Location)
}

func (f *nodePoolFlags) addAll(flags *pflag.FlagSet) {
	f.Add(flags)
	flags.StringVar(&f.Name, "name", "", "name of the node pool (required)")
	flags.StringVarP(&f.Namespace, "namespace", "n", "clusters", "namespace of the hosted cluster")
	flags.StringVar(&f.ClusterName, "cluster-name", "", "name of the hosted cluster (required)")
	flags.Int32Var(&f.Replicas, "replicas", 2, "number of nodes")
	// Not marked as deprecated: the flag library would print its notice on stdout, into what --render prints.
	flags.Int32Var(&f.Replicas, "node-count", 2, "alias of --replicas")
	_ = flags.MarkHidden("node-count")
	flags.StringVar(&f.ReleaseImage, "release-image", "", "release payload of the nodes; the hosted cluster's when empty")
	flags.StringVar(&f.credentials, "azure-creds", "", "Azure credentials file: ask Azure first whether it can have the machines; nothing is written with it, and nothing asked for --render")
	flags.BoolVar(&f.dryRun, "dry-run", false, "have everything checked, by the management cluster too, and make nothing")
	flags.BoolVar(&f.render, "render", false, "print the NodePool instead of creating it")
}

// check is what the flags alone can tell.
func (f *nodePoolFlags) check() error {
	var errs []error
	if f.ClusterName == "" {
		errs = append(errs, errors.New("--cluster-name is required: the hosted cluster whose nodes these are"))
	}
	if f.Name == "" {
		errs = append(errs, errors.New("--name is required: the name of the node pool"))
	} else if len(validation.IsDNS1123Label(f.Name)) > 0 {
		errs = append(errs, fmt.Errorf("--name %q is not an RFC1123 label: lower-case letters, digits and dashes, at most 63, beginning and ending with a letter or digit", f.Name))
	}
	if f.Replicas < 0 {
		errs = append(errs, fmt.Errorf("--replicas %d is negative", f.Replicas))
	}
	return errors.Join(append(errs, f.Validate(), machines.CheckImage("--release-image", f.ReleaseImage))...)
}

func (f *nodePoolFlags) run(ctx context.Context, c client.Client, out, messages io.Writer) error {
	key := client.ObjectKey{Namespace: f.Namespace, Name: f.ClusterName}
	hc := &hyperv1.HostedCluster{}
	if err := c.Get(ctx, key, hc); meta.IsNoMatchError(err) {
		return management.ErrNotInstalled
	} else if err != nil {
		return fmt.Errorf("cannot read HostedCluster %s: %w; name an existing one with --cluster-name and --namespace", key, err)
	}
	warn := func(format string, args ...any) { fmt.Fprintf(messages, format+"\n", args...) }
	if err := f.checkRelease(ctx, c, hc, warn); err != nil {
		return err
	}
	if err := f.fit(hc); err != nil {
		return err
	}
	if terms := f.Terms(hc.Spec.Platform.Azure.SubscriptionID); terms != "" {
		fmt.Fprintf(messages, machines.TermsNotice+"\n", terms)
	}
	np := f.Pool().Object()
	if err := fieldflags.Refuse(support.Certain(support.Pool(&np.Spec, nil))); err != nil {
		return err
	}
	if f.render {
		raw, err := yaml.Marshal(np)
		if err != nil {
			return fmt.Errorf("rendering the NodePool: %w", err)
		}
		fmt.Fprintf(messages, "NodePool %s rendered, not created\n", f.Name)
		_, err = out.Write(raw)
		return err
	}
	if err := f.lookAhead(ctx, hc, warn); err != nil {
		return err
	}
	options, done := []client.CreateOption{client.FieldOwner(management.FieldManager)}, "NodePool %s created\n"
	if f.dryRun {
		options, done = append(options, client.DryRunAll), "NodePool %s would be created\n"
	}
	err := c.Create(ctx, np, options...)
	switch {
	case apierrors.IsAlreadyExists(err):
		return fmt.Errorf("NodePool %s/%s already exists; choose another --name, or change it with `kubectl scale` or `kubectl edit`", f.Namespace, f.Name)
	case err != nil:
		return fmt.Errorf("cannot create NodePool %s/%s: %w", f.Namespace, f.Name, err)
	}
	_, err = fmt.Fprintf(out, done, f.Name)
	return err
}

// checkRelease refuses a release that no node can run, and one that is newer than the hosted cluster or too old for it. What cannot be read
// from here the operator reads.
func (f *nodePoolFlags) checkRelease(ctx context.Context, c client.Client, hc *hyperv1.HostedCluster, warn imagecheck.Warn) error {
	payload := imagecheck.Payload{Flag: "--release-image", Image: f.ReleaseImage, Releases: f.releases}
	if payload.Image == "" {
		payload.Flag, payload.Image = "the release of HostedCluster "+hc.Name, hc.Spec.Release.Image
	}
	access, err := imagecheck.AccessOf(ctx, c, hc)
	if err != nil {
		warn("warning: cannot see from here whether the payload of %s can run, the operator will: %v", payload.Flag, err)
		return nil
	}
	payload.Access = access
	found, err := payload.Check(ctx, warn)
	f.payload = found
	if err != nil || found == nil || payload.Image == hc.Spec.Release.Image {
		return err
	}
	return imagecheck.CheckSkew("--release-image", found.Version, hc)
}

// fit checks the pool against its cluster and fills flags that were not given with the cluster's values.
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
