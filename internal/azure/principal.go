package azure

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"strings"
	"sync"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"

	"github.com/hypershift-on-azure/hypershift/internal/azure/failure"
)

const identityAPI = "2023-01-31"

// Directory answers which principal is behind a client id. One listing of the subscription's managed identities serves all
// questions of a run, however many are asked at once.
type Directory struct {
	session *Session
	mu      sync.Mutex
	byID    map[string]string // lower-cased client id -> object id
}

// NewDirectory makes a directory that has asked nothing yet.
func (s *Session) NewDirectory() *Directory { return &Directory{session: s} }

// PrincipalOf finds the object id behind a client id. Managed identities of the subscription answer without any directory
// permission; only a principal that is not one of them is looked up in Microsoft Graph.
func (d *Directory) PrincipalOf(ctx context.Context, clientID string) (string, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.byID == nil {
		path := "/subscriptions/" + d.session.SubscriptionID + "/providers/Microsoft.ManagedIdentity/userAssignedIdentities"
		identities, err := d.session.List(ctx, path, identityAPI, "")
		if err != nil {
			return "", err
		}
		d.byID = map[string]string{}
		for i := range identities {
			d.byID[strings.ToLower(identities[i].Property("clientId"))] = identities[i].Property("principalId")
		}
	}
	id := strings.ToLower(clientID)
	if d.byID[id] == "" {
		found, err := d.session.principalFromGraph(ctx, clientID)
		if err != nil {
			return "", err
		}
		d.byID[id] = found
	}
	return d.byID[id], nil
}

// PrincipalOf asks a directory of its own, for one question.
func (s *Session) PrincipalOf(ctx context.Context, clientID string) (string, error) {
	return s.NewDirectory().PrincipalOf(ctx, clientID)
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
		return "", failure.Wrap(op, clientID, err)
	}
	if len(answer.Value) != 1 {
		return "", &failure.Error{Op: op, Resource: clientID, Cause: "no managed identity of the subscription and not exactly one service principal has this client id",
			Remedy: "check the workload identities file", Kind: failure.Terminal}
	}
	return answer.Value[0].ID, nil
}

// managerToken asks for the token that calls to the resource manager carry, so that one serves both.
func (s *Session) managerToken() policy.TokenRequestOptions {
	return policy.TokenRequestOptions{Scopes: []string{s.audience + "/.default"}, EnableCAE: true}
}

// Types of principals, as role assignments name them. Azure refuses an assignment whose type is not its principal's.
const (
	typeServicePrincipal = "ServicePrincipal"
	typeUser             = "User"
)

// Principal is who roles are given to. Without a type it is a service principal.
type Principal struct {
	ObjectID, Type string
}

// OwnPrincipal is the signed-in identity, read from the access token that Azure issued: a program, or the person who did `az login`.
func (s *Session) OwnPrincipal(ctx context.Context) (Principal, error) {
	token, err := s.credential.GetToken(ctx, s.managerToken())
	if err != nil {
		return Principal{}, failure.Wrap("sign in", s.ClientID, err)
	}
	var claims struct {
		ObjectID string `json:"oid"`
		Type     string `json:"idtyp"` // app or user; older tokens have none
		Scopes   string `json:"scp"`   // what a person let a program do in his name; programs have roles
	}
	parts := strings.Split(token.Token, ".")
	if len(parts) != 3 {
		return Principal{}, failure.Wrap("sign in", s.ClientID, errors.New("the access token is not a JWT"))
	}
	raw, err := base64.RawURLEncoding.DecodeString(parts[1])
	if err == nil {
		err = json.Unmarshal(raw, &claims)
	}
	out := Principal{ObjectID: claims.ObjectID, Type: typeServicePrincipal}
	if claims.Type == "user" || claims.Type == "" && claims.Scopes != "" {
		out.Type = typeUser
	}
	return out, failure.Wrap("sign in", s.ClientID, err)
}
