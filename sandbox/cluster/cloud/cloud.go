// Package cloud is what the sandbox itself has in the embedded Azure: its service principal's credentials, the domain, and the
// resources of the management cluster.
package cloud

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/hypershift-on-azure/hypershift/sandbox/cluster/names"
	"github.com/hypershift-on-azure/hypershift/sandbox/cluster/wholefile"
)

// HostVMSize is the size of the management node, the largest that the embedded Azure sells.
const HostVMSize = "Standard_D32s_v5"

const (
	nicName     = names.NodeName + "-nic"
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
	return "/subscriptions/" + names.SubscriptionID + "/resourceGroups/" + group
}

func networkID(kind, name string) string {
	return groupID(names.ManagementGroup) + "/providers/Microsoft.Network/" + kind + "/" + name
}

func hostVMID() string {
	return groupID(names.ManagementGroup) + "/providers/Microsoft.Compute/virtualMachines/" + names.NodeName
}

// NodeProviderID is the name of the management node in Azure.
func NodeProviderID() string { return "azure://" + hostVMID() }

// object is JSON.
type object = map[string]any

// armObject is one resource.
type armObject struct {
	id, version string
	body        map[string]any
}

func ref(id string) object { return object{"id": id} }

// azureObjects is what a subscription has before anyone works with it: the
// domain, and the management cluster's own resources. Each comes after those
// it refers to.
func azureObjects() []armObject {
	zone := func(group, name string) armObject {
		return armObject{groupID(group) + "/providers/Microsoft.Network/dnsZones/" + name, apiDNS, object{"location": "global"}}
	}
	return []armObject{
		{groupID(names.ManagementGroup), apiResource, object{"location": names.Location}},
		{groupID(names.BaseDomainGroup), apiResource, object{"location": names.Location}},
		zone(names.BaseDomainGroup, names.BaseDomain),
		zone(names.ManagementGroup, names.ManagementDomain),
		{networkID("networkSecurityGroups", nsgName), apiNetwork, object{"location": names.Location, "properties": object{}}},
		{networkID("virtualNetworks", vnetName), apiNetwork, object{"location": names.Location, "properties": object{
			"addressSpace": object{"addressPrefixes": []string{names.ManagementPrefix}},
			"subnets": []any{object{"name": subnetName, "properties": object{
				"addressPrefix":        names.ManagementPrefix,
				"networkSecurityGroup": ref(networkID("networkSecurityGroups", nsgName))}}},
		}}},
		{networkID("networkInterfaces", nicName), apiNetwork, object{"location": names.Location, "properties": object{
			"ipConfigurations": []any{object{"name": "primary", "properties": object{
				"primary": true, "privateIPAllocationMethod": "Static", "privateIPAddress": names.EdgeIP, "privateIPAddressVersion": "IPv4",
				"subnet": ref(networkID("virtualNetworks", vnetName) + "/subnets/" + subnetName)}}},
		}}},
		{hostVMID(), apiCompute, object{
			"location": names.Location, "tags": object{"sandbox-host": "true"},
			"properties": object{
				"hardwareProfile": object{"vmSize": HostVMSize},
				"osProfile": object{"computerName": names.NodeName, "adminUsername": "core", "linuxConfiguration": object{"disablePasswordAuthentication": true,
					"ssh": object{"publicKeys": []any{object{"path": "/home/core/.ssh/authorized_keys", "keyData": nobodysKey}}}}},
				"storageProfile": object{"imageReference": object{"publisher": "Debian", "offer": "debian-12", "sku": "12-gen2", "version": "latest"},
					"osDisk": object{"name": names.NodeName + "-os", "createOption": "FromImage", "osType": "Linux"}},
				"networkProfile": object{"networkInterfaces": []any{object{
					"id": networkID("networkInterfaces", nicName), "properties": object{"primary": true}}}},
			}}},
	}
}

// appsRecord leads the names of Routes to their router.
func appsRecord() armObject {
	apps := strings.TrimSuffix(names.AppsDomain, "."+names.ManagementDomain)
	return armObject{networkID("dnsZones", names.ManagementDomain) + "/A/*." + apps, apiDNS,
		object{"properties": object{"TTL": 30, "ARecords": []any{object{"ipv4Address": names.RouterIP}}}}}
}

// baseObjects are those that exist without a management cluster.
func baseObjects() []armObject { return azureObjects()[:3] }

// Bootstrap creates the resource groups and the domain.
func Bootstrap(ctx context.Context, dir string) error {
	return create(ctx, dir, baseObjects())
}

// BootstrapCluster creates what there is without a management cluster, and the resources that one consists of; withRoutes, the
// record that leads the names of Routes to their router.
func BootstrapCluster(ctx context.Context, dir string, withRoutes bool) error {
	objects := append(azureObjects(), issuerObjects()...)
	if withRoutes {
		objects = append(objects, appsRecord())
	}
	return create(ctx, dir, objects)
}

// create creates those of the objects that are not there.
func create(ctx context.Context, dir string, objects []armObject) error {
	client, err := newARM(ctx, dir, armScope)
	if err != nil {
		return err
	}
	return client.createAll(ctx, objects)
}

func (a *arm) createAll(ctx context.Context, objects []armObject) error {
	for _, o := range objects {
		if err := a.create(ctx, o); err != nil {
			return fmt.Errorf("create %s: %w", o.id[strings.LastIndex(o.id, "/")+1:], err)
		}
	}
	return nil
}

// create creates an object, unless it is there: what the cloud-controller-manager or a person made of it stays.
func (a *arm) create(ctx context.Context, o armObject) error {
	var missing *statusError
	if err := a.call(ctx, http.MethodGet, o.id, o.version, nil, nil); !errors.As(err, &missing) || missing.status != http.StatusNotFound {
		return err
	}
	// What comes after does not wait for the operation to end: nobody works with it yet.
	return a.call(ctx, http.MethodPut, o.id, o.version, o.body, nil)
}

// WriteProviderConfig configures the management cluster's cloud-controller-manager of the sandbox in dir, in the file path.
func WriteProviderConfig(dir, path string) error {
	secret, err := ClientSecret(dir)
	if err != nil {
		return err
	}
	text, err := json.MarshalIndent(object{
		"cloud": "AzurePublicCloud", "tenantId": names.TenantID, "subscriptionId": names.SubscriptionID,
		"aadClientId": names.ClientID, "aadClientSecret": secret,
		"resourceGroup": names.ManagementGroup, "location": names.Location,
		"vnetName": vnetName, "vnetResourceGroup": names.ManagementGroup, "subnetName": subnetName,
		"securityGroupName": nsgName, "securityGroupResourceGroup": names.ManagementGroup,
		"vmType": "standard", "loadBalancerSku": "standard", "disableOutboundSNAT": true,
		"useInstanceMetadata": false, "cloudProviderBackoff": true,
	}, "", "  ")
	if err != nil {
		return err
	}
	return wholefile.WriteIfChanged(path, text, 0o600)
}
