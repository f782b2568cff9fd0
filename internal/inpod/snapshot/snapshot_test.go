package snapshot

import (
	"context"
	"crypto/sha256"
	"encoding/pem"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"go.etcd.io/etcd/server/v3/storage/backend"
	"go.etcd.io/etcd/server/v3/storage/mvcc"
	"go.etcd.io/etcd/server/v3/storage/schema"
	"go.uber.org/zap"

	"github.com/hypershift-on-azure/hypershift/internal/egress"
)

// backup is what `etcdctl snapshot save` writes: the database and its hash.
func backup(t *testing.T, key, value string) []byte {
	t.Helper()
	path := filepath.Join(t.TempDir(), "db")
	be := backend.NewDefaultBackend(zap.NewNop(), path)
	schema.NewMembershipBackend(zap.NewNop(), be).MustCreateBackendBuckets()
	store := mvcc.NewStore(zap.NewNop(), be, nil, mvcc.StoreConfig{})
	store.Put([]byte(key), []byte(value), 0)
	store.Commit()
	if err := errors.Join(store.Close(), be.Close()); err != nil {
		t.Fatal(err)
	}
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	sum := sha256.Sum256(content)
	return append(content, sum[:]...)
}

type bucket struct {
	*httptest.Server
	asked int
	// hash is the metadata of the blob.
	hash string
}

func serve(t *testing.T, content []byte) *bucket {
	b := &bucket{}
	b.Server = httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		b.asked++
		if r.URL.Query().Get("sig") != "topsecret" {
			w.Header().Set("x-ms-error-code", "AuthenticationFailed")
			w.WriteHeader(http.StatusForbidden)
			return
		}
		if b.hash != "" {
			w.Header().Set(hashHeader, b.hash)
		}
		_, _ = w.Write(content)
	}))
	t.Cleanup(b.Close)
	return b
}

// member0 is the first start of a member; query is that of the snapshot's address.
func member0(t *testing.T, b *bucket, query string) Options {
	t.Helper()
	dir := t.TempDir()
	o := Options{
		URLFile: filepath.Join(dir, "url"), CAFile: filepath.Join(dir, "ca.crt"), DataDir: filepath.Join(dir, "data"), Name: "etcd-0",
		PeerURL: "https://etcd-0.etcd-discovery.clusters-demo.svc:2380", Token: "clusters-demo", guard: b.guard,
		InitialCluster: "etcd-0=https://etcd-0.etcd-discovery.clusters-demo.svc:2380,etcd-1=https://etcd-1.etcd-discovery.clusters-demo.svc:2380",
	}
	authority := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: b.Certificate().Raw})
	err := errors.Join(os.Mkdir(o.DataDir, 0o700), os.WriteFile(o.URLFile, []byte(b.URL+"/backups/etcd.db?"+query+"\n"), 0o600),
		os.WriteFile(o.CAFile, authority, 0o600), os.Mkdir(filepath.Join(o.DataDir, "lost+found"), 0o700))
	if err != nil {
		t.Fatal(err)
	}
	return o
}

func TestRestore(t *testing.T) {
	b := serve(t, backup(t, key, "kept"))
	o := member0(t, b, "sig=topsecret")
	// What an interrupted run left.
	if err := os.MkdirAll(filepath.Join(o.DataDir, workDir, "data", member), 0o700); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := Run(context.Background(), o); err != nil {
			t.Fatal(err)
		}
	}
	if b.asked != 1 {
		t.Errorf("the snapshot was asked for %d times; a member with data keeps it", b.asked)
	}
	if _, err := os.Stat(filepath.Join(o.DataDir, workDir)); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the downloaded file stays: %v", err)
	}
	if got := value(t, o); got != "kept" {
		t.Errorf("restored %q", got)
	}
	be := backend.NewDefaultBackend(zap.NewNop(), filepath.Join(o.DataDir, member, "snap", "db"))
	defer be.Close()
	members, _ := schema.NewMembershipBackend(zap.NewNop(), be).MustReadMembersFromBackend()
	if len(members) != 2 {
		t.Errorf("the restored cluster has %d members", len(members))
	}
}

const key = "/kubernetes.io/configmaps/default/a"

