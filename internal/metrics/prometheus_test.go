package metrics

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hypershift-on-azure/hypershift/api/v1beta1"
	"github.com/hypershift-on-azure/hypershift/config"
	"github.com/hypershift-on-azure/hypershift/internal/kube/kubetest"
	"github.com/hypershift-on-azure/hypershift/parts/build"
)

// before is a time before the real one: Prometheus has its own clock.
func before(d time.Duration) metav1.Time { return metav1.NewTime(time.Now().Add(-d)) }

// running has nothing wrong.
func running(name string) *hyperv1.HostedCluster {
	hc := hostedCluster(name, 0)
	hc.CreationTimestamp = before(100 * time.Hour)
	hc.Annotations = map[string]string{hyperv1.HasBeenAvailableAnnotation: "true"}
	hc.Status.Conditions = conditions("Available", "True", "ReconciliationSucceeded", "True")
	hc.Status.Version = &hyperv1.ClusterVersionStatus{History: []hyperv1.UpdateHistory{{State: hyperv1.CompletedUpdate, Version: "4.21.0", StartedTime: before(100 * time.Hour)}}}
	return hc
}

// cause of an alert: objects with something wrong, and the name of the cluster or pool that the alert names; an alert that counts names none.
type cause struct {
	name    string
	objects []client.Object
}

// causes has one for each alert that objects can fire.
func causes(t *testing.T) map[string]cause {
	t.Helper()
	of := func(name string, change func(*hyperv1.HostedCluster), more ...client.Object) cause {
		hc := running(name)
		change(hc)
		return cause{name, append([]client.Object{hc}, more...)}
	}
	deletedFor := func(d time.Duration) func(*hyperv1.HostedCluster) {
		return func(hc *hyperv1.HostedCluster) {
			hc.DeletionTimestamp, hc.Finalizers = ptr.To(before(d)), []string{hyperv1.Finalizer}
			hc.Annotations[hyperv1.CleanupCloudResourcesAnnotation] = "true"
			hc.Status.Conditions = conditions("Available", "False", "CloudResourcesDestroyed", "False")
		}
	}
	pool := func(cluster, name string, age time.Duration, version string) *hyperv1.NodePool {
		np := nodePool(cluster, name, "Standard_D4s_v3", 3, 1)
		np.CreationTimestamp, np.Status.Version = before(age), version
		return np
	}
	expiring := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "clusters", Name: "expiring-ca"}, Data: map[string]string{"ca-bundle.crt": certificates(t, time.Now().AddDate(0, 0, 3))}}
	backup := &hyperv1.HCPEtcdBackup{ObjectMeta: metav1.ObjectMeta{Namespace: "clusters-saved", Name: "old"}, Status: hyperv1.HCPEtcdBackupStatus{
		Conditions: []metav1.Condition{{Type: hyperv1.BackupCompleted, Status: metav1.ConditionTrue, Reason: hyperv1.BackupSucceededReason, LastTransitionTime: before(40 * time.Hour)}}}}
	late, nodes := of("without-nodes", func(*hyperv1.HostedCluster) {}, pool("without-nodes", "late", 10*time.Minute, "")), of("few-nodes", func(*hyperv1.HostedCluster) {}, pool("few-nodes", "short", time.Hour, "4.21.0"))
	late.name, nodes.name = "late", "short"
	unavailable := of("broken", func(hc *hyperv1.HostedCluster) { hc.Status.Conditions = conditions("Available", "False") })
	failing := of("failing", func(hc *hyperv1.HostedCluster) {
		hc.Status.Conditions = conditions("Available", "True", "ReconciliationSucceeded", "False")
	})
	unavailable.name, failing.name = "", ""
	return map[string]cause{
		"HypershiftSLOTimeToAvailability": of("never-available", func(hc *hyperv1.HostedCluster) {
			hc.CreationTimestamp, hc.Annotations, hc.Status.Conditions = before(6*time.Minute), nil, conditions("Available", "False")
		}),
		"HypershiftSLOTimeToRollout": of("never-rolled-out", func(hc *hyperv1.HostedCluster) {
			hc.CreationTimestamp, hc.Status.Version.History[0].State = before(16*time.Minute), hyperv1.PartialUpdate
		}),
		"HypershiftSLONodePoolAvailability":   late,
		"HypershiftSLOTimeToDeletion":         of("not-going", deletedFor(6*time.Minute)),
		"HypershiftHostedClustersUnavailable": unavailable,
		"HypershiftReconciliationFailing":     failing,
		"HypershiftUpgradeSlow": of("upgrading", func(hc *hyperv1.HostedCluster) {
			hc.Status.Version.History = append([]hyperv1.UpdateHistory{{State: hyperv1.PartialUpdate, Version: "4.22.0", StartedTime: before(2 * time.Hour)}}, hc.Status.Version.History...)
		}),
		"HypershiftNodePoolNodesMissing": nodes,
		"HypershiftProxyCAExpiring": of("proxied", func(hc *hyperv1.HostedCluster) {
			hc.Spec.Configuration = &hyperv1.ClusterConfiguration{Proxy: &hyperv1.ProxySpec{HTTPSProxy: "http://proxy:3128", TrustedCA: &corev1.LocalObjectReference{Name: "expiring-ca"}}}
		}, expiring),
		"HypershiftEtcdBackupOld": of("saved", func(*hyperv1.HostedCluster) {}, backup),
		"HypershiftEtcdBackupFailed": of("unsaved", func(hc *hyperv1.HostedCluster) {
			hc.Status.Conditions = append(hc.Status.Conditions, metav1.Condition{Type: hyperv1.EtcdBackupSucceeded, Status: "False", Reason: hyperv1.BackupFailedReason, LastTransitionTime: before(time.Minute)})
		}),
		"HypershiftEtcdNeedsHelp": of("lost-majority", func(hc *hyperv1.HostedCluster) {
			hc.Status.Conditions = append(hc.Status.Conditions, metav1.Condition{Type: hyperv1.EtcdRecoveryActive, Status: "False", Reason: hyperv1.EtcdRecoveryJobFailedReason, LastTransitionTime: before(time.Minute)})
		}),
		"HypershiftCloudResourcesRemain": of("remains", deletedFor(time.Hour)),
	}
}

