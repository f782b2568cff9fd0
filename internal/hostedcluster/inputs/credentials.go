package inputs

import (
	"context"
	"errors"
	"slices"

	corev1 "k8s.io/api/core/v1"

	hyperv1 "github.com/hypershift-on-azure/hypershift/api/v1beta1"
	"github.com/hypershift-on-azure/hypershift/internal/component"
	"github.com/hypershift-on-azure/hypershift/internal/hostedcluster/cluster"
)

// Names of the credentials' Secrets.
const (
	ingressCredentials  = "azure-ingress-credentials"
	registryCredentials = "azure-image-registry-credentials"
	networkCredentials  = "cloud-network-config-controller-creds"
)

// EnsureCredentials writes what the operands need to log in with their workload identity. The Secrets hold identifiers only; what
// proves the identity is a token of the hosted cluster.
func EnsureCredentials(ctx context.Context, c *cluster.Cluster) error {
	var err error
	if azure := c.Hosted.Spec.Platform.Azure; c.Hosted.Spec.Platform.Type == hyperv1.AzurePlatform {
		identities := azure.AzureAuthenticationConfig.WorkloadIdentities
		var problems []error
		if capable(c.Hosted, "Ingress") {
			problems = append(problems, applyCredentials(ctx, c, ingressCredentials, identities.Ingress))
		}
		if capable(c.Hosted, "ImageRegistry") {
			problems = append(problems, applyCredentials(ctx, c, registryCredentials, identities.ImageRegistry))
		}
		problems = append(problems, applyCredentials(ctx, c, networkCredentials, identities.Network))
		err = errors.Join(problems...)
	}
	if err != nil {
		c.Conditions().False(hyperv1.PlatformCredentialsFound, hyperv1.PlatformCredentialsNotFoundReason, err.Error())
		return err
	}
	c.Conditions().True(hyperv1.PlatformCredentialsFound, hyperv1.AsExpectedReason, "The platform's credentials are in place.")
	return nil
}

func capable(hc *hyperv1.HostedCluster, capability hyperv1.OptionalCapability) bool {
	return hc.Spec.Capabilities == nil || !slices.Contains(hc.Spec.Capabilities.Disabled, capability)
}

func applyCredentials(ctx context.Context, c *cluster.Cluster, name string, identity hyperv1.WorkloadIdentity) error {
	azure := c.Hosted.Spec.Platform.Azure
	return c.ApplySecret(ctx, name, corev1.SecretTypeOpaque, map[string][]byte{
		"azure_client_id":            []byte(identity.ClientID),
		"azure_federated_token_file": []byte(component.CloudTokenFile),
		"azure_region":               []byte(azure.Location),
		"azure_resource_prefix":      []byte(c.Name + "-" + c.InfraID()),
		"azure_resourcegroup":        []byte(azure.ResourceGroupName),
		"azure_subscription_id":      []byte(azure.SubscriptionID),
		"azure_tenant_id":            []byte(azure.TenantID),
	})
}
