package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/google/uuid"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/apimachinery/pkg/util/wait"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/hypershift-on-azure/hypershift/internal/install"
	"github.com/hypershift-on-azure/hypershift/internal/kube"
	"github.com/hypershift-on-azure/hypershift/internal/kube/proxyenv"
	"github.com/hypershift-on-azure/hypershift/internal/version"
)

// installWait bounds the waits of an installation.
const installWait = 5 * time.Minute

// installFlags are the flags shared by install and install render.
type installFlags struct {
	install.Options
	pullSecret, trustBundle, externalDNSCredentials string
}

func (f *installFlags) add(flags *pflag.FlagSet) {
	o := &f.Options
	flags.StringVar(&o.Namespace, "namespace", "hypershift", "namespace of the operator")
	flags.StringVar(&o.Image, "hypershift-image", version.OperatorImage(), "image of the operator")
	flags.StringVar(&o.ImagePullPolicy, "image-pull-policy", "IfNotPresent", "Always, Never or IfNotPresent")
	flags.StringVar(&f.pullSecret, "pull-secret", "", "dockerconfigjson file for the operator's images")
	flags.StringVar(&f.trustBundle, "additional-trust-bundle", "", "PEM file with additional certificate authorities")
	flags.BoolVar(&o.Development, "development", false, "install everything but run no operator pod")
	flags.StringSliceVar(&o.Platforms, "limit-crd-install", nil, "platforms whose Cluster API provider definitions are installed; all when empty")
	flags.BoolVar(&o.TechPreview, "tech-preview-no-upgrade", false, "enable tech preview features")
	flags.StringToStringVar(&o.ExtraEnv, "additional-operator-env-vars", nil, "extra environment of the operator")
	flags.StringVar(&o.PrivatePlatform, "private-platform", "None", "platform of private endpoints")
	flags.StringVar(&o.PlatformMonitoring, "platform-monitoring", "", "None, OperatorOnly or All")
	flags.StringVar(&o.MetricsSet, "metrics-set", "Telemetry", "Telemetry, SRE or All")
	flags.BoolVar(&o.CIDebugOutput, "enable-ci-debug-output", false, "more verbose control planes")
	flags.DurationVar(&o.CertRotationScale, "cert-rotation-scale", 24*time.Hour, "compresses certificate lifetimes in tests")

	e := &o.ExternalDNS
	flags.StringVar(&e.Provider, "external-dns-provider", "", "azure, aws or google; publishes the hosted clusters' host names")
	flags.StringVar(&f.externalDNSCredentials, "external-dns-credentials", "", "credentials file of ExternalDNS")
	flags.StringVar(&e.SecretName, "external-dns-secret", "", "existing Secret with the credentials under key \"credentials\"")
	flags.StringVar(&e.DomainFilter, "external-dns-domain-filter", "", "DNS zone that ExternalDNS writes to")
	flags.StringVar(&e.TXTOwnerID, "external-dns-txt-owner-id", "", "owner mark of the records; derived from the cluster when empty")
	flags.StringVar(&e.Image, "external-dns-image", install.DefaultExternalDNSImage, "image of ExternalDNS")
	flags.StringVar(&e.Interval, "external-dns-interval", "", "interval between updates; 1m when empty")
}

// complete reads the files and checks everything.
func (f *installFlags) complete() error {
	for _, file := range []struct {
		flag, path string
		into       *[]byte
	}{
		{"--pull-secret", f.pullSecret, &f.PullSecret},
		{"--additional-trust-bundle", f.trustBundle, &f.TrustBundle},
		{"--external-dns-credentials", f.externalDNSCredentials, &f.ExternalDNS.Credentials},
	} {
		if file.path == "" {
			continue
		}
		raw, err := readFlagFile(file.flag, file.path)
		if err != nil {
			return err
		}
		*file.into = raw
	}
	return f.Normalize()
}

