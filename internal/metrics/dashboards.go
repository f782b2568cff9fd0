package metrics

import (
	"encoding/json"
	"fmt"

	"github.com/hypershift-on-azure/hypershift/internal/metrics/series"
)

// ClusterDashboard makes a template the dashboard of one hosted cluster: its variables "namespace" and "name" have one value each.
func ClusterDashboard(template, namespace, name, clusterID string) (string, error) {
	var dashboard map[string]any
	if err := json.Unmarshal([]byte(template), &dashboard); err != nil {
		return "", fmt.Errorf("the dashboard in ConfigMap %s is no JSON object: %w", series.DashboardTemplate, err)
	}
	dashboard["title"] = fmt.Sprintf("Hosted cluster %s/%s", namespace, name)
	dashboard["uid"] = clusterID
	templating, _ := dashboard["templating"].(map[string]any)
	variables, _ := templating["list"].([]any)
	values := map[any]string{"namespace": namespace, "name": name}
	fixed := 0
	for i, v := range variables {
		variable, _ := v.(map[string]any)
		value, wanted := values[variable["name"]]
		if !wanted {
			continue
		}
		fixed++
		variables[i] = map[string]any{
			"name": variable["name"], "type": "constant", "hide": 2, "query": value, "current": map[string]any{"text": value, "value": value},
		}
	}
	if fixed != len(values) {
		return "", fmt.Errorf("the dashboard in ConfigMap %s lacks the variables namespace and name, which choose the hosted cluster", series.DashboardTemplate)
	}
	raw, err := json.Marshal(dashboard)
	return string(raw), err
}
