package azure

import (
	"cmp"
	"context"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/hypershift-on-azure/hypershift/internal/azure"
	"github.com/hypershift-on-azure/hypershift/internal/cli/azureflags"
	"github.com/hypershift-on-azure/hypershift/internal/cli/command"
	"github.com/hypershift-on-azure/hypershift/internal/cli/progress"
	"github.com/hypershift-on-azure/hypershift/internal/provision/handoff"
	"github.com/hypershift-on-azure/hypershift/internal/provision/issuer"
	"github.com/hypershift-on-azure/hypershift/internal/stack"
)

// NewDestroyOIDCIssuerCommand is destroy oidc-issuer.
func NewDestroyOIDCIssuerCommand() *cobra.Command {
	return command.Parent("oidc-issuer", "Destroy the OIDC issuer of a hosted cluster",
		newDestroyOIDCIssuerAzureCommand())
}

func newDestroyOIDCIssuerAzureCommand() *cobra.Command {
	var flags azureflags.Flags
	var o issuer.Options
	var handoff azureflags.HandoffFile
	var guard useGuard
	allow := func(ctx context.Context, cmd *cobra.Command, s *azure.Session, plan bool) error {
		url := issuerURL(s, o, handoff.Issuer)
		if err := guard.allow(cmd, "the issuer of "+o.Name, plan, ofIssuer(url)); err != nil {
			return err
		}
		return guard.allowUntrusted(ctx, cmd, s, url, plan)
	}
	cmd := &cobra.Command{
		Use:   "azure",
		Short: "Delete the issuer's container, and the storage account when it is ours and empty; key files stay",
		Example: `  hypershift destroy oidc-issuer azure --name demo --resource-group-name os4-common --azure-creds azure-credentials.json
  hypershift destroy oidc-issuer azure --from demo.yaml --azure-creds azure-credentials.json`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := handoff.MustOpen(); err != nil {
				return err
			}
			handoff.Complete(cmd, &flags, &o.Name, nil)
			completeIssuer(&o, handoff.Issuer)
			return azureflags.WithPlan(cmd, &flags,
				func(ctx context.Context, s *azure.Session) ([]stack.Step, error) {
					if err := allow(ctx, cmd, s, true); err != nil {
						return nil, err
					}
					return issuer.PlanDestroy(ctx, s, o)
				},
				func(ctx context.Context, s *azure.Session) (issuer.Issuer, error) {
					if err := allow(ctx, cmd, s, false); err != nil {
						return issuer.Issuer{}, err
					}
					if err := handoff.Begin(s, &flags, o.Name, ""); err != nil {
						return issuer.Issuer{}, err
					}
					gone, err := issuer.Destroy(ctx, s, o, handoff.KeepTrue(issuer.Stack, progress.OfStack(cmd)))
					if err == nil {
						handoff.Issuer = nil
						handoff.Forget(issuer.Stack)
						fmt.Fprintf(cmd.ErrOrStderr(), "kept the key files %s and %s: with them the issuer can be made again\n", gone.PrivateKeyPath, gone.PublicKeyPath)
					}
					return gone, handoff.Save(err)
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
	guard.add(cmd)
	handoff.AddRead(cmd)
	return cmd
}

// issuerURL is what tokens name; the hand-off file knows one that is published elsewhere.
func issuerURL(s *azure.Session, o issuer.Options, from *handoff.Issuer) string {
	if from != nil {
		return from.URL
	}
	if o.Validate() != nil {
		return ""
	}
	return o.Resolve(s).URL
}

// completeIssuer takes the place of the issuer from the hand-off.
func completeIssuer(o *issuer.Options, from *handoff.Issuer) {
	if from == nil {
		return
	}
	o.ResourceGroup = cmp.Or(o.ResourceGroup, from.ResourceGroup)
	o.StorageAccount = cmp.Or(o.StorageAccount, from.StorageAccount)
	o.Shared = o.Shared || from.Shared
}
