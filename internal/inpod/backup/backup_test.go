package backup

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"

	"github.com/hypershift-on-azure/hypershift/internal/contract"
	"github.com/hypershift-on-azure/hypershift/internal/kube/kubetest"
)

// etcd runs a member until the test ends, with one key in it, and returns its URL.
func etcd(t *testing.T) string {
	t.Helper()
	address, peer := "http://"+kubetest.FreeAddress(t), "http://"+kubetest.FreeAddress(t)
	server := exec.CommandContext(t.Context(), kubetest.Program(t, "etcd"), "--data-dir="+t.TempDir(), "--listen-client-urls="+address, "--advertise-client-urls="+address,
		"--listen-peer-urls="+peer, "--initial-advertise-peer-urls="+peer, "--initial-cluster=default="+peer, "--log-level=error", "--unsafe-no-fsync")
	server.Stderr = os.Stderr
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = server.Process.Kill(); _ = server.Wait() })
	client, err := clientv3.New(clientv3.Config{Endpoints: []string{address}, Logger: zap.NewNop()})
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if _, err := client.Put(ctx, "/kubernetes.io/configmaps/default/a", "kept"); err != nil {
		t.Fatal(err)
	}
	return address
}

// storage is Azure as one identity sees it: blobs by their URLs, with the metadata that they came with.
type storage struct {
	refuses  string // Azure's code
	blobs    map[string][]byte
	metadata map[string][]string
	asserted string
}

func (s *storage) RoundTrip(r *http.Request) (*http.Response, error) {
	status, header, body := http.StatusOK, http.Header{"Content-Type": {"application/json"}}, "{}"
	content, err := io.ReadAll(&whole{r.Body})
	if err != nil {
		return nil, err
	}
	length, name := int64(-1), "https://"+r.URL.Host+r.URL.Path
	switch known := s.blobs[name]; {
	case strings.HasSuffix(r.URL.Path, "/token"):
		s.asserted = string(content)
		body = `{"access_token":"a","expires_in":3600,"token_type":"Bearer"}`
	case strings.HasSuffix(r.URL.Path, "/openid-configuration"):
		authority := "https://login.microsoftonline.com/tenant"
		body = `{"token_endpoint":"` + authority + `/token","authorization_endpoint":"` + authority + `/authorize","issuer":"` + authority + `"}`
	case s.refuses != "":
		status = http.StatusForbidden
		header.Set("x-ms-error-code", s.refuses)
		body = `<?xml version="1.0" encoding="utf-8"?><Error><Code>` + s.refuses + `</Code><Message>No.</Message></Error>`
	case r.Method == http.MethodPut && known != nil && slices.Contains(r.Header["If-None-Match"], "*"):
		status = http.StatusConflict
		header.Set("x-ms-error-code", "BlobAlreadyExists")
		body = `<?xml version="1.0" encoding="utf-8"?><Error><Code>BlobAlreadyExists</Code><Message>It is there.</Message></Error>`
	case r.Method == http.MethodPut:
		s.blobs[name], s.metadata = content, r.Header
		status = http.StatusCreated
	case r.Method == http.MethodHead && known != nil:
		length = int64(len(known))
		header.Set("Content-Length", strconv.Itoa(len(known)))
		body = ""
	default:
		status = http.StatusNotFound
	}
	return &http.Response{StatusCode: status, Header: header, Body: io.NopCloser(strings.NewReader(body)), Request: r, ContentLength: length}, nil
}

// whole is a body that may be missing.
type whole struct{ io.Reader }

func (w *whole) Read(p []byte) (int, error) {
	if w.Reader == nil {
		return 0, io.EOF
	}
	return w.Reader.Read(p)
}

const blobURL = "https://account.blob.core.windows.net/backups/demo/1700000000.db"

