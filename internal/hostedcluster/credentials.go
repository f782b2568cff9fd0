package hostedcluster

import (
	"context"
	"errors"
	"slices"

	corev1 "k8s.io/api/core/v1"

	hyperv1 "github.com/hypershift-on-azure/hypershift/api/v1beta1"
	"github.com/hypershift-on-azure/hypershift/internal/component"
)

// Names of the credentials' Secrets.
const (
	ingressCredentials  = "azure-ingress-credentials"
	registryCredentials = "azure-image-registry-credentials"
	networkCredentials  = "cloud-network-config-controller-creds"
)

// ensureCredentials writes what the operands need to log in with their workload identity. The Secrets hold identifiers only; what
// proves the identity is a token of the hosted cluster.
func (p *pass) ensureCredentials(ctx context.Context) error {
	var err error
	if azure := p.hc.Spec.Platform.Azure; p.hc.Spec.Platform.Type == hyperv1.AzurePlatform {
		identities := azure.AzureAuthenticationConfig.WorkloadIdentities
		var problems []error
		if p.capable("Ingress") {
			problems = append(problems, p.applyCredentials(ctx, ingressCredentials, identities.Ingress))
		}
		if p.capable("ImageRegistry") {
			problems = append(problems, p.applyCredentials(ctx, registryCredentials, identities.ImageRegistry))
		}
		problems = append(problems, p.applyCredentials(ctx, networkCredentials, identities.Network))
		err = errors.Join(problems...)
	}
	if err != nil {
		p.conditions().False(hyperv1.PlatformCredentialsFound, hyperv1.PlatformCredentialsNotFoundReason, err.Error())
		return err
	}
	p.conditions().True(hyperv1.PlatformCredentialsFound, hyperv1.AsExpectedReason, "The platform's credentials are in place.")
	return nil
}

func (p *pass) capable(capability hyperv1.OptionalCapability) bool {
	return p.hc.Spec.Capabilities == nil || !slices.Contains(p.hc.Spec.Capabilities.Disabled, capability)
}

func (p *pass) applyCredentials(ctx context.Context, name string, identity hyperv1.WorkloadIdentity) error {
	azure := p.hc.Spec.Platform.Azure
	return p.applySecret(ctx, name, corev1.SecretTypeOpaque, map[string][]byte{
		"azure_client_id":            []byte(identity.ClientID),
		"azure_federated_token_file": []byte(component.CloudTokenFile),
		"azure_region":               []byte(azure.Location),
		"azure_resource_prefix":      []byte(p.cluster + "-" + p.infraID),
		"azure_resourcegroup":        []byte(azure.ResourceGroupName),
		"azure_subscription_id":      []byte(azure.SubscriptionID),
		"azure_tenant_id":            []byte(azure.TenantID),
	})
}
