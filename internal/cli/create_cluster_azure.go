package cli

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hypershift-on-azure/hypershift/api/v1beta1"
	"github.com/hypershift-on-azure/hypershift/internal/azure"
	"github.com/hypershift-on-azure/hypershift/internal/infraid"
	"github.com/hypershift-on-azure/hypershift/internal/manifest"
	"github.com/hypershift-on-azure/hypershift/internal/provision/infra"
	"github.com/hypershift-on-azure/hypershift/internal/provision/issuer"
	"github.com/hypershift-on-azure/hypershift/internal/stack"
	"github.com/hypershift-on-azure/hypershift/internal/version"
)

// infraCreator makes the infrastructure of a hosted cluster; tests replace it.
type infraCreator func(context.Context, *azure.Session, infra.Options, func(stack.Event)) (*infra.Output, error)

// clusterFlags are the flags of create cluster azure as typed.
type clusterFlags struct {
	azureFlags
	machines machineFlags
	handoff  handoffFile
	cluster  manifest.Cluster
	infra    infra.Options
	// fromInfra is the infrastructure of the hand-off file, which then stands for --infra-json.
	fromInfra *infra.Output

	kubeconfig, infraJSON                                     string
	releaseStream                                             string
	pullSecret, sshKey, signingKey, trustBundle, imageSources string
	workloadIdentities, encryptionKeyID                       string
	managed                                                   managedFlags
	restore                                                   restoreFlags
	baseDomainPrefix, etcdStorageSize, endpointAccess, oauth  string
	controlPlanePolicy, infraPolicy, catalogPlacement         string
	controlPlaneOperatorImage, networkType                    string
	annotations, labels, tolerations                          []string
	nodeDrainTimeout, nodeVolumeDetachTimeout                 time.Duration
	generateSSH, versionCheck, defaultDual                    bool
	wait, render, renderSensitive                             bool
	renderInto                                                string
	timeout                                                   time.Duration
}

func newCreateClusterCommand() *cobra.Command {
	return parent("cluster", "Create a hosted cluster",
		newCreateClusterAzureCommand(infra.Create))
}

func newCreateClusterAzureCommand(createInfra infraCreator) *cobra.Command {
	f := &clusterFlags{}
	cmd := &cobra.Command{
		Use:   "azure",
		Short: "Create a hosted cluster on Azure with its infrastructure and node pools",
		Example: `  hypershift create cluster azure --name demo --azure-creds azure-credentials.json --location eastus \
    --base-domain example.com --pull-secret pull-secret.json --generate-ssh --node-pool-replicas 2 \
    --release-image quay.io/openshift-release-dev/ocp-release:4.21.0-x86_64 \
    --oidc-issuer-url https://ACCOUNT.blob.core.windows.net/demo --sa-token-issuer-private-key-path serviceaccount-signer.private \
    --workload-identities-file workload-identities.json --assign-service-principal-roles --dns-zone-rg-name os4-common --wait
  hypershift create cluster azure --from demo.yaml --azure-creds azure-credentials.json --pull-secret pull-secret.json ...
  hypershift create cluster azure --name demo ... --infra-json infra.yaml --render > demo.yaml`,
		Long: `Makes a hosted cluster: its infrastructure in Azure, its Secrets, the HostedCluster and its node pools.

Run again for a cluster that exists (the same --infra-id or hand-off file), it leaves the HostedCluster, its node pools and the Secrets
that they name as they are, and makes only what is missing. What a typed flag asks for and is not so is told, with the command that
changes it; defaults ask for nothing. --dry-run tells the same. Exit status:
  0  what the typed flags ask for is there; or it was asked for in the same way before and somebody has changed it since, so that the
     command that made a cluster can be run again after the cluster was upgraded or scaled
  1  a typed flag asks for something new that is not there: nothing was changed`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := f.takeHandoff(cmd); err != nil {
				return err
			}
			c := &clusterCreator{flags: f, createInfra: createInfra, cmd: cmd, say: progressLine(cmd), streams: newReleaseStreams()}
			ctx := cmd.Context()
			if f.timeout > 0 {
				var cancel context.CancelFunc
				ctx, cancel = context.WithTimeoutCause(ctx, f.timeout, fmt.Errorf("--timeout of %s is over", f.timeout))
				defer cancel()
			}
			return c.run(ctx)
		},
	}
	f.azureFlags.add(cmd)
	// validate asks for it in its place: the name and the pull secret come first.
	delete(cmd.Flag("azure-creds").Annotations, cobra.BashCompOneRequiredFlag)
	f.addPlan(cmd)
	f.addGeneral(cmd.Flags())
	f.addSpec(cmd.Flags())
	f.addNetworking(cmd.Flags())
	f.addAzure(cmd.Flags())
	f.restore.add(cmd.Flags())
	f.machines.add(cmd.Flags())
	f.handoff.addRead(cmd)
	cmd.MarkFlagsMutuallyExclusive("default-dual", "service-cidr")
	cmd.MarkFlagsMutuallyExclusive("default-dual", "cluster-cidr")
	cmd.MarkFlagsMutuallyExclusive("release-image", "release-stream")
	cmd.MarkFlagsMutuallyExclusive("dry-run", "render")
	cmd.MarkFlagsMutuallyExclusive("dry-run", "render-into")
	cmd.MarkFlagsMutuallyExclusive("dry-run", "render-sensitive")
	cmd.MarkFlagsMutuallyExclusive("encryption-key-file", "encryption-key-id")
	return cmd
}

