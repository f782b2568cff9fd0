package stacks_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/hypershift-on-azure/hypershift/internal/azure"
	"github.com/hypershift-on-azure/hypershift/internal/azure/failure"
	"github.com/hypershift-on-azure/hypershift/internal/field"
	"github.com/hypershift-on-azure/hypershift/internal/pki/signing"
	"github.com/hypershift-on-azure/hypershift/internal/provision/issuer"
	"github.com/hypershift-on-azure/hypershift/internal/stack"
	"github.com/hypershift-on-azure/hypershift/sandbox/azure/fault"
)

const apiStorage = "2023-01-01"

// issuerOptions are of an issuer whose pair is in a folder of the test's.
func issuerOptions(t *testing.T) issuer.Options {
	return issuer.Options{Name: cluster, ResourceGroup: common, Location: location, KeyDirectory: t.TempDir()}
}

func (w *world) makeIssuer(o issuer.Options) (made issuer.Issuer, c *cutter, err error) {
	c, err = w.process(0, false, func(ctx context.Context, s *azure.Session) (err error) {
		made, err = issuer.Create(ctx, s, o, nil)
		return err
	})
	return made, c, err
}

func (w *world) account(name string) string {
	return w.group(common) + "/providers/Microsoft.Storage/storageAccounts/" + name
}

// theirAccount is a storage account of the user's, as he likes it.
func (w *world) theirAccount(s *azure.Session, name string) string {
	w.t.Helper()
	_, err := s.Put(w.t.Context(), w.account(name), apiStorage, azure.Resource{Location: location, Kind: "StorageV2", SKU: map[string]any{"name": "Standard_GRS"},
		Tags: map[string]string{"mine": "yes"}, Properties: map[string]any{"allowBlobPublicAccess": false, "minimumTlsVersion": "TLS1_2", "supportsHttpsTrafficOnly": true,
			"allowSharedKeyAccess": true, "accessTier": "Cool"}})
	must(w.t, err)
	return w.account(name)
}

// In a storage account of the user's one property is changed, since without it Azure cannot read the documents; a destroy takes what is ours from
// it, and not the account.
func TestAnIssuerInTheUsersAccount(t *testing.T) {
	w := newWorld(t)
	s := w.session(w.transport)
	id := w.theirAccount(s, "theirs1")
	for name, metadata := range map[string]map[string]any{"backups": nil, "taken": {"whose": "mine"}} {
		_, err := s.Put(t.Context(), id+"/blobServices/default/containers/"+name, apiStorage, azure.Resource{Properties: map[string]any{"publicAccess": "None", "metadata": metadata}})
		must(t, err)
	}
	must(t, s.Assign(t.Context(), azure.Assignment{Name: "0b8f0a3e-0000-4000-8000-000000000001", Scope: id, RoleGUID: "ba92f5b4-2d11-453d-a403-e96b0029c9fe", PrincipalID: client}))
	o := issuerOptions(t)
	o.StorageAccount = "theirs1"
	_, _, err := w.makeIssuer(o)
	must(t, err)
	found, err := s.Get(t.Context(), id, apiStorage)
	must(t, err)
	if found.Properties["allowBlobPublicAccess"] != true || found.Properties["allowSharedKeyAccess"] != true || found.SKU["name"] != "Standard_GRS" ||
		found.Tags["mine"] != "yes" || len(found.Tags) != 1 {
		t.Errorf("the account is %+v", found)
	}
	service, err := s.Get(t.Context(), id+"/blobServices/default", apiStorage)
	if err == nil && service.Properties["isVersioningEnabled"] == true {
		t.Error("the user's account keeps versions now")
	}
	_, err = issuer.Destroy(t.Context(), s, o, nil)
	must(t, err)
	containers, err := s.List(t.Context(), id+"/blobServices/default/containers", apiStorage, "")
	must(t, err)
	var left []string
	for _, c := range containers {
		left = append(left, c.Name)
	}
	if slices.Sort(left); !slices.Equal(left, []string{"backups", "taken"}) {
		t.Errorf("left are %v", left)
	}
}