// server is a Prometheus of its own process with the rules and alerts of an installation. How long an alert waits, and how often it is looked at, is cut
// to a second; all else is as it is installed.
type server struct{ address string }

func startPrometheus(t *testing.T, target string) *server {
	t.Helper()
	program, err := exec.LookPath("prometheus")
	if err != nil {
		if _, err := exec.LookPath("apt-get"); err != nil {
			t.Skip("no prometheus, and this system is no Debian that could fetch it")
		}
		if program, err = build.DebianProgram(t.Context(), build.DefaultCache(), "prometheus", "prometheus"); err != nil {
			t.Fatal(err)
		}
	}
	dir := t.TempDir()
	at, err := url.Parse(target)
	if err != nil {
		t.Fatal(err)
	}
	waits := regexp.MustCompile(`(?m)^( *(?:- )?)(for|interval): \w+$`)
	for name, text := range map[string]string{
		"rules.yaml": waits.ReplaceAllString(string(config.Rules), "${1}${2}: 1s"), "alerts.yaml": waits.ReplaceAllString(string(config.Alerts), "${1}${2}: 1s"),
		"prometheus.yaml": fmt.Sprintf("global: {scrape_interval: 1s, evaluation_interval: 1s}\nrule_files: [rules.yaml, alerts.yaml]\nscrape_configs:\n- {job_name: operator, honor_labels: true, static_configs: [{targets: [%q]}]}\n", at.Host),
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	log, err := os.Create(filepath.Join(dir, "log"))
	if err != nil {
		t.Fatal(err)
	}
	address := kubetest.FreeAddress(t)
	command := exec.CommandContext(context.WithoutCancel(t.Context()), program, "--config.file="+filepath.Join(dir, "prometheus.yaml"), "--storage.tsdb.path="+filepath.Join(dir, "data"), "--web.listen-address="+address)
	command.Stdout, command.Stderr = log, log
	command.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = command.Process.Kill()
		_ = command.Wait()
		if raw, err := os.ReadFile(log.Name()); t.Failed() && err == nil {
			t.Logf("%.4000s", raw)
		}
	})
	return &server{"http://" + address}
}

// ask is a question to its API; false while it does not answer.
func (s *server) ask(t *testing.T, path string, into any) bool {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.address+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	response, err := (&http.Client{Transport: &http.Transport{DisableKeepAlives: true}}).Do(request)
	if err != nil {
		return false
	}
	defer response.Body.Close()
	return json.NewDecoder(response.Body).Decode(into) == nil && response.StatusCode == http.StatusOK
}

