package cli

import (
	"fmt"

	"github.com/spf13/cobra"
)

// takeHandoff completes the flags from the --from file; what was typed wins.
func (f *clusterFlags) takeHandoff(cmd *cobra.Command) error {
	if f.handoff.path == "" {
		return nil
	}
	if err := f.handoff.mustOpen(); err != nil {
		return err
	}
	h := f.handoff.Handoff
	f.handoff.complete(cmd, &f.azureFlags, &f.cluster.Name, &f.infra.InfraID)
	if f.cluster.Name != h.Name && h.Name != "" {
		return fmt.Errorf("--name %s differs from name %s of --from; give every hosted cluster its own hand-off file", f.cluster.Name, h.Name)
	}
	if from := h.Issuer; from != nil {
		orElse(&f.cluster.Identity.IssuerURL, from.URL)
		orElse(&f.signingKey, from.PrivateKeyPath)
	}
	if from := h.Identities; from != nil && f.workloadIdentities == "" {
		f.infra.Identities = from.Clients
	}
	if from := h.DNS; from != nil {
		orElse(&f.cluster.Publishing.ExternalDNSDomain, from.Zone)
	}
	if from := h.Infra; from != nil && f.infraJSON == "" {
		f.fromInfra, f.infraJSON = from, f.handoff.path
		orElse(&f.infra.BaseDomain, from.BaseDomain)
	}
	return nil
}
