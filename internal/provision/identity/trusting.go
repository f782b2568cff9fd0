package identity

import (
	"context"
	"slices"
	"strings"
	"sync"

	"golang.org/x/sync/errgroup"

	"github.com/hypershift-on-azure/hypershift/internal/azure"
	"github.com/hypershift-on-azure/hypershift/internal/azure/failure"
	"github.com/hypershift-on-azure/hypershift/internal/provision/node"
)

// looksAtOnce bounds the identities whose credentials are read at the same time.
const looksAtOnce = 8

// Trust is a managed identity that a token of an issuer can sign in as.
type Trust struct {
	IdentityID, ClientID string
	Federation           Federation
}

// Trusting are the managed identities of the subscription that have a federated credential of the issuer, by their ids in order, one
// credential of each, as far as the session may list them. Without its documents nobody can sign in as one of them by a token; and whoever
// publishes others in their place can.
func Trusting(ctx context.Context, s *azure.Session, issuerURL string) ([]Trust, error) {
	all, err := s.List(ctx, "/subscriptions/"+s.SubscriptionID+"/providers/"+node.TypeIdentity, node.APIIdentity, "")
	if err != nil {
		return nil, err
	}
	var mu sync.Mutex
	var found []Trust
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(looksAtOnce)
	for _, identity := range all {
		group.Go(func() error {
			credentials, err := s.List(ctx, identity.ID+"/federatedIdentityCredentials", node.APIIdentity, "")
			if err != nil && !failure.IsNotFound(err) {
				return err
			}
			at := slices.IndexFunc(credentials, func(c azure.Resource) bool { return sameIssuer(c.Property("issuer"), issuerURL) })
			if at >= 0 {
				mu.Lock()
				defer mu.Unlock()
				found = append(found, Trust{identity.ID, identity.Property("clientId"), federationOf(&credentials[at])})
			}
			return nil
		})
	}
	err = group.Wait()
	slices.SortFunc(found, func(a, b Trust) int { return strings.Compare(a.IdentityID, b.IdentityID) })
	return found, err
}

func federationOf(r *azure.Resource) Federation {
	f := Federation{Issuer: r.Property("issuer"), Subject: r.Property("subject")}
	if audiences, _ := r.Properties["audiences"].([]any); len(audiences) > 0 {
		f.Audience, _ = audiences[0].(string)
	}
	return f
}

func sameIssuer(a, b string) bool { return strings.TrimSuffix(a, "/") == strings.TrimSuffix(b, "/") }