// firing are the alerts with the names of what they are about.
func (s *server) firing(t *testing.T) map[string][]string {
	t.Helper()
	var answer struct {
		Data struct {
			Alerts []struct {
				State  string
				Labels map[string]string
			}
		}
	}
	out := map[string][]string{}
	if s.ask(t, "/api/v1/alerts", &answer) {
		for _, alert := range answer.Data.Alerts {
			if name := alert.Labels["alertname"]; alert.State == "firing" {
				out[name] = append(out[name], alert.Labels["name"])
			}
		}
	}
	return out
}

// until waits for what Prometheus says, which scrapes and evaluates each second.
func (s *server) until(t *testing.T, what string, ok func(firing map[string][]string) bool) {
	t.Helper()
	var last map[string][]string
	for deadline := time.Now().Add(2 * time.Minute); time.Now().Before(deadline); time.Sleep(200 * time.Millisecond) {
		if last = s.firing(t); ok(last) {
			return
		}
	}
	t.Fatalf("%s: %v", what, last)
}

// TestAlertsFire has a real Prometheus scrape what the operator tells, and fires each alert once by its cause. With nothing wrong none fires.
func TestAlertsFire(t *testing.T) {
	var collected atomic.Pointer[http.Handler]
	target := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if handler := collected.Load(); handler != nil {
			(*handler).ServeHTTP(w, r)
			return
		}
		w.WriteHeader(http.StatusServiceUnavailable)
	}))
	defer target.Close()
	depth := prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: "workqueue_depth"}, []string{"name"})
	tell := func(objects ...client.Object) {
		f := newFleet(t, objects...)
		f.gauges.now = time.Now
		r := prometheus.NewRegistry()
		r.MustRegister(f, depth)
		handler := promhttp.HandlerFor(r, promhttp.HandlerOpts{})
		collected.Store(&handler)
	}
	s := startPrometheus(t, target.URL)
	s.until(t, "no operator", func(firing map[string][]string) bool { return len(firing["HypershiftOperatorDown"]) == 1 })

	depth.WithLabelValues("hostedcluster").Set(3)
	tell(running("well"), nodePool("well", "enough", "Standard_D4s_v3", 2, 2))
	s.until(t, "nothing is wrong", func(firing map[string][]string) bool { return len(firing) == 0 })

	planted := causes(t)
	var objects []client.Object
	for _, cause := range planted {
		objects = append(objects, cause.objects...)
	}
	depth.WithLabelValues("hostedcluster").Set(51)
	tell(objects...)
	alerts := regexp.MustCompile(`(?m)^  - alert: (\w+)$`).FindAllStringSubmatch(string(config.Alerts), -1)
	if len(alerts) != len(planted)+2 {
		t.Errorf("%d alerts, and causes of %d beside an operator that is down and a queue that grows", len(alerts), len(planted))
	}
	for _, alert := range alerts {
		name := alert[1]
		cause, ok := planted[name]
		switch {
		case name == "HypershiftOperatorDown":
			continue // that was the first
		case name == "HypershiftQueueGrowing":
			cause.name = "hostedcluster"
		case !ok:
			t.Errorf("nothing provokes %s", name)
			continue
		}
		s.until(t, name+" does not fire for "+cause.name, func(firing map[string][]string) bool { return slices.Contains(firing[name], cause.name) })
	}
	s.panels(t)
}

// panels asks what the panels of the Grafana dashboard ask; those about the operator's own metrics of this fleet get an answer.
func (s *server) panels(t *testing.T) {
	t.Helper()
	var dashboard struct {
		Panels []struct {
			Title   string
			Targets []struct{ Expr string }
		}
	}
	if err := json.Unmarshal(config.Dashboard, &dashboard); err != nil {
		t.Fatal(err)
	}
	variables := regexp.MustCompile(`\$\{?\w+\}?`)
	answered := 0
	for _, panel := range dashboard.Panels {
		for _, target := range panel.Targets {
			query := strings.NewReplacer("$__rate_interval", "1m", "$__range", "5m", "$__interval", "1m").Replace(target.Expr)
			query = variables.ReplaceAllString(query, ".*")
			var answer struct {
				Data struct{ Result []any }
			}
			if !s.ask(t, "/api/v1/query?query="+url.QueryEscape(query), &answer) {
				t.Errorf("panel %q: Prometheus refuses %s", panel.Title, query)
			}
			if len(answer.Data.Result) > 0 {
				answered++
			}
		}
	}
	if answered < 20 {
		t.Errorf("%d queries of the dashboard have an answer", answered)
	}
}
