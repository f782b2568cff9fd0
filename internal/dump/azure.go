package dump

import (
	"context"
	"encoding/json"
	"fmt"
	"path"

	"sigs.k8s.io/yaml"

	hyperv1 "github.com/hypershift-on-azure/hypershift/api/v1beta1"
	"github.com/hypershift-on-azure/hypershift/internal/azure"
)

// Azure is what is asked for resources there.
type Azure interface {
	Get(ctx context.Context, id, apiVersion string) (*azure.Resource, error)
	List(ctx context.Context, path, apiVersion, filter string) ([]azure.Resource, error)
}

const (
	apiNetwork = "2023-11-01"
	apiCompute = "2024-03-01"
	apiDisks   = "2023-10-02"
)

// collections are what a hosted cluster has in its own resource group, with the api version that they are asked in.
var collections = []struct{ kind, api string }{
	{"Microsoft.Compute/virtualMachines", apiCompute}, {"Microsoft.Compute/disks", apiDisks},
	{"Microsoft.Network/networkInterfaces", apiNetwork}, {"Microsoft.Network/loadBalancers", apiNetwork}, {"Microsoft.Network/publicIPAddresses", apiNetwork},
	{"Microsoft.Network/networkSecurityGroups", apiNetwork}, {"Microsoft.Network/virtualNetworks", apiNetwork},
}

// azure takes the cluster's resources as Azure has them. The groups of its network may be somebody else's: of those it takes what the cluster
// names.
func (d *dumper) azure(ctx context.Context, hc *hyperv1.HostedCluster) error {
	place := hc.Spec.Platform.Azure
	if d.Azure == nil || place == nil {
		return nil
	}
	group := "/subscriptions/" + place.SubscriptionID + "/resourceGroups/" + place.ResourceGroupName
	for _, c := range collections {
		found, err := d.Azure.List(ctx, group+"/providers/"+c.kind, c.api, "")
		if err != nil {
			if err := d.left(ctx, c.kind+" of resource group "+place.ResourceGroupName, err); err != nil {
				return err
			}
			continue
		}
		if err := d.resources(path.Base(c.kind), found); err != nil {
			return err
		}
	}
	for name, id := range map[string]string{"network": place.VnetID, "security-group": place.SecurityGroupID} {
		if id == "" {
			continue
		}
		found, err := d.Azure.Get(ctx, id, apiNetwork)
		if err != nil {
			if err := d.left(ctx, id, err); err != nil {
				return err
			}
			continue
		}
		if err := d.resources(name, []azure.Resource{*found}); err != nil {
			return err
		}
	}
	return nil
}

// resources writes what there is of one kind, without what a machine was given at its start.
func (d *dumper) resources(name string, found []azure.Resource) error {
	if len(found) == 0 {
		return nil
	}
	for i := range found {
		delete(found[i].Properties, "userData")
		if profile, ok := found[i].Properties["osProfile"].(map[string]any); ok {
			delete(profile, "customData")
			delete(profile, "adminPassword")
		}
	}
	text, err := json.Marshal(map[string]any{"items": found})
	if err == nil {
		text, err = yaml.JSONToYAML(text)
	}
	if err != nil {
		return fmt.Errorf("encode Azure's %s: %w", name, err)
	}
	return d.file(string(text), "azure", name+".yaml")
}
