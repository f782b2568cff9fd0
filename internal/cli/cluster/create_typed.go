package cluster

import (
	"cmp"
	"fmt"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/hypershift-on-azure/hypershift/internal/cli/azureflags"
	"github.com/hypershift-on-azure/hypershift/internal/cli/command"
	"github.com/hypershift-on-azure/hypershift/internal/cli/infraflags"
	"github.com/hypershift-on-azure/hypershift/internal/cli/machines"
	"github.com/hypershift-on-azure/hypershift/internal/manifest"
	"github.com/hypershift-on-azure/hypershift/internal/provision/handoff"
	"github.com/hypershift-on-azure/hypershift/internal/provision/infra"
	"github.com/hypershift-on-azure/hypershift/internal/version"
)

// typed is what the flags of create cluster azure say, and where they are silent, once it is complete, the hand-off file of --from.
// cluster and infra hold only what flags decide as it is.
type typed struct {
	azureflags.Flags
	machines machines.Flags
	cluster  manifest.Cluster
	infra    infra.Options
	handed   handed

	kubeconfig, infraJSON                                     string
	releaseStream                                             string
	pullSecret, sshKey, signingKey, trustBundle, imageSources string
	workloadIdentities, encryptionKeyID                       string
	managed                                                   infraflags.Managed
	restore                                                   restoreFlags
	baseDomainPrefix, etcdStorageSize, endpointAccess, oauth  string
	controlPlanePolicy, infraPolicy, catalogPlacement         string
	controlPlaneOperatorImage, networkType                    string
	annotations, labels, tolerations                          []string
	nodeDrainTimeout, nodeVolumeDetachTimeout                 time.Duration
	generateSSH, versionCheck, defaultDual, skipPreflight     bool
	wait, render, renderSensitive, interactive                bool
	renderInto, file                                          string
	timeout                                                   time.Duration

	flags map[string]bool // the names of those that were typed
}

// handed is what the hand-off file says that no flag could.
type handed struct {
	infra                    *infra.Output // complete infrastructure, which then stands for --infra-json
	subscriptionID, tenantID string
	values                   map[string]string // of flags that are silent, by their names
}

// addAllPlacement defines what Azure is asked for: what preflight azure takes, too.
func (t *typed) addAllPlacement(cmd *cobra.Command) {
	command.Group(cmd, "The cluster", t.addNames)
	command.Group(cmd, "Network", t.addRanges)
	command.Group(cmd, "Azure and identities", t.addPlacement)
	command.Group(cmd, "Node pools", t.addMachines)
	_ = cmd.RegisterFlagCompletionFunc("instance-type", azureflags.CompleteSizes)
}

func (t *typed) addNames(flags *pflag.FlagSet) {
	c, i := &t.cluster, &t.infra
	flags.StringVar(&c.Name, "name", "", "name of the hosted cluster")
	flags.StringVar(&i.InfraID, "infra-id", "", "infrastructure id; generated when empty")
	flags.StringVar(&i.BaseDomain, "base-domain", "", "domain beneath which the cluster's applications are published")
	flags.StringVar(&t.baseDomainPrefix, "base-domain-prefix", "", "replaces the cluster's name in its domain; \"none\" for no prefix")
	flags.StringVar(&c.Publishing.ExternalDNSDomain, "external-dns-domain", "", "domain beneath which the cluster's endpoints are published")
}

func (t *typed) addRanges(flags *pflag.FlagSet) {
	n := &t.cluster.Networking
	flags.StringArrayVar(&n.ServiceCIDRs, "service-cidr", []string{"172.31.0.0/16"}, "range of Services (repeatable)")
	flags.StringArrayVar(&n.ClusterCIDRs, "cluster-cidr", []string{"10.132.0.0/14"}, "range of pods (repeatable)")
	flags.StringArrayVar(&n.MachineCIDRs, "machine-cidr", nil, "range of nodes (repeatable)")
}

func (t *typed) addMachines(flags *pflag.FlagSet) {
	flags.Int32Var(&t.machines.Replicas, "node-pool-replicas", 0, "nodes of each node pool; negative makes no node pool")
	flags.StringSliceVar(&t.cluster.Zones, "availability-zones", nil, "one node pool in each of these zones")
	t.machines.Add(flags)
}

func (t *typed) addPlacement(flags *pflag.FlagSet) {
	i := &t.infra
	flags.StringVar(&t.workloadIdentities, "workload-identities-file", "", "client ids written by create iam azure")
	flags.StringVar(&t.cluster.Identity.IssuerURL, "oidc-issuer-url", "", "issuer of the cluster's service account tokens")
	flags.StringVar(&t.signingKey, "sa-token-issuer-private-key-path", "", "private key of the issuer")
	flags.StringVar(&i.ResourceGroup, "resource-group-name", "", "existing resource group to use for everything")
	infraflags.AddBrought(flags, i)
	infraflags.AddAppsZone(flags, i)
	flags.StringVar(&i.DNSZoneGroup, "dns-zone-rg-name", "", "resource group of the public DNS zone")
	flags.BoolVar(&i.AssignRoles, "assign-service-principal-roles", false, "give the identities their roles")
	flags.BoolVar(&i.AssignRoles, "auto-assign-roles", false, "alias of --assign-service-principal-roles")
	_ = flags.MarkHidden("auto-assign-roles")
}

