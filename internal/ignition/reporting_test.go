package ignition

import (
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/coreos/ignition/v2/config/v3_4"
)

// The payload a machine gets leads back to where it came from, with its own token.
func TestPayloadTellsWhereToReport(t *testing.T) {
	in := input()
	in.ReportCA = []byte("authority")
	payload, err := Render(in)
	if err != nil {
		t.Fatal(err)
	}
	mine := Personal(payload, "ignition.demo.test:8443", UserData{Token: "a+b/c==?"}.bearer())
	config, _, err := v3_4.ParseCompatibleVersion(mine)
	if err != nil {
		t.Fatal(err)
	}
	files := only(config, "/etc/kubernetes/report/curl.conf")
	if len(files) != 1 || *files[0].Mode != 0o600 {
		t.Fatalf("%+v", files)
	}
	text := unescaped(t, strings.TrimPrefix(*files[0].Contents.Source, "data:,"))
	want := "url = \"https://ignition.demo.test:8443/report\"\nheader = \"Authorization: " + UserData{Token: "a+b/c==?"}.bearer() + "\"\n"
	if text != want {
		t.Errorf("%q, want %q", text, want)
	}
	for _, strange := range []string{"", "a b", "a\"\nurl = \"x"} {
		if got := Personal(payload, strange, UserData{Token: "x"}.bearer()); string(got) != string(payload) {
			t.Errorf("host %q is written into the payload", strange)
		}
	}
	in.ReportCA = nil
	for _, unit := range rendered(t, in).Systemd.Units {
		if unit.Name == "machine-report.service" {
			t.Error("a machine reports to nobody")
		}
	}
}

func unescaped(t *testing.T, text string) string {
	t.Helper()
	plain, err := url.PathUnescape(text)
	if err != nil {
		t.Fatal(err)
	}
	return plain
}

// systemctlOf answers from files: NAME.PROPERTY.
const systemctlOf = `#!/bin/sh
property=${2#--property=}
unit=${4%.service}
cat "ROOT/units/$unit.$property" 2>/dev/null || case "$property" in LoadState) echo loaded ;; ActiveState) echo active ;; esac
`

