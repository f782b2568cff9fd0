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
	return parent("iam", "Create the workload identities of a hosted cluster",
		newCreateIAMAzureCommand())
}

func newCreateIAMAzureCommand() *cobra.Command {
	var flags azureFlags
	var o provision.IAMOptions
	var handoff handoffFile
	var outputFile string
	cmd := &cobra.Command{
		Use:   "azure",
		Short: "Managed identities and federated credentials; writes workload-identities.json",
		Example: `  hypershift create iam azure --name demo --infra-id demo-x7k2p --azure-creds azure-credentials.json \
    --resource-group-name os4-common --oidc-issuer-url https://ACCOUNT.blob.core.windows.net/demo \
    --output-file workload-identities.json`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := handoff.open(); err != nil {
				return err
			}
			handoff.complete(cmd, &flags, &o.Name, &o.InfraID)
			if from := handoff.Issuer; from != nil {
				orElse(&o.IssuerURL, from.URL)
				orElse(&o.ResourceGroup, from.ResourceGroup)
			}
			o.Location = flags.location
			if outputFile == "" && handoff.path == "" && !flags.dryRun {
				return errors.New("output-file is required, unless --handoff takes the result")
			}
			if err := o.Validate(); err != nil {
				return err
			}
			return withPlan(cmd, &flags,
				func(ctx context.Context, s *azure.Session) ([]stack.Step, error) { return provision.PlanIAM(ctx, s, o) },
				func(ctx context.Context, s *azure.Session) (*provision.WorkloadIdentities, error) {
					return createIAM(ctx, cmd, s, &flags, o, outputFile, &handoff)
				},
				func(w io.Writer, _ *provision.WorkloadIdentities) error {
					if outputFile == "" {
						outputFile = handoff.path
					}
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
	cmd.Flags().StringToStringVar(&o.Tags, "tags", nil, "tags of the identities")
	handoff.addWritten(cmd)
	return cmd
}

func createIAM(ctx context.Context, cmd *cobra.Command, s *azure.Session, flags *azureFlags, o provision.IAMOptions, path string, h *handoffFile) (*provision.WorkloadIdentities, error) {
	if err := h.claim(s, flags, o.Name, o.InfraID); err != nil {
		return nil, err
	}
	identities, err := provision.CreateIAM(ctx, s, o, h.journal(iamStack, stackProgress(cmd)))
	if err != nil {
		return nil, h.save(err)
	}
	h.Identities = &provision.IdentitiesHandoff{ResourceGroup: o.ResourceGroup, Clients: identities}
	return identities, h.save(writeIdentities(path, identities))
}

func writeIdentities(path string, identities *provision.WorkloadIdentities) error {
	if path == "" {
		return nil
	}
	raw, err := json.MarshalIndent(identities, "", "  ")
	if err != nil {
		return fmt.Errorf("cannot encode the identities: %w", err)
	}
	if err := os.WriteFile(path, raw, 0o644); err != nil {
		return fmt.Errorf("cannot write --output-file: %w", err)
	}
	return nil
}