func options(t *testing.T, endpoint string, azure *storage) Options {
	t.Helper()
	dir := t.TempDir()
	assertion := filepath.Join(dir, "token")
	if err := os.WriteFile(assertion, []byte("federated\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	return Options{Endpoint: endpoint, WorkDir: dir, TenantID: "tenant", ClientID: "identity", AssertionFile: assertion, Account: "account", Container: "backups",
		Blob: "demo/1700000000.db", ResultFile: filepath.Join(dir, "result"), client: &http.Client{Transport: azure}}
}

// TestBackup: what lies in the storage is a whole snapshot, under the name that was asked for, with its hash, and the outcome says so.
func TestBackup(t *testing.T) {
	azure := &storage{blobs: map[string][]byte{}}
	o := options(t, etcd(t), azure)
	if err := Run(t.Context(), o); err != nil {
		t.Fatal(err)
	}
	content, err := os.ReadFile(o.ResultFile)
	var result contract.BackupResult
	if err := errors.Join(err, json.Unmarshal(content, &result)); err != nil {
		t.Fatal(err)
	}
	if result.URL != blobURL || result.Keys != 1 || result.Revision < 2 || result.Bytes != int64(len(azure.blobs[blobURL])) {
		t.Errorf("the outcome is %+v", result)
	}
	if !slices.Equal(azure.metadata["x-ms-meta-sha256"], []string{result.SHA256}) || !slices.Equal(azure.metadata["x-ms-meta-keys"], []string{"1"}) {
		t.Errorf("the metadata is %v", azure.metadata)
	}
	if !strings.Contains(azure.asserted, "client_assertion=federated&") {
		t.Errorf("signed in with %s", azure.asserted)
	}
	kept := filepath.Join(t.TempDir(), "kept.db")
	if err := os.WriteFile(kept, azure.blobs[blobURL], 0o600); err != nil {
		t.Fatal(err)
	}
	if again, err := check(kept); err != nil || again.SHA256 != result.SHA256 || again.Revision != result.Revision {
		t.Errorf("what was kept: %+v, %v", again, err)
	}
	if _, err := os.Stat(filepath.Join(o.WorkDir, fileName)); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the file stays on the node: %v", err)
	}
}

// TestBackupRefuses: what cannot be kept ends with its cause, and leaves neither a blob nor an outcome.
func TestBackupRefuses(t *testing.T) {
	endpoint := etcd(t)
	before := []byte("another backup")
	for name, test := range map[string]struct {
		azure    *storage
		endpoint string
		says     string
	}{
		"a role is missing":    {&storage{refuses: "AuthorizationPermissionMismatch"}, endpoint, "AuthorizationPermissionMismatch"},
		"no container":         {&storage{refuses: "ContainerNotFound"}, endpoint, "ContainerNotFound"},
		"a blob of the name":   {&storage{blobs: map[string][]byte{blobURL: before}}, endpoint, "BlobAlreadyExists"},
		"no etcd that answers": {&storage{}, "http://" + kubetest.FreeAddress(t), "nothing was saved"},
	} {
		o := options(t, test.endpoint, test.azure)
		ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
		err := Run(ctx, o)
		cancel()
		if err == nil || !strings.Contains(err.Error(), test.says) {
			t.Errorf("%s: %v", name, err)
		}
		if kept := test.azure.blobs[blobURL]; kept != nil && !bytes.Equal(kept, before) {
			t.Errorf("%s: a blob of %d bytes was written", name, len(kept))
		}
		if _, err := os.Stat(o.ResultFile); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("%s: there is an outcome: %v", name, err)
		}
	}
}

// TestDamagedSnapshot: a file that is cut off, or differs from what etcd sent by one bit, is not kept.
func TestDamagedSnapshot(t *testing.T) {
	azure := &storage{blobs: map[string][]byte{}}
	if err := Run(t.Context(), options(t, etcd(t), azure)); err != nil {
		t.Fatal(err)
	}
	good := azure.blobs[blobURL]
	changed := bytes.Clone(good)
	// The page of the key is not the last one that is in use; a bit of a free page counts, too.
	changed[len(changed)-100] ^= 1
	for name, content := range map[string][]byte{"cut off": good[:len(good)-512], "changed": changed, "empty": {}, "another file": []byte("<Error/>")} {
		file := filepath.Join(t.TempDir(), fileName)
		if err := os.WriteFile(file, content, 0o600); err != nil {
			t.Fatal(err)
		}
		if result, err := check(file); err == nil || !strings.Contains(err.Error(), "not kept") {
			t.Errorf("%s: %+v, %v", name, result, err)
		}
	}
}
