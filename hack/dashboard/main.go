// Command dashboard writes config/monitoring/dashboard.json, the Grafana dashboard of an installation, from the panels below. The
// text of a panel is the help of its metric. Run it by hack/generate.sh.
package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"strings"

	"github.com/hypershift-on-azure/hypershift/internal/metrics"
)

const (
	path = "config/monitoring/dashboard.json"
	// width of a dashboard in Grafana's units, and of what is on it.
	width, panelWidth, panelHeight, rowHeight = 24, 8, 7, 1
	schemaVersion                             = 39
)

type object = map[string]any

// row is a folding section of panels.
type row struct {
	title  string
	panels []panel
}

// panel shows one query, or several.
type panel struct {
	title, unit, legend string
	exprs               []string
	// shape is Grafana's type of panel; time series when empty.
	shape string
	// text replaces the help of the metric, for metrics of others.
	text string
}

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "error:", err)
		os.Exit(1)
	}
}

func run() error {
	panels, err := layOut(rows)
	if err != nil {
		return err
	}
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	if err := encoder.Encode(dashboard(panels)); err != nil {
		return err
	}
	return os.WriteFile(path, out.Bytes(), 0o644)
}

func dashboard(panels []object) object {
	return object{
		"title": "Hosted clusters", "uid": "hypershift-hosted-clusters", "tags": []string{"hypershift"},
		"schemaVersion": schemaVersion, "version": 1, "editable": true, "graphTooltip": 1, "refresh": "30s", "timezone": "browser",
		"time":        object{"from": "now-6h", "to": "now"},
		"annotations": object{"list": []object{}},
		"templating": object{"list": []object{
			{"name": "datasource", "label": "Prometheus", "type": "datasource", "query": "prometheus", "refresh": 1},
			variable("namespace", "Namespace", `label_values(hypershift_cluster_silence_alerts, namespace)`),
			variable("name", "Hosted cluster", `label_values(hypershift_cluster_silence_alerts{namespace=~"$namespace"}, name)`),
		}},
		"panels": panels,
	}
}

func variable(name, label, query string) object {
	return object{
		"name": name, "label": label, "type": "query", "datasource": source(), "query": object{"query": query, "refId": name},
		"definition": query, "refresh": 2, "multi": true, "includeAll": true, "allValue": ".*", "sort": 1,
		"current": object{"text": "All", "value": "$__all"},
	}
}

func source() object { return object{"type": "prometheus", "uid": "${datasource}"} }

// layOut places the panels from left to right, row by row.
func layOut(rows []row) ([]object, error) {
	var all []object
	y, id := 0, 0
	for _, r := range rows {
		id++
		all = append(all, object{
			"id": id, "type": "row", "title": r.title, "collapsed": false, "panels": []object{}, "gridPos": position(0, y, width, rowHeight),
		})
		y += rowHeight
		for i, p := range r.panels {
			id++
			made, err := p.render(id)
			if err != nil {
				return nil, err
			}
			column := i % (width / panelWidth)
			made["gridPos"] = position(column*panelWidth, y, panelWidth, panelHeight)
			all = append(all, made)
			if column == width/panelWidth-1 || i == len(r.panels)-1 {
				y += panelHeight
			}
		}
	}
	return all, nil
}

func position(x, y, w, h int) object { return object{"x": x, "y": y, "w": w, "h": h} }

func (p panel) render(id int) (object, error) {
	shape := p.shape
	if shape == "" {
		shape = "timeseries"
	}
	text := p.text
	if text == "" {
		text = help(p.exprs[0])
	}
	if text == "" {
		return nil, fmt.Errorf("panel %q shows no metric of this project: give it a text", p.title)
	}
	var targets []object
	for i, expr := range p.exprs {
		targets = append(targets, object{
			"refId": string(rune('A' + i)), "expr": expr, "legendFormat": p.legend, "datasource": source(),
			"instant": shape == "table", "range": shape != "table", "format": map[bool]string{true: "table", false: "time_series"}[shape == "table"],
		})
	}
	return object{
		"id": id, "type": shape, "title": p.title, "description": text, "datasource": source(), "targets": targets,
		"fieldConfig": object{"defaults": object{"unit": p.unit, "min": 0}, "overrides": []object{}}, "options": object{},
	}, nil
}

// help is that of the metric with the longest name that the expression holds.
func help(expr string) string {
	var found metrics.Definition
	for _, d := range metrics.Definitions() {
		if strings.Contains(expr, d.Name) && len(d.Name) > len(found.Name) {
			found = d
		}
	}
	return found.Help
}
