package kms

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/go-logr/logr/funcr"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/spf13/pflag"
	"k8s.io/kms/pkg/service"
)

// What a configuration lacks is refused with the flag or the file, before a socket is opened that an API server would wait at.
func TestRunRefusesWhatItCannotSignInWith(t *testing.T) {
	dir := t.TempDir()
	file := func(name, content string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	good := Options{VaultName: "keeper", KeyName: "etcd", KeyVersion: "1", ListenAddr: "unix://" + filepath.Join(dir, "kms.socket"),
		ConfigFile: file("azure.json", `{"cloud":"AzurePublicCloud","tenantId":"t","useWorkloadIdentityExtension":true}`)}
	for name, tc := range map[string]struct {
		change func(*Options)
		says   string
	}{
		"no vault":             {func(o *Options) { o.VaultName = "" }, "--keyvault-name"},
		"no key":               {func(o *Options) { o.KeyName = "" }, "--key-name"},
		"no version":           {func(o *Options) { o.KeyVersion = "" }, "--key-version"},
		"no file":              {func(o *Options) { o.ConfigFile = filepath.Join(dir, "gone.json") }, "--config-file-path"},
		"a file of garbage":    {func(o *Options) { o.ConfigFile = file("garbage.json", "{") }, "is not JSON"},
		"a secret for sign-in": {func(o *Options) { o.ConfigFile = file("secret.json", `{"aadClientSecret":"precious"}`) }, "names no workload identity"},
	} {
		o := good
		tc.change(&o)
		err := Run(t.Context(), o)
		if err == nil || !strings.Contains(err.Error(), tc.says) || strings.Contains(err.Error(), "precious") {
			t.Errorf("%s: error %v", name, err)
		}
	}
	if _, err := os.Stat(filepath.Join(dir, "kms.socket")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("there is a socket: %v", err)
	}
}

// The flags are those of the manifest that starts the provider: an API server finds the socket at the default.
func TestFlags(t *testing.T) {
	var o Options
	flags := pflag.NewFlagSet("kms", pflag.ContinueOnError)
	o.AddFlags(flags)
	if err := flags.Parse([]string{"--keyvault-name=keeper", "--key-name=etcd", "--key-version=1", "--managed-hsm", "-v", "3"}); err != nil {
		t.Fatal(err)
	}
	want := Options{VaultName: "keeper", KeyName: "etcd", KeyVersion: "1", ManagedHSM: true, ListenAddr: "unix:///opt/azurekms.socket", ConfigFile: "/etc/kubernetes/azure.json",
		HealthPort: 8787, HealthPath: "/healthz", MetricsPort: 8095, Verbosity: 3}
	if o != want {
		t.Errorf("%+v, want %+v", o, want)
	}
}

// changing is a vault that works until it is told otherwise.
type changing struct {
	encrypt, decrypt error
	wrong            bool // it answers, and with other bytes
	decrypted        int
}

func (c *changing) Encrypt(_ context.Context, in []byte) ([]byte, error) {
	return append([]byte("sealed:"), in...), c.encrypt
}

func (c *changing) Decrypt(_ context.Context, in []byte) ([]byte, error) {
	c.decrypted++
	if c.wrong {
		return []byte("other"), nil
	}
	return bytes.TrimPrefix(in, []byte("sealed:")), c.decrypt
}

// The status tells of a vault that fails in either direction, or gives back something else: an API server that starts then would not come up.
func TestStatusTriesBothDirections(t *testing.T) {
	for name, tc := range map[string]struct {
		vault changing
		says  string
	}{
		"well":           {changing{}, healthy},
		"no encryption":  {changing{encrypt: errors.New("no right to wrap")}, "no right to wrap"},
		"no decryption":  {changing{decrypt: errors.New("no right to unwrap")}, "no right to unwrap"},
		"another answer": {changing{wrong: true}, "does not return what it was given"},
	} {
		p := newProvider(&tc.vault, "https://keeper/keys/etcd/1", newCalls(prometheus.NewRegistry(), funcr.New(func(string, string) {}, funcr.Options{}), 1))
		status, err := p.Status(t.Context())
		if err != nil || !strings.Contains(status.Healthz, tc.says) || status.KeyID != p.keyID || status.Version != apiVersion {
			t.Errorf("%s: %+v, %v", name, status, err)
		}
	}
}

// What another algorithm has sealed, or what says nothing of it, is not sent to the vault: it would come back as garbage.
func TestDecryptRefusesOtherAlgorithms(t *testing.T) {
	vault := &changing{}
	p := newProvider(vault, "https://keeper/keys/etcd/1", newCalls(prometheus.NewRegistry(), funcr.New(func(string, string) {}, funcr.Options{}), 1))
	sealed, err := p.Encrypt(t.Context(), "1", []byte("a key"))
	if err != nil {
		t.Fatal(err)
	}
	for name, annotations := range map[string]map[string][]byte{"none": nil, "another": {algorithmAnnotation: []byte("RSA1_5")}} {
		_, err := p.Decrypt(t.Context(), "2", &service.DecryptRequest{Ciphertext: sealed.Ciphertext, KeyID: sealed.KeyID, Annotations: annotations})
		if err == nil || !strings.Contains(err.Error(), algorithm) || vault.decrypted != 0 {
			t.Errorf("%s: error %v, the vault was asked %d times", name, err, vault.decrypted)
		}
	}
	former := newProvider(vault, "https://keeper/keys/etcd/0", p.calls)
	if _, err := p.Decrypt(t.Context(), "3", &service.DecryptRequest{Ciphertext: sealed.Ciphertext, KeyID: former.keyID, Annotations: sealed.Annotations}); err == nil ||
		!strings.Contains(err.Error(), former.keyID) || !strings.Contains(err.Error(), p.keyID) || vault.decrypted != 0 {
		t.Errorf("of a former key: %v", err)
	}
	vault.encrypt = errors.New("refused")
	if sealed, err := p.Encrypt(t.Context(), "4", []byte("a key")); err == nil || sealed != nil {
		t.Errorf("a refused encryption gives %+v, %v", sealed, err)
	}
}

// A vault that begins to refuse and answers again is told once each; no value is ever logged, whatever the verbosity.
func TestCallsAreToldAndCounted(t *testing.T) {
	var log strings.Builder
	registry := prometheus.NewRegistry()
	logger := funcr.New(func(_, line string) { log.WriteString(line + "\n") }, funcr.Options{})
	vault := &changing{}
	p := newProvider(vault, "https://keeper/keys/etcd/1", newCalls(registry, logger, detailed))
	encrypt := func() { _, _ = p.Encrypt(t.Context(), "1", []byte("precious")) }
	encrypt()
	vault.encrypt = errors.New("the role is gone")
	encrypt()
	encrypt()
	vault.encrypt = nil
	encrypt()
	for text, want := range map[string]int{"the key vault refuses": 1, "the key vault answers again": 1, "asked the key vault": 4, "precious": 0, "sealed:": 0} {
		if got := strings.Count(log.String(), text); got != want {
			t.Errorf("%q is logged %d times, want %d:\n%s", text, got, want, log.String())
		}
	}
	if n, err := testutil.GatherAndCount(registry, "kms_request"); err != nil || n != 2 {
		t.Errorf("%d series, %v; want one of each outcome", n, err)
	}
}

// The health check says whether this process serves its socket, and nothing of the vault: a restart repairs the one and not the other.
func TestHealthIsThatOfTheSocket(t *testing.T) {
	socket := filepath.Join(t.TempDir(), "kms.socket")
	ask := func() (int, string) {
		w := httptest.NewRecorder()
		answers(socket)(w, httptest.NewRequest(http.MethodGet, "/healthz", nil))
		body, _ := io.ReadAll(w.Result().Body)
		return w.Code, string(body)
	}
	if code, body := ask(); code != http.StatusServiceUnavailable || !strings.Contains(body, "kms.socket") {
		t.Errorf("without a socket: %d %s", code, body)
	}
	listener, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	if code, body := ask(); code != http.StatusOK || body != "ok" {
		t.Errorf("with a socket: %d %s", code, body)
	}
	listener.(*net.UnixListener).SetUnlinkOnClose(false)
	listener.Close()
	if code, _ := ask(); code != http.StatusServiceUnavailable {
		t.Errorf("with the socket of a process that has ended: %d", code)
	}
	if err := serve(t.Context(), Options{ListenAddr: "tcp://0.0.0.0:1"}, &changing{}, "a"); err == nil || !strings.Contains(err.Error(), "--listen-addr") {
		t.Errorf("an address of another kind: %v", err)
	}
	folder := filepath.Join(t.TempDir(), "full")
	if err := os.MkdirAll(filepath.Join(folder, "inside"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := serve(t.Context(), Options{ListenAddr: "unix://" + folder}, &changing{}, "a"); err == nil || !strings.Contains(err.Error(), "--listen-addr") {
		t.Errorf("a folder in the place of the socket: %v", err)
	}
}
