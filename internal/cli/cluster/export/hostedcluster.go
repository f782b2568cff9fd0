package export

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	hyperv1 "github.com/hypershift-on-azure/hypershift/api/v1beta1"
	"github.com/hypershift-on-azure/hypershift/internal/azure/tags"
)

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
