// Package export writes the cluster file of a hosted cluster that is there.
package export

import (
	"context"
	"fmt"
	"io"
	"reflect"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	hyperv1 "github.com/hypershift-on-azure/hypershift/api/v1beta1"
	"github.com/hypershift-on-azure/hypershift/internal/azure/tags"
	"github.com/hypershift-on-azure/hypershift/internal/cli/clusterfile"
	"github.com/hypershift-on-azure/hypershift/internal/cli/command"
	"github.com/hypershift-on-azure/hypershift/internal/cli/flagfile"
	"github.com/hypershift-on-azure/hypershift/internal/cli/management"
	"github.com/hypershift-on-azure/hypershift/internal/wholefile"
)

// NewCommand is export cluster. known are the flags whose names are the members of the cluster file.
func NewCommand(known func() *pflag.FlagSet) *cobra.Command {
	var kubeconfig, namespace, file string
	cmd := &cobra.Command{
		Use:   "cluster NAME",
		Short: "Write the cluster file of a hosted cluster that is there",
		Long: `Writes the file that create cluster azure --file reads, from the HostedCluster and the node pools that were made with it. What is as by default is
left out, and so is what our own stack has made in Azure. Secrets stay where they are: members that name files are there as comments.`,
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
			text, err := Text(cmd.Context(), c, client.ObjectKey{Namespace: namespace, Name: args[0]}, known())
			if err != nil {
				return err
			}
			if file != "" {
				return wholefile.Replace(file, text, 0o600)
			}
			_, err = cmd.OutOrStdout().Write(text)
			return err
		},
	}
	cmd.Flags().StringVarP(&namespace, "namespace", "n", management.ClustersNamespace, "namespace of the hosted cluster")
	cmd.Flags().StringVar(&file, "output-file", "", "file to write, mode 0600, instead of stdout")
	management.AddKubeconfig(cmd, &kubeconfig)
	return cmd
}

// Text is the text of the file.
func Text(ctx context.Context, c client.Client, key client.ObjectKey, known *pflag.FlagSet) ([]byte, error) {
	hc := &hyperv1.HostedCluster{}
	if err := c.Get(ctx, key, hc); err != nil {
		if apierrors.IsNotFound(err) {
			return nil, management.NoCluster(ctx, c, key.Namespace, key.Name)
		}
		return nil, fmt.Errorf("cannot read HostedCluster %s: %w", key, err)
	}
	if hc.Spec.Platform.Azure == nil {
		return nil, fmt.Errorf("HostedCluster %s is of platform %s, and the cluster file is for Azure", key, hc.Spec.Platform.Type)
	}
	pools := &hyperv1.NodePoolList{}
	if err := c.List(ctx, pools, client.InNamespace(key.Namespace)); err != nil {
		return nil, fmt.Errorf("cannot read the node pools of HostedCluster %s: %w", key, err)
	}
	e := &exported{flags: known, spec: map[string]any{}}
	e.cluster(hc)
	e.network(hc)
	e.platform(hc)
	e.pools(hc, pools.Items)
	e.files(hc)
	return e.text()
}

// exported collects the members of the file, and what no member says.
type exported struct {
	flags *pflag.FlagSet
	spec  map[string]any
	notes []string
}

// set keeps a value that is neither empty nor what the flag is by default.
func (e *exported) set(flag string, value any) {
	v := reflect.ValueOf(value)
	switch v.Kind() {
	case reflect.String:
		value = v.String()
	case reflect.Slice, reflect.Map:
		if v.Len() == 0 {
			return
		}
	case reflect.Int32:
		value = v.Int()
	}
	text := fmt.Sprint(value)
	if list, ok := value.([]string); ok {
		text = "[" + strings.Join(list, ",") + "]"
	}
	if text != "" && text != "false" && text != e.flags.Lookup(flag).DefValue {
		e.spec[flag] = value
	}
}

func (e *exported) note(format string, args ...any) {
	e.notes = append(e.notes, fmt.Sprintf(format, args...))
}

