package metrics

import (
	"encoding/json"
	"testing"

	"github.com/hypershift-on-azure/hypershift/config"
)

func TestClusterDashboard(t *testing.T) {
	made, err := ClusterDashboard(string(config.Dashboard), "clusters", "demo", "8ef6")
	if err != nil {
		t.Fatal(err)
	}
	var dashboard struct {
		Title, UID string
		Panels     []any
		Templating struct{ List []map[string]any }
	}
	if err := json.Unmarshal([]byte(made), &dashboard); err != nil {
		t.Fatal(err)
	}
	values := map[any]any{}
	for _, v := range dashboard.Templating.List {
		values[v["name"]] = v["query"]
	}
	if dashboard.Title != "Hosted cluster clusters/demo" || dashboard.UID != "8ef6" || len(dashboard.Panels) == 0 || values["namespace"] != "clusters" || values["name"] != "demo" || values["datasource"] != "prometheus" {
		t.Errorf("title %q, uid %q, %d panels, variables %v", dashboard.Title, dashboard.UID, len(dashboard.Panels), values)
	}
	for _, template := range []string{"", "[]", "{}", `{"templating":{"list":[{"name":"name"}]}}`} {
		if _, err := ClusterDashboard(template, "clusters", "demo", ""); err == nil {
			t.Errorf("%q makes a dashboard", template)
		}
	}
}
