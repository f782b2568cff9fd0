package metrics

import (
	"slices"
	"strings"
)

// stock are the families of the controller framework that rules, alerts and dashboard need.
var stock = []string{
	"rest_client_requests_total", "workqueue_depth", "controller_runtime_reconcile_total", "controller_runtime_reconcile_errors_total",
	"controller_runtime_reconcile_time_seconds_bucket", "process_resident_memory_bytes", "process_cpu_seconds_total", "up",
}

// Keep is the regular expression of the names of the series that a set keeps; it is empty when that is all of them.
func Keep(set Set) string {
	if set == All {
		return ""
	}
	names := slices.Clone(stock)
	for _, name := range Names(set) {
		names = append(names, name)
		if slices.ContainsFunc(definitions, func(d Definition) bool { return d.Name == name && d.Type == Histogram }) {
			names = append(names, name+"_bucket", name+"_sum", name+"_count")
		}
	}
	return strings.Join(names, "|")
}
