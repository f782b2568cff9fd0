package guest

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"

	"github.com/coreos/ignition/v2/config/v3_4/types"
)

func data(content string) string {
	return "data:;base64," + base64.StdEncoding.EncodeToString([]byte(content))
}

func parse(t *testing.T, text string) types.Config {
	t.Helper()
	cfg, err := parseConfig([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return cfg
}

// merging returns the configuration that a bootstrap image would give: it merges the server's, and trusts its certificate.
func merging(t *testing.T, server *httptest.Server, path, token string) types.Config {
	t.Helper()
	ca := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
	raw, err := json.Marshal(map[string]any{"ignition": map[string]any{
		"version":  "3.2.0",
		"config":   map[string]any{"merge": []any{map[string]any{"source": server.URL + path, "httpHeaders": []any{map[string]any{"name": "Authorization", "value": token}}}}},
		"security": map[string]any{"tls": map[string]any{"certificateAuthorities": []any{map[string]any{"source": data(string(ca))}}}},
	}})
	if err != nil {
		t.Fatal(err)
	}
	return parse(t, string(raw))
}

func TestResolve(t *testing.T) {
	var calls atomic.Int32
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.Header.Get("Authorization") != "Bearer x":
			w.WriteHeader(http.StatusForbidden)
		case r.URL.Path == "/old":
			fmt.Fprintf(w, `{"ignition":{"version":"3.2.0","config":{"replace":{"source":%q}}}}`, data(`{"ignition":{"version":"3.4.0"},"storage":{"files":[{"path":"/new"}]}}`))
		case calls.Add(1) < 3:
			w.WriteHeader(http.StatusBadGateway)
		default:
			fmt.Fprint(w, `{"ignition":{"version":"3.4.0"},"storage":{"files":[{"path":"/a"},{"path":"/b"}]}}`)
		}
	}))
	defer server.Close()
	var attempts int
	f := newFetcher(func(string, ...any) { attempts++ })
	cfg, err := f.resolve(context.Background(), merging(t, server, "/", "Bearer x"))
	if err != nil || len(cfg.Storage.Files) != 2 || attempts != 3 {
		t.Errorf("%d files, %d attempts, %v", len(cfg.Storage.Files), attempts, err)
	}
	cfg, err = f.resolve(context.Background(), merging(t, server, "/old", "Bearer x"))
	if err != nil || len(cfg.Storage.Files) != 1 || cfg.Storage.Files[0].Path != "/new" {
		t.Errorf("replace: %+v %v", cfg.Storage.Files, err)
	}
	if _, err = f.resolve(context.Background(), merging(t, server, "/", "Bearer wrong")); !errors.Is(err, errPermanent) {
		t.Errorf("refused: %v", err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	f = newFetcher(func(string, ...any) { cancel() })
	untrusting := merging(t, server, "/", "Bearer x")
	untrusting.Ignition.Security = types.Security{}
	if _, err = f.resolve(ctx, untrusting); !errors.Is(err, context.Canceled) {
		t.Errorf("without the authority: %v", err)
	}
}

func TestResource(t *testing.T) {
	var zipped bytes.Buffer
	z := gzip.NewWriter(&zipped)
	fmt.Fprint(z, "hello")
	z.Close()
	text := func(s string) *string { return &s }
	f := newFetcher(t.Logf)
	got, err := f.resource(context.Background(), types.Resource{Source: text(data(zipped.String())), Compression: text("gzip")})
	if err != nil || string(got) != "hello" {
		t.Errorf("%q %v", got, err)
	}
	const hash = "sha256-2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824"
	for content, ok := range map[string]bool{"hello": true, "hullo": false} {
		_, err := f.resource(context.Background(), types.Resource{Source: text(data(content)), Verification: types.Verification{Hash: text(hash)}})
		if (err == nil) != ok {
			t.Errorf("hash of %s: %v", content, err)
		}
	}
	if _, err := f.resource(context.Background(), types.Resource{Source: text("s3://bucket/key")}); err == nil {
		t.Error("s3 is supported?")
	}
}

func TestApply(t *testing.T) {
	root := t.TempDir()
	if err := errors.Join(writePublic(root+"/etc/passwd", "core:x:1000:1000::/home/core:/bin/sh\n"), writePublic(root+"/etc/group", "core:x:1000:\n"), writePublic(root+"/etc/old", "old")); err != nil {
		t.Fatal(err)
	}
	cfg := parse(t, fmt.Sprintf(`{"ignition":{"version":"3.4.0"},
 "passwd":{"users":[{"name":"core","sshAuthorizedKeys":["ssh-ed25519 AAAA a"]}]},
 "storage":{"directories":[{"path":"/var/d/e","mode":448}],
  "files":[{"path":"/etc/old","overwrite":true,"mode":384,"contents":{"source":%q}},{"path":"/etc/more","contents":{"source":%q},"append":[{"source":%q}]}],
  "links":[{"path":"/etc/link","target":"old"}]},
 "systemd":{"units":[{"name":"a.service","enabled":true,"contents":"[Service]\n","dropins":[{"name":"10.conf","contents":"[Unit]\n"}]},{"name":"m.service","mask":true}]}}`,
		data("new"), data("1"), data("2")))
	p := &provisioner{root: root, fetch: newFetcher(t.Logf)}
	if err := p.apply(context.Background(), cfg); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]struct {
		text string
		mode os.FileMode
	}{
		"/etc/old": {"new", 0o600}, "/etc/more": {"12", 0o644}, "/etc/link": {"new", 0o600}, "/home/core/.ssh/authorized_keys": {"ssh-ed25519 AAAA a\n", 0o600},
		"/etc/systemd/system/a.service.d/10.conf": {"[Unit]\n", 0o644},
	} {
		text, err := os.ReadFile(filepath.Join(root, path))
		info, _ := os.Stat(filepath.Join(root, path))
		if err != nil || string(text) != want.text || info.Mode().Perm() != want.mode {
			t.Errorf("%s: %q %v %v", path, text, info, err)
		}
	}
	if info, err := os.Stat(root + "/var/d/e"); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("directory: %v %v", info, err)
	}
	for path, target := range map[string]string{"m.service": "/dev/null", "multi-user.target.wants/a.service": "/etc/systemd/system/a.service"} {
		if got, err := os.Readlink(filepath.Join(root, unitDir, path)); got != target {
			t.Errorf("%s -> %s %v", path, got, err)
		}
	}
}

func TestApplyRefuses(t *testing.T) {
	for name, text := range map[string]string{
		"existing":  `"storage":{"files":[{"path":"/etc/old","contents":{"source":"data:,x"}}]}`,
		"disks":     `"storage":{"disks":[{"device":"/dev/sda"}]}`,
		"kernel":    `"kernelArguments":{"shouldExist":["quiet"]}`,
		"stranger":  `"passwd":{"users":[{"name":"eve"}]}`,
		"owner":     `"storage":{"files":[{"path":"/x","user":{"name":"eve"}}]}`,
		"linkexist": `"storage":{"links":[{"path":"/etc/old","target":"/x"}]}`,
	} {
		root := t.TempDir()
		if err := errors.Join(writePublic(root+"/etc/passwd", ""), writePublic(root+"/etc/old", "old")); err != nil {
			t.Fatal(err)
		}
		p := &provisioner{root: root, fetch: newFetcher(t.Logf)}
		if err := p.apply(context.Background(), parse(t, `{"ignition":{"version":"3.4.0"},`+text+`}`)); err == nil {
			t.Errorf("%s was accepted", name)
		}
	}
}
