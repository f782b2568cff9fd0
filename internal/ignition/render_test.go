package ignition

import (
	"encoding/base64"
	"encoding/json"
	"flag"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/coreos/ignition/v2/config/v3_4"
	"github.com/coreos/ignition/v2/config/v3_4/types"

	hyperv1 "github.com/hypershift-on-azure/hypershift/api/v1beta1"
)

var update = flag.Bool("update", false, "rewrite golden files")

func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, got, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if string(want) != string(got) {
		t.Errorf("%s differs; run the test with -update and read the difference\n--- got\n%s", path, got)
	}
}

func input() Input {
	return Input{
		NodePool: "np", ServiceCIDR: "172.31.0.0/16",
		Images: map[string]string{
			"hyperkube": "quay.io/art@sha256:1", "pod": "quay.io/art@sha256:2", "haproxy-router": "quay.io/art@sha256:3", "container-networking-plugins": "quay.io/art@sha256:4",
			"azure-cloud-node-manager": "quay.io/art@sha256:5", "flannel": "quay.io/art@sha256:6",
		},
		BootstrapKubeconfig: []byte("bootstrap"), KubeletClientCA: []byte("ca"), CloudConfig: []byte("{}"),
		PullSecret: []byte(`{"auths":{"quay.io":{"auth":"dXNlcjpwYXNz"},"https://other.io/v2/":{"username":"a","password":"b"},"cloud.io/org":{"auth":"eA=="}}}`),
	}
}

func rendered(t *testing.T, in Input) types.Config {
	t.Helper()
	raw, err := Render(in)
	if err != nil {
		t.Fatal(err)
	}
	config, _, err := v3_4.ParseCompatibleVersion(raw)
	if err != nil {
		t.Fatal(err)
	}
	return config
}

func contents(t *testing.T, config types.Config) map[string]string {
	t.Helper()
	out := map[string]string{}
	for _, f := range config.Storage.Files {
		_, encoded, _ := strings.Cut(*f.Contents.Source, ",")
		decoded, err := base64.StdEncoding.DecodeString(encoded)
		if err != nil {
			t.Fatalf("%s: %v", f.Path, err)
		}
		out[f.Path] = string(decoded)
	}
	return out
}

func TestRenderPlainNode(t *testing.T) {
	config := rendered(t, input())
	files := contents(t, config)
	for path, want := range map[string]string{
		"/etc/kubernetes/kubeconfig":                  "bootstrap",
		"/etc/kubernetes/kubelet-ca.crt":              "ca",
		"/var/lib/kubelet/config.json":                string(input().PullSecret),
		"/etc/kubernetes/payload-images.env":          "HYPERKUBE_IMAGE=quay.io/art@sha256:1\nPOD_IMAGE=quay.io/art@sha256:2\nAPISERVER_PROXY_IMAGE=quay.io/art@sha256:3\nCNI_PLUGINS_IMAGE=quay.io/art@sha256:4\nFIRST_IMAGES=\"quay.io/art@sha256:5 quay.io/art@sha256:6\"\n",
		"/etc/kubernetes/registry-auth/quay.io/basic": "dXNlcjpwYXNz",
		"/opt/hypershift/bin/registry-hosts":          registryHostsScript,
	} {
		if files[path] != want {
			t.Errorf("%s = %q, want %q", path, files[path], want)
		}
	}
	for _, f := range config.Storage.Files {
		if strings.Contains(files[f.Path], "dXNlcjpwYXNz") && *f.Mode != 0o600 {
			t.Errorf("%s holds credentials with mode %o", f.Path, *f.Mode)
		}
	}
	golden(t, "kubelet.conf", []byte(files["/etc/kubernetes/kubelet.conf"]))
	own := input()
	own.OwnNetwork = true
	if got := contents(t, rendered(t, own))["/etc/kubernetes/payload-images.env"]; !strings.HasSuffix(got, "FIRST_IMAGES=\"quay.io/art@sha256:5\"\n") {
		t.Errorf("with the user's network: %s", got)
	}
}

