package cluster

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
)

const (
	hostVMSize  = "Standard_D32s_v5" // the largest that the embedded Azure sells
	nicName     = NodeName + "-nic"
	vnetName    = "mgmt-vnet"
	nsgName     = "mgmt-nsg"
	subnetName  = "default"
	apiNetwork  = "2024-05-01"
	apiCompute  = "2024-07-01"
	apiDNS      = "2018-05-01"
	apiResource = "2021-04-01"
	// nobodysKey satisfies Azure, which wants one on each machine; its private half is gone.
	nobodysKey = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIPF52JpL9DBh2zzsNdk+VQYCaTWQvH39azB/wYJnWj0p"
)

func groupID(group string) string {
	return "/subscriptions/" + SubscriptionID + "/resourceGroups/" + group
}

func networkID(kind, name string) string {
	return groupID(ManagementGroup) + "/providers/Microsoft.Network/" + kind + "/" + name
}

func hostVMID() string {
	return groupID(ManagementGroup) + "/providers/Microsoft.Compute/virtualMachines/" + NodeName
}

// NodeProviderID is the name of the management node in Azure.
func NodeProviderID() string { return "azure://" + hostVMID() }

// armObject is one resource.
type armObject struct {
	id, version string
	body        map[string]any
}

type object = map[string]any

func ref(id string) object { return object{"id": id} }

// azureObjects is what a subscription has before anyone works with it: the
// domain, and the management cluster's own resources. Each comes after those
// it refers to.
func azureObjects() []armObject {
	zone := func(group, name string) armObject {
		return armObject{groupID(group) + "/providers/Microsoft.Network/dnsZones/" + name, apiDNS, object{"location": "global"}}
	}
	return []armObject{
		{groupID(ManagementGroup), apiResource, object{"location": Location}},
		{groupID(BaseDomainGroup), apiResource, object{"location": Location}},
		zone(BaseDomainGroup, BaseDomain),
		zone(ManagementGroup, ManagementDomain),
		{networkID("networkSecurityGroups", nsgName), apiNetwork, object{"location": Location, "properties": object{}}},
		{networkID("virtualNetworks", vnetName), apiNetwork, object{"location": Location, "properties": object{
			"addressSpace": object{"addressPrefixes": []string{managementPrefix}},
			"subnets": []any{object{"name": subnetName, "properties": object{
				"addressPrefix":        managementPrefix,
				"networkSecurityGroup": ref(networkID("networkSecurityGroups", nsgName))}}},
		}}},
		{networkID("networkInterfaces", nicName), apiNetwork, object{"location": Location, "properties": object{
			"ipConfigurations": []any{object{"name": "primary", "properties": object{
				"primary": true, "privateIPAllocationMethod": "Static", "privateIPAddress": EdgeIP, "privateIPAddressVersion": "IPv4",
				"subnet": ref(networkID("virtualNetworks", vnetName) + "/subnets/" + subnetName)}}},
		}}},
		{hostVMID(), apiCompute, object{
			"location": Location, "tags": object{"sandbox-host": "true"},
			"properties": object{
				"hardwareProfile": object{"vmSize": hostVMSize},
				"osProfile": object{"computerName": NodeName, "adminUsername": "core", "linuxConfiguration": object{"disablePasswordAuthentication": true,
					"ssh": object{"publicKeys": []any{object{"path": "/home/core/.ssh/authorized_keys", "keyData": nobodysKey}}}}},
				"storageProfile": object{"imageReference": object{"publisher": "Debian", "offer": "debian-12", "sku": "12-gen2", "version": "latest"},
					"osDisk": object{"name": NodeName + "-os", "createOption": "FromImage", "osType": "Linux"}},
				"networkProfile": object{"networkInterfaces": []any{object{
					"id": networkID("networkInterfaces", nicName), "properties": object{"primary": true}}}},
			}}},
	}
}

// appsRecord leads the names of Routes to their router.
func appsRecord() armObject {
	apps := strings.TrimSuffix(AppsDomain, "."+ManagementDomain)
	return armObject{networkID("dnsZones", ManagementDomain) + "/A/*." + apps, apiDNS,
		object{"properties": object{"TTL": 30, "ARecords": []any{object{"ipv4Address": RouterIP}}}}}
}

// baseObjects are those that exist without a management cluster.
func baseObjects() []armObject { return azureObjects()[:3] }

// BootstrapAzure creates the resource groups and the domain, and with a
// management cluster those resources that it consists of.
func BootstrapAzure(ctx context.Context, c Config, withCluster bool) error {
	objects := baseObjects()
	if withCluster {
		objects = append(azureObjects(), issuerObjects()...)
		if !c.Plain {
			objects = append(objects, appsRecord())
		}
	}
	client, err := newARM(ctx, c, armScope)
	if err != nil {
		return err
	}
	for _, o := range objects {
		var present json.RawMessage
		if client.call(ctx, "GET", o.id, o.version, nil, &present) == nil {
			// What the cloud-controller-manager or a person made of it stays.
			continue
		}
		// What comes after does not wait for the operation to end: nobody works with it yet.
		if err := client.call(ctx, http.MethodPut, o.id, o.version, o.body, nil); err != nil {
			return fmt.Errorf("create %s: %w", o.id[strings.LastIndex(o.id, "/")+1:], err)
		}
	}
	return nil
}

func (c Config) cloudConfigPath() string { return c.cluster("cloud.conf") }

// writeCloudConfig configures the management cluster's cloud-controller-manager.
func (c Config) writeCloudConfig() error {
	secret, err := ClientSecret(c.Dir)
	if err != nil {
		return err
	}
	text, err := json.MarshalIndent(object{
		"cloud": "AzurePublicCloud", "tenantId": TenantID, "subscriptionId": SubscriptionID,
		"aadClientId": ClientID, "aadClientSecret": secret,
		"resourceGroup": ManagementGroup, "location": Location,
		"vnetName": vnetName, "vnetResourceGroup": ManagementGroup, "subnetName": subnetName,
		"securityGroupName": nsgName, "securityGroupResourceGroup": ManagementGroup,
		"vmType": "standard", "loadBalancerSku": "standard", "disableOutboundSNAT": true,
		"useInstanceMetadata": false, "cloudProviderBackoff": true,
	}, "", "  ")
	if err != nil {
		return err
	}
	return writeIfChanged(c.cloudConfigPath(), text, 0o600)
}