func TestMachineReport(t *testing.T) {
	eachShell(t, func(t *testing.T, shell string) {
		m := newMachine(t)
		m.write("bin/systemctl", strings.ReplaceAll(systemctlOf, "ROOT", m.root))
		m.write("bin/journalctl", `#!/bin/sh
case "$1" in
_SYSTEMD_UNIT=containerd.service) exit ;;
_SYSTEMD_UNIT=node-fetch.service) printf 'waits for image x: %0400d x509: unknown authority\n' 0 ;;
_SYSTEMD_UNIT=*) echo E1122 first; echo 'waits for image x: denied' ;;
*) echo "${1#--unit=}: Failed with result 'exit-code'." ;;
esac
`)
		// curl: healthz as a file says; what is posted is kept, in rounds
		m.write("bin/curl", strings.ReplaceAll(`#!/bin/sh
case "$*" in
*healthz*) [ -e "ROOT/healthy" ] ;;
*metadata/instance*) cat "ROOT/azure-name" ;;
*) echo "$@" >"ROOT/posted-args"; echo "$@" | sed 's/.*Stage: \([A-Za-z]*\).*/\1/' >"ROOT/stage.$(cat "ROOT/round")"; cat >"ROOT/posted.$(cat "ROOT/round")" ;;
esac
`, "ROOT", m.root))
		m.write("bin/sleep", strings.ReplaceAll(`#!/bin/sh
round=$(($(cat "ROOT/round") + 1))
echo "$round" >"ROOT/round"
case "$round" in
3) rm "ROOT/units/kubelet-fetch.ActiveState" "ROOT/units/node-fetch.ActiveState" "ROOT/units/containerd.ActiveState" "ROOT/units/kubelet.ActiveState" ;;
4) touch "ROOT/healthy" ;;
5) touch "ROOT/var/lib/kubelet/pki/kubelet-client-current.pem" ;;
7) touch "ROOT/etc/cni/net.d/10-net.conflist" ;;
8) exit 1 ;;
esac
`, "ROOT", m.root))
		m.write("round", "0")
		m.write("var/lib/kubelet/pki/.keep", "")
		m.write("etc/hostname", "np-0\n")
		m.write("etc/kubernetes/report/ca.crt", "")
		m.write("etc/cni/net.d/.keep", "")
		for file, text := range map[string]string{
			"kubelet-fetch.ActiveState": "activating", "kubelet-fetch.SubState": "start", "kubelet-fetch.Result": "success",
			"kubelet.ActiveState": "activating", "kubelet.SubState": "auto-restart", "kubelet.Result": "exit-code", "node-trust.LoadState": "not-found",
			"node-fetch.ActiveState": "activating", "node-fetch.SubState": "start", "node-fetch.Result": "success",
			"containerd.ActiveState": "failed", "containerd.SubState": "failed", "containerd.Result": "exit-code",
		} {
			m.write("units/"+file, text+"\n")
		}
		if said, err := m.run(shell, machineReportScript); err != nil {
			t.Fatalf("%v: %s", err, said)
		}
		want := map[string]string{
			"posted.1": "containerd.service is failed (failed, exit-code): containerd.service: Failed with result 'exit-code'.\nkubelet-fetch.service is activating (start, success): waits for image x: denied\nnode-fetch.service is activating (start, success): waits for image x: " + strings.Repeat("0", 111) + " ... " + strings.Repeat("0", 246) + " x509: unknown authority\nkubelet.service is activating (auto-restart, exit-code): waits for image x: denied",
			"posted.2": "", // the same is not said again
			"posted.3": "kubelet.service is active (auto-restart, exit-code): waits for image x: denied",
			"posted.4": "the kubelet runs, and /etc/cni/net.d has no network: E1122 first",
			"posted.5": "the kubelet runs, and /etc/cni/net.d has no network: E1122 first",
			"posted.6": "",
			"posted.7": "",
			"stage.1":  "Booted\n", "stage.2": "", "stage.3": "KubeletStarted\n", "stage.4": "CertificateAsked\n", "stage.5": "CertificateApproved\n",
			"stage.6": "",
		}
		for name, text := range want {
			if got := m.read(name); got != text {
				t.Errorf("%s = %q, want %q", name, got, text)
			}
		}
		if _, err := os.Stat(filepath.Join(m.root, "posted.7")); err != nil {
			t.Errorf("a node does not take its report back: %v", err)
		}
		if got := m.read("posted-args"); !strings.Contains(got, "--header Machine: np-0") || strings.Contains(got, "Bearer") {
			t.Errorf("curl %s", got)
		}
	})
}

// A machine that does not bear the name that Azure gave it says so, under the name that its pool knows.
func TestMachineReportOfAnotherName(t *testing.T) {
	eachShell(t, func(t *testing.T, shell string) {
		m := newMachine(t)
		m.write("bin/systemctl", strings.ReplaceAll(systemctlOf, "ROOT", m.root))
		m.write("bin/journalctl", "#!/bin/sh\n")
		m.write("bin/curl", strings.ReplaceAll(`#!/bin/sh
case "$*" in
*healthz*) ;;
*metadata/instance*) echo NP-0 ;;
*) echo "$@" >"ROOT/posted-args"; cat >"ROOT/posted" ;;
esac
`, "ROOT", m.root))
		m.write("bin/sleep", strings.ReplaceAll("#!/bin/sh\n[ ! -e ROOT/posted ]\n", "ROOT", m.root))
		m.write("etc/hostname", "stranger\n")
		m.write("etc/kubernetes/report/ca.crt", "")
		m.write("etc/cni/net.d/10-net.conflist", "")
		if said, err := m.run(shell, machineReportScript); err == nil {
			t.Errorf("the machine has nothing more to say: %s", said)
		}
		if got := m.read("posted-args"); !strings.Contains(got, "--header Machine: np-0") {
			t.Errorf("curl %s", got)
		}
		if got := m.read("posted"); got != `this machine calls itself "stranger", and Azure "np-0": it gets no certificate; node-name.service is what sets the name` {
			t.Errorf("the machine says %q", got)
		}
	})
}