// value of key in the member's data, which must be of a revision that the backup's etcd never had.
func value(t *testing.T, o Options) string {
	t.Helper()
	be := backend.NewDefaultBackend(zap.NewNop(), filepath.Join(o.DataDir, member, "snap", "db"))
	defer be.Close()
	store := mvcc.NewStore(zap.NewNop(), be, nil, mvcc.StoreConfig{})
	defer store.Close()
	result, err := store.Range(context.Background(), []byte(key), nil, mvcc.RangeOptions{})
	if err != nil || len(result.KVs) != 1 {
		t.Fatalf("restored %+v, %v", result, err)
	}
	if result.Rev < revisionBump {
		t.Errorf("revision %d: who watched before is not told to list anew", result.Rev)
	}
	if _, err := store.Range(context.Background(), []byte(key), nil, mvcc.RangeOptions{Rev: result.KVs[0].ModRevision}); !errors.Is(err, mvcc.ErrCompacted) {
		t.Errorf("a revision of before is still served: %v", err)
	}
	return string(result.KVs[0].Value)
}

// TestRevisions: data begin at the revision that the request tells, whatever the backup's is, so that the same backup may come back later and nobody who
// watched meanwhile waits for revisions that are yet to come.
func TestRevisions(t *testing.T) {
	b := serve(t, backup(t, key, "kept"))
	began := func(revision string) (int64, error) {
		o := member0(t, b, "sig=topsecret")
		o.RevisionFile = filepath.Join(t.TempDir(), "revision")
		if err := os.WriteFile(o.RevisionFile, []byte(revision), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := Run(t.Context(), o); err != nil {
			return 0, err
		}
		be := backend.NewDefaultBackend(zap.NewNop(), filepath.Join(o.DataDir, member, "snap", "db"))
		defer be.Close()
		store := mvcc.NewStore(zap.NewNop(), be, nil, mvcc.StoreConfig{})
		defer store.Close()
		return store.Rev(), nil
	}
	for _, want := range []int64{1_795_468_454_000_000, 1_795_468_455_000_000} {
		if got, err := began(strconv.FormatInt(want, 10)); got != want || err != nil {
			t.Errorf("began at %d, want %d: %v", got, want, err)
		}
	}
	if got, err := began("1"); got < revisionBump || err != nil {
		t.Errorf("a revision that the backup has passed: began at %d, %v", got, err)
	}
	if _, err := began("soon"); err == nil || !strings.Contains(err.Error(), "no revision") {
		t.Errorf("what is no revision: %v", err)
	}
}

// A member with data takes a backup for a request that it has not served, once; until the backup is there its data stay.
func TestRestoreInPlace(t *testing.T) {
	o := member0(t, serve(t, backup(t, key, "first")), "sig=topsecret")
	if err := Run(t.Context(), o); err != nil {
		t.Fatal(err)
	}
	b := serve(t, backup(t, key, "second"))
	again := member0(t, b, "sig=topsecret")
	again.DataDir, again.IDFile = o.DataDir, filepath.Join(t.TempDir(), "id")
	request := func(id, query string) error {
		if err := errors.Join(os.WriteFile(again.IDFile, []byte(id), 0o600), os.WriteFile(again.URLFile, []byte(b.URL+"/b.db?"+query), 0o600)); err != nil {
			t.Fatal(err)
		}
		return Run(t.Context(), again)
	}
	if err := request("one", "sig=expired"); err == nil || value(t, o) != "first" {
		t.Fatalf("a backup that cannot be read: %v, and the data are %q", err, value(t, o))
	}
	for range 2 {
		if err := request("one", "sig=topsecret"); err != nil {
			t.Fatal(err)
		}
	}
	if got := value(t, o); got != "second" || b.asked != 2 {
		t.Errorf("the data are %q, and the backup was asked for %d times", got, b.asked)
	}
	if err := request("two", "sig=topsecret"); err != nil || b.asked != 3 {
		t.Errorf("another request: %v, the backup was asked for %d times", err, b.asked)
	}
	// What was restored stays when the address has been taken away.
	if err := errors.Join(os.Remove(again.URLFile), Run(t.Context(), again)); err != nil || value(t, o) != "second" {
		t.Errorf("without an address: %v", err)
	}
}

func TestRestoreRefuses(t *testing.T) {
	good := backup(t, "a", "b")
	damaged := append([]byte{}, good...)
	damaged[len(damaged)/2] ^= 1
	for name, test := range map[string]struct {
		content []byte
		query   string
		says    string
	}{
		"a damaged file":          {damaged, "sig=topsecret", "no complete snapshot"},
		"a file without its hash": {good[:len(good)-sha256.Size], "sig=topsecret", "no complete snapshot"},
		"an expired signature":    {good, "sig=topsecreT", "AuthenticationFailed"},
	} {
		o := member0(t, serve(t, test.content), test.query)
		err := Run(context.Background(), o)
		if err == nil || !strings.Contains(err.Error(), test.says) || strings.Contains(strings.ToLower(err.Error()), "topsecret") {
			t.Errorf("%s: %v", name, err)
		}
		if _, err := os.Stat(filepath.Join(o.DataDir, member)); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s left data: %v", name, err)
		}
	}
}

