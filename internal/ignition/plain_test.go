package ignition

import (
	"fmt"
	"os"
	"path"
	"slices"
	"strings"
	"testing"

	"github.com/coreos/ignition/v2/config/util"
	"github.com/coreos/ignition/v2/config/v3_2"
	"github.com/coreos/ignition/v2/config/v3_4/types"

	hyperv1 "github.com/hypershift-on-azure/hypershift/api/v1beta1"
)

func fullNode(t *testing.T) types.Config {
	t.Helper()
	in := input()
	in.TrustBundle = "bundle"
	in.Proxy = Proxy{HTTPProxy: "http://proxy:1"}
	proxy, err := APIProxy{Image: "i", ListenAddress: "172.20.0.1", ListenPort: 6443, Host: "api.example.com", Port: 7443}.MachineConfig()
	if err != nil {
		t.Fatal(err)
	}
	in.Manifests = proxy
	return rendered(t, in)
}

// relations are the values of a directive over a unit and its drop-ins.
func relations(config types.Config, name, directive string) []string {
	var out []string
	for _, unit := range config.Systemd.Units {
		if unit.Name != name {
			continue
		}
		var texts []string
		if unit.Contents != nil {
			texts = append(texts, *unit.Contents)
		}
		for _, dropin := range unit.Dropins {
			texts = append(texts, *dropin.Contents)
		}
		for line := range strings.SplitSeq(strings.Join(texts, ""), "\n") {
			if value, ok := strings.CutPrefix(line, directive+"="); ok {
				out = append(out, strings.Fields(value)...)
			}
		}
	}
	return out
}

func TestUnitsStartInOrder(t *testing.T) {
	config := fullNode(t)
	for _, pair := range [][2]string{
		{"node-trust.service", "containerd.service"},
		{"node-trust.service", "kubelet-fetch.service"},
		{"containerd.service", "kubelet-fetch.service"},
		{"containerd.service", "node-fetch.service"},
		{"kubelet-fetch.service", "kubelet.service"},
		{"node-name.service", "kubelet.service"},
		{"node-network.service", "kubelet.service"},
		{"apiserver-ip.service", "kubelet.service"},
	} {
		if !slices.Contains(relations(config, pair[1], "After"), pair[0]) && !slices.Contains(relations(config, pair[0], "Before"), pair[1]) {
			t.Errorf("%s does not wait for %s", pair[1], pair[0])
		}
	}
	if !slices.Contains(relations(config, "containerd.service", "Requires"), "node-trust.service") {
		t.Error("containerd starts without the additional trust")
	}
	if got := relations(rendered(t, input()), "containerd.service", "Requires"); len(got) > 0 {
		t.Errorf("without a bundle containerd requires %v", got)
	}
	if got := relations(config, "containerd.service", "ExecStart"); !slices.Equal(got, []string{"containerd", "--config", "/etc/containerd/config.toml"}) {
		t.Errorf("containerd starts as %v", got)
	}
	for _, name := range []string{"containerd.service", "kubelet.service"} {
		if !slices.Contains(relations(config, name, "EnvironmentFile"), "/etc/kubernetes/proxy.env") {
			t.Errorf("%s knows no proxy", name)
		}
	}
}

// A script that fails is started again, however fast it fails: systemd gives up after five starts in ten seconds unless told.
func TestUnitsAreNeverGivenUp(t *testing.T) {
	config := fullNode(t)
	for _, name := range []string{"kubelet.service", "kubelet-fetch.service", "node-fetch.service", "node-name.service", "node-network.service", "apiserver-ip.service"} {
		if len(relations(config, name, "Restart")) != 1 || !slices.Equal(relations(config, name, "StartLimitIntervalSec"), []string{"0"}) {
			t.Errorf("%s is given up when it fails", name)
		}
	}
}

func TestUpdateManagersAreHeld(t *testing.T) {
	config := rendered(t, input())
	masked := map[string]bool{}
	for _, unit := range config.Systemd.Units {
		masked[unit.Name] = unit.Mask != nil && *unit.Mask
	}
	for _, name := range []string{"update-engine.service", "locksmithd.service", "unattended-upgrades.service", "apt-daily-upgrade.timer", "zincati.service", "rpm-ostreed-automatic.timer"} {
		if !masked[name] {
			t.Errorf("%s may change or reboot a node", name)
		}
	}
	if masked["kubelet.service"] || masked["containerd.service"] {
		t.Error("a unit of the node is masked")
	}
	if got := contents(t, config)["/etc/flatcar/update.conf"]; got != "SERVER=disabled\nREBOOT_STRATEGY=off\n" {
		t.Errorf("update.conf = %q", got)
	}
}

func TestContainerdIsConfigured(t *testing.T) {
	golden(t, "containerd.toml", []byte(contents(t, rendered(t, input()))["/etc/containerd/config.toml"]))
}

