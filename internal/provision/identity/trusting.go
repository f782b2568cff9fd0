package identity

import (
	"context"
	"slices"
	"strings"
	"sync"

	"golang.org/x/sync/errgroup"

	"github.com/hypershift-on-azure/hypershift/internal/azure"
	"github.com/hypershift-on-azure/hypershift/internal/provision/node"
)

// looksAtOnce bounds the identities whose credentials are read at the same time.
const looksAtOnce = 8

// Trusting are the managed identities of the subscription that have a federated credential of the issuer, by their ids in order, as far as
// the session may list them. Without its documents nobody can sign in as one of them by a token; and whoever publishes others in their place
// can.
func Trusting(ctx context.Context, s *azure.Session, issuerURL string) ([]string, error) {
	all, err := s.List(ctx, "/subscriptions/"+s.SubscriptionID+"/providers/"+node.TypeIdentity, node.APIIdentity, "")
	if err != nil {
		return nil, err
	}
	var mu sync.Mutex
	var found []string
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(looksAtOnce)
	for _, identity := range all {
		group.Go(func() error {
			credentials, err := s.List(ctx, identity.ID+"/federatedIdentityCredentials", node.APIIdentity, "")
			if err != nil && !azure.IsNotFound(err) {
				return err
			}
			if slices.ContainsFunc(credentials, func(c azure.Resource) bool { return sameIssuer(c.Property("issuer"), issuerURL) }) {
				mu.Lock()
				defer mu.Unlock()
				found = append(found, identity.ID)
			}
			return nil
		})
	}
	err = group.Wait()
	slices.Sort(found)
	return found, err
}

func sameIssuer(a, b string) bool { return strings.TrimSuffix(a, "/") == strings.TrimSuffix(b, "/") }
