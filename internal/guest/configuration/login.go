package configuration

import (
	"encoding/base64"

	oauthv1 "github.com/openshift/api/oauth/v1"

	"github.com/hypershift-on-azure/hypershift/internal/clusterconfig/singletons"
	"github.com/hypershift-on-azure/hypershift/internal/guest/inside"
)

// OAuthClientKind is who may ask the OAuth server for a token. Its API server is an aggregated one.
var OAuthClientKind = oauthv1.GroupVersion.WithKind("OAuthClient")

const secretSize = 32

// oauthClients are those of OpenShift's own tools: a browser, a program that is challenged, and the command line with a browser beside it.
func oauthClients(facts *inside.Facts) []Shared {
	if facts.LoginURL == "" {
		return nil
	}
	client := func(name string, more map[string]any, redirects ...string) Shared {
		content := map[string]any{"grantMethod": string(oauthv1.GrantHandlerAuto), "redirectURIs": singletons.Texts(redirects)}
		for key, value := range more {
			content[key] = value
		}
		return Shared{Unstructured: object(OAuthClientKind, "", name, content), Defaults: [][]string{{"secret"}}}
	}
	secret := base64.RawURLEncoding.EncodeToString(randomBytes(secretSize))[:secretSize]
	return []Shared{
		client("openshift-browser-client", map[string]any{"secret": secret}, facts.LoginURL+"/oauth/token/display"),
		client("openshift-challenging-client", map[string]any{"respondWithChallenges": true}, facts.LoginURL+"/oauth/token/implicit"),
		client("openshift-cli-client", nil, "http://127.0.0.1/callback", "http://[::1]/callback"),
	}
}
