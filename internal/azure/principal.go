package azure

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"strings"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
)

const identityAPI = "2023-01-31"

// PrincipalOf finds the object id behind a client id. Managed identities of the subscription answer without any directory
// permission; only a principal that is not one of them is looked up in Microsoft Graph.
func (s *Session) PrincipalOf(ctx context.Context, clientID string) (string, error) {
	identities, err := s.List(ctx, "/subscriptions/"+s.SubscriptionID+"/providers/Microsoft.ManagedIdentity/userAssignedIdentities", identityAPI, "")
	if err != nil {
		return "", err
	}
	for i := range identities {
		if strings.EqualFold(identities[i].Property("clientId"), clientID) {
			return identities[i].Property("principalId"), nil
		}
	}
	return s.principalFromGraph(ctx, clientID)
}

func (s *Session) principalFromGraph(ctx context.Context, clientID string) (string, error) {
	const op = "look up the service principal"
	var answer struct {
		Value []struct {
			ID string `json:"id"`
		} `json:"value"`
	}
	filter := url.Values{"$filter": {"appId eq '" + clientID + "'"}}
	if err := s.graph(ctx, http.MethodGet, "servicePrincipals", filter, nil, &answer); err != nil {
		return "", Wrap(op, clientID, err)
	}
	if len(answer.Value) != 1 {
		return "", &Error{Op: op, Resource: clientID, Cause: "no managed identity of the subscription and not exactly one service principal has this client id",
			Remedy: "check the workload identities file", Kind: Terminal}
	}
	return answer.Value[0].ID, nil
}

// OwnPrincipal is the object id of the signed-in identity, read from the access token Azure issued.
func (s *Session) OwnPrincipal(ctx context.Context) (string, error) {
	token, err := s.credential.GetToken(ctx, policy.TokenRequestOptions{Scopes: []string{s.arm.Endpoint() + "/.default"}})
	if err != nil {
		return "", Wrap("sign in", s.ClientID, err)
	}
	var claims struct {
		ObjectID string `json:"oid"`
	}
	parts := strings.Split(token.Token, ".")
	if len(parts) != 3 {
		return "", Wrap("sign in", s.ClientID, errors.New("the access token is not a JWT"))
	}
	raw, err := base64.RawURLEncoding.DecodeString(parts[1])
	if err == nil {
		err = json.Unmarshal(raw, &claims)
	}
	return claims.ObjectID, Wrap("sign in", s.ClientID, err)
}
