package cli

import (
	"bytes"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"syscall"
	"testing"

	"k8s.io/client-go/rest"

	"github.com/hypershift-on-azure/hypershift/internal/kube/kubetest"
)

// run executes one command line as typed; no management cluster is in reach.
func run(t *testing.T, args ...string) (status int, stdout, stderr string) {
	t.Helper()
	t.Setenv("KUBECONFIG", "/nonexistent/kubeconfig")
	t.Setenv("HOME", t.TempDir())
	var out, messages bytes.Buffer
	status = Main(args, &out, &messages)
	return status, out.String(), messages.String()
}

func TestRoot(t *testing.T) {
	for _, tc := range []struct {
		args           string
		status         int
		stdout, stderr string // a part of it; "" means that nothing is printed there
	}{
		{"", 1, "Usage:", ""},
		{"create", 1, "Usage:", ""},
		{"create cluster", 1, "Usage:", ""},
		{"destroy", 1, "Usage:", ""},
		{"destroy cluster", 1, "Usage:", ""},
		{"--help", 0, "Usage:", ""},
		{"--version", 0, "v0.1.0-dev", ""},
		{"version --client-only", 0, "Client Version: ", ""},
		{"version", 0, "Server Version: unknown", ""},
		{"completion fish", 0, "complete -c hypershift", ""},
		{"help", 0, "completion ", ""},
		{"fly", 1, "", `error: unknown command "fly"`},
		{"create cluster azure --colour x", 1, "", "error: unknown flag: --colour"},
		{"create cluster azure", 1, "", "error: --name is required"},
		{"destroy cluster azure --name x", 1, "", `error: required flag(s) "azure-creds" not set`},
		{"create kubeconfig", 1, "", "error: cannot find the management cluster"},
		{"create nodepool azure --node-count 3", 1, "", "--node-count is deprecated"},
		{"install --install-scope some", 1, "", "--install-scope"},
	} {
		t.Run(tc.args, func(t *testing.T) {
			status, stdout, stderr := run(t, strings.Fields(tc.args)...)
			if status != tc.status {
				t.Errorf("status %d, want %d", status, tc.status)
			}
			for _, stream := range []struct{ name, got, want string }{{"stdout", stdout, tc.stdout}, {"stderr", stderr, tc.stderr}} {
				if !strings.Contains(stream.got, stream.want) || stream.want == "" && stream.got != "" {
					t.Errorf("%s is %q, want %q", stream.name, stream.got, stream.want)
				}
			}
			if strings.Contains(stderr, "Usage:") {
				t.Errorf("usage is printed on an error: %s", stderr)
			}
		})
	}
}

// An interrupt ends a command that waits, and says so.
func TestInterrupt(t *testing.T) {
	discovery := map[string]string{
		"/api":  `{"kind":"APIVersions","versions":["v1"]}`,
		"/apis": `{"kind":"APIGroupList","groups":[{"name":"hypershift.openshift.io","versions":[{"groupVersion":"hypershift.openshift.io/v1beta1","version":"v1beta1"}]}]}`,
		"/apis/hypershift.openshift.io/v1beta1": `{"kind":"APIResourceList","groupVersion":"hypershift.openshift.io/v1beta1","resources":[
			{"name":"hostedclusters","namespaced":true,"kind":"HostedCluster","verbs":["get"]}]}`,
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if answer, ok := discovery[r.URL.Path]; ok {
			w.Header().Set("Content-Type", "application/json")
			_, _ = w.Write([]byte(answer))
			return
		}
		if err := syscall.Kill(os.Getpid(), syscall.SIGINT); err != nil {
			t.Error(err)
		}
		<-r.Context().Done()
	}))
	defer server.Close()
	kubeconfig := kubetest.Kubeconfig(t, &rest.Config{Host: server.URL}, t.TempDir())
	raw, err := os.ReadFile(kubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(kubeconfig, bytes.ReplaceAll(raw, []byte("https://http://"), []byte("http://")), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("KUBECONFIG", kubeconfig)
	var out, messages bytes.Buffer
	if status := Main([]string{"create", "kubeconfig", "--name", "demo"}, &out, &messages); status != 130 {
		t.Errorf("status %d, want 130", status)
	}
	if !strings.HasPrefix(messages.String(), "aborted") || !strings.Contains(messages.String(), "type the same command again: hypershift create kubeconfig --name demo\n") {
		t.Errorf("stderr is %q", messages.String())
	}
}
