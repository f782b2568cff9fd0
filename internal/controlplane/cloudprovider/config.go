package cloudprovider

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	hyperv1 "github.com/hypershift-on-azure/hypershift/api/v1beta1"
	"github.com/hypershift-on-azure/hypershift/internal/component"
)

const (
	probeShared   = "shared"
	probeNodePort = "servicenodeport"
)

// cloudConfig is cloud.conf; every key is written, also when it is empty, save the last three.
type cloudConfig struct {
	Cloud                        string `json:"cloud"`
	TenantID                     string `json:"tenantId"`
	UseManagedIdentityExtension  bool   `json:"useManagedIdentityExtension"`
	SubscriptionID               string `json:"subscriptionId"`
	AADClientID                  string `json:"aadClientId"`
	AADClientCertPath            string `json:"aadClientCertPath"`
	AADMSIDataPlaneIdentityPath  string `json:"aadMSIDataPlaneIdentityPath"`
	AADClientSecret              string `json:"aadClientSecret"`
	ResourceGroup                string `json:"resourceGroup"`
	Location                     string `json:"location"`
	VnetName                     string `json:"vnetName"`
	VnetResourceGroup            string `json:"vnetResourceGroup"`
	SubnetName                   string `json:"subnetName"`
	SecurityGroupName            string `json:"securityGroupName"`
	SecurityGroupResourceGroup   string `json:"securityGroupResourceGroup"`
	RouteTableName               string `json:"routeTableName"`
	CloudProviderBackoff         bool   `json:"cloudProviderBackoff"`
	CloudProviderBackoffDuration int    `json:"cloudProviderBackoffDuration"`
	UseInstanceMetadata          bool   `json:"useInstanceMetadata"`
	LoadBalancerSKU              string `json:"loadBalancerSku"`
	DisableOutboundSNAT          bool   `json:"disableOutboundSNAT"`
	LoadBalancerName             string `json:"loadBalancerName"`
	UseFederatedWorkloadIdentity bool   `json:"useFederatedWorkloadIdentityExtension"`
	AADFederatedTokenFile        string `json:"aadFederatedTokenFile"`
	HealthProbeMode              string `json:"clusterServiceLoadBalancerHealthProbeMode"`

	UserAssignedIdentityID string `json:"userAssignedIdentityID,omitempty"`
	SharedProbePath        string `json:"clusterServiceSharedLoadBalancerHealthProbePath,omitempty"`
	SharedProbePort        int32  `json:"clusterServiceSharedLoadBalancerHealthProbePort,omitempty"`
}

// Config renders cloud.conf: forNodes is the copy in the ConfigMap, the other one serves the controller manager.
func Config(hcp *hyperv1.HostedControlPlane, forNodes bool) (string, error) {
	azure := hcp.Spec.Platform.Azure
	config := cloudConfig{
		Cloud: azure.Cloud, TenantID: azure.TenantID, SubscriptionID: azure.SubscriptionID,
		ResourceGroup: azure.ResourceGroupName, Location: azure.Location,
		CloudProviderBackoff: true, CloudProviderBackoffDuration: 6, UseInstanceMetadata: true,
		LoadBalancerSKU: "standard", DisableOutboundSNAT: true, LoadBalancerName: hcp.Spec.InfraID,
	}
	var err error
	if config.VnetResourceGroup, config.VnetName, _, err = parseID(azure.VnetID); err != nil {
		return "", err
	}
	if _, _, config.SubnetName, err = parseID(azure.SubnetID); err != nil {
		return "", err
	}
	if config.SecurityGroupResourceGroup, config.SecurityGroupName, _, err = parseID(azure.SecurityGroupID); err != nil {
		return "", err
	}
	identities := azure.AzureAuthenticationConfig.WorkloadIdentities
	if identities == nil {
		return "", fmt.Errorf("platform.azure.azureAuthenticationConfig has no workloadIdentities: only workload identity is supported")
	}
	config.UseFederatedWorkloadIdentity = true
	config.AADClientID = string(identities.CloudProvider.ClientID)
	config.AADFederatedTokenFile = component.CloudTokenFile
	if registry := azure.ContainerRegistry; forNodes && registry != nil && registry.Credentials != nil && registry.Credentials.ManagedIdentity != nil {
		config.UserAssignedIdentityID = registry.Credentials.ManagedIdentity.ResourceID
	}
	if err := config.setProbe(hcp.Annotations); err != nil {
		return "", err
	}
	text, err := json.MarshalIndent(config, "", "  ")
	if err != nil {
		return "", fmt.Errorf("render cloud.conf: %w", err)
	}
	return string(text), nil
}

func (c *cloudConfig) setProbe(annotations map[string]string) error {
	switch mode := annotations[hyperv1.LoadBalancerProbeModeAnnotation]; mode {
	case "", probeShared:
		c.HealthProbeMode = probeShared
	case probeNodePort:
		c.HealthProbeMode = probeNodePort
		return nil
	default:
		return fmt.Errorf("annotation %s=%q: use %s or %s", hyperv1.LoadBalancerProbeModeAnnotation, mode, probeShared, probeNodePort)
	}
	c.SharedProbePath = annotations[hyperv1.SharedLoadBalancerProbePathAnnotation]
	if text := annotations[hyperv1.SharedLoadBalancerProbePortAnnotation]; text != "" {
		port, err := strconv.ParseUint(text, 10, 16)
		if err != nil || port == 0 {
			return fmt.Errorf("annotation %s=%q is not a port between 1 and 65535", hyperv1.SharedLoadBalancerProbePortAnnotation, text)
		}
		c.SharedProbePort = int32(port)
	}
	return nil
}

// parseID splits an ARM id into resource group, resource, and child resource if there is one.
func parseID(id string) (group, name, child string, err error) {
	parts := strings.Split(strings.Trim(id, "/"), "/")
	if len(parts) < 8 || !strings.EqualFold(parts[0], "subscriptions") || !strings.EqualFold(parts[2], "resourceGroups") {
		return "", "", "", fmt.Errorf("%q is not the ARM id of a resource in a resource group", id)
	}
	if len(parts) >= 10 {
		child = parts[9]
	}
	return parts[3], parts[7], child, nil
}
