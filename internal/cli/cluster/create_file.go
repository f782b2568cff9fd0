package cluster

import (
	"fmt"

	"github.com/spf13/pflag"

	"github.com/hypershift-on-azure/hypershift/internal/cli/clusterfile"
	"github.com/hypershift-on-azure/hypershift/internal/cli/printing"
)

// FileFlags are the flags whose names are the members of the cluster file.
func FileFlags() *pflag.FlagSet { return NewCreateAzureCommand(nil, nil, nil).Flags() }

// fill sets the flags that were not typed to what the file of --file says, by which they count as typed.
func (c *creation) fill(path string) (err error) {
	if path == "" {
		return nil
	}
	if c.filled, err = clusterfile.Fill(c.cmd.Flags(), path); err != nil {
		return err
	}
	if err := c.cmd.ValidateFlagGroups(); err != nil {
		return fmt.Errorf("--file %s and the flags together: %w", path, err)
	}
	return nil
}

// tellOrigins prints where each value comes from: a flag, the file, the hand-off, a default, or that it is made up.
func (c *creation) tellOrigins(r resolved) error {
	t := r.typed
	table := printing.Table{Head: []string{"VALUE", "IS", "FROM"}}
	handed := map[string]string{
		"name": t.cluster.Name, "location": t.Location, "cloud": t.Cloud, "base-domain": t.infra.BaseDomain, "external-dns-domain": t.cluster.Publishing.ExternalDNSDomain,
		"oidc-issuer-url": t.cluster.Identity.IssuerURL, "sa-token-issuer-private-key-path": t.signingKey, "infra-id": t.infra.InfraID,
	}
	known := map[string]bool{}
	for _, o := range clusterfile.Origins(c.cmd.Flags(), t.file, c.filled) {
		if from := handed[o.Flag]; from != "" && from != o.Value {
			o.Value, o.From = from, c.record.Path
		}
		known[o.Flag] = true
		table.Rows = append(table.Rows, printing.Plain(o.Flag, o.Value, o.From))
	}
	c.cmd.Flags().VisitAll(func(f *pflag.Flag) {
		if value := handed[f.Name]; value != "" && !known[f.Name] {
			table.Rows = append(table.Rows, printing.Plain(f.Name, value, c.record.Path))
			known[f.Name] = true
		}
	})
	if !known["infra-id"] && r.infra.InfraID != "" {
		table.Rows = append(table.Rows, printing.Plain("infra-id", r.infra.InfraID, "made up"))
	}
	out := c.cmd.OutOrStdout()
	fmt.Fprintln(out)
	return table.Print(out, printing.PainterFor(out))
}
