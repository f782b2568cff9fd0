package ignition

import (
	"encoding/pem"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func TestRegistryCredentials(t *testing.T) {
	files, err := registryCredentials([]byte(`{"auths":{
		"quay.io":{"auth":"dXNlcjpwYXNz"}, "https://other.io/v2/":{"username":"a","password":"b"}, "cloud.io/org/":{"auth":"eA=="},
		"localhost:5000":{"auth":"eA=="}, "../../etc":{"auth":"eA=="}, "quay.io/a/../b":{"auth":"eA=="}, "empty.io":{}, "odd.io":{"auth":"not\"base64"}}}`))
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for _, f := range files {
		got[strings.TrimPrefix(f.Path, "/etc/kubernetes/registry-auth/")] = (*f.Contents.Source)[len(dataPrefix):]
		if *f.Mode != 0o600 {
			t.Errorf("%s has mode %o", f.Path, *f.Mode)
		}
	}
	want := []string{"cloud.io/org/basic", "localhost:5000/basic", "other.io/basic", "quay.io/basic"}
	if keys := slices.Sorted(maps.Keys(got)); !slices.Equal(keys, want) {
		t.Errorf("files %v, want %v", keys, want)
	}
	if got["other.io/basic"] != "WVRwaQ==" { // base64 of base64 of a:b
		t.Errorf("other.io: %q", got["other.io/basic"])
	}
}

// registry answers as a container registry does, on its own certificate.
func registry(t *testing.T, challenge func(host string) string) (host, authorities string) {
	t.Helper()
	var server *httptest.Server
	server = httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		host := strings.TrimPrefix(server.URL, "https://")
		switch r.URL.Path {
		case "/v2/":
			w.Header().Set("WWW-Authenticate", challenge(host))
			w.WriteHeader(http.StatusUnauthorized)
		case "/token":
			query := r.URL.Query()
			if query.Get("service") != "the registry" || query.Get("scope") != "repository:org/team/image:pull" {
				t.Errorf("asked for %v", query)
			}
			switch r.Header.Get("Authorization") {
			case "Basic dGVhbQ==":
				_, _ = w.Write([]byte("{\"refresh_token\":\"no\",\n\"token\": \"of-team\"}"))
			case "":
				_, _ = w.Write([]byte(`{"access_token":"of-nobody","expires_in":300}`))
			default:
				w.WriteHeader(http.StatusUnauthorized)
			}
		default:
			http.NotFound(w, r)
		}
	}))
	t.Cleanup(server.Close)
	authorities = filepath.Join(t.TempDir(), "ca.pem")
	encoded := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
	if err := os.WriteFile(authorities, encoded, 0o600); err != nil {
		t.Fatal(err)
	}
	return strings.TrimPrefix(server.URL, "https://"), authorities
}

// tools is a PATH with what the script may use; its curl notes how it was called.
func tools(t *testing.T, withCurl bool) (path, calls string) {
	t.Helper()
	path, calls = t.TempDir(), filepath.Join(t.TempDir(), "calls")
	for _, tool := range []string{"cat", "mkdir", "sed", "tr", "head"} {
		found, err := exec.LookPath(tool)
		if err != nil {
			t.Skipf("this machine has no %s", tool)
		}
		if err := os.Symlink(found, filepath.Join(path, tool)); err != nil {
			t.Fatal(err)
		}
	}
	if !withCurl {
		return path, calls
	}
	curl, err := exec.LookPath("curl")
	if err != nil {
		t.Skip("this machine has no curl")
	}
	wrapper := "#!/bin/sh\necho \"$@\" >>" + calls + "\nexec " + curl + " \"$@\"\n"
	if err := os.WriteFile(filepath.Join(path, "curl"), []byte(wrapper), 0o700); err != nil {
		t.Fatal(err)
	}
	return path, calls
}

func TestRegistryHosts(t *testing.T) {
	bearer := func(host string) string { return `Bearer realm="https://` + host + `/token",service="the registry"` }
	basic := func(string) string { return `Basic realm="x"` }
	tests := map[string]struct {
		challenge func(string) string
		entries   map[string]string // path below the registry -> credentials
		noCurl    bool
		want      string // of header Authorization; "-": none
	}{
		"token for the nearest entry":    {bearer, map[string]string{"": "YWxs", "/org/team": "dGVhbQ==", "/org/other": "b3RoZXI="}, false, "Bearer of-team"},
		"token without credentials":      {bearer, nil, false, "Bearer of-nobody"},
		"credentials refused":            {bearer, map[string]string{"": "d3Jvbmc="}, false, ""},
		"token service without TLS":      {func(host string) string { return `Bearer realm="http://` + host + `/token"` }, map[string]string{"": "dGVhbQ=="}, false, ""},
		"basic":                          {basic, map[string]string{"": "YWxs"}, false, "Basic YWxs"},
		"basic without credentials":      {basic, nil, false, "-"},
		"no curl: taken for a basic one": {bearer, map[string]string{"": "YWxs"}, true, "Basic YWxs"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			host, authorities := registry(t, test.challenge)
			auth, out := t.TempDir(), t.TempDir()
			for below, credentials := range test.entries {
				dir := filepath.Join(auth, host+below)
				if err := os.MkdirAll(dir, 0o700); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(filepath.Join(dir, "basic"), []byte(credentials), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			path, calls := tools(t, !test.noCurl)
			command := exec.CommandContext(t.Context(), "/bin/sh", "node/registry-hosts.sh", host+"/org/team/image@sha256:1", out)
			command.Env = []string{"PATH=" + path, "REGISTRY_AUTH_DIR=" + auth, "CURL_CA_BUNDLE=" + authorities}
			output, err := command.CombinedOutput()
			written, _ := os.ReadFile(filepath.Join(out, host, "hosts.toml"))
			if test.want == "" {
				if err == nil || len(written) > 0 {
					t.Errorf("it went well: %s", written)
				}
			} else if err != nil {
				t.Fatalf("%v: %s", err, output)
			}
			want := "server = \"https://" + host + "\"\n\n[host.\"https://" + host + "\"]\n  capabilities = [\"pull\", \"resolve\"]\n"
			if test.want != "-" {
				want += "  [host.\"https://" + host + "\".header]\n    Authorization = \"" + test.want + "\"\n"
			}
			if test.want != "" && string(written) != want {
				t.Errorf("hosts.toml:\n%s\nwant:\n%s", written, want)
			}
			noted, _ := os.ReadFile(calls)
			for _, credentials := range test.entries {
				if strings.Contains(string(noted)+string(output), credentials) {
					t.Errorf("credentials on a command line or in the log: %s%s", noted, output)
				}
			}
		})
	}
}
