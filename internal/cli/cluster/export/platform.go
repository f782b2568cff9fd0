package export

import (
	"context"
	"fmt"
	"strings"

	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hypershift-on-azure/hypershift/api/v1beta1"
	"github.com/hypershift-on-azure/hypershift/internal/azure"
	"github.com/hypershift-on-azure/hypershift/internal/cli/cluster/inventory"
	"github.com/hypershift-on-azure/hypershift/internal/provision/identity"
	"github.com/hypershift-on-azure/hypershift/internal/provision/infra"
	"github.com/hypershift-on-azure/hypershift/internal/provision/node"
)

// platform is where the cluster is in Azure. What is where our stack places it is made again, and not named.
func (e *exported) platform(hc *hyperv1.HostedCluster) error {
	p, dns := hc.Spec.Platform.Azure, hc.Spec.DNS
	e.beside.SubscriptionID, e.beside.TenantID = p.SubscriptionID, p.TenantID
	session, err := azure.NewSession(azure.Credentials{SubscriptionID: p.SubscriptionID, TenantID: p.TenantID}, "AzurePublicCloud")
	if err != nil {
		return fmt.Errorf("cannot say where HostedCluster %s is in Azure: %w", e.key, err)
	}
	o := infra.Options{Name: hc.Name, InfraID: hc.Spec.InfraID, Location: p.Location,
		BaseDomain: dns.BaseDomain, BaseDomainPrefix: dns.BaseDomainPrefix}
	if p.ResourceGroupName != node.MainGroup(hc.Name, hc.Spec.InfraID) {
		o.ResourceGroup = p.ResourceGroupName
	}
	expected := infra.Expected(session, o)
	e.set("cloud", p.Cloud)
	e.set("location", p.Location)
	e.set("resource-group-name", o.ResourceGroup)
	if p.VnetID != expected.VNetID || p.SubnetID != expected.SubnetID {
		e.set("vnet-id", p.VnetID)
		e.set("subnet-id", p.SubnetID)
	}
	if p.SecurityGroupID != expected.SecurityGroupID {
		e.set("network-security-group-id", p.SecurityGroupID)
	}
	if dns.PrivateZoneID != expected.PrivateZoneID {
		e.set("private-dns-zone-id", dns.PrivateZoneID)
	}
	e.publicZone(dns, session.ResourceID(expected.ResourceGroupName, node.TypeDNS, "apps."+o.ClusterDomain()))
	e.set("endpoint-access", p.Topology)
	if p.Private != nil && p.Private.PrivateLink != nil {
		e.set("endpoint-access-private-nat-subnet-id", p.Private.PrivateLink.NATSubnetID)
		e.set("endpoint-access-private-additional-allowed-subscriptions", p.Private.PrivateLink.AdditionalAllowedSubscriptions)
	}
	return nil
}

// publicZone is the one of the base domain, which is found by its name and its group, or the cluster's own.
func (e *exported) publicZone(dns hyperv1.DNSSpec, own string) {
	zone, err := azure.ParseIDOf(dns.PublicZoneID, node.TypeDNS)
	switch {
	case err != nil:
		return
	case strings.EqualFold(dns.PublicZoneID, own):
		e.set("apps-zone", infra.AppsZoneOwn)
	case strings.EqualFold(zone.SubscriptionID, e.beside.SubscriptionID) && strings.EqualFold(zone.Name, dns.BaseDomain):
		e.set("apps-zone", infra.AppsZoneShared)
		e.set("dns-zone-rg-name", zone.ResourceGroup)
	default:
		return
	}
	e.beside.PublicZoneID = dns.PublicZoneID
}

// brought are the user's own resources that no field names. The record of them may be missing, or not for everybody's eyes.
func (e *exported) brought(ctx context.Context, c client.Client) {
	made, err := inventory.Read(ctx, c, client.ObjectKey{Namespace: e.key.Namespace, Name: inventory.Name(e.key.Name)})
	if err == nil && made != nil && made.Brought != nil {
		e.set("public-ip-id", made.Brought.PublicIPID)
		e.set("load-balancer-id", made.Brought.LoadBalancerID)
	}
	e.note("resource-group-tags, assign-service-principal-roles, public-ip-id, load-balancer-id: as you gave them, for only Azure knows")
}

