package diskdriver

import (
	"encoding/json"
	"fmt"

	hyperv1 "github.com/hypershift-on-azure/hypershift/api/v1beta1"
	"github.com/hypershift-on-azure/hypershift/internal/azure"
	"github.com/hypershift-on-azure/hypershift/internal/component"
)

// vmType: machines are virtual machines of their own, and no scale set's.
const vmType = "standard"

// cloudConfig is what the driver reads of Azure: the keys of cloud.conf that are about machines and disks.
type cloudConfig struct {
	Cloud                        string `json:"cloud"`
	TenantID                     string `json:"tenantId"`
	SubscriptionID               string `json:"subscriptionId"`
	AADClientID                  string `json:"aadClientId"`
	ResourceGroup                string `json:"resourceGroup"`
	Location                     string `json:"location"`
	VnetName                     string `json:"vnetName"`
	VnetResourceGroup            string `json:"vnetResourceGroup"`
	VMType                       string `json:"vmType"`
	UseManagedIdentityExtension  bool   `json:"useManagedIdentityExtension"`
	UseInstanceMetadata          bool   `json:"useInstanceMetadata"`
	UseFederatedWorkloadIdentity bool   `json:"useFederatedWorkloadIdentityExtension"`
	AADFederatedTokenFile        string `json:"aadFederatedTokenFile"`
}

// config is Secret azure-disk-csi-config's cloud.conf: the disk identity, and where machines and disks are.
func config(platform *hyperv1.AzurePlatformSpec) (string, error) {
	vnet, err := azure.ParseIDOf(platform.VnetID, "Microsoft.Network/virtualNetworks")
	if err != nil {
		return "", err
	}
	text, err := json.MarshalIndent(cloudConfig{
		Cloud: platform.Cloud, TenantID: platform.TenantID, SubscriptionID: platform.SubscriptionID,
		AADClientID:   string(platform.AzureAuthenticationConfig.WorkloadIdentities.Disk.ClientID),
		ResourceGroup: platform.ResourceGroupName, Location: platform.Location, VnetName: vnet.Name, VnetResourceGroup: vnet.ResourceGroup,
		VMType: vmType, UseFederatedWorkloadIdentity: true, AADFederatedTokenFile: component.CloudTokenFile,
	}, "", "  ")
	if err != nil {
		return "", fmt.Errorf("render the driver's cloud.conf: %w", err)
	}
	return string(text), nil
}
