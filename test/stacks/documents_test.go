package stacks_test

import (
	"context"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/hypershift-on-azure/hypershift/internal/azure"
	"github.com/hypershift-on-azure/hypershift/internal/pki/signing"
	"github.com/hypershift-on-azure/hypershift/internal/provision/handoff"
	"github.com/hypershift-on-azure/hypershift/internal/provision/issuer"
	"github.com/hypershift-on-azure/hypershift/internal/provision/verify"
)

// The account of the issuer's documents opens to no key of its own, and keeps what was there before; that of the user stays as it is.
func TestDocumentsAreKept(t *testing.T) {
	for name, theirs := range map[string]bool{"ours": false, "the user's": true} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			s := w.session(w.transport)
			o := issuer.Options{Name: cluster, ResourceGroup: common, Location: location, PrivateKey: signer(t)}
			account := s.ResourceID(common, "Microsoft.Storage/storageAccounts", o.Resolve(s).StorageAccount)
			if theirs {
				_, err := s.Put(t.Context(), account, "2023-01-01", azure.Resource{Location: location, Kind: "StorageV2", SKU: map[string]any{"name": "Standard_LRS"}})
				must(t, err)
			}
			_, err := issuer.Create(t.Context(), s, o, nil)
			must(t, err)
			made, err := s.Get(t.Context(), account, "2023-01-01")
			must(t, err)
			service, err := s.Get(t.Context(), account+"/blobServices/default", "2023-01-01")
			must(t, err)
			if closed := made.Properties["allowSharedKeyAccess"] == false; closed == theirs {
				t.Errorf("allowSharedKeyAccess is %v", made.Properties["allowSharedKeyAccess"])
			}
			kept := service.Properties["isVersioningEnabled"] == true
			for _, policy := range []string{"deleteRetentionPolicy", "containerDeleteRetentionPolicy"} {
				of, _ := service.Properties[policy].(map[string]any)
				kept = kept && of["enabled"] == true
			}
			if kept == theirs {
				t.Errorf("the blob service is %v", service.Properties)
			}
		})
	}
}

// A private blob is read with the address that was signed for it, and with no other one. The key is delegated: the account's own are closed.
func TestSignedAddress(t *testing.T) {
	w := newWorld(t)
	s := w.session(w.transport)
	made, err := issuer.Create(t.Context(), s, issuer.Options{Name: cluster, ResourceGroup: common, Location: location, PrivateKey: signer(t)}, nil)
	must(t, err)
	container := s.ResourceID(common, "Microsoft.Storage/storageAccounts", made.StorageAccount) + "/blobServices/default/containers/private"
	_, err = s.Put(t.Context(), container, "2023-01-01", azure.Resource{Properties: map[string]any{"publicAccess": "None"}})
	must(t, err)
	for _, name := range []string{"demo/1.db", "demo/2.db"} {
		must(t, s.UploadBlob(t.Context(), made.StorageAccount, "private", name, "application/octet-stream", []byte(name)))
	}
	address := s.BlobEndpoint(made.StorageAccount) + "/private/demo/1.db"
	signed, err := s.SignBlobURL(t.Context(), address, time.Now(), time.Hour)
	must(t, err)
	for read, want := range map[string]int{signed: http.StatusOK, address: http.StatusNotFound, strings.Replace(signed, "1.db", "2.db", 1): http.StatusForbidden} {
		content, status, err := s.ReadPublic(t.Context(), read)
		must(t, err)
		if status != want || want == http.StatusOK && string(content) != "demo/1.db" {
			t.Errorf("status %d, want %d: %s", status, want, content)
		}
	}
	for _, wrong := range []string{"https://example.com/private/demo/1.db", "http://" + strings.TrimPrefix(address, "https://"), s.BlobEndpoint("a") + "/container"} {
		if _, err := s.SignBlobURL(t.Context(), wrong, time.Now(), time.Hour); err == nil || !strings.Contains(err.Error(), "no blob of this cloud") {
			t.Errorf("%s: %v", wrong, err)
		}
	}
}

// Somebody who may write the documents adds a key of his own, or has Azure read the keys elsewhere: verify tells, with the hand-off alone as
// with the private key.
func TestForeignKeysAreFound(t *testing.T) {
	w := newWorld(t)
	s := w.session(w.transport)
	o := issuer.Options{Name: cluster, ResourceGroup: common, Location: location, PrivateKey: signer(t)}
	made, err := issuer.Create(t.Context(), s, o, nil)
	must(t, err)
	id, err := made.KeyID()
	must(t, err)
	foreign, err := signing.ReadPrivate(signer(t))
	must(t, err)
	withKey := &handoff.Issuer{URL: made.URL, StorageAccount: made.StorageAccount, Container: made.Container, PrivateKeyPath: made.PrivateKeyPath}
	onRecord := &handoff.Issuer{URL: made.URL, StorageAccount: made.StorageAccount, Container: made.Container, KeyIDs: []string{id}}
	neither := &handoff.Issuer{URL: made.URL}
	failing := func(of *handoff.Issuer) string {
		t.Helper()
		checks, err := verify.Run(t.Context(), s, &handoff.File{Issuer: of}, verify.Options{})
		must(t, err)
		var names []string
		for _, c := range checks {
			if c.Status == verify.Fail {
				names = append(names, c.Name)
			}
		}
		return strings.Join(names, ", ")
	}
	for _, of := range []*handoff.Issuer{withKey, onRecord, neither} {
		if got := failing(of); got != "" {
			t.Fatalf("as it was made, %s fails", got)
		}
	}
	publish := func(path string, raw []byte) {
		t.Helper()
		must(t, s.UploadBlob(t.Context(), made.StorageAccount, made.Container, path, "application/json", raw))
	}
	set, err := issuer.PublishedKeys(t.Context(), s, made.URL)
	must(t, err)
	both, err := set.With(&foreign.PublicKey)
	must(t, err)
	raw, err := both.Encode()
	must(t, err)
	publish(issuer.KeysPath, raw)
	for _, of := range []*handoff.Issuer{withKey, onRecord} {
		if got := failing(of); got != "no other key" {
			t.Errorf("with a foreign key, %q fails", got)
		}
	}
	discovery, status, err := s.ReadPublic(context.Background(), made.URL+"/"+issuer.DiscoveryPath)
	must(t, err)
	if status != http.StatusOK {
		t.Fatal(status)
	}
	publish(issuer.DiscoveryPath, []byte(strings.Replace(string(discovery), "/"+issuer.KeysPath, "/elsewhere", 1)))
	if got := failing(neither); got != "discovery document" {
		t.Errorf("with keys elsewhere, %q fails", got)
	}
}
