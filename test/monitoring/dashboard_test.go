package monitoring

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/hypershift-on-azure/hypershift/config"
	"github.com/hypershift-on-azure/hypershift/internal/metrics"
	"github.com/hypershift-on-azure/hypershift/internal/metrics/series"
)

// dashboard is the part of Grafana's schema that the file may use.
type dashboard struct {
	Title, UID, Refresh, Timezone string
	Tags                          []string
	SchemaVersion, Version        int
	GraphTooltip                  int
	Editable                      bool
	Time                          struct{ From, To string }
	Annotations                   struct{ List []any }
	Templating                    struct{ List []variable }
	Panels                        []panel
}

type variable struct {
	Name, Label, Type, Definition, AllValue string
	Query                                   any
	Refresh, Sort                           int
	Multi, IncludeAll                       bool
	Datasource                              *datasource
	Current                                 struct{ Text, Value string }
}

type datasource struct{ Type, UID string }

type panel struct {
	ID                       int
	Type, Title, Description string
	Collapsed                bool
	Panels                   []any
	Datasource               *datasource
	GridPos                  struct{ X, Y, W, H int }
	FieldConfig              *struct {
		Defaults struct {
			Unit string
			Min  int
		}
		Overrides []any
	}
	Options map[string]any
	Targets []struct {
		RefID, Expr, LegendFormat, Format string
		Datasource                        datasource
		Instant, Range                    bool
	}
}

func read(t *testing.T) dashboard {
	t.Helper()
	var d dashboard
	decoder := json.NewDecoder(bytes.NewReader(config.Dashboard))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&d); err != nil {
		t.Fatal(err)
	}
	return d
}

func TestDashboardIsWellFormed(t *testing.T) {
	d := read(t)
	if d.Title == "" || d.UID == "" || d.SchemaVersion < 36 || len(d.Templating.List) == 0 {
		t.Errorf("dashboard %q %q of schema %d with %d variables", d.Title, d.UID, d.SchemaVersion, len(d.Templating.List))
	}
	ids, cells := map[int]bool{}, map[string]string{}
	for _, p := range d.Panels {
		if ids[p.ID] || p.Title == "" {
			t.Errorf("panel %q: id %d is taken or there is no title", p.Title, p.ID)
		}
		ids[p.ID] = true
		if p.GridPos.X+p.GridPos.W > 24 {
			t.Errorf("panel %q leaves the dashboard", p.Title)
		}
		for x := range p.GridPos.W {
			for y := range p.GridPos.H {
				cell := fmt.Sprintf("%d,%d", p.GridPos.X+x, p.GridPos.Y+y)
				if other, taken := cells[cell]; taken {
					t.Fatalf("panels %q and %q overlap", other, p.Title)
				}
				cells[cell] = p.Title
			}
		}
		if p.Type == "row" {
			continue
		}
		if !slices.Contains([]string{"timeseries", "stat", "table"}, p.Type) || p.Description == "" || len(p.Targets) == 0 || p.FieldConfig == nil || p.FieldConfig.Defaults.Unit == "" {
			t.Errorf("panel %q lacks type, description, query or unit: %+v", p.Title, p)
		}
		references := map[string]bool{}
		for _, target := range p.Targets {
			if references[target.RefID] || target.Expr == "" || target.LegendFormat == "" || target.Datasource.UID != "${datasource}" {
				t.Errorf("panel %q: query %+v", p.Title, target)
			}
			references[target.RefID] = true
		}
	}
}

func expressions(t *testing.T) []string {
	t.Helper()
	var all []string
	for _, p := range read(t).Panels {
		for _, target := range p.Targets {
			all = append(all, target.Expr)
		}
	}
	return all
}

// TestDashboardQueriesAreValid has promtool read every query as if it were a rule.
func TestDashboardQueriesAreValid(t *testing.T) {
	tool := promtool(t)
	var rules []map[string]string
	for i, expr := range expressions(t) {
		rules = append(rules, map[string]string{"record": fmt.Sprintf("dashboard:query:%d", i), "expr": expr})
	}
	raw, err := yaml.Marshal(map[string]any{"groups": []any{map[string]any{"name": "dashboard", "rules": rules}}})
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "queries.yaml")
	if err := os.WriteFile(path, raw, 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.CommandContext(t.Context(), tool, "check", "rules", path).CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}

