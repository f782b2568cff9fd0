package scheduler

import "fmt"

// profilesOf is the profile of the scheduler that spec.configuration.scheduler names: spread the load, fill nodes up, or decide quickly.
func profilesOf(name string) ([]map[string]any, error) {
	profile := map[string]any{"schedulerName": "default-scheduler"}
	switch name {
	case "", "LowNodeUtilization":
	case "HighNodeUtilization":
		profile["plugins"] = map[string]any{"score": map[string]any{
			"disabled": []map[string]any{{"name": "NodeResourcesBalancedAllocation"}},
			"enabled":  []map[string]any{{"name": "NodeResourcesFit", "weight": 5}},
		}}
		profile["pluginConfig"] = []map[string]any{{"name": "NodeResourcesFit", "args": map[string]any{
			"apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "NodeResourcesFitArgs",
			"scoringStrategy": map[string]any{"type": "MostAllocated", "resources": []map[string]any{
				{"name": "cpu", "weight": 1}, {"name": "memory", "weight": 1}}},
		}}}
	case "NoScoring":
		off := map[string]any{"disabled": []map[string]any{{"name": "*"}}}
		profile["plugins"] = map[string]any{"score": off, "preScore": off}
	default:
		return nil, fmt.Errorf("spec.configuration.scheduler.profile is %q; it must be LowNodeUtilization, HighNodeUtilization or NoScoring", name)
	}
	return []map[string]any{profile}, nil
}
