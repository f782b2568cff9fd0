package main

import "fmt"

const (
	seconds = "s"
	number  = "short"
	bytesIn = "bytes"
	flags   = "bool_on_off"
)

// cluster is a gauge of the chosen hosted clusters, without the replicas of the operator.
func cluster(metric string, more ...string) string {
	labels := ""
	for _, label := range more {
		labels += ", " + label
	}
	return fmt.Sprintf(`max by (namespace, name%s) (%s{namespace=~"$namespace", name=~"$name"})`, labels, metric)
}

// pool is a gauge of the node pools of the chosen hosted clusters.
func pool(metric string) string {
	return fmt.Sprintf(`max by (namespace, name, cluster_name) (%s{namespace=~"$namespace", cluster_name=~"$name"})`, metric)
}

// quantile of a histogram by condition.
func quantile(metric string) string {
	return fmt.Sprintf(`histogram_quantile(0.9, sum by (condition, le) (rate(%s_bucket[1h])))`, metric)
}

const (
	byCluster = "{{namespace}}/{{name}}"
	byPool    = "{{namespace}}/{{name}}"
)

var rows = []row{
	{"Fleet", []panel{
		{title: "Hosted clusters", unit: number, legend: "{{platform}}", exprs: []string{"platform:hypershift_hostedclusters:max"}, shape: "stat"},
		{title: "Node pools", unit: number, legend: "{{platform}}", exprs: []string{"platform:hypershift_nodepools:max"}, shape: "stat"},
		{title: "Operator", unit: number, legend: "{{version}} {{image}}", exprs: []string{"max by (version, image) (hypershift_operator_info)"}, shape: "table"},
		{title: "Hosted clusters with a failed condition", unit: number, legend: "{{platform}} {{condition}}",
			exprs: []string{"max by (platform, condition) (hypershift_hostedclusters_failure_conditions) > 0"}},
		{title: "Node pools with a failed condition", unit: number, legend: "{{platform}} {{condition}}",
			exprs: []string{"max by (platform, condition) (hypershift_nodepools_failure_conditions) > 0"}},
		{title: "Available", unit: flags, legend: byCluster, exprs: []string{cluster("hypershift_cluster_available")}},
		{title: "Node pools by hosted cluster", unit: number, legend: byCluster, exprs: []string{cluster("hypershift_hostedcluster_nodepools")}},
	}},
	{"Creation, upgrade and deletion", []panel{
		{title: "Waiting for the first Available", unit: seconds, legend: byCluster, exprs: []string{cluster("hypershift_cluster_waiting_initial_availability_duration_seconds")}},
		{title: "First rollout", unit: seconds, legend: byCluster, exprs: []string{cluster("hypershift_cluster_initial_rolling_out_duration_seconds")}},
		{title: "Creation to condition, 90 %", unit: seconds, legend: "{{condition}}", exprs: []string{quantile("hypershift_hosted_cluster_transition_seconds")}},
		{title: "Upgrade", unit: seconds, legend: byCluster + " {{previous_version}} to {{new_version}}",
			exprs: []string{cluster("hypershift_cluster_upgrading_duration_seconds", "previous_version", "new_version")}},
		{title: "Deletion", unit: seconds, legend: byCluster, exprs: []string{cluster("hypershift_cluster_deleting_duration_seconds")}},
		{title: "Removal of cloud resources", unit: seconds, legend: byCluster, exprs: []string{cluster("hypershift_cluster_guest_cloud_resources_deleting_duration_seconds")}},
	}},
	{"Node pools", []panel{
		{title: "Nodes wanted and available", unit: number, legend: "{{cluster_name}}", exprs: []string{
			`cluster_name:hypershift_nodepools_size:sum{namespace=~"$namespace", cluster_name=~"$name"}`,
			`cluster_name:hypershift_nodepools_available_replicas:sum{namespace=~"$namespace", cluster_name=~"$name"}`},
			text: "Nodes that the node pools of a hosted cluster should have, and that are available."},
		{title: "Size", unit: number, legend: byPool, exprs: []string{pool("hypershift_nodepools_size")}},
		{title: "Available", unit: number, legend: byPool, exprs: []string{pool("hypershift_nodepools_available_replicas")}},
		{title: "First rollout", unit: seconds, legend: byPool, exprs: []string{pool("hypershift_nodepools_initial_rolling_out_duration_seconds")}},
		{title: "Deletion", unit: seconds, legend: byPool, exprs: []string{pool("hypershift_nodepools_deleting_duration_seconds")}},
		{title: "Creation to condition, 90 %", unit: seconds, legend: "{{condition}}", exprs: []string{quantile("hypershift_nodepools_transition_seconds")}},
		{title: "Virtual CPUs", unit: number, legend: byCluster, exprs: []string{cluster("hypershift_cluster_vcpus")}},
		{title: "Virtual CPUs not counted", unit: number, legend: byCluster + " {{reason}}", exprs: []string{cluster("hypershift_cluster_vcpus_computation_error", "reason")}},
		{title: "Payload generation, 90 %", unit: seconds, legend: "{{namespace}}", exprs: []string{"hypershift:controlplane:ign_payload_generation_seconds_p90"},
			text: "Time in which the ignition servers built nine of ten configurations."},
	}},
	{"Ignition servers", []panel{
		{title: "Configurations asked for", unit: "reqps", legend: "{{nodePool}}", exprs: []string{"sum by (nodePool) (rate(ign_server_get_request[5m]))"},
			text: "Configurations that machines asked for, by node pool."},
		{title: "Configurations built", unit: "ops", legend: "{{namespace}}", exprs: []string{"sum by (namespace) (rate(ign_server_payload_generation_seconds_count[5m]))"},
			text: "Configurations that the ignition servers built."},
		{title: "Unknown tokens", unit: "reqps", legend: "{{namespace}}", exprs: []string{"sum by (namespace) (rate(ign_server_payload_cache_miss_total[5m]))"},
			text: "Requests with a token that opens nothing (yet)."},
		{title: "Tokens", unit: number, legend: "{{namespace}}", exprs: []string{
			"max by (namespace) (ign_server_payload_cache_total)", "sum by (namespace) (increase(ign_server_token_rotation_total[1h]))"},
			text: "Tokens that open a configuration, and how many were replaced in the last hour."},
	}},
	{"Control planes", []panel{
		{title: "Memory", unit: bytesIn, legend: "{{namespace}} {{app}}", exprs: []string{
			"hypershift:controlplane:component_memory_usage", "hypershift:controlplane:component_memory_rss", "hypershift:controlplane:component_memory_request"},
			text: "Memory of each component: in use, of the processes alone, and requested."},
		{title: "Processors", unit: number, legend: "{{namespace}} {{app}}", exprs: []string{
			"hypershift:controlplane:component_cpu_usage_seconds", "hypershift:controlplane:component_cpu_request"},
			text: "Processors that each component uses and requests."},
		{title: "Requests of components", unit: "reqps", legend: "{{namespace}} {{app}} {{method}} {{code}}", exprs: []string{"hypershift:controlplane:component_api_requests_total"},
			text: "Requests that components of control planes make."},
		{title: "Requests to hosted API servers", unit: "reqps", legend: "{{namespace}} {{code}}", exprs: []string{
			"hypershift:apiserver_request_total:read", "hypershift:apiserver_request_total:write", "hypershift:apiserver_request_total:client"},
			text: "Requests that read, that write, and that were refused because of the client."},
		{title: "Aborted requests", unit: "reqps", legend: "{{namespace}}", exprs: []string{"hypershift:apiserver_request_aborts_total"},
			text: "Requests that hosted API servers gave up, most often for lack of time."},
		{title: "etcd needs somebody", unit: flags, legend: byCluster, exprs: []string{cluster("hypershift_etcd_manual_intervention_required")}},
		{title: "Age of the newest good backup", unit: seconds, legend: byCluster, exprs: []string{"time() - " + cluster("hypershift_cluster_etcd_backup_last_success_timestamp_seconds")}},
		{title: "Newest backup failed", unit: flags, legend: byCluster, exprs: []string{cluster("hypershift_cluster_etcd_backup_failed")}},
		{title: "Change of the encryption key", unit: flags, legend: byCluster + " {{state}}", exprs: []string{cluster("hypershift_encryption_migration_state", "state")}},
		{title: "Changes of encryption keys, 90 %", unit: seconds, legend: "duration", exprs: []string{
			"histogram_quantile(0.9, sum by (le) (rate(hypershift_encryption_migration_duration_seconds_bucket[1d])))"}},
		{title: "Changes of encryption keys that failed", unit: number, legend: "in a day", exprs: []string{"sum(increase(hypershift_encryption_migration_failures_total[1d]))"}},
	}},
	{"Settings of hosted clusters", []panel{
		{title: "Where in Azure", unit: number, legend: byCluster, exprs: []string{cluster("hosted_cluster_azure_info", "location", "subscription", "resource_group")}, shape: "table"},
		{title: "Resource of the managed service", unit: number, legend: byCluster, exprs: []string{cluster("hosted_cluster_managed_azure_info", "resource_type", "resource_id")}, shape: "table"},
		{title: "Identity providers", unit: number, legend: byCluster + " {{identity_provider}}", exprs: []string{cluster("hypershift_cluster_identity_providers", "identity_provider")}},
		{title: "Limited support", unit: flags, legend: byCluster, exprs: []string{cluster("hypershift_cluster_limited_support_enabled")}},
		{title: "Alerts silenced", unit: flags, legend: byCluster, exprs: []string{cluster("hypershift_cluster_silence_alerts")}},
		{title: "Size set by hand", unit: flags, legend: byCluster, exprs: []string{cluster("hypershift_cluster_size_override_instances")}},
		{title: "Proxy", unit: flags, legend: byCluster, exprs: []string{cluster("hypershift_cluster_proxy")}},
		{title: "Proxy's CA bundle is readable", unit: flags, legend: byCluster, exprs: []string{cluster("hypershift_cluster_proxy_ca_valid")}},
		{title: "Proxy's CA bundle expires in", unit: seconds, legend: byCluster, exprs: []string{cluster("hypershift_cluster_proxy_ca_expiry_timestamp") + " - time()"}},
		{title: "Pulls from Azure registries with an identity", unit: flags, legend: byCluster, exprs: []string{cluster("hypershift_cluster_acr_pull_identity_configured")}},
	}},
	{"Operator", []panel{
		{title: "Passes", unit: "ops", legend: "{{controller}} {{result}}", exprs: []string{"sum by (controller, result) (rate(controller_runtime_reconcile_total[5m]))"},
			text: "Passes of each controller by their result."},
		{title: "Time of a pass, 90 %", unit: seconds, legend: "{{controller}}", exprs: []string{
			"histogram_quantile(0.9, sum by (controller, le) (rate(controller_runtime_reconcile_time_seconds_bucket[5m])))"}, text: "Time in which nine of ten passes ended."},
		{title: "Steps that did something, 90 %", unit: seconds, legend: "{{controller}} {{step}} {{outcome}}", exprs: []string{
			"histogram_quantile(0.9, sum by (controller, step, outcome, le) (rate(hypershift_step_duration_seconds_bucket[5m])))"},
			text: "Time of nine of ten steps of a pass that wrote something or were not done."},
		{title: "Queues", unit: number, legend: "{{name}}", exprs: []string{"max by (name) (workqueue_depth)"}, text: "Objects that wait for a controller."},
		{title: "Requests to the management API", unit: "reqps", legend: "{{method}} {{code}}", exprs: []string{"hypershift:operator:component_api_requests_total"},
			text: "Requests that the operator makes."},
		{title: "Memory", unit: bytesIn, legend: "{{pod}}", exprs: []string{"process_resident_memory_bytes * on (namespace, pod) group_left () max by (namespace, pod) (hypershift_operator_info)"},
			text: "Memory of the operator's process."},
		{title: "Processors", unit: number, legend: "{{pod}}", exprs: []string{"rate(process_cpu_seconds_total[5m]) * on (namespace, pod) group_left () max by (namespace, pod) (hypershift_operator_info)"},
			text: "Processors that the operator uses."},
	}},
}
