package stacks_test

import (
	"context"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4/jwt"
	"github.com/google/uuid"

	"github.com/hypershift-on-azure/hypershift/internal/azure"
	"github.com/hypershift-on-azure/hypershift/internal/azure/failure"
	"github.com/hypershift-on-azure/hypershift/internal/pki"
	"github.com/hypershift-on-azure/hypershift/internal/provision/issuer"
)

// TestBackupIsStored: an identity that trusts the hosted cluster's issuer writes a blob with a token that the cluster's own key signed, and
// with nothing else. Without its federated credential or its role it is refused in Azure's words; a blob that is there is left alone.
func TestBackupIsStored(t *testing.T) {
	w := newWorld(t)
	s := w.session(w.transport)
	key := signer(t)
	made, err := issuer.Create(t.Context(), s, issuer.Options{Name: cluster, ResourceGroup: common, Location: location, PrivateKey: key}, nil)
	must(t, err)
	account := s.ResourceID(common, "Microsoft.Storage/storageAccounts", made.StorageAccount)
	_, err = s.Put(t.Context(), account+"/blobServices/default/containers/backups", "2023-01-01", azure.Resource{Properties: map[string]any{"publicAccess": "None"}})
	must(t, err)
	id := s.ResourceID(common, "Microsoft.ManagedIdentity/userAssignedIdentities", "backup")
	identity, err := s.Put(t.Context(), id, "2023-01-31", azure.Resource{Location: location})
	must(t, err)
	clientID, _ := identity.Properties["clientId"].(string)
	principal, _ := identity.Properties["principalId"].(string)

	private, err := os.ReadFile(key)
	must(t, err)
	assertion := func(context.Context) (string, error) {
		return pki.ServiceAccountToken(private, jwt.Claims{Issuer: made.URL, Subject: "system:serviceaccount:kube-system:etcd-backup", Audience: jwt.Audience{"openshift"}},
			time.Now(), 15*time.Minute)
	}
	path := filepath.Join(t.TempDir(), "snapshot.db")
	must(t, os.WriteFile(path, []byte("a snapshot"), 0o600))
	upload := func() (string, error) {
		t.Helper()
		store, err := azure.Federation{TenantID: tenant, ClientID: clientID}.Blobs(made.StorageAccount, &http.Client{Transport: w.transport}, assertion)
		must(t, err)
		file, err := os.Open(path)
		must(t, err)
		defer file.Close()
		return store.Upload(t.Context(), "backups", "demo/1.db", file, map[string]string{"sha256": "ab"})
	}
	refused := func(code string) {
		t.Helper()
		if _, err := upload(); failure.CodeOf(err) != code {
			t.Errorf("%v, want %s", err, code)
		}
	}
	refused("AADSTS70025")
	_, err = s.Put(t.Context(), id+"/federatedIdentityCredentials/backup", "2023-01-31", azure.Resource{Properties: map[string]any{
		"issuer": made.URL, "subject": "system:serviceaccount:kube-system:etcd-backup", "audiences": []any{"openshift"}}})
	must(t, err)
	refused("AuthorizationPermissionMismatch")
	must(t, s.Assign(t.Context(), azure.Assignment{Name: uuid.NewString(), Scope: account, RoleGUID: "ba92f5b4-2d11-453d-a403-e96b0029c9fe", PrincipalID: principal}))
	address, err := upload()
	must(t, err)
	if address != s.BlobEndpoint(made.StorageAccount)+"/backups/demo/1.db" {
		t.Errorf("it lies at %s", address)
	}
	refused("BlobAlreadyExists")

	// Who restores it is given the hash with the bytes.
	signed, err := s.SignBlobURL(t.Context(), address, time.Now(), time.Hour)
	must(t, err)
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, signed, http.NoBody)
	must(t, err)
	answer, err := (&http.Client{Transport: w.transport}).Do(request)
	must(t, err)
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusOK || answer.Header.Get("x-ms-meta-sha256") != "ab" || !strings.Contains(signed, "sig=") {
		t.Errorf("status %d, hash %q", answer.StatusCode, answer.Header.Get("x-ms-meta-sha256"))
	}
}
