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
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/util/validation"
	utilversion "k8s.io/apimachinery/pkg/util/version"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	hyperv1 "github.com/hypershift-on-azure/hypershift/api/v1beta1"
	"github.com/hypershift-on-azure/hypershift/internal/cli/command"
	"github.com/hypershift-on-azure/hypershift/internal/cli/fieldflags"
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
	releases    release.Provider // nil reads registries
}

// NewCreateCommand is create nodepool.
func NewCreateCommand() *cobra.Command {
	return command.Parent("nodepool", "Create a node pool of a hosted cluster",
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
			if err := f.check(); err != nil {
				return err
			}
			c, err := management.NewClient("")
			if err != nil {
				return err
			}
			return f.run(cmd.Context(), c, cmd.OutOrStdout(), cmd.ErrOrStderr())
		},
	}
	f.addAll(cmd.Flags())
	return cmd
}

func (f *nodePoolFlags) addAll(flags *pflag.FlagSet) {
	f.Add(flags)
	flags.StringVar(&f.Name, "name", "", "name of the node pool (required)")
	flags.StringVar(&f.Namespace, "namespace", "clusters", "namespace of the hosted cluster")
	flags.StringVar(&f.ClusterName, "cluster-name", "", "name of the hosted cluster (required)")
	flags.Int32Var(&f.Replicas, "replicas", 2, "number of nodes")
	// Not marked as deprecated: the flag library would print its notice on stdout, into what --render prints.
	flags.Int32Var(&f.Replicas, "node-count", 2, "alias of --replicas")
	_ = flags.MarkHidden("node-count")
	flags.StringVar(&f.ReleaseImage, "release-image", "", "release payload of the nodes; the hosted cluster's when empty")
	flags.StringVar(&f.credentials, "azure-creds", "", "accepted for compatibility; no call to Azure is made")
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
	if err := f.checkSkew(ctx, c, hc, messages); err != nil {
		return err
	}
	if err := f.fit(hc); err != nil {
		return err
	}
	np := f.Pool().Object()
	if err := fieldflags.Refuse(support.Pool(&np.Spec)); err != nil {
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
	err := c.Create(ctx, np, client.FieldOwner(management.FieldManager))
	switch {
	case apierrors.IsAlreadyExists(err):
		return fmt.Errorf("NodePool %s/%s already exists; choose another --name, or change it with `kubectl scale` or `kubectl edit`", f.Namespace, f.Name)
	case err != nil:
		return fmt.Errorf("cannot create NodePool %s/%s: %w", f.Namespace, f.Name, err)
	}
	_, err = fmt.Fprintf(out, "NodePool %s created\n", f.Name)
	return err
}

// maxSkew is how many minor versions nodes may be behind their control plane.
const maxSkew = 3

// checkSkew refuses a release that is newer than the hosted cluster, or too old for it. What cannot be read from here the operator
// reads.
func (f *nodePoolFlags) checkSkew(ctx context.Context, c client.Client, hc *hyperv1.HostedCluster, messages io.Writer) error {
	running := release.Completed(hc)
	if f.ReleaseImage == "" || f.ReleaseImage == hc.Spec.Release.Image || running == "" {
		return nil
	}
	pool, err := f.versionOf(ctx, c, hc)
	if err != nil {
		fmt.Fprintf(messages, "warning: cannot see which version %s is: %v\n", f.ReleaseImage, err)
		return nil
	}
	control, err := utilversion.ParseSemantic(running)
	if err != nil {
		return fmt.Errorf("version %q of HostedCluster %s: %w", running, hc.Name, err)
	}
	behind := release.Minor(control) - release.Minor(pool)
	switch {
	case behind < 0 || behind == 0 && control.LessThan(pool):
		return fmt.Errorf("--release-image: version %s of the node pool cannot be higher than version %s of HostedCluster %s; upgrade that first", pool, running, hc.Name)
	case behind > maxSkew:
		return fmt.Errorf("--release-image: version %s of the node pool is less than version %s of HostedCluster %s by more than %d minor versions; give a newer release", pool, running, hc.Name, maxSkew)
	}
	return nil
}

func (f *nodePoolFlags) versionOf(ctx context.Context, c client.Client, hc *hyperv1.HostedCluster) (*utilversion.Version, error) {
	secret := &corev1.Secret{}
	if err := c.Get(ctx, client.ObjectKey{Namespace: hc.Namespace, Name: hc.Spec.PullSecret.Name}, secret); err != nil {
		return nil, fmt.Errorf("read pull secret %s: %w", hc.Spec.PullSecret.Name, err)
	}
	access := release.Access{PullSecret: secret.Data[hyperv1.PullSecretKey], Mirrors: release.ContentSources(hc.Spec.ImageContentSources)}
	if bundle := hc.Spec.AdditionalTrustBundle; bundle != nil {
		config := &corev1.ConfigMap{}
		if err := c.Get(ctx, client.ObjectKey{Namespace: hc.Namespace, Name: bundle.Name}, config); err != nil {
			return nil, fmt.Errorf("read trust bundle %s: %w", bundle.Name, err)
		}
		access.TrustBundle = []byte(config.Data[hyperv1.TrustBundleKey])
	}
	releases := f.releases
	if releases == nil {
		releases = release.Reader{}
	}
	found, err := releases.Lookup(ctx, f.ReleaseImage, access)
	if err != nil {
		return nil, err
	}
	return utilversion.ParseSemantic(found.Version)
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