func (f *clusterFlags) addGeneral(flags *pflag.FlagSet) {
	c := &f.cluster
	flags.StringVar(&c.Name, "name", "", "name of the hosted cluster")
	flags.StringVar(&c.Namespace, "namespace", "clusters", "namespace of the hosted cluster")
	flags.StringVar(&f.kubeconfig, "kubeconfig", "", "kubeconfig of the management cluster")
	flags.StringVar(&f.pullSecret, "pull-secret", "", "dockerconfigjson file for the release's images")
	flags.StringVar(&f.infra.BaseDomain, "base-domain", "", "domain beneath which the cluster's applications are published")
	flags.StringVar(&f.baseDomainPrefix, "base-domain-prefix", "", "replaces the cluster's name in its domain; \"none\" for no prefix")
	flags.StringVar(&c.Publishing.ExternalDNSDomain, "external-dns-domain", "", "domain beneath which the cluster's endpoints are published")
	flags.StringVar(&c.ReleaseImage, "release-image", version.ReleaseImage, "release payload")
	flags.StringVar(&f.releaseStream, "release-stream", "", "newest release of this stream that the operator runs, such as 4-stable-multi; in place of --release-image")
	flags.BoolVar(&f.versionCheck, "version-check", false, "fail unless this program and the installed operator are of the same build")
	flags.Int32Var(&f.machines.Replicas, "node-pool-replicas", 0, "nodes of each node pool; negative makes no node pool")
	flags.StringVar(&f.sshKey, "ssh-key", "", "public key file for logging in to nodes")
	flags.BoolVar(&f.generateSSH, "generate-ssh", false, "generate a key pair for logging in to nodes")
	flags.StringVar(&f.trustBundle, "additional-trust-bundle", "", "PEM file with additional certificate authorities")
	flags.StringVar(&f.imageSources, "image-content-sources", "", "YAML file with image mirrors")
	flags.StringArrayVar(&f.annotations, "annotations", nil, "annotation of the HostedCluster, key=value (repeatable)")
	flags.StringArrayVar(&f.labels, "labels", nil, "label of the HostedCluster, key=value (repeatable)")
	flags.StringVar(&f.infra.InfraID, "infra-id", "", "infrastructure id; generated when empty")
	flags.StringVar(&f.infraJSON, "infra-json", "", "output of `create infra azure` to use instead of creating infrastructure")
	flags.BoolVar(&f.wait, "wait", false, "wait until the cluster is available and its nodes are there")
	flags.DurationVar(&f.timeout, "timeout", 0, "bound for the whole command; none when 0")
	flags.BoolVar(&f.render, "render", false, "print the manifests instead of applying them, without Secrets")
	flags.BoolVar(&f.renderSensitive, "render-sensitive", false, "include Secrets in the rendering")
	flags.StringVar(&f.renderInto, "render-into", "", "file to render to; implies --render")
}

