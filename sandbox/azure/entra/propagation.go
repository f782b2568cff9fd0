package entra

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/go-jose/go-jose/v4/jwt"

	"github.com/hypershift-on-azure/hypershift/sandbox/azure/fault"
)

// refusal is what the token service remembers when it found no federated credential.
type refusal struct{ client, issuer, subject string }

// knownFederation finds the federated credential of a token. Where new ones spread slowly, they are not seen at first,
// and whoever asks too early goes on being refused for as long again: both are what Entra's caches do.
func (s *Service) knownFederation(ctx context.Context, c client, claims jwt.Claims) *tokenError {
	delay := fault.Propagation(ctx, fault.Federation)
	if delay.None() {
		return matchFederation(c, claims)
	}
	asked := refusal{c.id, claims.Issuer, claims.Subject}
	if s.remembered(asked) {
		fault.Hit(ctx, fault.Federation)
		return notSpread(delay, claims)
	}
	seen := c
	seen.federations = slices.DeleteFunc(slices.Clone(c.federations), func(f federation) bool { return delay.Hides(f.created) })
	failure := matchFederation(seen, claims)
	if failure == nil {
		return nil
	}
	s.remember(asked, max(delay.Time, s.pace.Refusal()))
	if matchFederation(c, claims) == nil {
		fault.Hit(ctx, fault.Federation)
		return notSpread(delay, claims)
	}
	return failure
}

func notSpread(delay fault.Delay, claims jwt.Claims) *tokenError {
	e := noFederation(claims)
	e.number = cmp.Or(delay.Code, e.number)
	return e
}

func (s *Service) remembered(r refusal) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	until, ok := s.refused[r]
	if ok && !time.Now().Before(until) {
		delete(s.refused, r)
		return false
	}
	return ok
}

func (s *Service) remember(r refusal, d time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.refused[r] = time.Now().Add(d)
}
