package azure

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/arm"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
)

// signedIn is a credential whose tokens have the claims.
type signedIn string

func (c signedIn) GetToken(context.Context, policy.TokenRequestOptions) (azcore.AccessToken, error) {
	return azcore.AccessToken{Token: "x." + base64.RawURLEncoding.EncodeToString([]byte(c)) + ".x", ExpiresOn: time.Now().Add(time.Hour)}, nil
}

type transport func(*http.Request) *http.Response

func (f transport) Do(r *http.Request) (*http.Response, error) { return f(r), nil }

// A role that the signed-in identity gives itself says what it is: Azure refuses a person who calls himself a service principal.
func TestOwnRoleHasTheTypeOfItsPrincipal(t *testing.T) {
	for claims, want := range map[string]string{
		`{"oid":"` + uuidA + `","idtyp":"app"}`:                             "ServicePrincipal",
		`{"oid":"` + uuidA + `","idtyp":"user","scp":"user_impersonation"}`: "User",
		`{"oid":"` + uuidA + `","scp":"user_impersonation"}`:                "User",
		`{"oid":"` + uuidA + `"}`:                                           "ServicePrincipal",
	} {
		var sent struct {
			Properties map[string]string `json:"properties"`
		}
		answer := transport(func(r *http.Request) *http.Response {
			raw, err := io.ReadAll(r.Body)
			if err != nil || json.Unmarshal(raw, &sent) != nil {
				t.Errorf("the request: %s, %v", raw, err)
			}
			w := httptest.NewRecorder()
			w.WriteHeader(http.StatusCreated)
			_, _ = w.WriteString("{}")
			out := w.Result()
			out.Request = r
			return out
		})
		client, err := arm.NewClient("test", "v1.0.0", signedIn(claims), &arm.ClientOptions{ClientOptions: policy.ClientOptions{Transport: answer}})
		if err != nil {
			t.Fatal(err)
		}
		s := &Session{Credentials: Credentials{SubscriptionID: uuidB}, credential: signedIn(claims), arm: client}
		who, err := s.OwnPrincipal(t.Context())
		if err != nil || who.ObjectID != uuidA {
			t.Fatalf("%s: %+v, %v", claims, who, err)
		}
		if err := s.Assign(t.Context(), Assignment{Name: uuidC, Scope: "/subscriptions/" + uuidB, RoleGUID: uuidC, PrincipalID: who.ObjectID, PrincipalType: who.Type}); err != nil {
			t.Fatal(err)
		}
		if got := sent.Properties["principalType"]; got != want {
			t.Errorf("%s: the role is for a %s, want %s", claims, got, want)
		}
	}
}