// A container that the user has made keeps what else is in it, and the mark that it has.
func TestAnIssuerInTheUsersContainer(t *testing.T) {
	w := newWorld(t)
	s := w.session(w.transport)
	id := w.theirAccount(s, "theirs2")
	o := issuerOptions(t)
	o.StorageAccount = "theirs2"
	_, err := s.Put(t.Context(), id+"/blobServices/default/containers/"+cluster, apiStorage, azure.Resource{Properties: map[string]any{"publicAccess": "None",
		"metadata": map[string]any{"whose": "mine"}}})
	must(t, err)
	made, _, err := w.makeIssuer(o)
	must(t, err)
	must(t, s.UploadBlob(t.Context(), "theirs2", cluster, "photo.jpg", "image/jpeg", []byte("x")))
	container, err := s.Get(t.Context(), id+"/blobServices/default/containers/"+cluster, apiStorage)
	must(t, err)
	if container.Property("metadata", "whose") != "mine" || container.Property("metadata", "hypershift_cluster") != "" {
		t.Errorf("the metadata is %v", container.Properties["metadata"])
	}
	steps, err := issuer.PlanDestroy(t.Context(), s, o)
	must(t, err)
	for _, step := range steps {
		if step.Kind != "issuer document" {
			t.Errorf("the plan deletes %s %s", step.Kind, step.Name)
		}
	}
	_, err = issuer.Destroy(t.Context(), s, o, nil)
	must(t, err)
	for path, want := range map[string]int{"/photo.jpg": 200, "/" + issuer.KeysPath: 404, "/" + issuer.DiscoveryPath: 404} {
		if _, status, err := s.ReadPublic(t.Context(), made.URL+path); err != nil || status != want {
			t.Errorf("%s answers %d, %v; want %d", path, status, err, want)
		}
	}
}

// An account that we have made may hold the issuers of several clusters: it goes with the last of them, and the pair of keys never.
func TestAnAccountGoesWithItsLastIssuer(t *testing.T) {
	w := newWorld(t)
	before := w.dump()
	s := w.session(w.transport)
	first, second := issuerOptions(t), issuerOptions(t)
	second.Name = "other"
	made, _, err := w.makeIssuer(first)
	must(t, err)
	other, _, err := w.makeIssuer(second)
	must(t, err)
	var phases []stack.Phase
	note := func(e stack.Event) {
		if e.Node.Kind == "storage account" {
			phases = append(phases, e.Phase)
		}
	}
	_, err = issuer.Destroy(t.Context(), s, first, note)
	must(t, err)
	if !slices.Equal(phases, []stack.Phase{stack.Deleting, stack.Kept}) {
		t.Errorf("the account is told as %v", phases)
	}
	if _, err := issuer.PublishedKeys(t.Context(), s, other.URL); err != nil {
		t.Errorf("the other cluster's keys: %v", err)
	}
	_, err = issuer.Destroy(t.Context(), s, second, nil)
	must(t, err)
	if d := differences(before, w.dump()); d != "" {
		t.Errorf("after the last:\n%s", d)
	}
	for _, path := range []string{made.PrivateKeyPath, made.PublicKeyPath, other.PrivateKeyPath} {
		if _, err := os.Stat(path); err != nil {
			t.Error(err)
		}
	}
	if _, err = issuer.Destroy(t.Context(), s, second, nil); err != nil {
		t.Errorf("a second destroy: %v", err)
	}
}

