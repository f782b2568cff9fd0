package cli

import (
	"errors"
	"fmt"
	"strings"

	hyperv1 "github.com/hypershift-on-azure/hypershift/api/v1beta1"
	"github.com/hypershift-on-azure/hypershift/internal/manifest"
	"github.com/hypershift-on-azure/hypershift/internal/provision/identity"
	"github.com/hypershift-on-azure/hypershift/internal/provision/infra"
)

// checkInfra refuses an output that does not fit the flags, or that is not one.
func (f *clusterFlags) checkInfra(out *infra.Output) error {
	for _, v := range []struct{ key, value string }{
		{"infraID", out.InfraID}, {"region", out.Region}, {"resourceGroupName", out.ResourceGroupName}, {"baseDomain", out.BaseDomain},
		{"vnetID", out.VNetID}, {"subnetID", out.SubnetID}, {"securityGroupID", out.SecurityGroupID},
	} {
		if v.value == "" {
			return fmt.Errorf("--infra-json %s has no %s; give the output of `hypershift create infra azure`", f.infraJSON, v.key)
		}
	}
	f.infra.BaseDomain = out.BaseDomain
	zone := out.PrivateZoneID[strings.LastIndexByte(out.PrivateZoneID, '/')+1:]
	if f.baseDomainPrefix != "" && zone != "" && !strings.EqualFold(zone, f.clusterDomain()) {
		return fmt.Errorf("--base-domain-prefix %s makes the domain %s, but the private zone of --infra-json is %s", f.baseDomainPrefix, f.clusterDomain(), zone)
	}
	return f.validateDomain()
}

// takeInfra copies the infrastructure into the manifests' options.
func (f *clusterFlags) takeInfra(out *infra.Output) error {
	if f.infraJSON != "" {
		if err := f.checkInfra(out); err != nil {
			return err
		}
	}
	f.cluster.Infra = manifest.Infra{
		InfraID: out.InfraID, Location: out.Region, ResourceGroup: out.ResourceGroupName,
		VNetID: out.VNetID, SubnetID: out.SubnetID, SecurityGroupID: out.SecurityGroupID,
		BaseDomain: out.BaseDomain, PublicZoneID: out.PublicZoneID, PrivateZoneID: out.PrivateZoneID, BootImageID: out.BootImageID,
	}
	if f.cloud != "AzurePublicCloud" {
		f.cluster.Infra.Cloud = f.cloud
	}
	if out.ControlPlaneMIs != nil {
		f.cluster.Identity.ManagedIdentities = out.ControlPlaneMIs
		return f.takeKMS(out.KMSClientID)
	}
	identities := out.WorkloadIdentities
	if identities == nil {
		identities = f.infra.Identities
	}
	if identities == nil {
		return errors.New("--infra-json holds no workloadIdentities; give --workload-identities-file")
	}
	f.cluster.Identity.WorkloadIdentities = identitySet(identities)
	return f.takeKMS(out.KMSClientID)
}

// takeKMS gives the key the identity that the infrastructure names.
func (f *clusterFlags) takeKMS(clientID string) error {
	kms := f.cluster.KMS
	if kms == nil {
		return nil
	}
	managed := f.cluster.Identity.ManagedIdentities != nil
	switch {
	case managed && kms.CredentialsSecretName == "":
		return errors.New("--encryption-key-id needs --kms-credentials-secret-name where managed identities are used")
	case !managed && kms.CredentialsSecretName != "":
		return errors.New("--kms-credentials-secret-name is for managed identities; workload identities have kmsClientID in their file")
	case managed:
		return nil
	}
	if orElse(&kms.ClientID, clientID); kms.ClientID == "" {
		return errNoKMSIdentity
	}
	return nil
}

func identitySet(w *identity.WorkloadIdentities) *hyperv1.AzureWorkloadIdentitySet {
	id := func(i identity.Identity) hyperv1.WorkloadIdentity {
		return hyperv1.WorkloadIdentity{ClientID: hyperv1.AzureClientID(i.ClientID)}
	}
	set := &hyperv1.AzureWorkloadIdentitySet{
		ImageRegistry: id(w.ImageRegistry), Ingress: id(w.Ingress), File: id(w.File), Disk: id(w.Disk),
		NodePoolManagement: id(w.NodePoolManagement), CloudProvider: id(w.CloudProvider), Network: id(w.Network),
	}
	if w.ControlPlaneOperator != nil {
		set.ControlPlaneOperator = new(id(*w.ControlPlaneOperator))
	}
	return set
}
