package ignition

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/coreos/ignition/v2/config/v3_4"
	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// reportServer takes reports of machines with the token "one".
func reportServer(t *testing.T) (*protocol, *tokenReconciler, *time.Time) {
	t.Helper()
	now := start
	r := newTokenReconciler(t, start, world(t)...)
	r.store.set(entry{secret: "token-np", nodePool: "clusters/np"}, "one")
	kept := &reports{client: r.client, namespace: testNamespace, now: func() time.Time { return now }}
	return &protocol{store: r.store, metrics: newMetrics(prometheus.NewRegistry(), r.store), reports: kept}, r, &now
}

func send(t *testing.T, h http.Handler, token, machine, text string) int {
	t.Helper()
	return sendStage(t, h, token, machine, "", text)
}

func sendStage(t *testing.T, h http.Handler, token, machine, stage, text string) int {
	t.Helper()
	request := httptest.NewRequest(http.MethodPost, "/report", strings.NewReader(text))
	request.Header.Set("Authorization", bearerOf(token))
	request.Header.Set("Machine", machine)
	request.Header.Set("Stage", stage)
	answer := httptest.NewRecorder()
	h.ServeHTTP(answer, request)
	return answer.Code
}

func keptReports(t *testing.T, r *tokenReconciler) map[string]Report {
	t.Helper()
	secret := &corev1.Secret{}
	if err := r.client.Get(t.Context(), client.ObjectKey{Namespace: testNamespace, Name: "token-np"}, secret); err != nil {
		t.Fatal(err)
	}
	return Reports(secret)
}

func TestReportsAreKept(t *testing.T) {
	h, r, now := reportServer(t)
	for _, step := range []struct {
		token, machine, text string
		status               int
		kept                 string
	}{
		{"one", "np-0", "kubelet.service is failed\ncontainerd.service\tis failed\n", 204, "kubelet.service is failed containerd.service is failed"},
		{"other", "np-0", "x", 511, "kubelet.service is failed containerd.service is failed"},
		{"one", "np-0", "\x1b[2Jred\u202eder\xff\x00", 204, "[2Jredder"},
		{"one", "np-0", strings.Repeat("x", maxReport), 204, strings.Repeat("x", maxReport)},
		{"one", "np-0", strings.Repeat("y", maxReport+1), 413, strings.Repeat("x", maxReport)},
		{"one", "", "x", 400, strings.Repeat("x", maxReport)},
		{"one", "../np-0", "x", 400, strings.Repeat("x", maxReport)},
		{"one", strings.Repeat("n", 64), "x", 400, strings.Repeat("x", maxReport)},
		{"one", "np-0", "", 204, ""},
	} {
		*now = now.Add(time.Minute)
		if got := send(t, h, step.token, step.machine, step.text); got != step.status {
			t.Errorf("%s %.20q: %d, want %d", step.machine, step.text, got, step.status)
		}
		if got := keptReports(t, r)["np-0"].Text; got != step.kept {
			t.Errorf("after %.20q: %.60q, want %.60q", step.text, got, step.kept)
		}
	}
	if got := keptReports(t, r); len(got) > 0 {
		t.Errorf("kept: %v", got)
	}
	request := httptest.NewRequest(http.MethodGet, "/report", nil)
	request.Header.Set("Authorization", bearerOf("one"))
	answer := httptest.NewRecorder()
	if h.ServeHTTP(answer, request); answer.Code != 404 {
		t.Errorf("GET: %d", answer.Code)
	}
}

// A stage is since when it was told first, whatever else the machine says meanwhile, and goes with the report.
func TestStagesAreKeptWithTheirTime(t *testing.T) {
	h, r, now := reportServer(t)
	began := *now
	for _, step := range []struct {
		stage, text string
		status      int
		kept        Report
	}{
		{StageBooted, "kubelet-fetch.service is activating", 204, Report{StageBooted, began.Add(time.Minute), "kubelet-fetch.service is activating"}},
		{StageBooted, "kubelet-fetch.service is failed", 204, Report{StageBooted, began.Add(time.Minute), "kubelet-fetch.service is failed"}},
		{"Finished", "x", 400, Report{StageBooted, began.Add(time.Minute), "kubelet-fetch.service is failed"}},
		{StageCertificateAsked, "no network", 204, Report{StageCertificateAsked, began.Add(4 * time.Minute), "no network"}},
		{StageCertificateApproved, "no network", 204, Report{StageCertificateApproved, began.Add(5 * time.Minute), "no network"}},
		{StageCertificateApproved, "", 204, Report{StageCertificateApproved, began.Add(5 * time.Minute), ""}},
		{"", "", 204, Report{}},
	} {
		*now = now.Add(time.Minute)
		if got := sendStage(t, h, "one", "np-0", step.stage, step.text); got != step.status {
			t.Errorf("%s %q: %d, want %d", step.stage, step.text, got, step.status)
		}
		got := keptReports(t, r)["np-0"]
		if got.Stage != step.kept.Stage || got.Text != step.kept.Text || !got.Since.Equal(step.kept.Since.Truncate(time.Second)) {
			t.Errorf("after %s %q: %+v, want %+v", step.stage, step.text, got, step.kept)
		}
	}
	if got := keptReports(t, r); len(got) > 0 {
		t.Errorf("kept: %v", got)
	}
}

