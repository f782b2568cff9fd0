package hostedcluster

import (
	"context"
	"errors"
	"fmt"
	"net/netip"

	"github.com/google/uuid"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/util/validation"

	hyperv1 "github.com/hypershift-on-azure/hypershift/api/v1beta1"
)

// checkSupport asks whether this operator on this management cluster can run such a cluster at all. Only a change of the
// HostedCluster or of the operator helps, so nothing is retried.
func (p *pass) checkSupport(context.Context) error {
	problem := unsupported(p.hc, p.Capabilities)
	if problem == "" {
		p.conditions().True(hyperv1.SupportedHostedCluster, hyperv1.AsExpectedReason, "The cluster is supported by this operator.")
		return nil
	}
	p.conditions().False(hyperv1.SupportedHostedCluster, hyperv1.UnsupportedHostedClusterReason, problem)
	return &waiting{what: problem}
}

func unsupported(hc *hyperv1.HostedCluster, capabilities Capabilities) string {
	switch hc.Spec.Platform.Type {
	case hyperv1.AzurePlatform, hyperv1.NonePlatform:
	default:
		return fmt.Sprintf("Platform %s is not supported; use Azure or None.", hc.Spec.Platform.Type)
	}
	if azure := hc.Spec.Platform.Azure; azure != nil && azure.AzureAuthenticationConfig.WorkloadIdentities == nil {
		return "Managed identities are not supported; use azureAuthenticationConfigType WorkloadIdentities."
	}
	for _, service := range hc.Spec.Services {
		if service.ServicePublishingStrategy.Type == hyperv1.Route && !capabilities.Routes {
			return fmt.Sprintf("Service %s is to be published by Route, but the management cluster does not serve route.openshift.io.", service.Service)
		}
	}
	return ""
}

// checkConfiguration reports everything that is wrong at once, so that the user does not find it out error by error.
func (p *pass) checkConfiguration(ctx context.Context) error {
	problems := invalidConfiguration(p.hc)
	if err := p.checkSigningKey(ctx); err != nil {
		problems = append(problems, err)
	}
	if err := errors.Join(problems...); err != nil {
		p.conditions().False(hyperv1.ValidHostedClusterConfiguration, hyperv1.InvalidConfigurationReason, err.Error())
		return err
	}
	p.conditions().True(hyperv1.ValidHostedClusterConfiguration, hyperv1.AsExpectedReason, "The configuration is valid.")
	return nil
}

func invalidConfiguration(hc *hyperv1.HostedCluster) []error {
	var problems []error
	if _, err := uuid.Parse(hc.Spec.ClusterID); err != nil {
		problems = append(problems, fmt.Errorf("spec.clusterID %q is not a UUID", hc.Spec.ClusterID))
	}
	if hc.Spec.Platform.Type == hyperv1.AzurePlatform {
		problems = append(problems, invalidAzure(hc.Spec.Platform.Azure)...)
	}
	hosts := map[string]hyperv1.ServiceType{}
	for _, service := range hc.Spec.Services {
		host := publishedHost(service.ServicePublishingStrategy)
		if other, taken := hosts[host]; host != "" && taken {
			problems = append(problems, fmt.Errorf("services %s and %s have the same hostname %q; give each its own", other, service.Service, host))
		}
		hosts[host] = service.Service
	}
	for key, value := range hc.Spec.Labels {
		if len(validation.IsQualifiedName(key)) > 0 || len(validation.IsValidLabelValue(value)) > 0 {
			problems = append(problems, fmt.Errorf("spec.labels: %q=%q is not a valid label", key, value))
		}
	}
	return append(problems, overlaps(hc.Spec.Networking)...)
}

func invalidAzure(azure *hyperv1.AzurePlatformSpec) []error {
	if azure == nil {
		return []error{errors.New("spec.platform.azure is required when spec.platform.type is Azure")}
	}
	var problems []error
	for field, resource := range map[string][2]string{
		"vnetID":          {azure.VnetID, "virtualNetworks"},
		"subnetID":        {azure.SubnetID, "subnets"},
		"securityGroupID": {azure.SecurityGroupID, "networkSecurityGroups"},
	} {
		if _, err := parseResourceID(resource[0], resource[1]); err != nil {
			problems = append(problems, fmt.Errorf("spec.platform.azure.%s: %w", field, err))
		}
	}
	return problems
}

func publishedHost(strategy hyperv1.ServicePublishingStrategy) string {
	switch {
	case strategy.Route != nil:
		return string(strategy.Route.Hostname)
	case strategy.LoadBalancer != nil:
		return string(strategy.LoadBalancer.Hostname)
	}
	return ""
}

// overlaps compares every network with every other.
func overlaps(networking hyperv1.ClusterNetworking) []error {
	type network struct {
		field  string
		prefix netip.Prefix
	}
	var networks []network
	var problems []error
	add := func(field string, cidr hyperv1.CIDR) {
		prefix, err := netip.ParsePrefix(string(cidr))
		if err != nil {
			problems = append(problems, fmt.Errorf("spec.networking.%s: %q is not a CIDR", field, cidr))
			return
		}
		for _, other := range networks {
			if other.prefix.Overlaps(prefix) {
				problems = append(problems, fmt.Errorf("spec.networking: %s %s overlaps %s %s", field, prefix, other.field, other.prefix))
			}
		}
		networks = append(networks, network{field, prefix})
	}
	for _, entry := range networking.MachineNetwork {
		add("machineNetwork", entry.CIDR)
	}
	for _, entry := range networking.ClusterNetwork {
		add("clusterNetwork", entry.CIDR)
	}
	for _, entry := range networking.ServiceNetwork {
		add("serviceNetwork", entry.CIDR)
	}
	return problems
}

// checkSigningKey reads the user's signing key; the copy is made from the same parse.
func (p *pass) checkSigningKey(ctx context.Context) error {
	if p.hc.Spec.ServiceAccountSigningKey == nil {
		return nil
	}
	secret, err := p.readSecret(ctx, p.hc.Spec.ServiceAccountSigningKey.Name)
	if apierrors.IsNotFound(err) {
		return fmt.Errorf("spec.serviceAccountSigningKey: Secret %s does not exist; create it", p.hc.Spec.ServiceAccountSigningKey.Name)
	}
	if err != nil {
		return err
	}
	if _, err := signingKeyData(secret.Data); err != nil {
		return fmt.Errorf("spec.serviceAccountSigningKey: Secret %s: %w", secret.Name, err)
	}
	return nil
}
