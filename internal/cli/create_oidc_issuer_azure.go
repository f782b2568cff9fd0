package cli

import (
	"context"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/hypershift-on-azure/hypershift/internal/azure"
	"github.com/hypershift-on-azure/hypershift/internal/provision"
	"github.com/hypershift-on-azure/hypershift/internal/stack"
)

func newCreateOIDCIssuerCommand() *cobra.Command {
	cmd := &cobra.Command{Use: "oidc-issuer", Short: "Create the OIDC issuer that Azure trusts for a hosted cluster's tokens"}
	cmd.AddCommand(newCreateOIDCIssuerAzureCommand())
	return cmd
}

func newCreateOIDCIssuerAzureCommand() *cobra.Command {
	var flags azureFlags
	var o provision.IssuerOptions
	cmd := &cobra.Command{
		Use:   "azure",
		Short: "Key pair, storage account, container and issuer documents in Azure Blob Storage",
		Long: `Makes the key pair (or takes the one in --output-dir), a storage account, a container and the two OpenID documents,
and reads the documents anonymously before it reports success. Run again, it changes nothing.

Each hosted cluster gets its own issuer and key. With --shared one issuer serves many clusters: then a cluster whose signing
key leaks can impersonate the identities of every other one.`,
		Example: `  hypershift create oidc-issuer azure --name demo --azure-creds azure-credentials.json \
    --resource-group-name os4-common --location eastus --output-dir .`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			o.Location = flags.location
			if o.Shared {
				fmt.Fprintln(cmd.ErrOrStderr(), "warning: --shared lets every cluster that uses this issuer mint tokens for the identities of the others")
			}
			return withPlan(cmd, &flags,
				func(ctx context.Context, s *azure.Session) ([]stack.Step, error) {
					return provision.PlanIssuer(ctx, s, o)
				},
				func(ctx context.Context, s *azure.Session) (provision.Issuer, error) {
					return provision.CreateIssuer(ctx, s, o, stackProgress(cmd))
				},
				func(w io.Writer, issuer provision.Issuer) error {
					_, err := fmt.Fprintln(w, issuer.URL)
					return err
				})
		},
	}
	flags.add(cmd)
	flags.addPlan(cmd)
	cmd.Flags().StringVar(&o.Name, "name", "", "name of the hosted cluster")
	cmd.Flags().StringVar(&o.ResourceGroup, "resource-group-name", "", "persistent resource group; created when missing")
	cmd.Flags().StringVar(&o.StorageAccount, "storage-account-name", "", "storage account; derived from subscription and group when empty")
	cmd.Flags().BoolVar(&o.Shared, "shared", false, "one issuer for many clusters: the container is named as the account")
	cmd.Flags().StringVar(&o.KeyDirectory, "output-dir", ".", "folder of serviceaccount-signer.private and .public")
	cmd.Flags().StringToStringVar(&o.Tags, "tags", nil, "tags of the storage account")
	return cmd
}
