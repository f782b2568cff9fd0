package azure

import (
	"cmp"
	"fmt"
	"io"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/hypershift-on-azure/hypershift/internal/azure"
	"github.com/hypershift-on-azure/hypershift/internal/cli/azureflags"
	"github.com/hypershift-on-azure/hypershift/internal/cli/command"
	"github.com/hypershift-on-azure/hypershift/internal/cli/printing"
	"github.com/hypershift-on-azure/hypershift/internal/cli/progress"
	"github.com/hypershift-on-azure/hypershift/internal/provision/dns"
	"github.com/hypershift-on-azure/hypershift/internal/provision/handoff"
	"github.com/hypershift-on-azure/hypershift/internal/provision/identity"
	"github.com/hypershift-on-azure/hypershift/internal/provision/infra"
	"github.com/hypershift-on-azure/hypershift/internal/provision/verify"
)

// NewVerifyCommand is verify.
func NewVerifyCommand() *cobra.Command {
	return command.Parent("verify", "Check what was made for a hosted cluster",
		newVerifyAzureCommand())
}

// verifyFlags are the flags of verify azure as typed.
type verifyFlags struct {
	azureflags.Flags
	verify.Options
	handoff                                                               azureflags.HandoffFile
	name, infraID, issuerURL, key, identities, infraJSON, zone, zoneGroup string
}

func newVerifyAzureCommand() *cobra.Command {
	f := &verifyFlags{}
	cmd := &cobra.Command{
		Use:   "azure",
		Short: "Check issuer, identities, roles, infrastructure and DNS, exchanging a real token per identity",
		Long: `Looks again at everything that the hand-off file or the flags name, and changes nothing: the issuer's documents as anyone reads them,
the identities with issuer, subject and audience of their federated credentials, role assignments, infrastructure and the zone's delegation.
With the signing key it mints a token for each service account and has Azure exchange it. Exit status 1 when a check fails.`,
		Example: `  hypershift verify azure --from demo.yaml --azure-creds azure-credentials.json
  hypershift verify azure --azure-creds azure-credentials.json --oidc-issuer-url https://ACCOUNT.blob.core.windows.net/demo \
    --sa-token-issuer-private-key-path serviceaccount-signer.private --workload-identities-file workload-identities.json`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return f.run(cmd) },
	}
	f.Flags.Add(cmd)
	flags := cmd.Flags()
	flags.StringVarP(&f.Output, "output", "o", "", "print the checks as json or yaml")
	flags.StringVar(&f.name, "name", "", "name of the hosted cluster")
	flags.StringVar(&f.infraID, "infra-id", "", "infrastructure id")
	flags.StringVar(&f.issuerURL, "oidc-issuer-url", "", "issuer of the hosted cluster's tokens")
	flags.StringVar(&f.key, "sa-token-issuer-private-key-path", "", "private key of the issuer")
	flags.StringVar(&f.identities, "workload-identities-file", "", "client ids of the workload identities")
	flags.StringVar(&f.infraJSON, "infra-json", "", "output of create infra azure")
	flags.StringVar(&f.zone, "dns-zone-name", "", "DNS zone of the hosted clusters' endpoints")
	flags.StringVar(&f.zoneGroup, "dns-zone-rg-name", "", "resource group of --dns-zone-name")
	addResolver(flags, &f.Resolver)
	flags.DurationVar(&f.Wait, "wait", 10*time.Minute, "how long Azure may take to know everywhere what it has on record, such as a role that was just given; what needs you is told at once")
	f.handoff.AddRead(cmd)
	return cmd
}

func (f *verifyFlags) run(cmd *cobra.Command) error {
	if err := f.handoff.MustOpen(); err != nil {
		return err
	}
	f.handoff.Complete(cmd, &f.Flags, &f.name, &f.infraID)
	session, err := f.Session()
	if err != nil {
		return err
	}
	if err := f.fill(session); err != nil {
		return err
	}
	f.Say = progress.Line(cmd)
	checks, err := verify.Run(cmd.Context(), session, f.handoff.File, f.Options)
	if err != nil {
		return err
	}
	if f.Output != "" {
		err = printing.Object(cmd.OutOrStdout(), f.Output, checks)
	} else {
		err = printChecks(cmd.OutOrStdout(), checks)
	}
	if failed := verify.Failed(checks); err == nil && failed > 0 {
		printFailures(cmd.ErrOrStderr(), checks)
		err = fmt.Errorf("%d of %d checks failed", failed, len(checks))
	}
	return err
}

// printFailures says what is wrong, in which field, and what to do; the same once, however many checks met it.
func printFailures(w io.Writer, checks []verify.Check) {
	seen := map[string]bool{}
	for _, c := range checks {
		if c.Status != verify.Fail {
			continue
		}
		text := c.Detail
		if c.Field != "" {
			text += "; check " + c.Field
		}
		if c.Remedy != "" {
			text += "; " + c.Remedy
		}
		if !seen[text] {
			fmt.Fprintf(w, "%s %s: %s\n", c.Area, c.Name, text)
		}
		seen[text] = true
	}
}

// fill puts the flags over the hand-off.
func (f *verifyFlags) fill(s *azure.Session) error {
	h := f.handoff.File
	h.Name, h.InfraID = f.name, f.infraID
	if dns := h.DNS; dns != nil {
		dns.CredentialsPath = f.handoff.Locate(dns.CredentialsPath)
	}
	if h.Issuer != nil {
		h.Issuer.PrivateKeyPath = f.handoff.Locate(h.Issuer.PrivateKeyPath)
	}
	if f.issuerURL != "" || f.key != "" {
		issuer := handoff.Issuer{}
		if h.Issuer != nil {
			issuer = *h.Issuer
		}
		if f.issuerURL != "" {
			issuer.URL = f.issuerURL
		}
		if f.key != "" {
			issuer.PrivateKeyPath = f.key
		}
		h.Issuer = &issuer
	}
	if f.identities != "" {
		clients, err := identity.ReadWorkloadIdentities(f.identities)
		if err != nil {
			return err
		}
		h.Identities = &handoff.Identities{Clients: clients}
	}
	if f.infraJSON != "" {
		out, err := infra.ReadOutput(f.infraJSON)
		if err != nil {
			return err
		}
		h.Infra = out
		h.InfraID = cmp.Or(h.InfraID, out.InfraID)
	}
	if f.zone != "" {
		if f.zoneGroup == "" {
			return fmt.Errorf("--dns-zone-name needs --dns-zone-rg-name: the resource group of the zone")
		}
		h.DNS = &dns.Output{Zone: f.zone, ZoneID: s.ResourceID(f.zoneGroup, "Microsoft.Network/dnsZones", f.zone)}
	}
	return nil
}

// printChecks shows the checks as a table, what failed with its remedy at the end.
func printChecks(w io.Writer, checks []verify.Check) error {
	verify.Sort(checks)
	table := tabwriter.NewWriter(w, 0, 8, 2, ' ', 0)
	fmt.Fprintln(table, "RESULT\tAREA\tCHECK\tDETAIL")
	for _, c := range checks {
		fmt.Fprintf(table, "%s\t%s\t%s\t%s\n", c.Status, c.Area, c.Name, c.Detail)
		if c.Status != verify.Fail {
			continue
		}
		for _, line := range []struct{ name, text string }{{"field", c.Field}, {"remedy", c.Remedy}} {
			if line.text != "" {
				fmt.Fprintf(table, "\t\t\t%s: %s\n", line.name, line.text)
			}
		}
	}
	return table.Flush()
}
