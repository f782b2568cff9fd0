package entra

import (
	"fmt"
	"strings"

	"github.com/go-jose/go-jose/v4"
	"github.com/go-jose/go-jose/v4/jwt"
)

// Principal is the caller that an access token names.
type Principal struct {
	ObjectID string
	ClientID string
	Roles    []string // app roles that the token names, of the resource that it is for
}

// Audiences of the planes.
var (
	ManagementAudiences = []string{"https://management.azure.com", "https://management.core.windows.net"}
	StorageAudiences    = []string{"https://storage.azure.com"}
	GraphAudiences      = []string{"https://graph.microsoft.com", GraphAppID}
)

// TokenError says why an access token is refused; Code is ARM's.
type TokenError struct {
	Code, Message string
}

func (e *TokenError) Error() string { return e.Message }

// Verify checks an access token: signature, issuer, times and that it is for one of the audiences, or for one that accept takes.
func (s *Service) Verify(raw string, audiences []string, accept func(string) bool) (Principal, error) {
	token, err := jwt.ParseSigned(raw, []jose.SignatureAlgorithm{jose.RS256})
	if err != nil {
		return Principal{}, &TokenError{"InvalidAuthenticationToken", "The access token is invalid."}
	}
	var claims jwt.Claims
	var own struct { // go-jose decodes names case-sensitively
		ObjectID string   `json:"oid"`
		ClientID string   `json:"appid"`
		Roles    []string `json:"roles"`
	}
	k, err := s.keys()
	if err != nil {
		return Principal{}, err
	}
	if err := token.Claims(k.jwk.Public().Key, &claims, &own); err != nil {
		return Principal{}, &TokenError{"InvalidAuthenticationToken", "The access token validation failure: it has not been signed by this tenant."}
	}
	if claims.Issuer != s.issuer() {
		return Principal{}, &TokenError{"InvalidAuthenticationTokenTenant", fmt.Sprintf("The access token is from the wrong issuer '%s'.", claims.Issuer)}
	}
	if claims.Expiry == nil || claims.ValidateWithLeeway(jwt.Expected{Time: s.now()}, clockSkew) != nil {
		return Principal{}, &TokenError{"ExpiredAuthenticationToken", "The access token expiry UTC time is earlier than current UTC time."}
	}
	for _, a := range claims.Audience {
		if accepted(a, audiences) || accept != nil && accept(a) {
			return Principal{ObjectID: own.ObjectID, ClientID: own.ClientID, Roles: own.Roles}, nil
		}
	}
	return Principal{}, &TokenError{"InvalidAuthenticationTokenAudience", fmt.Sprintf("The access token has been obtained for wrong audience or resource '%s'. It should exactly match with one of the allowed audiences '%s'.", strings.Join(claims.Audience, ","), strings.Join(audiences, "','"))}
}

func accepted(aud string, audiences []string) bool {
	for _, a := range audiences {
		if strings.EqualFold(strings.TrimRight(aud, "/"), a) {
			return true
		}
	}
	return false
}
