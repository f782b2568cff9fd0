package azure

import (
	"context"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/hypershift-on-azure/hypershift/internal/azure"
	"github.com/hypershift-on-azure/hypershift/internal/cli/azureflags"
	"github.com/hypershift-on-azure/hypershift/internal/cli/command"
	"github.com/hypershift-on-azure/hypershift/internal/cli/flagfile"
	"github.com/hypershift-on-azure/hypershift/internal/cli/progress"
	"github.com/hypershift-on-azure/hypershift/internal/contract"
	"github.com/hypershift-on-azure/hypershift/internal/provision/dns"
	"github.com/hypershift-on-azure/hypershift/internal/stack"
)

// NewCreateDNSCommand is create dns.
func NewCreateDNSCommand() *cobra.Command {
	return command.Parent("dns", "Create the DNS zone of the hosted clusters' endpoints",
		newCreateDNSAzureCommand())
}

func newCreateDNSAzureCommand() *cobra.Command {
	var flags azureflags.Flags
	var o dns.Options
	var handoff azureflags.HandoffFile
	cmd := &cobra.Command{
		Use:   "azure",
		Short: "DNS zone, its delegation in the parent zone, and the credentials of ExternalDNS",
		Long: `Makes the zone in the persistent group, delegates it in its parent zone, and asks DNS whether the delegation answers. ExternalDNS
signs in by workload identity (--management-issuer-url, the issuer of the management cluster's tokens), or as a service principal
(--service-principal-name), which needs the Microsoft Graph permission Application.ReadWrite.OwnedBy. Run again, it changes nothing; where the
credentials file is missing, a new secret takes the place of the one before.`,
		Example: `  hypershift create dns azure --dns-zone-name clusters.example.com --resource-group-name os4-common \
    --azure-creds azure-credentials.json --management-issuer-url https://ISSUER --external-dns-credentials azure_mgmt.json --handoff demo.yaml`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := handoff.OpenWritten(); err != nil {
				return err
			}
			handoff.Complete(cmd, &flags, nil, nil)
			o.Location = flags.Location
			if err := o.Validate(); err != nil {
				return err
			}
			if err := flagfile.CheckWritable("--external-dns-credentials", o.CredentialsPath); err != nil {
				return err
			}
			return azureflags.WithPlan(cmd, &flags,
				func(ctx context.Context, s *azure.Session) ([]stack.Step, error) { return dns.Plan(ctx, s, o) },
				func(ctx context.Context, s *azure.Session) (*dns.Output, error) {
					return createDNS(ctx, cmd, s, &flags, o, &handoff)
				},
				func(w io.Writer, out *dns.Output) error { return printDNS(cmd, w, o, out) })
		},
	}
	flags.Add(cmd)
	flags.AddPlan(cmd)
	addDNSFlags(cmd, &o)
	f := cmd.Flags()
	f.StringVar(&o.ManagementURL, "management-issuer-url", "", "issuer of the management cluster's tokens: ExternalDNS by workload identity")
	f.StringVar(&o.CredentialsPath, "external-dns-credentials", "", "file to write for hypershift install --external-dns-credentials (mode 0600)")
	addResolver(f, &o.Resolver)
	f.DurationVar(&o.DelegationWait, "delegation-wait", 2*time.Minute, "how long to wait until DNS answers with the delegation")
	f.StringToStringVar(&o.Tags, "tags", nil, "tags of the zone and of the identity")
	handoff.AddWritten(cmd)
	return cmd
}

// resolverVariable names the DNS server where the system's sees another world, as on a machine with a sandbox.
const resolverVariable = contract.DNSResolverEnv

func addResolver(f *pflag.FlagSet, into *string) {
	f.StringVar(into, "dns-resolver", os.Getenv(resolverVariable), "HOST:PORT of the DNS server to ask; the system's when empty; $"+resolverVariable+" is the default")
}

// addDNSFlags are those that say where a zone is.
func addDNSFlags(cmd *cobra.Command, o *dns.Options) {
	f := cmd.Flags()
	f.StringVar(&o.Zone, "dns-zone-name", "", "name of the zone, beneath which the hosted clusters' endpoints are published")
	f.StringVar(&o.ResourceGroup, "resource-group-name", "", "persistent resource group of the zone; created when missing")
	f.StringVar(&o.ParentZoneID, "parent-zone-id", "", "ARM id of the parent zone; the closest one of the subscription when empty")
	f.BoolVar(&o.SkipDelegation, "skip-delegation", false, "the NS records are made elsewhere; they are printed")
	f.StringVar(&o.ServicePrincipal, "service-principal-name", "", "application to make: ExternalDNS by service principal")
}

func createDNS(ctx context.Context, cmd *cobra.Command, s *azure.Session, flags *azureflags.Flags, o dns.Options, h *azureflags.HandoffFile) (*dns.Output, error) {
	if err := h.Begin(s, flags, "", ""); err != nil {
		return nil, err
	}
	if err := h.AnnounceDNS(s, o); err != nil {
		return nil, h.Abandon(err)
	}
	out, err := dns.Create(ctx, s, o, h.KeepTrue(dns.Stack, progress.OfStack(cmd)))
	if err != nil {
		return nil, h.Abandon(err)
	}
	h.RecordDNS(out)
	return out, h.Save(nil)
}

func printDNS(cmd *cobra.Command, w io.Writer, o dns.Options, out *dns.Output) error {
	if o.SkipDelegation {
		fmt.Fprintf(cmd.ErrOrStderr(), "make these NS records for %s in its parent zone: %s\n", out.Zone, strings.Join(out.NameServers, " "))
	}
	if out.ExternalDNS == dns.ByWorkloadIdentity {
		fmt.Fprintf(cmd.ErrOrStderr(), "ExternalDNS signs in as client id %s\n", out.ClientID)
	}
	_, err := fmt.Fprintln(w, out.ZoneID)
	return err
}
