package sandbox

import (
	"context"
	"path/filepath"

	"github.com/hypershift-on-azure/hypershift/sandbox/azure"
	"github.com/hypershift-on-azure/hypershift/sandbox/cluster"
)

// runAzure serves the embedded Azure.
func runAzure(ctx context.Context, c cluster.Config, edge bool) error {
	secret, err := cluster.ClientSecret(c.Dir)
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
		ProxyAddr: "127.0.0.1:" + cluster.ProxyPort,
		CACert:    c.CA(), CAKey: filepath.Join(c.Dir, "pki", "ca.key"),
		Subscription: cluster.SubscriptionID, Tenant: cluster.TenantID, Location: cluster.Location,
		ServicePrincipal: azure.ServicePrincipal{ClientID: cluster.ClientID, Secret: secret},
		Profile:          c.AzureProfile,
		Forward: map[string]string{
			"quay.io": cluster.RegistryAddr, "*.quay.io": cluster.RegistryAddr, cluster.OwnRegistryHost: cluster.OwnRegistryAddr,
		},
	}
	if edge {
		config.ExtraProxyAddrs = []string{cluster.EdgeIP + ":" + cluster.ProxyPort}
		config.EdgeAddr, config.DNSAddr = cluster.EdgeIP+":443", cluster.EdgeIP+":53"
	}
	return config
}
