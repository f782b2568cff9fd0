package cloud

import (
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// wire answers requests in place of Azure.
type wire func(*http.Request) (status int, body string)

func (w wire) RoundTrip(request *http.Request) (*http.Response, error) {
	status, body := w(request)
	return &http.Response{StatusCode: status, Status: http.StatusText(status), Body: io.NopCloser(strings.NewReader(body)), Request: request, Header: http.Header{}}, nil
}

func armOver(w wire) *arm { return &arm{http: &http.Client{Transport: w}, token: "the-token"} }

// TestBlobWaitsForItsRole: a role shows at the storage a moment after it was given; nothing else is asked again.
func TestBlobWaitsForItsRole(t *testing.T) {
	for _, test := range []struct {
		name     string
		statuses []int // the last one stays
		asked    int   // 0: until its time is over
		fails    int   // with the status, 0: not at all
		took     time.Duration
	}{
		{"at once", []int{201}, 1, 0, 0},
		{"after two refusals", []int{403, 403, 201}, 3, 0, 2 * time.Second},
		{"never allowed", []int{403}, 0, 403, roleSpread},
		{"broken", []int{500, 201}, 1, 500, 0},
		{"allowed and then broken", []int{403, 404}, 2, 404, time.Second},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				asked, began := 0, time.Now()
				a := armOver(func(request *http.Request) (int, string) {
					body, _ := io.ReadAll(request.Body)
					if string(body) != "the document" || request.Header.Get("Authorization") != "Bearer the-token" || request.Header.Get("X-Ms-Blob-Type") != "BlockBlob" {
						t.Errorf("asked with %q, %v", body, request.Header)
					}
					asked++
					return test.statuses[min(asked, len(test.statuses))-1], "why"
				})
				err := a.putBlobOnceAllowed(t.Context(), "https://account.example/oidc/keys", []byte("the document"))
				var refused *statusError
				if errors.As(err, &refused) != (test.fails != 0) || refused != nil && refused.status != test.fails || refused == nil && err != nil {
					t.Errorf("%v, want status %d", err, test.fails)
				}
				if took := time.Since(began); test.asked != 0 && asked != test.asked || took != test.took {
					t.Errorf("asked %d times in %s, want %d in %s", asked, took, test.asked, test.took)
				}
			})
		})
	}
}

// TestARMErrors: what Azure says of a refusal is told with the request, and the token is not.
func TestARMErrors(t *testing.T) {
	a := armOver(func(*http.Request) (int, string) { return http.StatusConflict, "the group is being deleted" })
	err := a.call(t.Context(), http.MethodPut, "/subscriptions/s/resourceGroups/g", "2021-04-01", object{"location": "eastus"}, nil)
	if err == nil || !strings.Contains(err.Error(), "PUT /subscriptions/s/resourceGroups/g: Conflict: the group is being deleted") || strings.Contains(err.Error(), "the-token") {
		t.Error(err)
	}
	var got struct{ Name string }
	a = armOver(func(request *http.Request) (int, string) {
		if request.URL.Query().Get("api-version") != "2021-04-01" {
			t.Errorf("asked %s", request.URL)
		}
		return http.StatusOK, `{"name": "g"}`
	})
	if err := a.call(t.Context(), http.MethodGet, "/subscriptions/s/resourceGroups/g", "2021-04-01", nil, &got); err != nil || got.Name != "g" {
		t.Errorf("%+v, %v", got, err)
	}
}

// TestLoginKeepsTheSecret: a refused sign-in says so without the secret that it was tried with.
func TestLoginKeepsTheSecret(t *testing.T) {
	dir := t.TempDir()
	if err := EnsureCredentials(dir); err != nil {
		t.Fatal(err)
	}
	secret, err := ClientSecret(dir)
	if err != nil || len(secret) < 40 {
		t.Fatalf("the secret has %d characters, %v", len(secret), err)
	}
	a := armOver(func(request *http.Request) (int, string) {
		if err := request.ParseForm(); err != nil || request.PostForm.Get("client_secret") != secret || request.PostForm.Get("scope") != armScope {
			return http.StatusBadRequest, "another form"
		}
		return http.StatusUnauthorized, "AADSTS7000215"
	})
	a.token = ""
	if err := a.login(t.Context(), dir, armScope); err == nil || !strings.Contains(err.Error(), "AADSTS7000215") || strings.Contains(err.Error(), secret) {
		t.Errorf("sign-in that is refused: %v", err)
	}
	a = armOver(func(*http.Request) (int, string) { return http.StatusOK, `{"access_token": "fresh"}` })
	if err := a.login(t.Context(), dir, armScope); err != nil || a.token != "fresh" {
		t.Errorf("%q, %v", a.token, err)
	}
}

func TestFetchRefusesErrors(t *testing.T) {
	status := http.StatusOK
	client := &http.Client{Transport: wire(func(*http.Request) (int, string) { return status, "document" })}
	if text, err := fetch(t.Context(), client, "https://api.example/keys"); err != nil || string(text) != "document" {
		t.Errorf("%q, %v", text, err)
	}
	status = http.StatusForbidden
	if _, err := fetch(t.Context(), client, "https://api.example/keys"); err == nil || !strings.Contains(err.Error(), "GET https://api.example/keys: Forbidden") {
		t.Errorf("an answer that is refused is taken for the document: %v", err)
	}
}