func (e *exported) cluster(hc *hyperv1.HostedCluster) {
	s := hc.Spec
	e.spec["name"] = hc.Name
	e.set("namespace", hc.Namespace)
	e.set("infra-id", s.InfraID)
	e.set("labels", equations(ownOf(hc.Labels)))
	e.annotations(hc)
	e.set("release-image", s.Release.Image)
	e.set("control-plane-availability-policy", s.ControllerAvailabilityPolicy)
	e.set("infra-availability-policy", s.InfrastructureAvailabilityPolicy)
	e.set("kas-dns-name", s.KubeAPIServerDNSName)
	e.set("fips", s.FIPS)
	e.set("olm-catalog-placement", s.OLMCatalogPlacement)
	e.set("node-selector", s.NodeSelector)
	e.set("pods-labels", s.Labels)
	e.set("oidc-issuer-url", s.IssuerURL)
	if s.PausedUntil != nil {
		e.set("pausedUntil", *s.PausedUntil)
	}
	e.set("toleration", tolerations(s.Tolerations))
	if m := s.Etcd.Managed; m != nil && m.Storage.PersistentVolume != nil {
		if class := m.Storage.PersistentVolume.StorageClassName; class != nil {
			e.set("etcd-storage-class", *class)
		}
		if size := m.Storage.PersistentVolume.Size; size != nil {
			e.set("etcd-storage-size", size.String())
		}
	}
	if conf := s.Configuration; conf != nil {
		if conf.FeatureGate != nil {
			e.set("feature-set", conf.FeatureGate.FeatureSet)
		}
		e.set("olm-disable-default-sources", conf.OperatorHub != nil && conf.OperatorHub.DisableAllDefaultSources)
	}
	if caps := s.Capabilities; caps != nil {
		e.set("enable-cluster-capabilities", texts(caps.Enabled))
		e.set("disable-cluster-capabilities", texts(caps.Disabled))
	}
	e.encryption(s.SecretEncryption)
}

// annotations of a person; two of them have flags of their own.
func (e *exported) annotations(hc *hyperv1.HostedCluster) {
	own := ownOf(hc.Annotations)
	e.set("control-plane-operator-image", own[hyperv1.ControlPlaneOperatorImageAnnotation])
	delete(own, hyperv1.ControlPlaneOperatorImageAnnotation)
	if tags, err := tags.Parse(hc.Annotations[hyperv1.AzureTagsAnnotation]); err != nil {
		e.note("annotation %s: %v", hyperv1.AzureTagsAnnotation, err)
	} else {
		e.set("additional-tags", tags)
	}
	e.set("annotations", equations(own))
}

func (e *exported) encryption(s *hyperv1.SecretEncryptionSpec) {
	if s == nil || s.KMS == nil || s.KMS.Azure == nil {
		return
	}
	k := s.KMS.Azure.ActiveKey
	e.note("encryption-key-id: the id of key %s, version %s, of vault %s", k.KeyName, k.KeyVersion, k.KeyVaultName)
}

func (e *exported) network(hc *hyperv1.HostedCluster) {
	n := hc.Spec.Networking
	e.set("network-type", n.NetworkType)
	var pods []string
	for _, entry := range n.ClusterNetwork {
		pods = append(pods, string(entry.CIDR))
	}
	e.set("cluster-cidr", pods)
	e.set("service-cidr", cidrs(n.ServiceNetwork))
	e.set("machine-cidr", cidrs(n.MachineNetwork))
	e.set("allocate-node-cidrs", n.AllocateNodeCIDRs != nil && *n.AllocateNodeCIDRs == hyperv1.AllocateNodeCIDRsEnabled)
	if o := hc.Spec.OperatorConfiguration; o != nil && o.ClusterNetworkOperator != nil {
		e.set("disable-multi-network", o.ClusterNetworkOperator.DisableMultiNetwork != nil && *o.ClusterNetworkOperator.DisableMultiNetwork)
		if ovn := o.ClusterNetworkOperator.OVNKubernetesConfig; ovn != nil && ovn.MTU != 0 {
			e.set("ovn-kubernetes-mtu", ovn.MTU)
		}
	}
	e.set("base-domain", hc.Spec.DNS.BaseDomain)
	if prefix := hc.Spec.DNS.BaseDomainPrefix; prefix != nil && *prefix == "" {
		e.set("base-domain-prefix", "none")
	} else if prefix != nil {
		e.set("base-domain-prefix", *prefix)
	}
	e.services(hc)
}

// services are how the endpoints are published.
func (e *exported) services(hc *hyperv1.HostedCluster) {
	for _, service := range hc.Spec.Services {
		if service.Service == hyperv1.APIServer && service.ServicePublishingStrategy.Route != nil {
			domain, named := strings.CutPrefix(string(service.ServicePublishingStrategy.Route.Hostname), "api-"+hc.Name+".")
			if named {
				e.set("external-dns-domain", domain)
			} else {
				e.note("the endpoints have names of their own (%s), which no flag gives", service.ServicePublishingStrategy.Route.Hostname)
			}
		}
		if service.Service == hyperv1.OAuthServer && service.ServicePublishingStrategy.Type == hyperv1.LoadBalancer {
			e.set("oauth-publishing-strategy", "LoadBalancer")
		}
	}
}

