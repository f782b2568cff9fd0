package monitor

import (
	"fmt"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"
)

// Set says how much of what a control plane tells is kept: Telemetry is part of SRE, which is part of All.
type Set string

// The sets that METRICS_SET and spec.monitoring.metricsSet choose from.
const (
	Telemetry Set = "Telemetry"
	SRE       Set = "SRE"
	All       Set = "All"
)

const (
	// SREConfigMap is in the control-plane namespace and replaces what the SRE set keeps. The HostedCluster controller copies it from the
	// operator's namespace.
	SREConfigMap = "sre-metric-set"
	// SREKey holds YAML: the name of a target -> its list of metric relabelings, in the form of a PodMonitor.
	SREKey = "config"
)

// ParseSet reads a set's name; empty is Telemetry.
func ParseSet(text string) (Set, error) {
	switch set := Set(text); set {
	case "":
		return Telemetry, nil
	case Telemetry, SRE, All:
		return set, nil
	}
	return "", fmt.Errorf("metrics set %q is unknown; use one of %s, %s, %s", text, Telemetry, SRE, All)
}

// ParseSRE reads the content of the ConfigMap.
func ParseSRE(text string) (map[string][]any, error) {
	rules := map[string][]any{}
	if err := yaml.UnmarshalStrict([]byte(text), &rules); err != nil {
		return nil, fmt.Errorf("ConfigMap %s, key %s, is not a list of relabelings for each target: %w", SREConfigMap, SREKey, err)
	}
	for name, list := range rules {
		if !slices.ContainsFunc(targets, func(t target) bool { return t.name == name }) {
			return nil, fmt.Errorf("ConfigMap %s, key %s, has rules for %q, which is none of %s", SREConfigMap, SREKey, name, strings.Join(Names(), ", "))
		}
		for _, rule := range list {
			if _, ok := rule.(map[string]any); !ok {
				return nil, fmt.Errorf("ConfigMap %s, key %s: %v of %s is not a relabeling", SREConfigMap, SREKey, rule, name)
			}
		}
	}
	return rules, nil
}

// Series of Go programs and of clients of the Kubernetes API.
var (
	process = []string{"process_cpu_seconds_total", "process_resident_memory_bytes", "process_start_time_seconds"}
	manager = []string{"controller_runtime_reconcile_total", "controller_runtime_reconcile_errors_total", "controller_runtime_reconcile_time_seconds_bucket",
		"workqueue_depth", "rest_client_requests_total"}
	election = []string{"leader_election_master_status"}
)

// drop leaves series out by name.
func drop(names string) map[string]any {
	return map[string]any{"action": "drop", "sourceLabels": []any{"__name__"}, "regex": names}
}

var (
	// dropLatencies: histograms for every admission plugin and operation.
	dropLatencies = drop("apiserver_admission_(controller|step)_admission_(duration|latencies)_seconds.*")
	// dropBuckets leaves of the widest histogram what rules and dashboards ask for.
	dropBuckets = map[string]any{"action": "drop", "sourceLabels": []any{"__name__", "le"},
		"regex": `apiserver_request_duration_seconds_bucket;(0\.15|0\.25|0\.3|0\.35|0\.4|0\.45|0\.6|0\.7|0\.8|0\.9|1\.25|1\.5|1\.75|2\.5|3|3\.5|4\.5|6|7|8|9|15|25|50)(\.0)?`}
)

// APIServerDrops leave out what nobody asks an API server for, and what it has too much of.
func APIServerDrops() []any {
	return []any{drop("etcd_(debugging|disk|server).*"), dropLatencies, dropBuckets}
}

// relabelings keep what the set keeps of a target.
func (t target) relabelings(set Set, sre map[string][]any) []any {
	if own, ok := sre[t.name]; ok && set == SRE {
		return own
	}
	names := slices.Clone(t.telemetry)
	switch set {
	case All:
		return t.drops
	case SRE:
		names = slices.Concat(names, t.sre, process)
	}
	return []any{map[string]any{"action": "keep", "sourceLabels": []any{"__name__"}, "regex": strings.Join(names, "|")}}
}
