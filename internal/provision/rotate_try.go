package provision

import (
	"context"
	"crypto/rsa"
	"errors"
	"fmt"
	"path"
	"strings"
	"time"

	"github.com/go-jose/go-jose/v4/jwt"

	"github.com/hypershift-on-azure/hypershift/internal/azure/failure"
	"github.com/hypershift-on-azure/hypershift/internal/field"
	"github.com/hypershift-on-azure/hypershift/internal/pki/signing"
	"github.com/hypershift-on-azure/hypershift/internal/provision/identity"
)

const (
	// triedIdentities bounds for how many identities a token is tried: what is waited for is the keys of their one issuer.
	triedIdentities = 3
	// tokenLife is short: the token is presented at once.
	tokenLife = 10 * time.Minute
	// The pause between two tries grows: who asks too often may be remembered as refused.
	firstPause, longestPause = 10 * time.Second, time.Minute
)

// tryKey waits until Azure takes tokens that the new key has signed. Entra keeps the keys that it has read, for up to a day as its documents
// say, and has refused tokens of a key that it does not know with AADSTS700027: the hosted cluster must not sign with that one before.
func (r *rotation) tryKey(ctx context.Context) error {
	if r.KeyWait == 0 {
		r.Say("tokens of the new key are not tried before the hosted cluster signs with it")
		return nil
	}
	trusting, err := identity.Trusting(ctx, r.s, r.issuer.URL)
	if err != nil {
		return field.Errorf(FieldKeyWait, "cannot look for an identity to try a token of the new key with: %w; %s 0 switches without a try", err, FieldKeyWait)
	}
	if len(trusting) == 0 {
		r.Say("no managed identity of the subscription trusts %s, so no token of the new key can be tried", r.issuer.URL)
		return nil
	}
	key, err := signing.ReadPrivate(r.issuer.PrivateKeyPath)
	if err != nil {
		return err
	}
	for _, t := range trusting[:min(len(trusting), triedIdentities)] {
		if err := r.awaitExchange(ctx, key, t); err != nil {
			return err
		}
	}
	return nil
}

// awaitExchange repeats the exchange of a token for the identity until Azure makes it.
func (r *rotation) awaitExchange(ctx context.Context, key *rsa.PrivateKey, t identity.Trust) error {
	begin, pause := r.Now(), firstPause
	for {
		err := r.exchange(ctx, key, t)
		if err == nil {
			r.Say("Azure takes tokens of the new key for %s", path.Base(t.IdentityID))
			return nil
		}
		sofar := r.Now().Sub(begin)
		switch {
		case ctx.Err() != nil:
			return errors.Join(ctx.Err(), err)
		case failure.KindOf(err) == failure.Terminal:
			return fmt.Errorf("a token of the new key is refused, so the hosted cluster goes on signing with the old one; both are published: %w", err)
		case sofar >= r.KeyWait:
			return field.Errorf(FieldKeyWait, "Azure does not take tokens of the new key after %s (%s), so the hosted cluster goes on signing with the old one; both are published: %w; "+
				"run the same command again later, for Azure keeps the keys that it has read for up to a day", sofar.Round(time.Second), FieldKeyWait, err)
		}
		r.Say("waiting for Azure to know the new key, %d s so far, up to %s (%s)", int(sofar.Seconds()), strings.TrimSuffix(r.KeyWait.String(), "0s"), failure.CodeOf(err))
		if err := r.Sleep(ctx, min(pause, r.KeyWait-sofar)); err != nil {
			return err
		}
		pause = min(2*pause, longestPause)
	}
}

func (r *rotation) exchange(ctx context.Context, key *rsa.PrivateKey, t identity.Trust) error {
	as, err := r.s.As(t.ClientID, func(context.Context) (string, error) {
		f := t.Federation
		return signing.Token(key, jwt.Claims{Issuer: f.Issuer, Subject: f.Subject, Audience: jwt.Audience{f.Audience}}, time.Now(), tokenLife)
	})
	if err != nil {
		return err
	}
	return as.SignIn(ctx)
}
