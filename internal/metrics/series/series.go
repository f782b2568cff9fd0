// Package series has the names of metrics and of what shows them, for programs that compute none: what computes them brings Prometheus'
// library and the framework of controllers, which a command line would start with.
package series

import (
	"slices"
	"strings"
)

const (
	// DashboardTemplate is the ConfigMap, in the operator's namespace, of the dashboard that those of hosted clusters are made of.
	DashboardTemplate = "monitoring-dashboard-template"
	// DashboardTemplateKey is its key.
	DashboardTemplateKey = "template"
)

// Set is how much of the metrics somebody wants to keep; each contains the one before.
type Set string

// The sets, from the fewest metrics to the most.
const (
	Telemetry Set = "Telemetry"
	SRE       Set = "SRE"
	All       Set = "All"
)

// The metrics by the smallest set that has them, and those that are histograms; a test of the metrics compares them with what there is.
var (
	telemetry = []string{
		"hosted_cluster_azure_info", "hosted_cluster_managed_azure_info",
		"hypershift_hostedclusters", "hypershift_hostedclusters_failure_conditions", "hypershift_operator_info",
		"hypershift_cluster_waiting_initial_availability_duration_seconds", "hypershift_cluster_available",
		"hypershift_cluster_initial_rolling_out_duration_seconds", "hypershift_cluster_upgrading_duration_seconds",
		"hypershift_cluster_deleting_duration_seconds", "hypershift_cluster_guest_cloud_resources_deleting_duration_seconds",
		"hypershift_cluster_limited_support_enabled", "hypershift_cluster_silence_alerts", "hypershift_cluster_proxy",
		"hypershift_cluster_proxy_ca_valid", "hypershift_cluster_proxy_ca_expiry_timestamp", "hypershift_cluster_identity_providers",
		"hypershift_etcd_manual_intervention_required", "hypershift_cluster_etcd_backup_failed",
		"hypershift_cluster_etcd_backup_last_success_timestamp_seconds",
		"hypershift_hostedcluster_nodepools", "hypershift_cluster_vcpus", "hypershift_nodepools",
		"hypershift_nodepools_failure_conditions", "hypershift_nodepools_initial_rolling_out_duration_seconds",
		"hypershift_nodepools_size", "hypershift_nodepools_available_replicas", "hypershift_nodepools_deleting_duration_seconds",
	}
	sre = []string{
		"hypershift_cluster_size_override_instances", "hypershift_encryption_migration_state",
		"hypershift_cluster_acr_pull_identity_configured", "hypershift_cluster_vcpus_computation_error",
		"hypershift_hosted_cluster_transition_seconds", "hypershift_nodepools_transition_seconds",
		"hypershift_encryption_migration_duration_seconds", "hypershift_encryption_migration_failures_total",
	}
	histograms = []string{
		"hypershift_hosted_cluster_transition_seconds", "hypershift_nodepools_transition_seconds",
		"hypershift_encryption_migration_duration_seconds",
	}
)

// stock are the families of the controller framework that rules, alerts and dashboard need.
var stock = []string{
	"rest_client_requests_total", "workqueue_depth", "controller_runtime_reconcile_total", "controller_runtime_reconcile_errors_total",
	"controller_runtime_reconcile_time_seconds_bucket", "process_resident_memory_bytes", "process_cpu_seconds_total", "up",
}

// Of returns the metrics of a set, sorted.
func Of(set Set) []string {
	names := slices.Clone(telemetry)
	if set != Telemetry {
		names = append(names, sre...)
	}
	slices.Sort(names)
	return names
}

// Keep is the regular expression of the names of the series that a set keeps; it is empty when that is all of them.
func Keep(set Set) string {
	if set == All {
		return ""
	}
	names := slices.Clone(stock)
	for _, name := range Of(set) {
		names = append(names, name)
		if slices.Contains(histograms, name) {
			names = append(names, name+"_bucket", name+"_sum", name+"_count")
		}
	}
	return strings.Join(names, "|")
}
