package twin

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	configv1 "github.com/openshift/api/config/v1"
	kubecontrolplanev1 "github.com/openshift/api/kubecontrolplane/v1"
	"sigs.k8s.io/yaml"

	"github.com/hypershift-on-azure/hypershift/internal/kube/kubetest"
	"github.com/hypershift-on-azure/hypershift/twin/content"
)

func write(t *testing.T, folder string, files map[string]string) {
	t.Helper()
	if err := os.MkdirAll(folder, 0o750); err != nil {
		t.Fatal(err)
	}
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// share lays out what an image of a twin has.
func share(t *testing.T) {
	t.Helper()
	before := shareDir
	shareDir = t.TempDir()
	t.Cleanup(func() { shareDir = before })
	write(t, filepath.Join(shareDir, "bootstrap"), content.Folder("bootstrap"))
	write(t, filepath.Join(shareDir, "featuregates"), content.Folder("featuregates"))
	write(t, shareDir, map[string]string{"omitted.txt": strings.Join(content.Omitted(), "\n")})
}

// The renderer lists the gates of the version, by the set that is asked for, and lays out definitions of the default set.
func TestRender(t *testing.T) {
	share(t)
	const gate = "apiVersion: config.openshift.io/v1\nkind: FeatureGate\nmetadata: {name: cluster}\nspec: %s\n"
	for name, test := range map[string]struct {
		spec              string
		enabled, disabled []string
	}{
		"default": {"{}", []string{"RouteAdvertisements"}, []string{"Example"}},
		"preview": {"{featureSet: TechPreviewNoUpgrade}", []string{"Example"}, nil},
		"custom":  {"{featureSet: CustomNoUpgrade, customNoUpgrade: {enabled: [Example], disabled: [RouteAdvertisements]}}", []string{"Example"}, []string{"RouteAdvertisements"}},
	} {
		t.Run(name, func(t *testing.T) {
			output, manifests := t.TempDir(), t.TempDir()
			given := fmt.Sprintf(gate, test.spec)
			write(t, manifests, map[string]string{gateFile: given})
			if err := render(output, manifests, "4.21.3", given); err != nil {
				t.Fatal(err)
			}
			raw, err := os.ReadFile(filepath.Join(manifests, gateFile))
			out := configv1.FeatureGate{}
			if err == nil {
				err = yaml.UnmarshalStrict(raw, &out)
			}
			if err != nil || len(out.Status.FeatureGates) != 1 || out.Status.FeatureGates[0].Version != "4.21.3" {
				t.Fatalf("%v: %+v", err, out.Status)
			}
			details := out.Status.FeatureGates[0]
			for list, want := range map[*[]configv1.FeatureGateAttributes][]string{&details.Enabled: test.enabled, &details.Disabled: test.disabled} {
				for _, name := range want {
					if !slices.ContainsFunc(*list, func(g configv1.FeatureGateAttributes) bool { return string(g.Name) == name }) {
						t.Errorf("%s is not in %v", name, *list)
					}
				}
			}
			entries, err := os.ReadDir(output)
			// The community's API server cannot serve three of the 22 definitions beside aggregated APIs of their groups.
			if err != nil || len(entries) != 19 {
				t.Errorf("%d definitions are laid out: %v", len(entries), err)
			}
		})
	}
	if err := render(t.TempDir(), t.TempDir(), "4.21.3", ""); err == nil {
		t.Error("a FeatureGate that is not there is rendered")
	}
}

// The payload of the version operator is what prepare-payload leaves of a release; what it should have taken away is refused.
func TestReadPayload(t *testing.T) {
	share(t)
	put := func(t *testing.T) string {
		folder := t.TempDir()
		kept := content.OfRelease()
		for _, name := range content.Omitted() {
			delete(kept, name)
		}
		kept["image-references"] = `{"metadata":{"name":"4.22.1"}}`
		kept["0000_01_cleanup.yaml"] = "---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n"
		write(t, filepath.Join(folder, "release-manifests"), kept)
		write(t, filepath.Join(folder, "manifests"), content.Folder("operator"))
		return folder
	}
	release, objects, err := readPayload(put(t))
	if err != nil || release != "4.22.1" || len(objects) < 60 {
		t.Fatalf("%s, %d objects: %v", release, len(objects), err)
	}
	for _, name := range []string{"release-manifests/0000_50_olm_02-services.yaml", "manifests/0000_00_cluster-version-operator_03_deployment.yaml"} {
		folder := put(t)
		write(t, filepath.Join(folder, filepath.Dir(name)), map[string]string{filepath.Base(name): "x: 1"})
		if _, _, err := readPayload(folder); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: %v", name, err)
		}
	}
	folder := put(t)
	if err := os.Remove(filepath.Join(folder, "release-manifests/0000_01_cleanup.yaml")); err != nil {
		t.Fatal(err)
	}
	if _, _, err := readPayload(folder); err == nil {
		t.Error("a payload without cleanup is accepted")
	}
}

