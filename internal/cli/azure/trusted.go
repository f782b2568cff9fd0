package azure

import (
	"context"
	"fmt"
	"path"
	"strings"

	"github.com/spf13/cobra"

	"github.com/hypershift-on-azure/hypershift/internal/azure"
	"github.com/hypershift-on-azure/hypershift/internal/azure/failure"
	"github.com/hypershift-on-azure/hypershift/internal/provision/identity"
)

// namedIdentities is how many identities a refusal names.
const namedIdentities = 10

// allowUntrusted returns nil where no identity trusts the issuer, or the person means it. An issuer that is gone leaves its name to whoever
// takes it, and with it the identities that trust it.
func (g *useGuard) allowUntrusted(ctx context.Context, cmd *cobra.Command, s *azure.Session, issuerURL string, plan bool) error {
	if issuerURL == "" {
		return nil
	}
	trusting, err := identity.Trusting(ctx, s, issuerURL)
	if failure.CodeOf(err) == "AuthorizationFailed" {
		fmt.Fprintf(cmd.ErrOrStderr(), "warning: whether managed identities trust issuer %s is not known: %v\n", issuerURL, err)
		err = nil
	}
	if err != nil || len(trusting) == 0 {
		return err
	}
	return g.decide(cmd, fmt.Sprintf("issuer %s is trusted by managed identities: %s; nobody could sign in as one of them any more but who takes the issuer's name over", issuerURL, listed(trusting)),
		"destroy them first with `hypershift destroy iam azure`, or delete their federated credentials of this issuer with `az identity federated-credential delete`", plan)
}

// listed names the first of the identities with their groups.
func listed(trusting []identity.Trust) string {
	var names []string
	for _, t := range trusting[:min(len(trusting), namedIdentities)] {
		name := path.Base(t.IdentityID)
		if parsed, err := azure.ParseID(t.IdentityID); err == nil {
			name += " in resource group " + parsed.ResourceGroup
		}
		names = append(names, name)
	}
	if more := len(trusting) - len(names); more > 0 {
		names = append(names, fmt.Sprintf("and %d more", more))
	}
	return strings.Join(names, ", ")
}
