package stacks_test

import (
	"context"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4/jwt"

	"github.com/hypershift-on-azure/hypershift/internal/azure"
	"github.com/hypershift-on-azure/hypershift/internal/azure/failure"
	"github.com/hypershift-on-azure/hypershift/internal/azure/vault"
	"github.com/hypershift-on-azure/hypershift/internal/pki"
	"github.com/hypershift-on-azure/hypershift/internal/provision/issuer"
	"github.com/hypershift-on-azure/hypershift/internal/provision/node"
	"github.com/hypershift-on-azure/hypershift/sandbox/azure/fault"
)

// TestSignInAndVault: a sign-in of a component, by a credential that Entra does not know yet, tells Entra's code, and is good once it does.
func TestSignInAndVault(t *testing.T) {
	w := newWorld(t)
	s := w.session(w.transport)
	key := signer(t)
	made, err := issuer.Create(t.Context(), s, issuer.Options{Name: cluster, ResourceGroup: common, Location: location, PrivateKey: key}, nil)
	must(t, err)
	id := s.ResourceID(common, "Microsoft.ManagedIdentity/userAssignedIdentities", "machines")
	identity, err := s.Put(t.Context(), id, "2023-01-31", azure.Resource{Location: location})
	must(t, err)
	clientID, _ := identity.Properties["clientId"].(string)
	private, err := os.ReadFile(key)
	must(t, err)
	const subject = "system:serviceaccount:kube-system:capi-provider"
	assertion := func(context.Context) (string, error) {
		return pki.ServiceAccountToken(private, jwt.Claims{Issuer: made.URL, Subject: subject, Audience: jwt.Audience{"openshift"}}, time.Now(), 15*time.Minute)
	}
	signIn := func() error {
		return azure.Federation{TenantID: tenant, ClientID: clientID}.SignIn(t.Context(), &http.Client{Transport: w.transport}, assertion)
	}
	_, err = w.server.Faults().Add(fault.Rule{Preset: "federation-delay", Seconds: 3600})
	must(t, err)
	_, err = s.Put(t.Context(), id+"/federatedIdentityCredentials/machines", "2023-01-31", azure.Resource{Properties: map[string]any{
		"issuer": made.URL, "subject": subject, "audiences": []any{"openshift"}}})
	must(t, err)
	if err := signIn(); failure.CodeOf(err) != "AADSTS70021" {
		t.Errorf("a credential that Entra does not know yet: %v", err)
	}
	must(t, w.server.Faults().Clear())
	must(t, signIn())
	vaultDenies(t, w, clientID, assertion)
}

// vaultDenies: a key vault's refusal of its key is told as Azure tells it.
func vaultDenies(t *testing.T, w *world, clientID string, assertion func(context.Context) (string, error)) {
	t.Helper()
	_, err := w.server.Faults().Add(fault.Rule{Preset: "vault-denied"})
	must(t, err)
	vault, err := vault.WithAssertion(vault.Key{Vault: "keeper", Name: "etcd", Version: "1", TenantID: tenant, ClientID: clientID}, &http.Client{Transport: w.transport}, assertion)
	must(t, err)
	if _, err := vault.Encrypt(t.Context(), []byte("x")); failure.CodeOf(err) != "Forbidden" {
		t.Errorf("a vault that refuses its key: %v", err)
	}
}

// TestNameTaken: the name of an issuer's storage account that is another customer's is told with what to do.
func TestNameTaken(t *testing.T) {
	w := newWorld(t)
	_, err := w.server.Faults().Add(fault.Rule{Preset: "name-taken"})
	must(t, err)
	_, err = issuer.Create(t.Context(), w.session(w.transport), issuer.Options{Name: cluster, ResourceGroup: common, Location: location, PrivateKey: signer(t)}, nil)
	if err == nil || !strings.Contains(err.Error(), "StorageAccountAlreadyTaken") || !strings.Contains(err.Error(), "--storage-account-name") {
		t.Errorf("%v", err)
	}
}

// TestNameOfAnother: the name of a storage account that is there is refused before anything is made.
func TestNameOfAnother(t *testing.T) {
	w := newWorld(t)
	s := w.session(w.transport)
	options := issuer.Options{Name: cluster, ResourceGroup: "fresh", Location: location, PrivateKey: signer(t), StorageAccount: "ofanother"}
	theirs := options
	theirs.ResourceGroup = "theirs"
	_, err := issuer.Create(t.Context(), s, theirs, nil)
	must(t, err)
	_, err = issuer.Create(t.Context(), s, options, nil)
	if err == nil || !strings.Contains(err.Error(), "AlreadyExists: The storage account named ofanother is already taken") || !strings.Contains(err.Error(), "--storage-account-name") {
		t.Errorf("%v", err)
	}
	if _, err := s.Get(t.Context(), s.GroupID("fresh"), node.APIGroups); !failure.IsNotFound(err) {
		t.Errorf("the resource group is made before: %v", err)
	}
	// One's own name is none of another's.
	_, err = issuer.Create(t.Context(), s, theirs, nil)
	must(t, err)
}

// TestSlowOperations: what Azure takes its time for is waited for.
func TestSlowOperations(t *testing.T) {
	w := newWorld(t)
	_, err := w.server.Faults().Add(fault.Rule{Preset: "operation-slow", Seconds: 0.02})
	must(t, err)
	made, err := issuer.Create(t.Context(), w.session(w.transport), issuer.Options{Name: cluster, ResourceGroup: common, Location: location, PrivateKey: signer(t)}, nil)
	if err != nil || made.URL == "" {
		t.Errorf("%+v, %v", made, err)
	}
}
