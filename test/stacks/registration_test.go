package stacks_test

import (
	"encoding/json"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/hypershift-on-azure/hypershift/internal/azure"
	"github.com/hypershift-on-azure/hypershift/internal/provision/infra"
	"github.com/hypershift-on-azure/hypershift/sandbox/azure/fault"
)

const identitiesNamespace, machinesNamespace = "Microsoft.ManagedIdentity", "Microsoft.Compute"

// unregister has the subscription not use namespaces, which no command of ours asks for.
func (w *world) unregister(namespaces ...string) {
	w.t.Helper()
	c := &http.Client{Transport: w.transport}
	signIn := url.Values{"grant_type": {"client_credentials"}, "client_id": {client}, "client_secret": {secret}, "scope": {"https://management.azure.com/.default"}}
	resp, err := c.PostForm("https://login.microsoftonline.com/"+tenant+"/oauth2/v2.0/token", signIn)
	must(w.t, err)
	defer resp.Body.Close()
	var token struct {
		Value string `json:"access_token"`
	}
	must(w.t, json.NewDecoder(resp.Body).Decode(&token))
	for _, namespace := range namespaces {
		req, err := http.NewRequestWithContext(w.t.Context(), http.MethodPost,
			"https://management.azure.com/subscriptions/"+w.subscription+"/providers/"+namespace+"/unregister?api-version=2021-04-01", http.NoBody)
		must(w.t, err)
		req.Header.Set("Authorization", "Bearer "+token.Value)
		resp, err := c.Do(req)
		must(w.t, err)
		resp.Body.Close()
		if resp.StatusCode != http.StatusOK {
			w.t.Fatalf("unregister %s: %s", namespace, resp.Status)
		}
	}
}

// What the subscription has not registered is registered before anything is made, also what only the machine provider needs.
func TestNamespacesAreRegistered(t *testing.T) {
	w := newWorld(t)
	w.unregister(identitiesNamespace, machinesNamespace)
	of := infraStack(nil, infra.DestroyOptions{})
	_, err := w.process(0, false, of.prepare)
	must(t, err)
	_, err = w.process(0, false, of.create)
	must(t, err)
	s := w.session(w.transport)
	for _, namespace := range []string{identitiesNamespace, machinesNamespace} {
		if state, err := s.Registration(t.Context(), namespace); err != nil || state != azure.Registered {
			t.Errorf("%s is %s: %v", namespace, state, err)
		}
	}
}

// Who may not register learns what to type, and nothing is made.
func TestWhoMayNotRegisterIsToldTheCommand(t *testing.T) {
	w := newWorld(t)
	w.unregister(identitiesNamespace)
	_, err := w.server.Faults().Add(fault.Rule{Plane: fault.ARM, Method: http.MethodPost, Path: "**/register", Status: 403, Code: "AuthorizationFailed", Message: "No."})
	must(t, err)
	c, err := w.process(0, false, iamStack().create)
	if err == nil || !strings.Contains(err.Error(), "az provider register -n "+identitiesNamespace) {
		t.Errorf("it ended with %v", err)
	}
	for _, write := range c.writes {
		if !strings.Contains(write, "/register") {
			t.Errorf("made before: %s", write)
		}
	}
}