func (f *clusterFlags) addSpec(flags *pflag.FlagSet) {
	c := &f.cluster
	flags.StringVar(&f.controlPlanePolicy, "control-plane-availability-policy", "SingleReplica", "SingleReplica or HighlyAvailable")
	flags.StringVar(&f.infraPolicy, "infra-availability-policy", "", "SingleReplica or HighlyAvailable")
	flags.BoolVar(&c.FIPS, "fips", false, "run the nodes in FIPS mode")
	flags.DurationVar(&f.nodeDrainTimeout, "node-drain-timeout", 0, "how long a node may be drained")
	flags.DurationVar(&f.nodeVolumeDetachTimeout, "node-volume-detach-timeout", 0, "how long volumes may take to detach")
	flags.StringVar(&c.EtcdStorageClass, "etcd-storage-class", "", "StorageClass of etcd's volumes")
	flags.StringVar(&f.etcdStorageSize, "etcd-storage-size", "8Gi", "size of etcd's volumes")
	flags.StringToStringVar(&c.NodeSelector, "node-selector", nil, "node selector of control-plane pods")
	flags.StringToStringVar(&c.PodLabels, "pods-labels", nil, "labels of control-plane pods")
	flags.StringArrayVar(&f.tolerations, "toleration", nil, "toleration of control-plane pods, key=k,operator=Equal,value=v,effect=NoSchedule (repeatable)")
	flags.StringVar(&f.catalogPlacement, "olm-catalog-placement", "management", "management or guest")
	flags.BoolVar(&c.OLMDisableDefaultSources, "olm-disable-default-sources", false, "disable the default catalogs")
	flags.StringVar(&c.FeatureSet, "feature-set", "", "TechPreviewNoUpgrade or DevPreviewNoUpgrade")
	flags.StringSliceVar(&c.EnabledCapabilities, "enable-cluster-capabilities", nil, "optional parts to enable")
	flags.StringSliceVar(&c.DisabledCapabilities, "disable-cluster-capabilities", nil, "optional parts to disable")
	flags.StringVar(&c.KubeAPIServerDNSName, "kas-dns-name", "", "additional name of the API server")
	flags.StringVar(&c.PausedUntil, "pausedUntil", "", "true, or an RFC3339 time")
	flags.StringVar(&f.controlPlaneOperatorImage, "control-plane-operator-image", "", "image of the control-plane operator")
}

func (f *clusterFlags) addNetworking(flags *pflag.FlagSet) {
	n := &f.cluster.Networking
	flags.StringVar(&f.networkType, "network-type", "OVNKubernetes", "OVNKubernetes, OpenShiftSDN, Calico or Other")
	flags.StringArrayVar(&n.ServiceCIDRs, "service-cidr", []string{"172.31.0.0/16"}, "range of Services (repeatable)")
	flags.StringArrayVar(&n.ClusterCIDRs, "cluster-cidr", []string{"10.132.0.0/14"}, "range of pods (repeatable)")
	flags.StringArrayVar(&n.MachineCIDRs, "machine-cidr", nil, "range of nodes (repeatable)")
	flags.BoolVar(&f.defaultDual, "default-dual", false, "defaults for two IP families; without effect on Azure")
	flags.BoolVar(&n.DisableMultiNetwork, "disable-multi-network", false, "no Multus; only with --network-type Other")
	flags.Int32Var(&n.OVNKubernetesMTU, "ovn-kubernetes-mtu", 0, "MTU of OVN, 576 to 9216")
	flags.BoolVar(&n.AllocateNodeCIDRs, "allocate-node-cidrs", false, "the controller manager hands out pod ranges; only with --network-type Other")
}

