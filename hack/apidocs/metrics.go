package main

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"sigs.k8s.io/yaml"

	"github.com/hypershift-on-azure/hypershift/config"
	"github.com/hypershift-on-azure/hypershift/internal/metrics"
)

const metricsPreamble = "# Metrics, rules and alerts\n\n" +
	"Generated from `internal/metrics`, `internal/steps`, `internal/ignition/server` and `config/monitoring` by hack/generate.sh. The operator serves its metrics on " +
	"port 9000 (`--metrics-addr`). Gauges are computed from its cache when they are asked for, so a series ends with its object. `_id` is the " +
	"clusterID of the hosted cluster. Set is the smallest of `--metrics-set` that keeps the metric.\n\n" +
	"The families of the controller framework (`controller_runtime_*`, `workqueue_*`, `rest_client_*`, `process_*`, `go_*`) are served beside them.\n"

// metricsPage renders what the programs tell Prometheus, and what is made of it.
func metricsPage() (string, error) {
	var page strings.Builder
	page.WriteString(metricsPreamble)
	page.WriteString("\n## hypershift-operator\n\n| Metric | Type | Labels | Set | Meaning |\n|---|---|---|---|---|\n")
	for _, d := range metrics.Definitions() {
		fmt.Fprintf(&page, "| `%s` | %s | %s | %s | %s |\n", d.Name, d.Type, codes(d.Labels), d.Set, cell(d.Help))
	}
	for _, program := range []struct{ title, dir string }{
		{"hypershift-operator and control-plane-operator", "internal/steps"}, {"ignition-server", "internal/ignition/server"},
	} {
		served, err := literalMetrics(program.dir)
		if err != nil {
			return "", err
		}
		fmt.Fprintf(&page, "\n## %s\n\n| Metric | Type | Meaning |\n|---|---|---|\n", program.title)
		for _, d := range served {
			fmt.Fprintf(&page, "| `%s` | %s | %s |\n", d.Name, d.Type, cell(d.Help))
		}
	}
	err := ruleTables(&page)
	return page.String(), err
}

func codes(names []string) string {
	var all []string
	for _, name := range names {
		all = append(all, "`"+name+"`")
	}
	return strings.Join(all, " ")
}

// literalMetrics finds the metrics that the code of a folder makes: literals of the options of Prometheus's library.
func literalMetrics(dir string) ([]metrics.Definition, error) {
	paths, err := filepath.Glob(dir + "/*.go")
	if err != nil {
		return nil, err
	}
	var found []metrics.Definition
	var problem error
	for _, path := range paths {
		if strings.HasSuffix(path, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
		if err != nil {
			return nil, err
		}
		ast.Inspect(file, func(node ast.Node) bool {
			if literal, ok := node.(*ast.CompositeLit); ok {
				d, isMetric, err := metricOptions(literal)
				if err != nil {
					problem = fmt.Errorf("%s: %w", path, err)
				}
				if isMetric {
					found = append(found, d)
				}
			}
			return true
		})
	}
	slices.SortFunc(found, func(a, b metrics.Definition) int { return strings.Compare(a.Name, b.Name) })
	return found, problem
}

// metricOptions reads prometheus.CounterOpts{Name: "...", Help: "..."} and its like.
func metricOptions(literal *ast.CompositeLit) (metrics.Definition, bool, error) {
	selector, ok := literal.Type.(*ast.SelectorExpr)
	if !ok {
		return metrics.Definition{}, false, nil
	}
	kind, isOptions := strings.CutSuffix(selector.Sel.Name, "Opts")
	types := map[string]metrics.Type{"Gauge": metrics.Gauge, "Counter": metrics.Counter, "Histogram": metrics.Histogram}
	if !isOptions || types[kind] == "" {
		return metrics.Definition{}, false, nil
	}
	d := metrics.Definition{Type: types[kind]}
	for _, element := range literal.Elts {
		pair, ok := element.(*ast.KeyValueExpr)
		if !ok {
			continue
		}
		value, ok := pair.Value.(*ast.BasicLit)
		if !ok {
			continue
		}
		text, err := strconv.Unquote(value.Value)
		if err != nil {
			return d, false, err
		}
		switch key, _ := pair.Key.(*ast.Ident); key.Name {
		case "Name":
			d.Name = text
		case "Help":
			d.Help = text
		}
	}
	if d.Name == "" || d.Help == "" {
		return d, false, fmt.Errorf("a metric has no literal name and help: %+v", d)
	}
	return d, true, nil
}

func ruleTables(page *strings.Builder) error {
	var recording, alerting struct {
		Groups []struct {
			Name  string
			Rules []struct {
				Record, Alert, Expr, For string
				Labels, Annotations      map[string]string
			}
		}
	}
	if err := yaml.Unmarshal(config.Rules, &recording); err != nil {
		return fmt.Errorf("config/monitoring/rules.yaml: %w", err)
	}
	if err := yaml.Unmarshal(config.Alerts, &alerting); err != nil {
		return fmt.Errorf("config/monitoring/alerts.yaml: %w", err)
	}
	page.WriteString("\n## Recording rules\n\n| Record | Expression |\n|---|---|\n")
	for _, group := range recording.Groups {
		for _, rule := range group.Rules {
			fmt.Fprintf(page, "| `%s` | `%s` |\n", rule.Record, cell(rule.Expr))
		}
	}
	for _, group := range alerting.Groups {
		fmt.Fprintf(page, "\n## Alerts of %s\n", group.Name)
		for _, rule := range group.Rules {
			fmt.Fprintf(page, "\n### %s\n\n%s Severity %s, after %s of\n\n    %s\n\n%s\n", rule.Alert, rule.Annotations["description"],
				rule.Labels["severity"], rule.For, oneLine(rule.Expr), rule.Annotations["runbook"])
		}
	}
	return nil
}