// The private key is its owner's alone and is made once; a plan makes none.
func TestThePairOfAnIssuer(t *testing.T) {
	w := newWorld(t)
	s := w.session(w.transport)
	o := issuerOptions(t)
	o.KeyDirectory = filepath.Join(o.KeyDirectory, "not", "there")
	before := w.dump()
	_, err := issuer.Plan(t.Context(), s, o)
	must(t, err)
	if _, err := os.Stat(o.KeyDirectory); !errors.Is(err, os.ErrNotExist) || differences(before, w.dump()) != "" {
		t.Errorf("a plan made something: %v, %s", err, differences(before, w.dump()))
	}
	made, _, err := w.makeIssuer(o)
	must(t, err)
	raw, err := os.ReadFile(made.PrivateKeyPath)
	must(t, err)
	info, err := os.Stat(made.PrivateKeyPath)
	must(t, err)
	if info.Mode().Perm() != 0o600 {
		t.Errorf("the private key has mode %v", info.Mode())
	}
	must(t, os.Remove(made.PublicKeyPath))
	_, c, err := w.makeIssuer(o)
	must(t, err)
	again, err := os.ReadFile(made.PrivateKeyPath)
	if err != nil || string(again) != string(raw) || len(c.writes) != 0 {
		t.Errorf("a further run wrote %v, another key: %v", c.writes, string(again) != string(raw))
	}
	if _, err := os.Stat(made.PublicKeyPath); err != nil {
		t.Errorf("the public key is not made again: %v", err)
	}
}

// What the user names wrongly, and another cluster's issuer of the same name, is refused before anything is made.
func TestAnIssuerIsRefusedBeforeAnyWrite(t *testing.T) {
	w := newWorld(t)
	running := issuerOptions(t)
	running.Name = "running"
	_, _, err := w.makeIssuer(running)
	must(t, err)
	other := signer(t)
	pub := filepath.Join(t.TempDir(), "other.public")
	key, err := signing.ReadPrivate(other)
	must(t, err)
	must(t, signing.WritePublic(pub, &key.PublicKey))
	before := w.dump()
	for name, tc := range map[string]struct {
		change func(*issuer.Options)
		field  field.Field
	}{
		"another key of a running cluster":  {func(o *issuer.Options) { o.Name, o.PrivateKey = "running", other }, issuer.FieldKeyDirectory},
		"no key of a running cluster":       {func(o *issuer.Options) { o.Name = "running" }, issuer.FieldKeyDirectory},
		"a name that no container has":      {func(o *issuer.Options) { o.Name = "a" }, issuer.FieldName},
		"two dashes":                        {func(o *issuer.Options) { o.Name = "a--b" }, issuer.FieldName},
		"a name that is too long":           {func(o *issuer.Options) { o.Name = strings.Repeat("a", 64) }, issuer.FieldName},
		"an account with a capital":         {func(o *issuer.Options) { o.StorageAccount = "Mine" }, issuer.FieldStorageAccount},
		"an account that is too long":       {func(o *issuer.Options) { o.StorageAccount = strings.Repeat("a", 25) }, issuer.FieldStorageAccount},
		"a group with a dot at its end":     {func(o *issuer.Options) { o.ResourceGroup = "g." }, issuer.FieldResourceGroup},
		"a public key alone":                {func(o *issuer.Options) { o.PublicKey = pub }, issuer.FieldPublicKey},
		"a tag with a sign that is refused": {func(o *issuer.Options) { o.Tags = map[string]string{"a/b": "c"} }, issuer.FieldTags},
	} {
		o := issuerOptions(t)
		tc.change(&o)
		_, c, err := w.makeIssuer(o)
		if !refusedFor(err, tc.field) || c != nil && len(c.writes) != 0 {
			t.Errorf("%s: error %v, written %v", name, err, c.writes)
		}
		if left, _ := os.ReadDir(o.KeyDirectory); len(left) != 0 {
			t.Errorf("%s: there is a key: %v", name, left)
		}
	}
	o := issuerOptions(t)
	o.PrivateKey, o.PublicKey = signer(t), pub
	if _, _, err := w.makeIssuer(o); err == nil || !strings.Contains(err.Error(), pub) {
		t.Errorf("a public key of another pair: %v", err)
	}
	if d := differences(before, w.dump()); d != "" {
		t.Errorf("after the refusals:\n%s", d)
	}
}