// knownDirectives are in systemd 245, which is the oldest that a machine image may have.
var knownDirectives = []string{
	"Description", "After", "Before", "Wants", "Requires", "StartLimitIntervalSec", "Type", "ExecStart", "Environment", "EnvironmentFile",
	"Restart", "RestartSec", "RemainAfterExit", "CPUAccounting", "MemoryAccounting", "Delegate", "OOMScoreAdjust", "WantedBy", "OnBootSec", "OnUnitInactiveSec",
}

func TestUnitsStayWithinTheContract(t *testing.T) {
	in := input()
	in.TrustBundle = "bundle"
	in.Proxy = Proxy{HTTPProxy: "http://proxy:1", HTTPSProxy: "http://proxy:1", NoProxy: "a"}
	proxy, err := APIProxy{Image: "i", ListenAddress: "172.20.0.1", ListenPort: 6443, Host: "api.example.com", Port: 7443}.MachineConfig()
	if err != nil {
		t.Fatal(err)
	}
	in.Manifests = proxy
	for _, unit := range rendered(t, in).Systemd.Units {
		text := ""
		if unit.Contents != nil {
			text = *unit.Contents
		}
		for _, dropin := range unit.Dropins {
			text += *dropin.Contents
		}
		for line := range strings.SplitSeq(text, "\n") {
			if line == "" || strings.HasPrefix(line, "[") {
				continue
			}
			if directive, _, _ := strings.Cut(line, "="); !slices.Contains(knownDirectives, directive) {
				t.Errorf("%s uses %s", unit.Name, directive)
			}
		}
	}
}

func TestProxySettingsAreWordsOfAShell(t *testing.T) {
	in := input()
	in.Proxy = Proxy{HTTPSProxy: "http://user:a$b&c@proxy:3128", NoProxy: "*.svc,10.0.0.0/8"}
	script := filepath.Join(t.TempDir(), "proxy.env")
	if err := os.WriteFile(script, []byte(contents(t, rendered(t, in))["/etc/kubernetes/proxy.env"]), 0o600); err != nil {
		t.Fatal(err)
	}
	command := exec.CommandContext(t.Context(), "/bin/sh", "-c", `set -eu; b=; . "$0"; echo "$HTTPS_PROXY $https_proxy $NO_PROXY"`, script)
	got, err := command.CombinedOutput()
	if want := in.Proxy.HTTPSProxy + " " + in.Proxy.HTTPSProxy + " " + in.Proxy.NoProxy + "\n"; err != nil || string(got) != want {
		t.Errorf("%q (%v), want %q", got, err, want)
	}
}

func TestUserConfigurationWins(t *testing.T) {
	in := input()
	in.Manifests = strings.Join([]string{
		`{"apiVersion":"machineconfiguration.openshift.io/v1","kind":"MachineConfig","metadata":{"name":"99-b"},"spec":{"config":{"ignition":{"version":"3.2.0"},"storage":{"files":[{"path":"/etc/motd","contents":{"source":"data:,second"}}]}}}}`,
		`{"apiVersion":"machineconfiguration.openshift.io/v1","kind":"MachineConfig","metadata":{"name":"10-a"},"spec":{"config":{"ignition":{"version":"3.2.0"},"storage":{"files":[{"path":"/etc/motd","contents":{"source":"data:,first"}}]}}}}`,
		`{"apiVersion":"machineconfiguration.openshift.io/v1","kind":"KubeletConfig","metadata":{"name":"k"},"spec":{"kubeletConfig":{"maxPods":42,"evictionHard":{"memory.available":"1Gi"}}}}`,
	}, "\n---\n")
	config := rendered(t, in)
	for _, f := range config.Storage.Files {
		if f.Path == "/etc/motd" && *f.Contents.Source != "data:,second" {
			t.Errorf("motd = %s", *f.Contents.Source)
		}
	}
	var kubelet map[string]any
	if err := json.Unmarshal([]byte(contents(t, types.Config{Storage: types.Storage{Files: only(config, "/etc/kubernetes/kubelet.conf")}})["/etc/kubernetes/kubelet.conf"]), &kubelet); err != nil {
		t.Fatal(err)
	}
	eviction := kubelet["evictionHard"].(map[string]any)
	if kubelet["maxPods"] != 42.0 || eviction["memory.available"] != "1Gi" || eviction["nodefs.available"] != "1Gi" {
		t.Errorf("kubelet = %v", kubelet)
	}
}

