package main

import "testing"

func TestNodeReady(t *testing.T) {
	machine := func(phase, status string) map[string]any {
		return map[string]any{"status": map[string]any{"phase": phase, "conditions": []any{
			map[string]any{"type": "Ready", "status": "True"}, map[string]any{"type": "NodeReady", "status": status}}}}
	}
	for name, c := range map[string]struct {
		machine map[string]any
		want    bool
	}{
		"it runs, and its node is Ready": {machine("Running", "True"), true}, "its node is not": {machine("Running", "Unknown"), false},
		"it does not run yet": {machine("Provisioned", "True"), false}, "nothing is known": {map[string]any{}, false},
	} {
		if got := nodeReady(c.machine); got != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}