// Where a policy turns public blobs off, the other ways are told; what was made stays for the run after the exemption, and no key is lost.
func TestAnIssuerGoesOnAfterAnExemption(t *testing.T) {
	w := newWorld(t)
	_, err := w.server.Faults().Add(fault.Rule{Preset: "public-access-disabled"})
	must(t, err)
	o := issuerOptions(t)
	made, _, err := w.makeIssuer(o)
	if failure.CodeOf(err) != "PublicAccessNotPermitted" || !refusedFor(err, issuer.FieldURL) {
		t.Fatalf("error %v", err)
	}
	key, err := made.KeyID()
	must(t, err)
	must(t, w.server.Faults().Clear())
	made, _, err = w.makeIssuer(o)
	must(t, err)
	if again, err := made.KeyID(); err != nil || again != key {
		t.Errorf("key %s, then %s, %v", key, again, err)
	}
	set, err := issuer.PublishedKeys(t.Context(), w.session(w.transport), made.URL)
	if err != nil || !slices.Equal(set.IDs(), []string{key}) {
		t.Errorf("published %v, %v", set, err)
	}
}

// The role with which the documents are uploaded is given by the same run, and counts only after a while.
func TestAnIssuerWaitsForItsRole(t *testing.T) {
	w := newWorld(t)
	_, err := w.server.Faults().Add(fault.Rule{Preset: "role-delay", Plane: fault.Blob, Seconds: 1.2})
	must(t, err)
	began := time.Now()
	if _, _, err := w.makeIssuer(issuerOptions(t)); err != nil || time.Since(began) < time.Second {
		t.Errorf("after %s: %v", time.Since(began), err)
	}
}

// A document that somebody has damaged is published again; further keys of a rotation stay.
func TestDamagedDocumentsAreRepaired(t *testing.T) {
	w := newWorld(t)
	s := w.session(w.transport)
	o := issuerOptions(t)
	made, _, err := w.makeIssuer(o)
	must(t, err)
	mine, err := signing.ReadPrivate(made.PrivateKeyPath)
	must(t, err)
	next, err := signing.ReadPrivate(signer(t))
	must(t, err)
	set, err := (&signing.KeySet{}).With(&mine.PublicKey)
	must(t, err)
	set, err = set.With(&next.PublicKey)
	must(t, err)
	both, err := set.Encode()
	must(t, err)
	for _, tc := range []struct {
		path, content string
		writes, keys  int
	}{
		{issuer.KeysPath, "garbage", 1, 1}, {issuer.DiscoveryPath, `{"issuer":"https://elsewhere"}`, 1, 1}, {issuer.KeysPath, string(both), 0, 2},
	} {
		must(t, s.UploadBlob(t.Context(), made.StorageAccount, made.Container, tc.path, "application/json", []byte(tc.content)))
		_, c, err := w.makeIssuer(o)
		must(t, err)
		published, err := issuer.PublishedKeys(t.Context(), s, made.URL)
		must(t, err)
		if len(c.writes) != tc.writes || len(published.IDs()) != tc.keys {
			t.Errorf("%s with %q: written %v, published %v", tc.path, tc.content, c.writes, published.IDs())
		}
	}
	raw, _, err := s.ReadPublic(t.Context(), made.URL+"/"+issuer.DiscoveryPath)
	must(t, err)
	if d, err := issuer.ParseDiscovery(raw); err != nil || d.Issuer != made.URL || d.JWKSURI != made.URL+"/"+issuer.KeysPath {
		t.Errorf("%+v, %v", d, err)
	}
}

