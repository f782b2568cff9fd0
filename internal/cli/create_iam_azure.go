package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"

	"github.com/hypershift-on-azure/hypershift/internal/azure"
	"github.com/hypershift-on-azure/hypershift/internal/provision"
	"github.com/hypershift-on-azure/hypershift/internal/stack"
)

func newCreateIAMCommand() *cobra.Command {
	cmd := &cobra.Command{Use: "iam", Short: "Create the workload identities of a hosted cluster"}
	cmd.AddCommand(newCreateIAMAzureCommand())
	return cmd
}

func newCreateIAMAzureCommand() *cobra.Command {
	var flags azureFlags
	var o provision.IAMOptions
	var outputFile string
	cmd := &cobra.Command{
		Use:   "azure",
		Short: "Managed identities and federated credentials; writes workload-identities.json",
		Example: `  hypershift create iam azure --name demo --infra-id demo-x7k2p --azure-creds azure-credentials.json \
    --resource-group-name os4-common --oidc-issuer-url https://ACCOUNT.blob.core.windows.net/demo \
    --output-file workload-identities.json`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			o.Location = flags.location
			if outputFile == "" && !flags.dryRun {
				return errors.New("output-file is required")
			}
			return withPlan(cmd, &flags,
				func(ctx context.Context, s *azure.Session) ([]stack.Step, error) { return provision.PlanIAM(ctx, s, o) },
				func(ctx context.Context, s *azure.Session) (*provision.WorkloadIdentities, error) {
					return createIAM(ctx, s, o, outputFile, stackProgress(cmd))
				},
				func(w io.Writer, _ *provision.WorkloadIdentities) error {
					_, err := fmt.Fprintln(w, outputFile)
					return err
				})
		},
	}
	flags.add(cmd)
	flags.addPlan(cmd)
	cmd.Flags().StringVar(&o.Name, "name", "", "name of the hosted cluster")
	cmd.Flags().StringVar(&o.InfraID, "infra-id", "", "infrastructure id; part of every identity's name")
	cmd.Flags().StringVar(&o.ResourceGroup, "resource-group-name", "", "resource group of the identities; created when missing")
	cmd.Flags().StringVar(&o.IssuerURL, "oidc-issuer-url", "", "issuer of the hosted cluster's tokens")
	cmd.Flags().StringVar(&outputFile, "output-file", "", "file to write the client ids to")
	cmd.Flags().BoolVar(&o.EnableKMS, "enable-kms", false, "also create the identity for encryption with Azure Key Vault")
	return cmd
}

func createIAM(ctx context.Context, s *azure.Session, o provision.IAMOptions, path string, progress func(stack.Event)) (*provision.WorkloadIdentities, error) {
	identities, err := provision.CreateIAM(ctx, s, o, progress)
	if err != nil {
		return nil, err
	}
	raw, err := json.MarshalIndent(identities, "", "  ")
	if err != nil {
		return nil, fmt.Errorf("cannot encode the identities: %w", err)
	}
	if err := os.WriteFile(path, raw, 0o644); err != nil {
		return nil, fmt.Errorf("cannot write --output-file: %w", err)
	}
	return identities, nil
}

func newDestroyIAMCommand() *cobra.Command {
	cmd := &cobra.Command{Use: "iam", Short: "Destroy the workload identities of a hosted cluster"}
	var flags azureFlags
	var o provision.IAMOptions
	var identities, dnsGroup string
	azureCmd := &cobra.Command{
		Use:   "azure",
		Short: "Delete the federated credentials and the managed identities",
		Example: `  hypershift destroy iam azure --name demo --infra-id demo-x7k2p --azure-creds azure-credentials.json \
    --resource-group-name os4-common --workload-identities-file workload-identities.json --dns-zone-rg-name os4-common`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if identities != "" {
				if _, err := provision.ReadWorkloadIdentities(identities); err != nil {
					return err
				}
			}
			session, err := flags.session()
			if err != nil {
				return err
			}
			return provision.DestroyIAM(cmd.Context(), session, o, stackProgress(cmd))
		},
	}
	flags.add(azureCmd)
	azureCmd.Flags().StringVar(&o.Name, "name", "", "name of the hosted cluster")
	azureCmd.Flags().StringVar(&o.InfraID, "infra-id", "", "infrastructure id")
	azureCmd.Flags().StringVar(&o.ResourceGroup, "resource-group-name", "", "resource group of the identities")
	azureCmd.Flags().StringVar(&identities, "workload-identities-file", "", "identities file; checked, not used to choose what goes")
	azureCmd.Flags().StringVar(&dnsGroup, "dns-zone-rg-name", "", "accepted for compatibility; role assignments go with destroy infra and destroy cluster")
	for _, f := range []string{"name", "infra-id", "resource-group-name"} {
		_ = azureCmd.MarkFlagRequired(f)
	}
	cmd.AddCommand(azureCmd)
	return cmd
}
