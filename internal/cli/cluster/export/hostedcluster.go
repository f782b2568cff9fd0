package export

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	hyperv1 "github.com/hypershift-on-azure/hypershift/api/v1beta1"
	"github.com/hypershift-on-azure/hypershift/internal/azure/tags"
	"github.com/hypershift-on-azure/hypershift/internal/azure/vault"
	"github.com/hypershift-on-azure/hypershift/internal/cli/cluster/export/compare"
)

func (e *exported) cluster(hc *hyperv1.HostedCluster) {
	s := hc.Spec
	e.spec["name"] = hc.Name
	e.set("namespace", hc.Namespace)
	e.set("infra-id", s.InfraID)
	e.set("labels", equations(compare.OwnLabels(hc.Labels)))
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
		if conf.FeatureGate != nil && conf.FeatureGate.FeatureSet != "CustomNoUpgrade" { // single gates have no flag
			e.set("feature-set", conf.FeatureGate.FeatureSet)
		}
		e.set("olm-disable-default-sources", conf.OperatorHub != nil && conf.OperatorHub.DisableAllDefaultSources)
	}
	if caps := s.Capabilities; caps != nil {
		e.set("enable-cluster-capabilities", texts(caps.Enabled))
		e.set("disable-cluster-capabilities", texts(caps.Disabled))
	}
	e.encryption(hc)
}

// annotations of a person; two of them have flags of their own.
func (e *exported) annotations(hc *hyperv1.HostedCluster) {
	own := compare.OwnAnnotations(hc.Annotations)
	e.set("control-plane-operator-image", own[hyperv1.ControlPlaneOperatorImageAnnotation])
	delete(own, hyperv1.ControlPlaneOperatorImageAnnotation)
	if parsed, err := tags.Parse(own[hyperv1.AzureTagsAnnotation]); err == nil && tags.Format(parsed) == own[hyperv1.AzureTagsAnnotation] {
		e.set("additional-tags", parsed)
		delete(own, hyperv1.AzureTagsAnnotation)
	}
	e.set("annotations", equations(own))
}

// encryption is by a key of a vault, which has an address, or by a local one, which is a file.
func (e *exported) encryption(hc *hyperv1.HostedCluster) {
	s := hc.Spec.SecretEncryption
	if s == nil || s.KMS == nil || s.KMS.Azure == nil {
		return
	}
	k := s.KMS.Azure
	id, err := vault.Key{Vault: k.ActiveKey.KeyVaultName, Name: k.ActiveKey.KeyName, Version: k.ActiveKey.KeyVersion,
		ManagedHSM: k.KeyVaultType == "ManagedHSM", Cloud: hc.Spec.Platform.Azure.Cloud}.ID()
	if err == nil {
		e.set("encryption-key-id", id)
	}
	if k.KMS != nil {
		e.set("kms-credentials-secret-name", k.KMS.CredentialsSecretName)
	}
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
			if domain, named := strings.CutPrefix(string(service.ServicePublishingStrategy.Route.Hostname), "api-"+hc.Name+"."); named {
				e.set("external-dns-domain", domain)
			}
		}
		if service.Service == hyperv1.OAuthServer && service.ServicePublishingStrategy.Type == hyperv1.LoadBalancer {
			e.set("oauth-publishing-strategy", "LoadBalancer")
		}
	}
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

func nameOf(in *corev1.LocalObjectReference) string {
	if in == nil {
		return ""
	}
	return in.Name
}