// A key that the issuer does not publish is refused with both ids: Azure would take no token of it.
func TestASignerIsHeldAgainstItsIssuer(t *testing.T) {
	w := newWorld(t)
	s := w.session(w.transport)
	made, _, err := w.makeIssuer(issuerOptions(t))
	must(t, err)
	mine, err := os.ReadFile(made.PrivateKeyPath)
	must(t, err)
	must(t, issuer.CheckSigner(t.Context(), s, made.URL, made.PrivateKeyPath, mine))
	path := signer(t)
	other, err := os.ReadFile(path)
	must(t, err)
	id, err := made.KeyID()
	must(t, err)
	err = issuer.CheckSigner(t.Context(), s, made.URL, path, other)
	if !refusedFor(err, issuer.FieldSigner) || !strings.Contains(err.Error(), id) || !strings.Contains(err.Error(), path) || strings.Contains(err.Error(), "PRIVATE") {
		t.Errorf("another key: %v", err)
	}
	if err := issuer.CheckSigner(t.Context(), s, made.URL+"x", path, mine); !refusedFor(err, issuer.FieldTrustedURL) || !errors.Is(err, issuer.ErrNoKeySet) {
		t.Errorf("an issuer that publishes nothing: %v", err)
	}
}

// Documents that the user publishes himself are written and checked where he says; until they are there he is told which are missing, and nothing
// of Azure is written.
func TestDocumentsThatTheUserPublishes(t *testing.T) {
	w := newWorld(t)
	s := w.session(w.transport)
	o := issuerOptions(t)
	hosted, _, err := w.makeIssuer(func() issuer.Options { o := issuerOptions(t); o.Name = "website"; return o }())
	must(t, err)
	address := hosted.URL + "/site"
	before := w.dump()
	made, err := issuer.WriteDocuments(t.Context(), s, o, address)
	if !errors.Is(err, issuer.ErrNotPublished) || !strings.Contains(err.Error(), issuer.DiscoveryPath+" and "+issuer.KeysPath) || differences(before, w.dump()) != "" {
		t.Fatalf("error %v:\n%s", err, differences(before, w.dump()))
	}
	for _, path := range []string{issuer.DiscoveryPath, issuer.KeysPath} {
		raw, err := os.ReadFile(filepath.Join(o.KeyDirectory, path))
		must(t, err)
		must(t, s.UploadBlob(t.Context(), hosted.StorageAccount, hosted.Container, "site/"+path, "application/json", append(raw, '\n')))
	}
	again, err := issuer.WriteDocuments(t.Context(), s, o, address)
	if err != nil || again != made || again.URL != address || again.StorageAccount != "" {
		t.Errorf("%+v, %v", again, err)
	}
	info, err := os.Stat(made.PrivateKeyPath)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the key: %v, %v", info.Mode(), err)
	}
	for _, wrong := range []string{"http://example.com", "https://example.com/"} {
		if _, err := issuer.WriteDocuments(t.Context(), s, o, wrong); !refusedFor(err, issuer.FieldURL) {
			t.Errorf("%s: %v", wrong, err)
		}
	}
}

// Credentials of another subscription see nothing there: that is an error, and not an issuer that is gone.
func TestADestroyInAnotherSubscription(t *testing.T) {
	w := newWorld(t)
	o := issuerOptions(t)
	_, _, err := w.makeIssuer(o)
	must(t, err)
	whole := w.dump()
	_, err = w.server.Faults().Add(fault.Rule{Plane: fault.ARM, Path: "**", Status: 404, Code: "SubscriptionNotFound", Message: "The subscription could not be found."})
	must(t, err)
	s := w.session(w.transport)
	if _, err := issuer.Destroy(t.Context(), s, o, nil); failure.CodeOf(err) != "SubscriptionNotFound" || !strings.Contains(err.Error(), "az account list") {
		t.Errorf("the destroy: %v", err)
	}
	if steps, err := issuer.PlanDestroy(t.Context(), s, o); failure.CodeOf(err) != "SubscriptionNotFound" {
		t.Errorf("its plan: %v, %v", steps, err)
	}
	if d := differences(whole, w.dump()); d != "" {
		t.Errorf("destroyed:\n%s", d)
	}
}
