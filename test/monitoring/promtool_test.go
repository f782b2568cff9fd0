// Package monitoring checks the files of config/monitoring with Prometheus's own tool, which comes from Debian.
package monitoring

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/hypershift-on-azure/hypershift/config"
	"github.com/hypershift-on-azure/hypershift/internal/metrics"
	"github.com/hypershift-on-azure/hypershift/parts/build"
)

// promtool finds Prometheus's tool, and fetches it into the cache where neither the system nor the cache has it.
func promtool(t *testing.T) string {
	t.Helper()
	if path, err := exec.LookPath("promtool"); err == nil {
		return path
	}
	if _, err := exec.LookPath("apt-get"); err != nil {
		t.Skip("no promtool, and this system is no Debian that could fetch it: install Prometheus")
	}
	path, err := build.DebianProgram(t.Context(), build.DefaultCache(), "prometheus", "promtool")
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// files puts the embedded rules beside the tests of them.
func files(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for name, raw := range map[string][]byte{"rules.yaml": config.Rules, "alerts.yaml": config.Alerts} {
		if err := os.WriteFile(filepath.Join(dir, name), raw, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	tests, err := filepath.Glob("testdata/*.yaml")
	if err != nil || len(tests) == 0 {
		t.Fatal("no tests of the rules", err)
	}
	for _, path := range tests {
		raw, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, "test-"+filepath.Base(path)), raw, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func TestRulesAreValid(t *testing.T) {
	tool, dir := promtool(t), files(t)
	check := exec.CommandContext(t.Context(), tool, "check", "rules", filepath.Join(dir, "rules.yaml"), filepath.Join(dir, "alerts.yaml"))
	if out, err := check.CombinedOutput(); err != nil {
		t.Errorf("promtool check rules: %v\n%s", err, out)
	}
}

func TestRulesDoWhatTheyShould(t *testing.T) {
	tool, dir := promtool(t), files(t)
	tests, err := filepath.Glob(filepath.Join(dir, "test-*.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range tests {
		run := exec.CommandContext(t.Context(), tool, "test", "rules", path)
		run.Dir = dir
		if out, err := run.CombinedOutput(); err != nil {
			t.Errorf("promtool test rules %s: %v\n%s", filepath.Base(path), err, out)
		}
	}
}

// groups is a file of rules.
type groups struct {
	Groups []struct {
		Name, Interval string
		Rules          []rule
	}
}

type rule struct {
	Record, Alert, Expr string
	Labels, Annotations map[string]string
}

func rules(t *testing.T) []rule {
	t.Helper()
	var all []rule
	for _, raw := range [][]byte{config.Rules, config.Alerts} {
		var file groups
		if err := yaml.Unmarshal(raw, &file); err != nil {
			t.Fatal(err)
		}
		for _, group := range file.Groups {
			if group.Interval != "30s" {
				t.Errorf("group %s is evaluated every %q", group.Name, group.Interval)
			}
			all = append(all, group.Rules...)
		}
	}
	return all
}

// TestEveryRuleHasATest: a test names each alert, with a case that fires and one that does not, and each record.
func TestEveryRuleHasATest(t *testing.T) {
	fires, silent := map[string]bool{}, map[string]bool{}
	recorded := ""
	paths, err := filepath.Glob("testdata/*.yaml")
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range paths {
		raw, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		var file struct {
			Tests []struct {
				AlertRuleTest []struct {
					Alertname string
					ExpAlerts []any `json:"exp_alerts"`
				} `json:"alert_rule_test"`
				PromqlExprTest []struct{ Expr string } `json:"promql_expr_test"`
			}
		}
		if err := yaml.Unmarshal(raw, &file); err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		for _, test := range file.Tests {
			for _, alert := range test.AlertRuleTest {
				fires[alert.Alertname] = fires[alert.Alertname] || len(alert.ExpAlerts) > 0
				silent[alert.Alertname] = silent[alert.Alertname] || len(alert.ExpAlerts) == 0
			}
			for _, expr := range test.PromqlExprTest {
				recorded += expr.Expr + "\n"
			}
		}
	}
	for _, r := range rules(t) {
		switch {
		case r.Alert != "" && (!fires[r.Alert] || !silent[r.Alert]):
			t.Errorf("alert %s: fires in a test: %t, stays silent in a test: %t", r.Alert, fires[r.Alert], silent[r.Alert])
		case r.Record != "" && !strings.Contains(recorded, r.Record+"\n"):
			t.Errorf("no test evaluates %s", r.Record)
		}
	}
}

// TestAlertsSayWhatToDo: an alert without a next step only wakes somebody up.
func TestAlertsSayWhatToDo(t *testing.T) {
	for _, r := range rules(t) {
		if r.Alert == "" {
			continue
		}
		for _, part := range []string{"summary", "description", "runbook"} {
			if r.Annotations[part] == "" {
				t.Errorf("alert %s has no %s", r.Alert, part)
			}
		}
		if r.Labels["severity"] == "" || !strings.HasPrefix(r.Annotations["runbook"], "1. ") {
			t.Errorf("alert %s: severity %q, runbook %q", r.Alert, r.Labels["severity"], r.Annotations["runbook"])
		}
	}
}

// TestAlertsCanFire: an alert reads series that the operator has, and that can change.
func TestAlertsCanFire(t *testing.T) {
	told := map[string]bool{"workqueue_depth": true} // controller-runtime's
	for _, d := range metrics.Definitions() {
		told[d.Name] = true
	}
	name := regexp.MustCompile(`\b(hypershift_\w+|workqueue_\w+)`)
	for _, r := range rules(t) {
		if r.Alert == "" {
			continue
		}
		read := name.FindAllString(r.Expr, -1)
		if len(read) == 0 {
			t.Errorf("alert %s reads no series of the operator: %s", r.Alert, r.Expr)
		}
		for _, series := range read {
			if !told[series] {
				t.Errorf("alert %s reads %s, which no program here changes", r.Alert, series)
			}
		}
	}
}

// TestRecords: the names that others build on.
func TestRecords(t *testing.T) {
	have := map[string]bool{}
	for _, r := range rules(t) {
		have[r.Record] = true
	}
	for _, name := range []string{
		"hypershift:apiserver_request_total:read", "hypershift:apiserver_request_total:write", "hypershift:apiserver_request_total:client",
		"hypershift:apiserver_request_aborts_total", "hypershift:controlplane:component_api_requests_total",
		"hypershift:controlplane:component_memory_usage", "hypershift:controlplane:component_memory_rss",
		"hypershift:controlplane:component_memory_request", "hypershift:controlplane:component_cpu_usage_seconds",
		"hypershift:controlplane:component_cpu_request", "hypershift:controlplane:ign_payload_generation_seconds_p90",
		"hypershift:operator:component_api_requests_total", "platform:hypershift_hostedclusters:max", "platform:hypershift_nodepools:max",
		"cluster_name:hypershift_nodepools_size:sum", "cluster_name:hypershift_nodepools_available_replicas:sum",
	} {
		if !have[name] {
			t.Errorf("no rule records %s", name)
		}
	}
}