func only(config types.Config, path string) []types.File {
	return slices.DeleteFunc(slices.Clone(config.Storage.Files), func(f types.File) bool { return f.Path != path })
}

func TestRenderRefuses(t *testing.T) {
	tests := map[string]func(*Input){
		"payload without image": func(in *Input) { delete(in.Images, "hyperkube") },
		"bad service network":   func(in *Input) { in.ServiceCIDR = "nonsense" },
		"bad pull secret":       func(in *Input) { in.PullSecret = []byte("{") },
		"bad machine config": func(in *Input) {
			in.Manifests = `{"apiVersion":"machineconfiguration.openshift.io/v1","kind":"MachineConfig","metadata":{"name":"x"},"spec":{"config":{"ignition":{"version":"9.9.9"}}}}`
		},
	}
	for name, change := range tests {
		t.Run(name, func(t *testing.T) {
			in := input()
			in.Images = maps.Clone(in.Images)
			change(&in)
			if _, err := Render(in); err == nil {
				t.Error("rendered")
			}
		})
	}
}

func TestNormalize(t *testing.T) {
	tests := map[string]struct {
		text string
		want []string
		fail bool
	}{
		"machine config gets its role": {
			text: "apiVersion: machineconfiguration.openshift.io/v1\nkind: MachineConfig\nmetadata: {name: a, labels: {machineconfiguration.openshift.io/role: master}}\nspec: {config: {ignition: {version: 3.2.0}}}\n",
			want: []string{`{"apiVersion":"machineconfiguration.openshift.io/v1","kind":"MachineConfig","metadata":{"labels":{"machineconfiguration.openshift.io/role":"worker"},"name":"a"},"spec":{"config":{"ignition":{"version":"3.2.0"}}}}`},
		},
		"kubelet config gets its pools": {
			text: "apiVersion: machineconfiguration.openshift.io/v1\nkind: KubeletConfig\nmetadata: {name: a}\nspec: {kubeletConfig: {maxPods: 5}}\n",
			want: []string{`{"apiVersion":"machineconfiguration.openshift.io/v1","kind":"KubeletConfig","metadata":{"name":"a"},"spec":{"kubeletConfig":{"maxPods":5},"machineConfigPoolSelector":{"matchLabels":{"machineconfiguration.openshift.io/mco-built-in":""}}}}`},
		},
		"two documents": {
			text: "apiVersion: config.openshift.io/v1\nkind: ImageDigestMirrorSet\n---\napiVersion: operator.openshift.io/v1alpha1\nkind: ImageContentSourcePolicy\n",
			want: []string{`{"apiVersion":"config.openshift.io/v1","kind":"ImageDigestMirrorSet"}`, `{"apiVersion":"operator.openshift.io/v1alpha1","kind":"ImageContentSourcePolicy"}`},
		},
		"policy of before": {
			text: "apiVersion: config.openshift.io/v1alpha1\nkind: ClusterImagePolicy\nspec: {scopes: [quay.io]}\n",
			want: []string{`{"apiVersion":"config.openshift.io/v1","kind":"ClusterImagePolicy","spec":{"scopes":["quay.io"]}}`},
		},
		"other kind":  {text: "apiVersion: v1\nkind: Secret\n", fail: true},
		"other group": {text: "apiVersion: v1\nkind: MachineConfig\n", fail: true},
		"no YAML":     {text: "a: b: c", fail: true},
		"empty":       {text: "---\n"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			got, err := Normalize(test.text)
			if (err != nil) != test.fail {
				t.Fatalf("error = %v", err)
			}
			if !slices.Equal(got, test.want) {
				t.Errorf("got %v", got)
			}
		})
	}
}

func TestClusterDNS(t *testing.T) {
	for cidr, want := range map[string]string{"172.31.0.0/16": "172.31.0.10", "10.0.0.248/24": "10.0.0.10", "fd02::/112": "fd02::a", "10.0.0.0/30": "", "x": ""} {
		got, err := ClusterDNS(cidr)
		if got != want || (err == nil) != (want != "") {
			t.Errorf("%s: %q, %v", cidr, got, err)
		}
	}
}

