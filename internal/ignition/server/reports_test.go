package server

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

	"github.com/hypershift-on-azure/hypershift/internal/ignition"
	"github.com/hypershift-on-azure/hypershift/internal/ignition/machinereport"
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

func keptReports(t *testing.T, r *tokenReconciler) map[string]machinereport.Report {
	t.Helper()
	secret := &corev1.Secret{}
	if err := r.client.Get(t.Context(), client.ObjectKey{Namespace: testNamespace, Name: "token-np"}, secret); err != nil {
		t.Fatal(err)
	}
	return machinereport.Of(secret)
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
		kept        machinereport.Report
	}{
		{machinereport.StageBooted, "kubelet-fetch.service is activating", 204, machinereport.Report{Stage: machinereport.StageBooted, Since: began.Add(time.Minute), Text: "kubelet-fetch.service is activating"}},
		{machinereport.StageBooted, "kubelet-fetch.service is failed", 204, machinereport.Report{Stage: machinereport.StageBooted, Since: began.Add(time.Minute), Text: "kubelet-fetch.service is failed"}},
		{"Finished", "x", 400, machinereport.Report{Stage: machinereport.StageBooted, Since: began.Add(time.Minute), Text: "kubelet-fetch.service is failed"}},
		{machinereport.StageCertificateAsked, "no network", 204, machinereport.Report{Stage: machinereport.StageCertificateAsked, Since: began.Add(4 * time.Minute), Text: "no network"}},
		{machinereport.StageCertificateApproved, "no network", 204, machinereport.Report{Stage: machinereport.StageCertificateApproved, Since: began.Add(5 * time.Minute), Text: "no network"}},
		{machinereport.StageCertificateApproved, "", 204, machinereport.Report{Stage: machinereport.StageCertificateApproved, Since: began.Add(5 * time.Minute), Text: ""}},
		{"", "", 204, machinereport.Report{}},
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

// The report of a real curl reaches the server.
func TestReportThroughCurl(t *testing.T) {
	h, r, _ := reportServer(t)
	server := httptest.NewTLSServer(h)
	defer server.Close()
	in := input()
	in.ReportCA = []byte("x")
	payload, err := ignition.Render(in)
	if err != nil {
		t.Fatal(err)
	}
	config, _, err := v3_4.ParseCompatibleVersion(ignition.Personal(payload, strings.TrimPrefix(server.URL, "https://"), bearerOf("one")))
	if err != nil {
		t.Fatal(err)
	}
	settings := filepath.Join(t.TempDir(), "curl.conf")
	text := ""
	for _, f := range config.Storage.Files {
		if f.Path == "/etc/kubernetes/report/curl.conf" {
			text, err = url.PathUnescape(strings.TrimPrefix(*f.Contents.Source, "data:,"))
		}
	}
	if err != nil || text == "" {
		t.Fatalf("the settings %q: %v", text, err)
	}
	if err := os.WriteFile(settings, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	command := exec.CommandContext(t.Context(), "curl", "--config", settings, "--insecure", "--silent", "--show-error", "--fail", "--noproxy", "*",
		"--header", "Machine: np-0", "--header", "Stage: "+machinereport.StageBooted, "--data-binary", "@-")
	command.Stdin = io.LimitReader(strings.NewReader("kubelet.service is failed"), 1000)
	if said, err := command.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, said)
	}
	if got := keptReports(t, r)["np-0"]; got.Text != "kubelet.service is failed" || got.Stage != machinereport.StageBooted {
		t.Errorf("kept %q", got)
	}
}