// readFlagFile reads a file named by a flag; an empty one is refused because it is never meant.
func readFlagFile(flag, path string) ([]byte, error) {
	raw, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("cannot read %s: %w", flag, err)
	}
	if len(raw) == 0 {
		return nil, fmt.Errorf("the file of %s, %s, is empty", flag, path)
	}
	return raw, nil
}

func newInstallCommand() *cobra.Command {
	var flags installFlags
	var i installer
	cmd := &cobra.Command{
		Use:   "install",
		Short: "Install the operator on the management cluster",
		Example: `  hypershift install --pull-secret pull-secret.json --limit-crd-install Azure --wait-until-available
  hypershift install --external-dns-provider=azure --external-dns-credentials azure_mgmt.json \
    --external-dns-domain-filter clusters.example.com --pull-secret pull-secret.json --limit-crd-install Azure`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := flags.complete(); err != nil {
				return err
			}
			i.opts, i.patience, i.out, i.say = &flags.Options, installWait, cmd.OutOrStdout(), progressLine(cmd)
			return i.run(cmd.Context())
		},
	}
	flags.add(cmd.PersistentFlags())
	cmd.Flags().StringVar(&i.scope, "install-scope", "all", "all, crds or resources")
	cmd.Flags().BoolVar(&i.waitAvailable, "wait-until-available", false, "wait until the definitions are established and the operator runs")
	cmd.Flags().BoolVar(&i.waitEstablished, "wait-until-crds-established", false, "wait until the definitions are established")
	cmd.AddCommand(newInstallRenderCommand(&flags))
	return cmd
}

// installer applies an installation; it can be run again and again.
type installer struct {
	opts                           *install.Options
	scope                          string
	waitAvailable, waitEstablished bool

	client   client.Client
	patience time.Duration
	out      io.Writer
	say      func(format string, args ...any)
}

func (i *installer) run(ctx context.Context) error {
	switch {
	case i.scope != "all" && i.scope != "crds" && i.scope != "resources":
		return fmt.Errorf("--install-scope %q is unknown; use all, crds or resources", i.scope)
	case i.scope == "crds" && i.waitAvailable:
		return errors.New("--wait-until-available needs the operator, which --install-scope crds leaves out; use --wait-until-crds-established")
	}
	if err := i.connect(); err != nil {
		return err
	}
	if err := i.completeFromCluster(ctx); err != nil {
		return err
	}
	if i.scope != "resources" {
		if err := i.applyCRDs(ctx); err != nil {
			return err
		}
	}
	if i.scope == "crds" {
		return nil
	}
	if err := i.applyObjects(ctx); err != nil {
		return err
	}
	if !i.waitAvailable || i.opts.Development {
		return nil
	}
	return i.waitForOperator(ctx)
}

func (i *installer) connect() error {
	config, err := restConfig("")
	if err != nil {
		return err
	}
	scheme := runtime.NewScheme()
	utilruntime.Must(clientgoscheme.AddToScheme(scheme))
	utilruntime.Must(apiextensionsv1.AddToScheme(scheme))
	if i.client, err = client.New(config, client.Options{Scheme: scheme}); err != nil {
		return fmt.Errorf("cannot connect to the management cluster %s: %w", config.Host, err)
	}
	return nil
}

// completeFromCluster takes what only the management cluster knows.
func (i *installer) completeFromCluster(ctx context.Context) error {
	proxy, found, err := proxyenv.FromCluster(ctx, i.client)
	if err != nil {
		return err
	}
	if found {
		i.opts.Proxy = proxy
	}
	e := &i.opts.ExternalDNS
	if e.Provider == "" {
		return nil
	}
	if len(i.opts.PullSecret) == 0 {
		i.say("warning: ExternalDNS is installed without --pull-secret; its image may need one")
	}
	if e.TXTOwnerID == "" {
		// The identity of the cluster, so that a second installation keeps its records.
		system := &corev1.Namespace{}
		if err := i.client.Get(ctx, client.ObjectKey{Name: "kube-system"}, system); err != nil {
			return fmt.Errorf("cannot read namespace kube-system of the management cluster: %w", err)
		}
		e.TXTOwnerID = uuid.NewSHA1(uuid.NameSpaceOID, []byte(system.UID)).String()
	}
	return nil
}