// A machine can say what it likes under any name; the management cluster's store must not notice.
func TestReportsAreBounded(t *testing.T) {
	h, r, now := reportServer(t)
	refused := 0
	for i := range 200 {
		if send(t, h, "one", fmt.Sprintf("np-%d", i), strings.Repeat("x", maxReport)) == http.StatusTooManyRequests {
			refused++
		}
	}
	if got := len(keptReports(t, r)); got != reportBurst || refused != 200-reportBurst {
		t.Errorf("%d kept at once, %d refused", got, refused)
	}
	for i := range 200 {
		*now = now.Add(reportPeriod)
		send(t, h, "one", fmt.Sprintf("np-%d", i), strings.Repeat("z", maxReport))
	}
	kept := keptReports(t, r)
	total := 0
	for _, report := range kept {
		total += len(report.Text)
	}
	if len(kept) != maxReports || total > maxReports*maxReport {
		t.Errorf("%d reports of %d bytes are kept", len(kept), total)
	}
}

// The payload a machine gets leads back to where it came from, with its own token.
func TestPayloadTellsWhereToReport(t *testing.T) {
	in := input()
	in.ReportCA = []byte("authority")
	payload, err := Render(in)
	if err != nil {
		t.Fatal(err)
	}
	mine := personal(payload, "ignition.demo.test:8443", bearerOf("a+b/c==?"))
	config, _, err := v3_4.ParseCompatibleVersion(mine)
	if err != nil {
		t.Fatal(err)
	}
	files := only(config, "/etc/kubernetes/report/curl.conf")
	if len(files) != 1 || *files[0].Mode != 0o600 {
		t.Fatalf("%+v", files)
	}
	text := unescaped(t, strings.TrimPrefix(*files[0].Contents.Source, "data:,"))
	want := "url = \"https://ignition.demo.test:8443/report\"\nheader = \"Authorization: " + bearerOf("a+b/c==?") + "\"\n"
	if text != want {
		t.Errorf("%q, want %q", text, want)
	}
	for _, strange := range []string{"", "a b", "a\"\nurl = \"x"} {
		if got := personal(payload, strange, bearerOf("x")); string(got) != string(payload) {
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

// The report of a real curl reaches the server.
func TestReportThroughCurl(t *testing.T) {
	h, r, _ := reportServer(t)
	server := httptest.NewTLSServer(h)
	defer server.Close()
	in := input()
	in.ReportCA = []byte("x")
	payload, err := Render(in)
	if err != nil {
		t.Fatal(err)
	}
	config, _, err := v3_4.ParseCompatibleVersion(personal(payload, strings.TrimPrefix(server.URL, "https://"), bearerOf("one")))
	if err != nil {
		t.Fatal(err)
	}
	settings := filepath.Join(t.TempDir(), "curl.conf")
	text := unescaped(t, strings.TrimPrefix(*only(config, "/etc/kubernetes/report/curl.conf")[0].Contents.Source, "data:,"))
	if err := os.WriteFile(settings, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	command := exec.CommandContext(t.Context(), "curl", "--config", settings, "--insecure", "--silent", "--show-error", "--fail", "--noproxy", "*",
		"--header", "Machine: np-0", "--header", "Stage: "+StageBooted, "--data-binary", "@-")
	command.Stdin = io.LimitReader(strings.NewReader("kubelet.service is failed"), 1000)
	if said, err := command.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, said)
	}
	if got := keptReports(t, r)["np-0"]; got.Text != "kubelet.service is failed" || got.Stage != StageBooted {
		t.Errorf("kept %q", got)
	}
}
