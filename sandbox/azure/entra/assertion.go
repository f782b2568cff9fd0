package entra

import (
	"context"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"strings"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/go-jose/go-jose/v4/jwt"

	"github.com/hypershift-on-azure/hypershift/sandbox/azure/wire"
)

// clockSkew is what token times may be off.
const clockSkew = 5 * time.Minute

var assertionAlgorithms = []jose.SignatureAlgorithm{jose.RS256, jose.PS256}

// checkAssertion takes a client certificate's assertion (issuer is the client itself) or a federated token.
func (s *Service) checkAssertion(ctx context.Context, c client, raw string) *tokenError {
	token, err := jwt.ParseSigned(raw, assertionAlgorithms)
	if err != nil {
		return badClient("50027", "JWT token is invalid or malformed.")
	}
	var claims jwt.Claims
	if err := token.UnsafeClaimsWithoutVerification(&claims); err != nil {
		return badClient("50027", "JWT token is invalid or malformed.")
	}
	if strings.EqualFold(claims.Issuer, c.id) {
		return s.checkCertificate(c, token)
	}
	if failure := s.knownFederation(ctx, c, claims); failure != nil {
		return failure
	}
	keys, failure := s.issuerKeys(ctx, claims.Issuer)
	if failure != nil {
		return failure
	}
	if kid := token.Headers[0].KeyID; kid != "" && len(keys.Key(kid)) == 0 {
		return unauthorized("700027", "The certificate with identifier used to sign the client assertion is not registered on application. [Reason - The key was not found., Thumbprint of key used by client: '%s', Please visit the Azure Portal, Graph Explorer or directly use MS Graph to see configured keys for app Id '%s'.]", kid, c.id)
	}
	var verified jwt.Claims
	if err := token.Claims(&keys, &verified); err != nil {
		return unauthorized("700027", "The certificate with identifier used to sign the client assertion is not registered on application, or the signature is invalid: client assertion failed signature validation.")
	}
	return s.checkTimes(verified)
}

func (s *Service) checkTimes(c jwt.Claims) *tokenError {
	now := s.now()
	if c.Expiry == nil || c.ValidateWithLeeway(jwt.Expected{Time: now}, clockSkew) != nil {
		return badClient("700024", "Client assertion is not within its valid time range. Current time: %s, assertion valid from %s, expiry time of assertion %s.",
			instant(now), claimed(c.NotBefore), claimed(c.Expiry))
	}
	return nil
}

func instant(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05.0000000Z") }

func claimed(d *jwt.NumericDate) string {
	if d == nil {
		return instant(time.Time{})
	}
	return instant(d.Time())
}

func (s *Service) checkCertificate(c client, token *jwt.JSONWebToken) *tokenError {
	for _, k := range wire.Docs(c.application, "keyCredentials") {
		der, err := base64.StdEncoding.DecodeString(wire.Text(k, "key"))
		if err != nil {
			continue
		}
		cert, err := x509.ParseCertificate(der)
		if err != nil {
			continue
		}
		var claims jwt.Claims
		if token.Claims(cert.PublicKey, &claims) == nil {
			return s.checkTimes(claims)
		}
	}
	return unauthorized("700027", "The certificate with identifier used to sign the client assertion is not registered on application.")
}

// matchFederation finds the federated credential by exact issuer and subject, then compares the audience. A code that names a field means that
// no credential has the token's value there; where issuer and subject are those of different credentials, none of the two is to blame.
func matchFederation(c client, claims jwt.Claims) *tokenError {
	if len(c.federations) == 0 {
		return badClient("70025", "The client '%s' has no configured federated identity credentials.", c.id)
	}
	issuerKnown, subjectKnown := false, false
	for _, f := range c.federations {
		issuerKnown = issuerKnown || f.issuer == claims.Issuer
		subjectKnown = subjectKnown || f.subject == claims.Subject
		if f.issuer == claims.Issuer && f.subject == claims.Subject {
			return f.matchAudience(claims)
		}
	}
	switch {
	case !issuerKnown:
		return badClient("700211", noRecord+" issuer '%s'. "+checkRecord, claims.Issuer)
	case !subjectKnown:
		return badClient("700213", noRecord+" subject '%s'. "+checkRecord, claims.Subject)
	}
	return noFederation(claims)
}

func (f federation) matchAudience(claims jwt.Claims) *tokenError {
	for _, a := range f.audiences {
		if claims.Audience.Contains(a) {
			return nil
		}
	}
	return badClient("700212", noRecord+" audience '%s'. "+checkRecord, strings.Join(claims.Audience, ","))
}

const (
	noRecord    = "No matching federated identity record found for presented assertion"
	checkRecord = "Please check your federated identity credential Subject, Audience and Issuer against the presented assertion."
)

func noFederation(claims jwt.Claims) *tokenError {
	return badClient("70021", noRecord+". Assertion Issuer: '%s'. Assertion Subject: '%s'. Assertion Audience: '%s'.", claims.Issuer, claims.Subject, strings.Join(claims.Audience, ","))
}

// issuerKeys are the keys of an issuer, and until when they are not read again.
type issuerKeys struct {
	keys  jose.JSONWebKeySet
	until time.Time
}

// issuerKeys are those that an issuer publishes, or published when they were last read: a key that it has changed meanwhile is not known.
func (s *Service) issuerKeys(ctx context.Context, issuer string) (jose.JSONWebKeySet, *tokenError) {
	s.mu.Lock()
	kept, ok := s.issuers[issuer]
	s.mu.Unlock()
	if ok && time.Now().Before(kept.until) {
		return kept.keys, nil
	}
	keys, failure := s.readIssuer(ctx, issuer)
	if keep := s.pace.KeyCache(); failure == nil && keep > 0 {
		s.mu.Lock()
		s.issuers[issuer] = issuerKeys{keys, time.Now().Add(keep)}
		s.mu.Unlock()
	}
	return keys, failure
}

// readIssuer reads the discovery document and the keys of a foreign issuer.
func (s *Service) readIssuer(ctx context.Context, issuer string) (jose.JSONWebKeySet, *tokenError) {
	var keys jose.JSONWebKeySet
	data, err := s.fetch(ctx, strings.TrimRight(issuer, "/")+"/.well-known/openid-configuration")
	if err != nil {
		return keys, badClient("50166", "Request to External OIDC endpoint failed: %v.", err)
	}
	var doc struct {
		Issuer  string `json:"issuer"`
		JWKSURI string `json:"jwks_uri"`
	}
	if json.Unmarshal(data, &doc) != nil || doc.Issuer != issuer {
		return keys, badClient("700211", noRecord+" issuer '%s': its discovery document names '%s'.", issuer, doc.Issuer)
	}
	if data, err = s.fetch(ctx, doc.JWKSURI); err != nil {
		return keys, badClient("50166", "Request to External OIDC endpoint failed: %v.", err)
	}
	if err := json.Unmarshal(data, &keys); err != nil {
		return keys, badClient("5000224", "The keys of issuer '%s' could not be read.", issuer)
	}
	return keys, nil
}