// applyCRDs tries all definitions in a dry run first: half of them would be worse than none.
func (i *installer) applyCRDs(ctx context.Context) error {
	crds, err := i.opts.CRDs()
	if err != nil {
		return err
	}
	if err := applyAtOnce(ctx, client.NewDryRunClient(i.client), crds); err != nil {
		return fmt.Errorf("the management cluster refuses a definition, nothing was changed: %w", err)
	}
	i.say("the management cluster accepts all %d definitions", len(crds))
	if err := applyAtOnce(ctx, i.client, crds); err != nil {
		return err
	}
	for _, crd := range crds {
		i.applied("applied", crd)
	}
	if !i.waitAvailable && !i.waitEstablished {
		return nil
	}
	return i.waitForCRDs(ctx, crds)
}

// applyAtOnce applies several definitions at a time, and only what changed: the API server takes a good tenth of a second
// for each, because it compiles them.
func applyAtOnce(ctx context.Context, c client.Client, crds []*apiextensionsv1.CustomResourceDefinition) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(8)
	for _, crd := range crds {
		group.Go(func() error { return kube.Apply(ctx, c, install.FieldManager, crd) })
	}
	return group.Wait()
}

func (i *installer) waitForCRDs(ctx context.Context, crds []*apiextensionsv1.CustomResourceDefinition) error {
	pending := ""
	err := wait.PollUntilContextTimeout(ctx, 100*time.Millisecond, i.patience, true, func(ctx context.Context) (bool, error) {
		for _, crd := range crds {
			live := &apiextensionsv1.CustomResourceDefinition{}
			if err := i.client.Get(ctx, client.ObjectKeyFromObject(crd), live); err != nil {
				return false, client.IgnoreNotFound(err)
			}
			if !established(live) {
				pending = crd.Name
				return false, nil
			}
		}
		return true, nil
	})
	if err != nil && pending != "" {
		return fmt.Errorf("waiting for definition %s to be established: %w; see `kubectl describe crd %s`", pending, err, pending)
	}
	return err
}

func established(crd *apiextensionsv1.CustomResourceDefinition) bool {
	for _, c := range crd.Status.Conditions {
		if c.Type == apiextensionsv1.Established {
			return c.Status == apiextensionsv1.ConditionTrue
		}
	}
	return false
}

// applyObjects attempts all objects and reports what failed at the end.
func (i *installer) applyObjects(ctx context.Context) error {
	var errs []error
	for _, obj := range i.opts.Objects() {
		if class, ok := obj.(*schedulingv1.PriorityClass); ok {
			if err := i.createPriorityClass(ctx, class); err != nil {
				return err
			}
			continue
		}
		if err := kube.ApplyAlways(ctx, i.client, install.FieldManager, obj); err != nil {
			errs = append(errs, err)
			continue
		}
		i.applied("applied", obj)
	}
	return errors.Join(errs...)
}

// createPriorityClass leaves an existing class alone: its value cannot be changed.
func (i *installer) createPriorityClass(ctx context.Context, class *schedulingv1.PriorityClass) error {
	// Create empties the kind of what it is given.
	err := i.client.Create(ctx, class.DeepCopy(), client.FieldOwner(install.FieldManager))
	switch {
	case apierrors.IsAlreadyExists(err):
		i.applied("already exists", class)
	case err != nil:
		return fmt.Errorf("creating PriorityClass %q: %w", class.Name, err)
	default:
		i.applied("created", class)
	}
	return nil
}

func (i *installer) applied(verb string, obj client.Object) {
	name := obj.GetName()
	if obj.GetNamespace() != "" {
		name = obj.GetNamespace() + "/" + name
	}
	fmt.Fprintf(i.out, "%s %s %s\n", verb, obj.GetObjectKind().GroupVersionKind().Kind, name)
}