// platform is where the cluster is in Azure. What has the names that our stack gives is made again, and not named.
func (e *exported) platform(hc *hyperv1.HostedCluster) {
	p, name, id := hc.Spec.Platform.Azure, hc.Name, hc.Spec.InfraID
	e.set("cloud", p.Cloud)
	e.set("location", p.Location)
	if p.ResourceGroupName != name+"-"+id {
		e.set("resource-group-name", p.ResourceGroupName)
	}
	if !strings.HasSuffix(p.VnetID, "/virtualNetworks/"+name+"-"+id) {
		e.set("vnet-id", p.VnetID)
		e.set("subnet-id", p.SubnetID)
	}
	if !strings.HasSuffix(p.SecurityGroupID, "/networkSecurityGroups/"+name+"-"+id+"-nsg") {
		e.set("network-security-group-id", p.SecurityGroupID)
	}
	e.set("endpoint-access", p.Topology)
	if p.Private != nil && p.Private.PrivateLink != nil {
		e.set("endpoint-access-private-nat-subnet-id", p.Private.PrivateLink.NATSubnetID)
		e.set("endpoint-access-private-additional-allowed-subscriptions", p.Private.PrivateLink.AdditionalAllowedSubscriptions)
	}
}

// pools are those that a creation makes: one with the cluster's name, or one for each zone.
func (e *exported) pools(hc *hyperv1.HostedCluster, all []hyperv1.NodePool) {
	var ours []hyperv1.NodePool
	var zones []string
	for _, np := range all {
		if np.Spec.ClusterName != hc.Name {
			continue
		}
		zone, inZone := strings.CutPrefix(np.Name, hc.Name+"-")
		inZone = inZone && np.Spec.Platform.Azure != nil && zone == np.Spec.Platform.Azure.AvailabilityZone && zone != ""
		if np.Name != hc.Name && !inZone {
			e.note("node pool %s is made by `hypershift create nodepool azure`", np.Name)
			continue
		}
		ours = append(ours, np)
		if inZone {
			zones = append(zones, zone)
		}
	}
	if len(ours) == 0 {
		e.spec["node-pool-replicas"] = -1
		return
	}
	slices.Sort(zones)
	e.set("availability-zones", zones)
	e.pool(&ours[0], len(zones) > 0)
	for _, other := range ours[1:] {
		if !alike(ours[0].Spec, other.Spec) {
			e.note("node pool %s differs from %s, which is what is written here", other.Name, ours[0].Name)
		}
	}
}

// alike compares pools but for their zones.
func alike(a, b hyperv1.NodePoolSpec) bool {
	if a.Platform.Azure == nil || b.Platform.Azure == nil {
		return reflect.DeepEqual(a, b)
	}
	pa, pb := *a.Platform.Azure, *b.Platform.Azure
	pa.AvailabilityZone, pb.AvailabilityZone = "", ""
	a.Platform.Azure, b.Platform.Azure = &pa, &pb
	return reflect.DeepEqual(a, b)
}

func (e *exported) pool(np *hyperv1.NodePool, zoned bool) {
	s, p := np.Spec, np.Spec.Platform.Azure
	switch {
	case s.Replicas != nil:
		e.spec["node-pool-replicas"] = *s.Replicas
	case s.AutoScaling != nil:
		e.note("node pool %s is scaled by itself: spec.autoScaling has no flag", np.Name)
	}
	e.set("arch", s.Arch)
	e.set("auto-repair", s.Management.AutoRepair)
	e.set("node-upgrade-type", s.Management.UpgradeType)
	e.duration("node-drain-timeout", s.NodeDrainTimeout)
	e.duration("node-volume-detach-timeout", s.NodeVolumeDetachTimeout)
	if p == nil {
		return
	}
	e.set("instance-type", p.VMSize)
	e.set("root-disk-size", p.OSDisk.SizeGiB)
	e.set("disk-storage-account-type", p.OSDisk.DiskStorageAccountType)
	e.set("disk-encryption-set-id", p.OSDisk.EncryptionSetID)
	e.set("enable-ephemeral-disk", p.OSDisk.Persistence == "Ephemeral")
	e.set("encryption-at-host", p.EncryptionAtHost)
	if !zoned {
		e.set("availability-zone", p.AvailabilityZone)
	}
	if d := p.Diagnostics; d != nil {
		e.set("diagnostics-storage-account-type", d.StorageAccountType)
		if d.UserManaged != nil {
			e.set("diagnostics-storage-account-uri", d.UserManaged.StorageAccountURI)
		}
	}
	e.image(np)
}