func TestReservationsAreTheDocuments(t *testing.T) {
	for document, want := range map[string]string{
		`{"autoSizingReserved":true}`:                                                      "",
		`{"autoSizingReserved":false}`:                                                     `"memory": "1Gi"`,
		`{"kubeletConfig":{"systemReserved":{"memory":"3Gi"}}}`:                            `"memory": "3Gi"`,
		`{"autoSizingReserved":false,"kubeletConfig":{"systemReserved":{"memory":"3Gi"}}}`: `"memory": "3Gi"`,
	} {
		in := input()
		in.Manifests = `{"apiVersion":"machineconfiguration.openshift.io/v1","kind":"KubeletConfig","metadata":{"name":"k"},"spec":` + document + `}`
		text := contents(t, rendered(t, in))["/etc/kubernetes/kubelet.conf"]
		if strings.Contains(text, "\n  \"systemReserved\":") != (want != "") || !strings.Contains(text, want) {
			t.Errorf("%s:\n%s", document, text)
		}
	}
}

// Images of machines take versions of the specification up to their age: what a newer one is not needed for is written in the oldest.
func TestConfigurationIsWrittenInTheOldestVersion(t *testing.T) {
	document := func(name, version, more string) string {
		return `{"apiVersion":"machineconfiguration.openshift.io/v1","kind":"MachineConfig","metadata":{"name":"` + name + `"},"spec":{"config":{"ignition":{"version":"` + version + `"}` + more + `}}}`
	}
	for name, test := range map[string]struct {
		documents []string
		want      string
	}{
		"ours":              {nil, "3.2.0"},
		"older":             {[]string{document("a", "3.0.0", "")}, "3.2.0"},
		"kernel arguments":  {[]string{document("a", "3.3.0", `,"kernelArguments":{"shouldExist":["quiet"]}`), document("b", "3.1.0", "")}, "3.3.0"},
		"newest of several": {[]string{document("a", "3.4.0", ""), document("b", "3.3.0", "")}, "3.4.0"},
	} {
		t.Run(name, func(t *testing.T) {
			in := input()
			in.ReportCA, in.TrustBundle, in.Manifests = []byte("x"), "bundle", strings.Join(test.documents, "\n---\n")
			raw, err := Render(in)
			if err != nil {
				t.Fatal(err)
			}
			if version, _, err := util.GetConfigVersion(raw); err != nil || version.String() != test.want {
				t.Fatalf("version %s, %v; want %s", version, err, test.want)
			}
			if test.want != "3.2.0" {
				return
			}
			// Unknown members are warnings there, and errors nowhere.
			if _, report, err := v3_2.Parse(raw); err != nil || len(report.Entries) > 0 {
				t.Errorf("a machine that knows 3.2 alone says: %v, %s", err, report.String())
			}
		})
	}
}

// Azure takes 64 KiB of custom data, decoded, and the pointer is all that a machine is made with.
func TestUserDataFitsAzure(t *testing.T) {
	data := UserData{Endpoint: "ignition.test", CA: []byte(strings.Repeat("c", 16<<10)), Token: "t", NodePool: "clusters/np", TargetConfigVersion: "0a1b2c3d"}
	data.Proxy.HTTPProxy = "http://proxy.test:3128"
	for i := range 1000 {
		data.Proxy.NoProxy += fmt.Sprintf("n%d.example.com,", i)
	}
	data.Proxy.NoProxy = strings.TrimSuffix(data.Proxy.NoProxy, ",")
	encoded, err := data.JSON()
	if err != nil || len(encoded) < 30000 {
		t.Errorf("%d bytes, %v", len(encoded), err)
	}
	if _, report, err := v3_2.Parse(encoded); err != nil || len(report.Entries) > 0 {
		t.Errorf("%v, %s", err, report.String())
	}
	long := data
	long.CA = []byte(strings.Repeat("c", 48<<10))
	if _, err := long.JSON(); err == nil || !strings.Contains(err.Error(), "Azure takes 65535") {
		t.Errorf("user data that Azure refuses: %v", err)
	}
	data.Proxy.HTTPProxy = "socks5://proxy.test"
	if _, err := data.JSON(); err == nil || !strings.Contains(err.Error(), "spec.configuration.proxy") {
		t.Errorf("user data that machines refuse: %v", err)
	}
}

// docs/nodes.md lists what is written and what is started.
func TestTheDocumentationNamesWhatIsWritten(t *testing.T) {
	page, err := os.ReadFile("../../docs/nodes.md")
	if err != nil {
		t.Fatal(err)
	}
	in := input()
	in.TrustBundle, in.ReportCA = "bundle", []byte("x")
	mirrors, err := MirrorDocument([]hyperv1.ImageContentSource{{Source: "quay.io/art", Mirrors: []string{"other.io/art"}}})
	if err != nil {
		t.Fatal(err)
	}
	proxy, err := APIProxy{Image: "i", ListenAddress: "172.20.0.1", ListenPort: 6443, Host: "api.example.com", Port: 7443}.MachineConfig()
	if err != nil {
		t.Fatal(err)
	}
	in.Manifests = mirrors + "\n---\n" + proxy
	config := rendered(t, in)
	for _, file := range config.Storage.Files {
		named := false
		for at := file.Path; at != "/etc" && at != "/"; at = path.Dir(at) {
			named = named || strings.Contains(string(page), "`"+at+"`")
		}
		if !named {
			t.Errorf("docs/nodes.md does not say who writes %s", file.Path)
		}
	}
	for _, unit := range config.Systemd.Units {
		if name := strings.TrimSuffix(unit.Name, ".service"); unit.Mask == nil && !strings.Contains(string(page), "`"+name+"`") {
			t.Errorf("docs/nodes.md does not name unit %s", name)
		}
	}
}
