package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
)

// infraID is that of the hosted cluster: no two may share one, nor a resource group.
func (b *bench) infraID() string { return b.name + "-infra" }

func (b *bench) infraFile() string { return b.work + "/" + b.name + "-infra.yaml" }

// identitiesFile is that of the demo, whose identities all of the clusters have.
func (b *bench) identitiesFile() string { return b.work + "/workload-identities.json" }

// createInfra makes the groups, the network and the zone of the hosted cluster.
func (b *bench) createInfra(ctx context.Context) error {
	return hypershift(ctx, "create", "infra", "azure", "--name", b.name, "--infra-id", b.infraID(), "--azure-creds", os.Getenv("AZURE_CREDS"),
		"--location", os.Getenv("LOCATION"), "--base-domain", os.Getenv("BASE_DOMAIN"), "--workload-identities-file", b.identitiesFile(),
		"--assign-identity-roles", "--dns-zone-rg-name", "os4-common", "--output-file", b.infraFile())
}

// destroyInfra takes away what createInfra has made.
func (b *bench) destroyInfra(ctx context.Context) error {
	return hypershift(ctx, "destroy", "infra", "azure", "--name", b.name, "--infra-id", b.infraID(), "--azure-creds", os.Getenv("AZURE_CREDS"),
		"--dns-zone-rg-name", "os4-common", "--yes")
}

// hypershift runs a command of the command line; its error has what the command said.
func hypershift(ctx context.Context, args ...string) error {
	if said, err := exec.CommandContext(ctx, "hypershift", args...).CombinedOutput(); err != nil {
		return fmt.Errorf("hypershift %s %s: %w: %s", args[0], args[1], err, said)
	}
	return nil
}