// TestRestoreComparesTheNotedHash: a blob that somebody replaced by another whole snapshot is refused.
func TestRestoreComparesTheNotedHash(t *testing.T) {
	good := backup(t, "a", "b")
	for hash, refused := range map[string]bool{fmt.Sprintf("%x", sha256.Sum256(good)): false, fmt.Sprintf("%x", sha256.Sum256([]byte("other"))): true} {
		b := serve(t, good)
		b.hash = hash
		o := member0(t, b, "sig=topsecret")
		err := Run(context.Background(), o)
		if refused != (err != nil) || refused && !strings.Contains(err.Error(), "the blob has been changed") {
			t.Errorf("hash %s: %v", hash, err)
		}
		if _, err := os.Stat(filepath.Join(o.DataDir, member)); refused != errors.Is(err, fs.ErrNotExist) {
			t.Errorf("hash %s: data: %v", hash, err)
		}
	}
}

func TestRestoreDistrustsAndKeepsTheAddress(t *testing.T) {
	o := member0(t, serve(t, nil), "sig=topsecret")
	o.CAFile = ""
	if err := Run(context.Background(), o); err == nil || strings.Contains(err.Error(), "topsecret") {
		t.Errorf("a server of an unknown authority: %v", err)
	}
	if err := os.WriteFile(o.URLFile, []byte("s3://bucket/topsecret"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := Run(context.Background(), o); err == nil || !strings.Contains(err.Error(), "https") || strings.Contains(err.Error(), "topsecret") {
		t.Errorf("an address that is not served: %v", err)
	}
	if err := os.Remove(o.URLFile); err != nil {
		t.Fatal(err)
	}
	if err := Run(context.Background(), o); err != nil {
		t.Errorf("without an address: %v", err)
	}
}

// guard is the package's, but for the bucket, which is on the loopback.
func (b *bucket) guard(base *http.Transport) http.RoundTripper {
	return exception{host: b.Listener.Addr().String(), open: base, guarded: guarded(base)}
}

type exception struct {
	host          string
	open, guarded http.RoundTripper
}

func (e exception) RoundTrip(request *http.Request) (*http.Response, error) {
	if request.URL.Host == e.host && request.URL.Scheme == "https" {
		return e.open.RoundTrip(request)
	}
	return e.guarded.RoundTrip(request)
}

// TestRestoreStaysOutside: neither the address nor where it redirects to leads into the machine, its platform, or out of https.
func TestRestoreStaysOutside(t *testing.T) {
	inside := httptest.NewTLSServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("the server inside was asked") }))
	defer inside.Close()
	for _, target := range []string{inside.URL + "/x?topsecret", "https://169.254.169.254/metadata?topsecret", "https://168.63.129.16/x?topsecret", "http://example.com/x?topsecret"} {
		b := serve(t, nil)
		b.Config.Handler = http.RedirectHandler(target, http.StatusFound)
		o := member0(t, b, "sig=topsecret")
		err := Run(context.Background(), o)
		if !errors.Is(err, egress.ErrRefused) || strings.Contains(err.Error(), "topsecret") {
			t.Errorf("a redirect to %s: %v", target, err)
		}
		if strings.HasPrefix(target, "http:") {
			continue
		}
		if err := os.WriteFile(o.URLFile, []byte(target), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := Run(context.Background(), o); !errors.Is(err, egress.ErrRefused) {
			t.Errorf("the address %s: %v", target, err)
		}
	}
}
