package sandbox

import (
	"context"
	"path/filepath"

	"github.com/hypershift-on-azure/hypershift/sandbox/azure"
	"github.com/hypershift-on-azure/hypershift/sandbox/cluster"
	"github.com/hypershift-on-azure/hypershift/sandbox/cluster/cloud"
	"github.com/hypershift-on-azure/hypershift/sandbox/cluster/names"
)

// runAzure serves the embedded Azure.
func runAzure(ctx context.Context, c cluster.Config, edge bool) error {
	secret, err := cloud.ClientSecret(c.Dir)
	if err != nil {
		return err
	}
	return azure.Run(ctx, azureConfig(c, secret, edge))
}

// azureConfig has it listen on 127.0.0.1, and with edge also where pods and
// virtual machines reach it.
func azureConfig(c cluster.Config, secret string, edge bool) azure.Config {
	config := azure.Config{
		Dir:       filepath.Join(c.Dir, "azure"),
		ProxyAddr: "127.0.0.1:" + names.ProxyPort,
		CACert:    c.CA(), CAKey: filepath.Join(c.Dir, "pki", "ca.key"),
		Subscription: names.SubscriptionID, Tenant: names.TenantID, Location: names.Location,
		ServicePrincipal: azure.ServicePrincipal{ClientID: names.ClientID, Secret: secret},
		Profile:          c.AzureProfile,
		Forward: map[string]string{
			"quay.io": names.RegistryAddr, "*.quay.io": names.RegistryAddr, names.OwnRegistryHost: names.OwnRegistryAddr,
		},
	}
	if edge {
		config.ExtraProxyAddrs = []string{names.EdgeIP + ":" + names.ProxyPort}
		config.EdgeAddr, config.DNSAddr = names.EdgeIP+":443", names.EdgeIP+":53"
	}
	return config
}