// addFile defines the file that says how the cluster is to be.
func (t *typed) addFile(flags *pflag.FlagSet) {
	flags.StringVarP(&t.file, "file", "f", "", "file of kind AzureCluster that says how the cluster is to be; flags win over it")
}

// addRun defines how the command runs.
func (t *typed) addRun(flags *pflag.FlagSet) {
	flags.BoolVar(&t.interactive, "interactive", false, "ask at the terminal for what is missing and cannot be found in the environment, in this folder or in Azure")
	flags.BoolVar(&t.wait, "wait", false, "wait until the cluster is available and its nodes are there")
	flags.BoolVar(&t.render, "render", false, "print the manifests instead of applying them, without Secrets")
	flags.BoolVar(&t.renderSensitive, "render-sensitive", false, "include Secrets in the rendering")
	flags.StringVar(&t.renderInto, "render-into", "", "file to render to; implies --render")
	flags.BoolVar(&t.skipPreflight, "skip-preflight", false, "write without a look at size, quotas, image, terms, DNS zones and ranges; preflight cluster looks at more")
}

func (t *typed) addGeneral(flags *pflag.FlagSet) {
	c := &t.cluster
	flags.StringVarP(&c.Namespace, "namespace", "n", "clusters", "namespace of the hosted cluster")
	flags.StringVar(&t.kubeconfig, "kubeconfig", "", "kubeconfig of the management cluster")
	flags.StringVar(&t.pullSecret, "pull-secret", "", "dockerconfigjson file for the release's images")
	flags.StringVar(&c.ReleaseImage, "release-image", version.ReleaseImage, "release payload")
	flags.StringVar(&t.releaseStream, "release-stream", "", "newest release of this stream that the operator runs, such as 4-stable-multi; in place of --release-image")
	flags.BoolVar(&t.versionCheck, "version-check", false, "fail unless this program and the installed operator are of the same build")
	flags.StringVar(&t.sshKey, "ssh-key", "", "public key file for logging in to nodes")
	flags.BoolVar(&t.generateSSH, "generate-ssh", false, "generate a key pair for logging in to nodes")
	flags.StringVar(&t.trustBundle, "additional-trust-bundle", "", "PEM file with additional certificate authorities")
	flags.StringVar(&t.imageSources, "image-content-sources", "", "YAML file with image mirrors")
	flags.StringArrayVar(&t.annotations, "annotations", nil, "annotation of the HostedCluster, key=value (repeatable)")
	flags.StringArrayVar(&t.labels, "labels", nil, "label of the HostedCluster, key=value (repeatable)")
	flags.StringVar(&t.infraJSON, "infra-json", "", "output of create infra azure to use instead of creating infrastructure")
	flags.DurationVar(&t.timeout, "timeout", 0, "bound for the whole command; none when 0")
}

func (t *typed) addSpec(flags *pflag.FlagSet) {
	c := &t.cluster
	flags.StringVar(&t.controlPlanePolicy, "control-plane-availability-policy", "SingleReplica", "SingleReplica or HighlyAvailable")
	flags.StringVar(&t.infraPolicy, "infra-availability-policy", "", "SingleReplica or HighlyAvailable")
	flags.BoolVar(&c.FIPS, "fips", false, "run the nodes in FIPS mode")
	flags.DurationVar(&t.nodeDrainTimeout, "node-drain-timeout", 0, "how long a node may be drained")
	flags.DurationVar(&t.nodeVolumeDetachTimeout, "node-volume-detach-timeout", 0, "how long volumes may take to detach")
	flags.StringVar(&c.EtcdStorageClass, "etcd-storage-class", "", "StorageClass of etcd's volumes")
	flags.StringVar(&t.etcdStorageSize, "etcd-storage-size", "8Gi", "size of etcd's volumes")
	flags.StringToStringVar(&c.NodeSelector, "node-selector", nil, "node selector of control-plane pods")
	flags.StringToStringVar(&c.PodLabels, "pods-labels", nil, "labels of control-plane pods")
	flags.StringArrayVar(&t.tolerations, "toleration", nil, "toleration of control-plane pods, key=k,operator=Equal,value=v,effect=NoSchedule (repeatable)")
	flags.StringVar(&t.catalogPlacement, "olm-catalog-placement", "management", "management or guest")
	flags.BoolVar(&c.OLMDisableDefaultSources, "olm-disable-default-sources", false, "disable the default catalogs")
	flags.StringVar(&c.FeatureSet, "feature-set", "", "TechPreviewNoUpgrade or DevPreviewNoUpgrade")
	flags.StringSliceVar(&c.EnabledCapabilities, "enable-cluster-capabilities", nil, "optional parts to enable")
	flags.StringSliceVar(&c.DisabledCapabilities, "disable-cluster-capabilities", nil, "optional parts to disable")
	flags.StringVar(&c.KubeAPIServerDNSName, "kas-dns-name", "", "additional name of the API server")
	flags.StringVar(&c.PausedUntil, "pausedUntil", "", "true, or an RFC3339 time")
	flags.StringVar(&t.controlPlaneOperatorImage, "control-plane-operator-image", "", "image of the control-plane operator")
}