func TestUserData(t *testing.T) {
	data := UserData{Endpoint: "ignition.example.com", CA: []byte("CERT"), Token: "3d2b8a0e-0000-4000-8000-000000000001", NodePool: "clusters/np", TargetConfigVersion: "0a1b2c3d"}
	plain, err := data.JSON()
	if err != nil {
		t.Fatal(err)
	}
	golden(t, "user-data.json", plain)
	data.Proxy = Proxy{HTTPProxy: "http://p:1", HTTPSProxy: "http://p:2", NoProxy: "a,b"}
	proxied, err := data.JSON()
	if err != nil {
		t.Fatal(err)
	}
	golden(t, "user-data-proxy.json", proxied)
}

func TestAPIProxy(t *testing.T) {
	document, err := APIProxy{Image: "quay.io/art@sha256:3", ListenAddress: "172.20.0.1", ListenPort: 6443, Host: "198.18.16.1", Port: 7443}.MachineConfig()
	if err != nil {
		t.Fatal(err)
	}
	in := input()
	in.Manifests = document
	files := contents(t, rendered(t, in))
	golden(t, "haproxy.cfg", []byte(files["/etc/kubernetes/apiserver-proxy-config/haproxy.cfg"]))
	named := APIProxy{Image: "i", ListenAddress: "172.20.0.1", ListenPort: 6443, Host: "api.demo.example.com", Port: 443}
	golden(t, "haproxy-name.cfg", []byte(named.haproxyConfig()))
	golden(t, "kube-apiserver-proxy.json", []byte(files["/etc/kubernetes/manifests/kube-apiserver-proxy.yaml"]))
	if want := "ip address replace \"172.20.0.1/32\" dev lo\n"; !strings.HasSuffix(files["/opt/hypershift/bin/setup-apiserver-ip.sh"], want) {
		t.Errorf("script = %s", files["/opt/hypershift/bin/setup-apiserver-ip.sh"])
	}
}

func TestCompressIsStableAndReversible(t *testing.T) {
	first, err := Compress("some text")
	if err != nil {
		t.Fatal(err)
	}
	second, _ := Compress("some text")
	if string(first) != string(second) {
		t.Error("the same text packs differently: every pass would write the secret")
	}
	if text, err := Decompress(first); err != nil || text != "some text" {
		t.Errorf("%q, %v", text, err)
	}
	bare, _ := base64.StdEncoding.DecodeString(string(first))
	if text, err := Decompress(bare); err != nil || text != "some text" {
		t.Errorf("bare gzip: %q, %v", text, err)
	}
	if _, err := Decompress([]byte("garbage")); err == nil {
		t.Error("garbage decompressed")
	}
}

// A machine image's /usr is read-only: a file of ours there would keep every machine from starting.
func TestNothingIsWrittenWhereImagesAreReadOnly(t *testing.T) {
	in := input()
	in.TrustBundle = "bundle"
	in.Proxy = Proxy{HTTPProxy: "http://proxy:1"}
	proxy, err := APIProxy{Image: "i", ListenAddress: "172.20.0.1", ListenPort: 6443, Host: "api.example.com", Port: 7443}.MachineConfig()
	if err != nil {
		t.Fatal(err)
	}
	mirrors, err := MirrorDocument([]hyperv1.ImageContentSource{{Source: "quay.io/art", Mirrors: []string{"other.io/art"}}})
	if err != nil {
		t.Fatal(err)
	}
	in.Manifests = proxy + "\n---\n" + mirrors
	config := rendered(t, in)
	if found := readOnlyPaths(config); len(found) > 0 {
		t.Errorf("written to a read-only directory: %v", found)
	}
	scripts := 0
	for path, text := range contents(t, config) {
		if !strings.HasPrefix(path, "/opt/hypershift/bin/") {
			continue
		}
		scripts++
		for line := range strings.SplitSeq(text, "\n") {
			for _, root := range readOnly {
				if regexp.MustCompile(`(>|install_file .* |mkdir -p |mv .* |ln .* )"?` + root + `/`).MatchString(line) {
					t.Errorf("%s: %s", path, line)
				}
			}
		}
	}
	if scripts == 0 {
		t.Error("no script of ours")
	}
	for _, unit := range config.Systemd.Units {
		if unit.Contents != nil && strings.Contains(*unit.Contents, "/usr/local") {
			t.Errorf("%s starts a program below /usr/local", unit.Name)
		}
	}
}
