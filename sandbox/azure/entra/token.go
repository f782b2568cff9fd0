package entra

import (
	"context"
	"crypto/subtle"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/go-jose/go-jose/v4/jwt"
	"github.com/google/uuid"

	"github.com/hypershift-on-azure/hypershift/sandbox/azure/access"
	"github.com/hypershift-on-azure/hypershift/sandbox/azure/pace"
	"github.com/hypershift-on-azure/hypershift/sandbox/azure/store"
	"github.com/hypershift-on-azure/hypershift/sandbox/azure/wire"
)

// tokenLife is how long an access token is good.
const tokenLife = time.Hour

func (s *Service) token(w http.ResponseWriter, r *http.Request) {
	if err := r.ParseForm(); err != nil {
		badRequest("invalid_request", "900144", "The request body could not be read.").write(w)
		return
	}
	c, aud, failure := s.grant(r.Context(), r.PostForm)
	access.SetPrincipal(r.Context(), r.PostForm.Get("client_id"))
	if failure != nil {
		failure.write(w)
		return
	}
	now := s.now()
	raw, err := s.issue(c, aud, now)
	if err != nil {
		serverError(err).write(w)
		return
	}
	seconds := int(tokenLife.Seconds()) - 1
	w.Header().Set("Cache-Control", "no-store, no-cache")
	wire.JSON(w, http.StatusOK, wire.Doc{
		"token_type": "Bearer", "expires_in": seconds, "ext_expires_in": seconds, "access_token": raw,
		"resource": aud, "expires_on": fmt.Sprint(now.Add(tokenLife).Unix()),
	})
}

// grant checks a client-credentials request and says for whom and for which resource a token is due.
func (s *Service) grant(ctx context.Context, f url.Values) (client, string, *tokenError) {
	if g := f.Get("grant_type"); g != "client_credentials" {
		return client{}, "", badRequest("unsupported_grant_type", "70003", "The app requested an unsupported grant type '%s'.", g)
	}
	id, aud := f.Get("client_id"), audience(f)
	if id == "" {
		return client{}, "", badRequest("invalid_request", "900144", "The request body must contain the following parameter: 'client_id'.")
	}
	if aud == "" {
		return client{}, "", badRequest("invalid_scope", "1002012", "The provided value for scope '%s' is not valid. Client credential flows must have a scope value with /.default suffixed to the resource identifier (application ID URI).", f.Get("scope"))
	}
	var c client
	var known bool
	s.store.View(func(tx *store.Tx) { c, known = findClient(tx, id) })
	if !known || s.pace.Hides(pace.Identity, c.created) {
		return c, "", unknownClient(id)
	}
	if c.principalID == "" {
		return c, "", badRequest("unauthorized_client", "7000229",
			"The client application '%s' is missing service principal in the tenant '%s'. See instructions here: "+
				"https://go.microsoft.com/fwlink/?linkid=2225119", c.id, s.tenant)
	}
	switch {
	case f.Get("client_assertion") != "":
		return c, aud, s.checkAssertion(ctx, c, f.Get("client_assertion"))
	case f.Get("client_secret") != "":
		return c, aud, s.checkSecret(c, f.Get("client_secret"))
	}
	return c, "", unauthorized("7000218", "The request body must contain the following parameter: 'client_assertion' or 'client_secret'.")
}

// audience finds the resource; MSAL puts "openid offline_access profile" beside the scope that counts.
func audience(f url.Values) string {
	for _, scope := range strings.Fields(f.Get("scope")) {
		if aud, ok := strings.CutSuffix(scope, "/.default"); ok {
			return aud
		}
	}
	return f.Get("resource")
}

func (s *Service) checkSecret(c client, secret string) *tokenError {
	hash, ok, over := HashSecret(secret), false, false
	s.store.View(func(tx *store.Tx) {
		for _, r := range tx.Scan(store.Credentials, "") {
			if strings.EqualFold(wire.Text(r.Doc, "appId"), c.id) && subtle.ConstantTimeCompare([]byte(wire.Text(r.Doc, "sha256")), []byte(hash)) == 1 {
				ends := wire.Time(r.Doc, "endDateTime")
				ok, over = true, !ends.IsZero() && !s.now().Before(ends)
			}
		}
	})
	switch {
	case over:
		return unauthorized("7000222", "The provided client secret keys for app '%s' are expired. Visit the Azure portal to create new keys for your app: "+
			"https://aka.ms/NewClientSecret, or consider using certificate credentials for added security: https://aka.ms/certCreds.", c.id)
	case !ok:
		return unauthorized("7000215", "Invalid client secret provided. Ensure the secret being sent in the request is the client secret value, not the client secret ID, for a secret added to app '%s'.", c.id)
	}
	return nil
}

func (s *Service) issue(c client, aud string, now time.Time) (string, error) {
	claims := wire.Doc{
		"aud": aud, "iss": s.issuer(), "iat": now.Unix(), "nbf": now.Unix(), "exp": now.Add(tokenLife).Unix(),
		"appid": c.id, "appidacr": "1", "azp": c.id, "idp": s.issuer(), "idtyp": "app", "oid": c.principalID, "sub": c.principalID,
		"tid": s.tenant, "uti": uuid.NewString(), "ver": "1.0",
	}
	if accepted(aud, GraphAudiences) {
		s.store.View(func(tx *store.Tx) { claims["roles"] = appRoles(tx, c.principalID) })
	}
	k, err := s.keys()
	if err != nil {
		return "", err
	}
	raw, err := jwt.Signed(k.signer).Claims(claims).Serialize()
	if err != nil {
		return "", fmt.Errorf("signing a token: %w", err)
	}
	return raw, nil
}

func (s *Service) issuer() string { return "https://sts.windows.net/" + s.tenant + "/" }