func (t *typed) addNetworking(flags *pflag.FlagSet) {
	n := &t.cluster.Networking
	flags.StringVar(&t.networkType, "network-type", "OVNKubernetes", "OVNKubernetes, OpenShiftSDN, Calico or Other")
	flags.BoolVar(&t.defaultDual, "default-dual", false, "defaults for two IP families; without effect on Azure")
	flags.BoolVar(&n.DisableMultiNetwork, "disable-multi-network", false, "no Multus; only with --network-type Other")
	flags.Int32Var(&n.OVNKubernetesMTU, "ovn-kubernetes-mtu", 0, "MTU of OVN, 576 to 9216")
	flags.BoolVar(&n.AllocateNodeCIDRs, "allocate-node-cidrs", false, "the controller manager hands out pod ranges; only with --network-type Other")
}

func (t *typed) addAzure(flags *pflag.FlagSet) {
	i, p := &t.infra, &t.cluster.Publishing
	flags.StringToStringVarP(&i.Tags, "resource-group-tags", "t", nil, "tags of the resource groups made")
	t.managed.Add(flags, i)
	flags.StringVar(&t.managed.KMSSecret, "kms-credentials-secret-name", "", "managed flavour: secret of the key vault with the credentials for --encryption-key-id")
	flags.StringVar(&t.encryptionKeyID, "encryption-key-id", "", "key that encrypts Secrets: https://VAULT.vault.azure.net/keys/NAME/VERSION")
	flags.StringVar(&t.endpointAccess, "endpoint-access", "Public", "Public, PublicAndPrivate or Private")
	flags.StringVar(&p.NATSubnetID, "endpoint-access-private-nat-subnet-id", "", "subnet of the private link service")
	flags.StringSliceVar(&p.AdditionalAllowedSubscriptions, "endpoint-access-private-additional-allowed-subscriptions", nil, "further subscriptions that may use the private link")
	flags.StringVar(&t.oauth, "oauth-publishing-strategy", "Route", "Route or LoadBalancer")
}

// given tells whether a flag was typed.
func (t typed) given(flag string) bool { return t.flags[flag] }

// complete is what was typed, with what follows from it alone and with what the file of --from says where the flags are silent.
func (c *creation) complete(t typed) (typed, error) {
	t.flags = map[string]bool{}
	c.cmd.Flags().Visit(func(f *pflag.Flag) { t.flags[f.Name] = true })
	if t.renderInto != "" || t.renderSensitive {
		t.render = true
	}
	if c.record.Path == "" {
		return t, nil
	}
	if err := c.record.MustOpen(); err != nil {
		return t, err
	}
	t, err := c.completeFrom(c.record.File, t)
	t.handed.values = t.saidBy(c.record.File)
	return t, err
}

func (c *creation) completeFrom(h *handoff.File, t typed) (typed, error) {
	t.handed.subscriptionID, t.handed.tenantID = h.SubscriptionID, h.TenantID
	c.record.Complete(c.cmd, &t.Flags, &t.cluster.Name, &t.infra.InfraID)
	if t.cluster.Name != h.Name && h.Name != "" {
		return t, fmt.Errorf("--name %s differs from name %s of --from; give every hosted cluster its own hand-off file", t.cluster.Name, h.Name)
	}
	if from := h.Issuer; from != nil {
		t.cluster.Identity.IssuerURL = cmp.Or(t.cluster.Identity.IssuerURL, from.URL)
		t.signingKey = cmp.Or(t.signingKey, c.record.Locate(from.PrivateKeyPath))
	}
	if from := h.Identities; from != nil && t.workloadIdentities == "" {
		t.infra.Identities = from.Clients
	}
	if t.infraJSON == "" {
		t = t.withInfra(h, c.record.Path)
	}
	if from := h.DNS; from != nil && t.cluster.Publishing.ExternalDNSDomain == "" {
		published := t
		published.cluster.Publishing.ExternalDNSDomain = from.Zone
		if err := published.validateDomain(); err != nil {
			fmt.Fprintf(c.cmd.ErrOrStderr(), "warning: the endpoints are not published beneath the zone of the hand-off: %v\n", err)
			return t, nil
		}
		return published, nil
	}
	return t, nil
}

// withInfra uses infrastructure that is complete, and goes on with one that is not. Roles are given by the stack that makes the
// infrastructure; run again, it makes nothing twice.
func (t typed) withInfra(h *handoff.File, path string) typed {
	if from := h.Infra; from != nil && !t.infra.AssignRoles {
		t.handed.infra = from
		t.infraJSON = path
		t.infra.BaseDomain = cmp.Or(t.infra.BaseDomain, from.BaseDomain)
		return t
	}
	t.infra.Name = t.cluster.Name
	h.ContinueInfra(&t.infra)
	return t
}
