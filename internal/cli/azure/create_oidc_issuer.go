package azure

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/hypershift-on-azure/hypershift/internal/azure"
	"github.com/hypershift-on-azure/hypershift/internal/cli/azureflags"
	"github.com/hypershift-on-azure/hypershift/internal/cli/command"
	"github.com/hypershift-on-azure/hypershift/internal/cli/flagfile"
	"github.com/hypershift-on-azure/hypershift/internal/cli/progress"
	"github.com/hypershift-on-azure/hypershift/internal/provision/issuer"
	"github.com/hypershift-on-azure/hypershift/internal/stack"
)

// NewCreateOIDCIssuerCommand is create oidc-issuer.
func NewCreateOIDCIssuerCommand() *cobra.Command {
	return command.Parent("oidc-issuer", "Create the OIDC issuer that Azure trusts for a hosted cluster's tokens",
		newCreateOIDCIssuerAzureCommand())
}

func newCreateOIDCIssuerAzureCommand() *cobra.Command {
	var flags azureflags.Flags
	var o issuer.Options
	var handoff azureflags.HandoffFile
	var issuerURL string
	cmd := &cobra.Command{
		Use:   "azure",
		Short: "Key pair, storage account, container and issuer documents in Azure Blob Storage",
		Long: `Makes the key pair (or takes the one in --output-dir, or that of --private-key), a storage account, a container and the
two OpenID documents, and reads the documents anonymously before it reports success. Run again, it changes nothing.

Each hosted cluster gets its own issuer and key. With --shared one issuer serves many clusters: then a cluster whose signing
key leaks can impersonate the identities of every other one.`,
		Example: `  hypershift create oidc-issuer azure --name demo --azure-creds azure-credentials.json \
    --resource-group-name os4-common --location eastus --output-dir . --handoff demo.yaml`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := handoff.OpenWritten(); err != nil {
				return err
			}
			handoff.Complete(cmd, &flags, &o.Name, nil)
			o.Location = flags.Location
			if o.Shared {
				fmt.Fprintln(cmd.ErrOrStderr(), "warning: --shared lets every cluster that uses this issuer mint tokens for the identities of the others")
			}
			if issuerURL != "" && flags.DryRun {
				return errors.New("--issuer-url makes nothing in Azure, so there is no plan; leave --dry-run out")
			}
			if err := o.Validate(); err != nil && issuerURL == "" {
				return err
			}
			if err := flagfile.CheckNewFolder("--output-dir", o.KeyDirectory); err != nil {
				return err
			}
			return azureflags.WithPlan(cmd, &flags,
				func(ctx context.Context, s *azure.Session) ([]stack.Step, error) {
					return issuer.Plan(ctx, s, o)
				},
				func(ctx context.Context, s *azure.Session) (issuer.Issuer, error) {
					return createIssuer(ctx, cmd, s, &flags, o, issuerURL, &handoff)
				},
				func(w io.Writer, issuer issuer.Issuer) error {
					_, err := fmt.Fprintln(w, issuer.URL)
					return err
				})
		},
	}
	flags.Add(cmd)
	flags.AddPlan(cmd)
	addIssuerFlags(cmd, &o)
	cmd.Flags().StringVar(&o.PrivateKey, "private-key", "", "your own RSA private key (PEM), read and never written")
	cmd.Flags().StringVar(&o.PublicKey, "public-key", "", "its public key (PEM), checked against it")
	cmd.Flags().StringVar(&issuerURL, "issuer-url", "", "address at which you publish the documents yourself, such as a static website or custom domain; they are written to --output-dir and checked there")
	cmd.Flags().StringToStringVar(&o.Tags, "tags", nil, "tags of the storage account")
	handoff.AddWritten(cmd)
	return cmd
}

// addIssuerFlags are those that say where an issuer is.
func addIssuerFlags(cmd *cobra.Command, o *issuer.Options) {
	cmd.Flags().StringVar(&o.Name, "name", "", "name of the hosted cluster")
	cmd.Flags().StringVar(&o.ResourceGroup, "resource-group-name", "", "persistent resource group; created when missing")
	cmd.Flags().StringVar(&o.StorageAccount, "storage-account-name", "", "storage account; derived from subscription and group when empty")
	cmd.Flags().BoolVar(&o.Shared, "shared", false, "one issuer for many clusters: the container is named as the account")
	cmd.Flags().StringVar(&o.KeyDirectory, "output-dir", ".", "folder of serviceaccount-signer.private and .public")
}

func createIssuer(ctx context.Context, cmd *cobra.Command, s *azure.Session, flags *azureflags.Flags, o issuer.Options, issuerURL string, h *azureflags.HandoffFile) (issuer.Issuer, error) {
	if err := h.Begin(s, flags, o.Name, ""); err != nil {
		return issuer.Issuer{}, err
	}
	var out issuer.Issuer
	var err error
	if issuerURL != "" {
		out, err = issuer.WriteDocuments(ctx, s, o, issuerURL)
	} else {
		out, err = issuer.Create(ctx, s, o, h.KeepTrue(issuer.Stack, progress.OfStack(cmd)))
	}
	if err != nil {
		return out, h.Abandon(err)
	}
	h.Issuer, err = h.IssuerHandoff(o, out)
	return out, h.Save(err)
}