func (f *clusterFlags) addAzure(flags *pflag.FlagSet) {
	i, p := &f.infra, &f.cluster.Publishing
	flags.StringVar(&i.ResourceGroup, "resource-group-name", "", "existing resource group to use for everything")
	flags.StringToStringVarP(&i.Tags, "resource-group-tags", "t", nil, "tags of the resource groups made")
	addBroughtFlags(flags, i)
	flags.StringVar(&i.DNSZoneGroup, "dns-zone-rg-name", "", "resource group of the public DNS zone")
	flags.BoolVar(&i.AssignRoles, "assign-service-principal-roles", false, "give the identities their roles")
	flags.BoolVar(&i.AssignRoles, "auto-assign-roles", false, "alias of --assign-service-principal-roles")
	_ = flags.MarkHidden("auto-assign-roles")
	flags.StringVar(&f.workloadIdentities, "workload-identities-file", "", "client ids written by create iam azure")
	f.managed.add(flags, i)
	flags.StringVar(&f.managed.kmsSecret, "kms-credentials-secret-name", "", "managed flavour: secret of the key vault with the credentials for --encryption-key-id")
	flags.StringVar(&f.cluster.Identity.IssuerURL, "oidc-issuer-url", "", "issuer of the cluster's service account tokens")
	flags.StringVar(&f.signingKey, "sa-token-issuer-private-key-path", "", "private key of the issuer")
	flags.StringVar(&f.encryptionKeyID, "encryption-key-id", "", "key that encrypts Secrets: https://VAULT.vault.azure.net/keys/NAME/VERSION")
	flags.StringVar(&f.endpointAccess, "endpoint-access", "Public", "Public, PublicAndPrivate or Private")
	flags.StringVar(&p.NATSubnetID, "endpoint-access-private-nat-subnet-id", "", "subnet of the private link service")
	flags.StringSliceVar(&p.AdditionalAllowedSubscriptions, "endpoint-access-private-additional-allowed-subscriptions", nil, "further subscriptions that may use the private link")
	flags.StringVar(&f.oauth, "oauth-publishing-strategy", "Route", "Route or LoadBalancer")
	flags.StringSliceVar(&f.cluster.Zones, "availability-zones", nil, "one node pool in each of these zones")
}

// clusterCreator runs one create cluster: validated flags, then infrastructure, then manifests, then apply.
type clusterCreator struct {
	flags       *clusterFlags
	createInfra infraCreator
	cmd         *cobra.Command
	say         func(format string, args ...any)
	streams     *releaseStreams
	client      client.Client // nil when only rendering

	existing    *hyperv1.HostedCluster // the cluster, where it is there already
	asked       map[string]string      // what the typed flags ask for, by object and field
	differences []difference           // of the existing cluster from that
	result      []stack.Step           // what was done with the objects
}

func (c *clusterCreator) run(ctx context.Context) error {
	f := c.flags
	if err := f.validate(); err != nil {
		return err
	}
	if err := f.load(); err != nil {
		return err
	}
	if err := c.checkSupported(); err != nil {
		return err
	}
	session, err := f.clusterSession()
	if err != nil {
		return err
	}
	f.cluster.Identity.SubscriptionID, f.cluster.Identity.TenantID = session.SubscriptionID, session.TenantID
	if err := c.askManagementCluster(ctx); err != nil {
		return err
	}
	if c.existing != nil {
		if err := c.compare(ctx); err != nil {
			return err
		}
	}
	if err := c.checkSigner(ctx, session); err != nil {
		return err
	}
	if f.infra.InfraID == "" && f.infraJSON == "" {
		f.infra.InfraID = infraid.New(f.cluster.Name)
		journeyOf(ctx).advise("to go on with the same cluster, type: " + journeyOf(ctx).typed("--infra-id", f.infra.InfraID))
	}
	if f.infraJSON == "" {
		if err := f.infra.Validate(); err != nil {
			return err
		}
	}
	if f.dryRun {
		return c.plan(ctx, session)
	}
	if err := c.infrastructure(ctx, session); err != nil {
		return err
	}
	if f.cluster.Identity.ManagedIdentities != nil && !f.managed.given() { // the infrastructure's file brought them
		if err := c.checkSupported(); err != nil {
			return err
		}
	}
	if f.render {
		return c.writeManifests()
	}
	return c.finish(ctx)
}

// checkSigner compares the signing key with the published ones. An issuer that cannot be reached from here may well be one for Azure.
func (c *clusterCreator) checkSigner(ctx context.Context, session *azure.Session) error {
	f := c.flags
	if f.render || len(f.cluster.Secrets.SigningKey) == 0 {
		return nil
	}
	err := issuer.CheckSigner(ctx, session, f.cluster.Identity.IssuerURL, f.signingKey, f.cluster.Secrets.SigningKey)
	var unreachable *url.Error
	if errors.As(err, &unreachable) && ctx.Err() == nil {
		c.say("warning: cannot see whether the issuer publishes the key of %s: %v", f.signingKey, err)
		return nil
	}
	return err
}

