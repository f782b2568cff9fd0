package cloudprovider

import (
	"encoding/json"
	"fmt"
	"strconv"

	hyperv1 "github.com/hypershift-on-azure/hypershift/api/v1beta1"
	"github.com/hypershift-on-azure/hypershift/internal/azure"
	"github.com/hypershift-on-azure/hypershift/internal/azure/tags"
	"github.com/hypershift-on-azure/hypershift/internal/component"
)

const (
	probeShared   = "shared"
	probeNodePort = "servicenodeport"

	vmTypeStandard = "standard"
)

// cloudConfig is cloud.conf; every key is written, also when it is empty, save the last five.
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

	// VMType is standard for who makes something in Azure: machines are virtual machines of no scale set. Without it the cloud provider lists
	// scale sets when it takes a balancer away, which its role does not allow, and leaves the balancer.
	VMType                 string            `json:"vmType,omitempty"`
	UserAssignedIdentityID string            `json:"userAssignedIdentityID,omitempty"`
	SharedProbePath        string            `json:"clusterServiceSharedLoadBalancerHealthProbePath,omitempty"`
	SharedProbePort        int32             `json:"clusterServiceSharedLoadBalancerHealthProbePort,omitempty"`
	TagsMap                map[string]string `json:"tagsMap,omitempty"`
}

// Config renders cloud.conf: forNodes is the copy in the ConfigMap, the other one serves the controller manager.
func Config(hcp *hyperv1.HostedControlPlane, forNodes bool) (string, error) {
	platform := hcp.Spec.Platform.Azure
	config := cloudConfig{
		Cloud: platform.Cloud, TenantID: platform.TenantID, SubscriptionID: platform.SubscriptionID,
		ResourceGroup: platform.ResourceGroupName, Location: platform.Location,
		CloudProviderBackoff: true, CloudProviderBackoffDuration: 6, UseInstanceMetadata: true,
		LoadBalancerSKU: "standard", DisableOutboundSNAT: true, LoadBalancerName: hcp.Spec.InfraID,
	}
	vnet, err := azure.ParseIDOf(platform.VnetID, "Microsoft.Network/virtualNetworks")
	if err != nil {
		return "", err
	}
	subnet, err := azure.ParseIDOf(platform.SubnetID, "Microsoft.Network/virtualNetworks/subnets")
	if err != nil {
		return "", err
	}
	securityGroup, err := azure.ParseIDOf(platform.SecurityGroupID, "Microsoft.Network/networkSecurityGroups")
	if err != nil {
		return "", err
	}
	config.VnetResourceGroup, config.VnetName, config.SubnetName = vnet.ResourceGroup, vnet.Name, subnet.Name
	config.SecurityGroupResourceGroup, config.SecurityGroupName = securityGroup.ResourceGroup, securityGroup.Name
	identities := platform.AzureAuthenticationConfig.WorkloadIdentities
	if identities == nil {
		return "", fmt.Errorf("platform.azure.azureAuthenticationConfig has no workloadIdentities: only workload identity is supported")
	}
	config.UseFederatedWorkloadIdentity = true
	config.AADClientID = string(identities.CloudProvider.ClientID)
	config.AADFederatedTokenFile = component.CloudTokenFile
	if registry := platform.ContainerRegistry; forNodes && registry != nil && registry.Credentials != nil && registry.Credentials.ManagedIdentity != nil {
		config.UserAssignedIdentityID = registry.Credentials.ManagedIdentity.ResourceID
	}
	if err := config.setProbe(hcp.Annotations); err != nil {
		return "", err
	}
	if !forNodes { // nothing on a node makes anything in Azure
		config.VMType = vmTypeStandard
		if config.TagsMap, err = tags.Parse(hcp.Annotations[hyperv1.AzureTagsAnnotation]); err != nil {
			return "", fmt.Errorf("annotation %s: %w", hyperv1.AzureTagsAnnotation, err)
		}
	}
	return config.render()
}

// DriverConfig renders cloud.conf as the drivers of OpenShift's payloads read it: who they are, and where machines are.
func DriverConfig(platform *hyperv1.AzurePlatformSpec, identity hyperv1.WorkloadIdentity) (string, error) {
	vnet, err := azure.ParseIDOf(platform.VnetID, "Microsoft.Network/virtualNetworks")
	if err != nil {
		return "", err
	}
	return cloudConfig{
		Cloud: platform.Cloud, TenantID: platform.TenantID, SubscriptionID: platform.SubscriptionID,
		ResourceGroup: platform.ResourceGroupName, Location: platform.Location, VnetName: vnet.Name, VnetResourceGroup: vnet.ResourceGroup,
		UseFederatedWorkloadIdentity: true, AADClientID: string(identity.ClientID), AADFederatedTokenFile: component.CloudTokenFile,
		VMType: vmTypeStandard,
	}.render()
}

func (c cloudConfig) render() (string, error) {
	text, err := json.MarshalIndent(c, "", "  ")
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