// identities are in files, whose content is known here.
func (e *exported) identities(hc *hyperv1.HostedCluster) {
	const auth = "spec.platform.azure.azureAuthenticationConfig"
	config := hc.Spec.Platform.Azure.AzureAuthenticationConfig
	if config.ManagedIdentities != nil {
		e.beside.Managed = config.ManagedIdentities
		e.file("managed-identities-file", "the file with the control plane's identities", auth+".managedIdentities.controlPlane")
		e.file("data-plane-identities-file", "the file with the client ids", auth+".managedIdentities.dataPlane")
		return
	}
	paths := []string{auth + ".workloadIdentities"}
	e.beside.Identities = workloadIdentities(config.WorkloadIdentities)
	if s := hc.Spec.SecretEncryption; s != nil && s.KMS != nil && s.KMS.Azure != nil && s.KMS.Azure.WorkloadIdentity != nil {
		e.beside.Identities.KMSClientID = string(s.KMS.Azure.WorkloadIdentity.ClientID)
		paths = append(paths, "spec.secretEncryption.kms.azure.workloadIdentity")
	}
	e.file("workload-identities-file", "the file that `hypershift create iam azure` wrote", paths...)
}

// workloadIdentities are those of a HostedCluster as their file has them.
func workloadIdentities(set *hyperv1.AzureWorkloadIdentitySet) *identity.WorkloadIdentities {
	if set == nil {
		return &identity.WorkloadIdentities{}
	}
	id := func(w hyperv1.WorkloadIdentity) identity.Identity {
		return identity.Identity{ClientID: string(w.ClientID)}
	}
	out := &identity.WorkloadIdentities{ImageRegistry: id(set.ImageRegistry), Ingress: id(set.Ingress), File: id(set.File), Disk: id(set.Disk),
		NodePoolManagement: id(set.NodePoolManagement), CloudProvider: id(set.CloudProvider), Network: id(set.Network)}
	if set.ControlPlaneOperator != nil {
		out.ControlPlaneOperator = new(id(*set.ControlPlaneOperator))
	}
	return out
}

// files are members whose content is in Secrets, or in the HostedCluster in another form.
func (e *exported) files(hc *hyperv1.HostedCluster) {
	s := hc.Spec
	e.file("azure-creds", "the file with the credentials of the subscription",
		"spec.platform.azure.subscriptionID", "spec.platform.azure.tenantID")
	e.identities(hc)
	for _, f := range []struct{ flag, kind, name, path string }{
		{"pull-secret", "Secret", s.PullSecret.Name, "spec.pullSecret.name"},
		{"ssh-key", "Secret", s.SSHKey.Name, "spec.sshKey.name"},
		{"sa-token-issuer-private-key-path", "Secret", nameOf(s.ServiceAccountSigningKey), "spec.serviceAccountSigningKey.name"},
		{"additional-trust-bundle", "ConfigMap", nameOf(s.AdditionalTrustBundle), "spec.additionalTrustBundle.name"},
	} {
		if f.name != "" {
			e.file(f.flag, "a file with what "+f.kind+" "+f.name+" has", f.path)
			e.told = append(e.told, f.path)
		}
	}
	if local := s.SecretEncryption; local != nil && local.AESCBC != nil {
		const path = "spec.secretEncryption.aescbc.activeKey.name"
		e.note("encryption-key-file: a file with the key in Secret %s (%s); a new key is made without it", local.AESCBC.ActiveKey.Name, path)
		e.told = append(e.told, path)
	}
	if len(s.ImageContentSources) > 0 {
		e.beside.ImageContentSources = s.ImageContentSources
		e.file("image-content-sources", "a file with the sources of the HostedCluster", "spec.imageContentSources")
	}
	if m := s.Etcd.Managed; m != nil && len(m.Storage.RestoreSnapshotURL) == 1 {
		e.beside.RestoreSnapshotURL = m.Storage.RestoreSnapshotURL[0]
		e.note("restore-snapshot-url-file: a file with the address of the snapshot that etcd is to begin with (%s)",
			"spec.etcd.managed.storage.restoreSnapshotURL")
	}
	if s.ClusterID != "" {
		e.note("spec.clusterID: every cluster gets its own")
		e.told = append(e.told, "spec.clusterID")
	}
}