// clusterSession signs in; a rendering that asks Azure nothing takes from the hand-off file in which subscription the cluster is.
func (f *clusterFlags) clusterSession() (*azure.Session, error) {
	if f.credentials == "" && f.rendersHandoff() {
		return azure.NewSession(azure.Credentials{SubscriptionID: f.handoff.SubscriptionID, TenantID: f.handoff.TenantID}, f.cloud)
	}
	return f.session()
}

// askManagementCluster is what has to be known of it before anything is made. Rendering needs it only for what only it knows.
func (c *clusterCreator) askManagementCluster(ctx context.Context) error {
	f := c.flags
	stream := f.releaseStream != ""
	if c.client == nil && (!f.render || f.versionCheck || stream) {
		var err error
		if c.client, err = newKubeClient(f.kubeconfig); err != nil {
			return err
		}
	}
	if f.versionCheck {
		if err := checkServerVersion(ctx, c.client); err != nil {
			return err
		}
	}
	if !f.render {
		if err := c.checkManagementCluster(ctx); err != nil {
			return err
		}
		if c.existing == nil {
			if err := c.checkManagementRanges(ctx); err != nil {
				return err
			}
		}
		c.warnUnpublished(ctx)
	}
	if !stream || c.existing != nil { // a cluster that is there has its release
		return nil
	}
	minors, err := operatorMinors(ctx, c.client)
	if err != nil {
		return err
	}
	if f.cluster.ReleaseImage, err = c.streams.resolve(ctx, f.releaseStream, minors); err == nil {
		c.say("release %s of stream %s", f.cluster.ReleaseImage, f.releaseStream)
	}
	return err
}

// infrastructure makes it, or takes it from --infra-json.
func (c *clusterCreator) infrastructure(ctx context.Context, session *azure.Session) error {
	f := c.flags
	var out *infra.Output
	var err error
	switch {
	case f.fromInfra != nil:
		out = f.fromInfra
		if err = c.claimHandoff(session, out.InfraID); err == nil {
			err = c.checkNetwork(ctx, session, out)
		}
	case f.infraJSON != "":
		if out, err = infra.ReadOutput(f.infraJSON); err == nil {
			err = errors.Join(c.claimInfra(session, out), c.checkNetwork(ctx, session, out))
		}
	default:
		if f.render {
			c.say("warning: without --infra-json rendering creates the infrastructure; use --dry-run to see what that is")
		}
		warnUnguarded(f.infra, c.say)
		c.say("infrastructure id %s", f.infra.InfraID)
		out, err = c.makeInfra(ctx, session)
	}
	if err != nil {
		return c.explainInfra(err)
	}
	if f.infra.InfraID != "" && out.InfraID != f.infra.InfraID {
		return fmt.Errorf("--infra-id %s differs from infraID %s of --infra-json; leave the flag out", f.infra.InfraID, out.InfraID)
	}
	if f.infra.BaseDomain != "" && f.infra.BaseDomain != out.BaseDomain {
		c.say("warning: --base-domain %s is ignored: the infrastructure was made for %s", f.infra.BaseDomain, out.BaseDomain)
	}
	return f.takeInfra(out)
}

// checkNetwork compares the ranges of a new cluster with the addresses of a network that is there.
func (c *clusterCreator) checkNetwork(ctx context.Context, session *azure.Session, out *infra.Output) error {
	f := c.flags
	if f.render || c.existing != nil || out.VNetID == "" {
		return nil
	}
	return infra.CheckRanges(ctx, session, infra.Options{VNetID: out.VNetID, Ranges: f.infra.Ranges})
}

func (c *clusterCreator) explainInfra(err error) error {
	if c.flags.infraJSON != "" {
		return err
	}
	return fmt.Errorf("creating the infrastructure: %w; what was made stays, continue with the same command and --infra-id %s", err, c.flags.infra.InfraID)
}