func (e *exported) image(np *hyperv1.NodePool) {
	i := np.Spec.Platform.Azure.Image
	if i.ImageID != nil {
		e.note("the machines of node pool %s boot image %s, which no flag names", np.Name, *i.ImageID)
	}
	if m := i.AzureMarketplace; m != nil {
		e.set("image-generation", m.ImageGeneration)
		e.set("marketplace-publisher", m.Publisher)
		e.set("marketplace-offer", m.Offer)
		e.set("marketplace-sku", m.SKU)
		e.set("marketplace-version", m.Version)
		e.set("marketplace-purchase-plan", np.Annotations[hyperv1.AzureImagePlanAnnotation] == "true")
	}
}

func (e *exported) duration(flag string, d *metav1.Duration) {
	if d != nil {
		e.set(flag, d.Duration.String())
	}
}

// files are members whose content is in Secrets, or in the HostedCluster in another form.
func (e *exported) files(hc *hyperv1.HostedCluster) {
	s := hc.Spec
	e.note("azure-creds: the file with the credentials of subscription %s", s.Platform.Azure.SubscriptionID)
	e.note("pull-secret: a file with what Secret %s has", s.PullSecret.Name)
	if s.Platform.Azure.AzureAuthenticationConfig.ManagedIdentities != nil {
		e.note("managed-identities-file, data-plane-identities-file: the files of the identities")
	} else {
		e.note("workload-identities-file: the file that `hypershift create iam azure` wrote")
	}
	for _, f := range []struct {
		flag string
		in   *corev1.LocalObjectReference
	}{{"sa-token-issuer-private-key-path", s.ServiceAccountSigningKey}, {"ssh-key", &s.SSHKey}, {"additional-trust-bundle", s.AdditionalTrustBundle}} {
		if f.in != nil && f.in.Name != "" {
			e.note("%s: a file with what %s has", f.flag, f.in.Name)
		}
	}
	if len(s.ImageContentSources) > 0 {
		e.note("image-content-sources: a file with the %d sources of the HostedCluster", len(s.ImageContentSources))
	}
}

func (e *exported) text() ([]byte, error) {
	raw, err := yaml.Marshal(clusterfile.File{APIVersion: clusterfile.APIVersion, Kind: clusterfile.Kind, Spec: e.spec})
	var b strings.Builder
	writeNotes(&b, e.notes)
	b.Write(raw)
	return []byte(b.String()), err
}

func writeNotes(w io.StringWriter, notes []string) {
	_, _ = w.WriteString("# Not here, for they are files, or no flag says them:\n")
	for _, n := range notes {
		_, _ = w.WriteString("#   " + n + "\n")
	}
}

// ownOf are the labels or annotations of a person: what programs of this field write is left out.
func ownOf(all map[string]string) map[string]string {
	own := map[string]string{}
	for key, value := range all {
		domain, _, _ := strings.Cut(key, "/")
		if key == hyperv1.ControlPlaneOperatorImageAnnotation || domain != "hypershift.openshift.io" && !strings.HasSuffix(domain, "kubernetes.io") {
			own[key] = value
		}
	}
	return own
}

func equations(all map[string]string) []string {
	var out []string
	for key, value := range all {
		out = append(out, key+"="+value)
	}
	slices.Sort(out)
	return out
}

func texts[T ~string](all []T) []string {
	var out []string
	for _, one := range all {
		out = append(out, string(one))
	}
	return out
}

func cidrs(all []hyperv1.NetworkEntry) []string {
	var out []string
	for _, entry := range all {
		out = append(out, string(entry.CIDR))
	}
	return out
}

func tolerations(all []corev1.Toleration) []string {
	var out []string
	for _, t := range all {
		var parts []string
		for _, p := range [][2]string{{"key", t.Key}, {"operator", string(t.Operator)}, {"value", t.Value}, {"effect", string(t.Effect)}} {
			if p[1] != "" {
				parts = append(parts, p[0]+"="+p[1])
			}
		}
		if t.TolerationSeconds != nil {
			parts = append(parts, fmt.Sprintf("tolerationSeconds=%d", *t.TolerationSeconds))
		}
		out = append(out, strings.Join(parts, ","))
	}
	return out
}