// foreign are the metrics of others: of the containers' runtime, of kube-state-metrics, of API servers and of the libraries.
var foreign = []string{
	"apiserver_request_total", "apiserver_request_aborts_total", "rest_client_requests_total", "kube_pod_labels", "kube_pod_container_resource_requests",
	"container_memory_usage_bytes", "container_memory_rss", "container_cpu_usage_seconds_total", "workqueue_depth", "controller_runtime_reconcile_total",
	"controller_runtime_reconcile_time_seconds", "process_resident_memory_bytes", "process_cpu_seconds_total",
}

// documented are the metrics of docs/reference/metrics.md, which is generated from those of the programs.
func documented(t *testing.T) []string {
	t.Helper()
	raw, err := os.ReadFile("../../docs/reference/metrics.md")
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, match := range regexp.MustCompile("(?m)^\\| `([^`]+)` \\|").FindAllStringSubmatch(string(raw), -1) {
		names = append(names, match[1])
	}
	return names
}

// TestMetricsExist: rules, alerts and dashboard ask for nothing that nobody tells.
func TestMetricsExist(t *testing.T) {
	known := slices.Concat(foreign, documented(t))
	queries := expressions(t)
	for _, r := range rules(t) {
		queries = append(queries, r.Expr)
	}
	asked := map[string]bool{}
	for _, query := range queries {
		for _, name := range namesIn(query) {
			base := strings.TrimSuffix(strings.TrimSuffix(strings.TrimSuffix(name, "_bucket"), "_sum"), "_count")
			if !slices.Contains(known, name) && !slices.Contains(known, base) {
				t.Errorf("nobody tells %s, which is asked for by %s", name, query)
			}
			asked[name], asked[base] = true, true
		}
	}
	for _, name := range foreign {
		if !asked[name] {
			t.Errorf("%s is in the list of foreign metrics and nobody asks for it", name)
		}
	}
}

// TestDashboardShowsEveryMetric: what is told, and what is recorded, is shown.
func TestDashboardShowsEveryMetric(t *testing.T) {
	all := strings.Join(expressions(t), "\n")
	for _, name := range documented(t) {
		if !strings.Contains(all, name) {
			t.Errorf("no panel shows %s", name)
		}
	}
	if len(documented(t)) < len(metrics.Definitions()) {
		t.Errorf("docs/reference/metrics.md has %d metrics, and the operator %d; run hack/generate.sh", len(documented(t)), len(metrics.Definitions()))
	}
}

// TestSmallestSetSufficesForRules: an alert fires whatever set of metrics is kept.
func TestSmallestSetSufficesForRules(t *testing.T) {
	kept := regexp.MustCompile("^(?:" + series.Keep(series.Telemetry) + ")$")
	for _, r := range rules(t) {
		if strings.HasPrefix(r.Record, "hypershift:apiserver_") || strings.HasPrefix(r.Record, "hypershift:controlplane:") {
			continue // Not from the operator.
		}
		for _, name := range namesIn(r.Expr) {
			if !kept.MatchString(name) {
				t.Errorf("%s%s needs %s, which set %s drops", r.Alert, r.Record, name, series.Telemetry)
			}
		}
	}
}

var (
	quoted   = regexp.MustCompile(`"[^"]*"`)
	selected = regexp.MustCompile(`\{[^}]*\}|\[[^\]]*\]`)
	grouped  = regexp.MustCompile(`\b(?:by|on|ignoring|without|group_left|group_right)\s*\([^)]*\)`)
	word     = regexp.MustCompile(`[a-zA-Z_:][a-zA-Z0-9_:]*\s*\(?`)
	keywords = []string{"and", "or", "unless", "bool", "offset", "by", "on"}
)

// namesIn finds the metrics of a query: words that are neither functions nor keywords nor labels.
func namesIn(query string) []string {
	for _, noise := range []*regexp.Regexp{quoted, selected, grouped} {
		query = noise.ReplaceAllString(query, " ")
	}
	var names []string
	for _, found := range word.FindAllString(query, -1) {
		name := strings.TrimSpace(found)
		if !strings.HasSuffix(name, "(") && !slices.Contains(keywords, name) {
			names = append(names, name)
		}
	}
	return names
}

func TestNamesIn(t *testing.T) {
	got := namesIn(`sum by (a, b) (rate(one_total{c="d(e)"}[5m])) / on (f) group_left () max by (g) (two:three:max) * 0 > 2 unless on (_id) four == 1`)
	if want := []string{"one_total", "two:three:max", "four"}; !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}