// What only OpenShift's API server knows does not reach the community's.
func TestAPIServerArgs(t *testing.T) {
	config := kubecontrolplanev1.KubeAPIServerConfig{APIServerArguments: map[string]kubecontrolplanev1.Arguments{
		"authorization-mode": {"Scope", "SystemMasters", "RBAC", "Node"}, "enable-admission-plugins": {"NodeRestriction", "image.openshift.io/ImagePolicy"},
		"disable-admission-plugins": {"authorization.openshift.io/RestrictSubjectBindings"}, "feature-gates": {"WatchList=true", "RouteAdvertisements=true"}}}
	config.ServingInfo.BindAddress = "0.0.0.0:6443"
	got := strings.Join(WithoutGates(apiServerArgs(config, ""), "  kube:APIResponseCompression=true|false (BETA)\n      kube:WatchList=true|false (BETA - default=true)"), " ")
	for _, want := range []string{"--bind-address=0.0.0.0 --secure-port=6443", "--authorization-mode=RBAC --authorization-mode=Node", "--enable-admission-plugins=NodeRestriction", "--feature-gates=WatchList=true"} {
		if !strings.Contains(got, want) {
			t.Errorf("%s is not in %s", want, got)
		}
	}
	for _, other := range []string{"Scope", "ImagePolicy", "disable-admission-plugins", "RouteAdvertisements"} {
		if strings.Contains(got, other) {
			t.Errorf("%s is in %s", other, got)
		}
	}
}

// An aggregated API server of a twin tells its groups to the API server in front alone.
func TestAPIs(t *testing.T) {
	programs, err := Programs()
	if err != nil {
		t.Fatal(err)
	}
	ask := func(a *apis, path string, certificate *x509.Certificate) (int, string) {
		w, r := httptest.NewRecorder(), httptest.NewRequest(http.MethodGet, path, nil)
		if certificate != nil {
			r.TLS = &tls.ConnectionState{PeerCertificates: []*x509.Certificate{certificate}}
		}
		a.ServeHTTP(w, r)
		return w.Code, w.Body.String()
	}
	open := &apis{program: *Find(programs, "package-server")}
	if code, text := ask(open, "/apis/packages.operators.coreos.com/v1", nil); code != http.StatusOK || !strings.Contains(text, `"groupVersion":"packages.operators.coreos.com/v1"`) {
		t.Errorf("%d %s", code, text)
	}
	closed := &apis{program: *Find(programs, "openshift-apiserver"), trusted: x509.NewCertPool(), names: []string{"kube-apiserver-proxy"}}
	for _, certificate := range []*x509.Certificate{nil, {}} {
		if code, _ := ask(closed, "/apis/route.openshift.io/v1", certificate); code != http.StatusUnauthorized {
			t.Errorf("somebody is answered %d", code)
		}
	}
	closed.trusted = nil
	for path, want := range map[string]int{"/apis/route.openshift.io/v1": http.StatusOK, "/apis/oauth.openshift.io/v1": http.StatusNotFound, "/apis": http.StatusNotFound,
		"/apis/route.openshift.io/v1/routes": http.StatusOK, "/apis/route.openshift.io/v1/namespaces/a/routes/b": http.StatusNotFound,
		"/apis/route.openshift.io/v1/others": http.StatusNotFound} {
		if code, text := ask(closed, path, nil); code != want {
			t.Errorf("%s: %d %s", path, code, text)
		}
	}
	resources := struct{ Resources []struct{ Name string } }{}
	_, text := ask(&apis{program: *Find(programs, "oauth-apiserver")}, "/apis/oauth.openshift.io/v1", nil)
	if err := json.Unmarshal([]byte(text), &resources); err != nil || len(resources.Resources) != 1 || resources.Resources[0].Name != "oauthclients" {
		t.Errorf("%v: %s", err, text)
	}
}

// curl does what scripts ask of it, and refuses the rest.
func TestCurl(t *testing.T) {
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer x" {
			w.WriteHeader(http.StatusForbidden)
		}
	}))
	defer server.Close()
	for want, args := range map[string][]string{
		"":                 {"--fail", "--silent", "--insecure", "--output", "/dev/null", "--header", "Authorization: Bearer x", server.URL},
		"403 Forbidden":    {"--fail", "--silent", "--insecure", "--output", "/dev/null", server.URL},
		"certificate":      {"--fail", "--header", "Authorization: Bearer x", server.URL},
		"-L is unknown":    {"-L", server.URL},
		"unsupported prot": {"--fail"},
	} {
		err := curl(t.Context(), args)
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%v: %v, want %q", args, err, want)
		}
	}
}

// A checker is alive at once, and ready when every API server that it is led to has answered.
func TestServe(t *testing.T) {
	port, err := strconv.Atoi(kubetest.FreePort(t))
	if err != nil {
		t.Fatal(err)
	}
	p, state := Program{Name: "some", Serves: &Serving{Port: port, Also: []string{"/health-check"}}}, &health{}
	done := make(chan error, 1)
	ctx, end := context.WithCancel(t.Context())
	go func() { done <- p.serve(ctx, Start{}, command{}, state) }()
	asked := func(path string) int {
		response, err := http.Get(fmt.Sprintf("http://127.0.0.1:%d%s", port, path))
		if err != nil {
			return 0
		}
		defer response.Body.Close()
		return response.StatusCode
	}
	for asked("/livez") == 0 {
		time.Sleep(10 * time.Millisecond)
	}
	for path, want := range map[string]int{"/healthz": http.StatusOK, "/health-check": http.StatusOK, "/metrics": http.StatusOK, "/readyz": http.StatusServiceUnavailable, "/other": http.StatusNotFound} {
		if code := asked(path); code != want {
			t.Errorf("%s: %d, want %d", path, code, want)
		}
	}
	state.reached.Store(true)
	if code := asked("/readyz"); code != http.StatusOK {
		t.Errorf("/readyz: %d once everything was reached", code)
	}
	end()
	if err := <-done; err != nil {
		t.Error(err)
	}
}
