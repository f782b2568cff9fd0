// Package monitor lets Prometheus find what a control plane tells of itself: one PodMonitor per program. Pods are asked, not Services:
// each tells of itself, and most have no Service.
package monitor

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hypershift-on-azure/hypershift/api/v1beta1"
	"github.com/hypershift-on-azure/hypershift/internal/component"
	"github.com/hypershift-on-azure/hypershift/internal/contract"
	"github.com/hypershift-on-azure/hypershift/internal/kube/rbac"
)

// Kind of what is made; a management cluster without the Prometheus operator does not serve it.
var Kind = schema.GroupVersionKind{Group: "monitoring.coreos.com", Version: "v1", Kind: "PodMonitor"}

const prometheus = "prometheus"

// target is a program that tells metrics.
type target struct {
	// name is the label app of its pods, and the monitor's name.
	name string
	// port of the container, by name.
	port string
	// secure programs serve HTTPS, with a certificate for their name, and ask for one of the client.
	secure bool
	// telemetry is what the smallest set keeps, sre what the next one keeps besides; drops are what even the largest does without.
	telemetry, sre []string
	drops          []any
	// tls is how a secure program is asked; nil is the usual way.
	tls *tlsNames
}

// tlsNames are the objects and the server's name by which a program is asked.
type tlsNames struct{ authority, client, server string }

var targets = []target{
	// etcd's metrics have an authority of their own: who may read them is no client of the database.
	{name: "etcd", port: "metrics", secure: true, tls: &tlsNames{contract.EtcdCA, contract.EtcdMetricsClientCertificate, contract.EtcdClientService},
		telemetry: []string{"etcd_server_has_leader", "etcd_server_leader_changes_seen_total", "etcd_mvcc_db_total_size_in_bytes",
			"etcd_disk_wal_fsync_duration_seconds_bucket", "etcd_network_peer_round_trip_time_seconds_bucket"},
		sre: []string{"etcd_mvcc_db_total_size_in_use_in_bytes", "etcd_server_quota_backend_bytes", "etcd_server_proposals_failed_total",
			"etcd_disk_backend_commit_duration_seconds_bucket", "grpc_server_handled_total"}},
	{name: component.APIServer, port: "https", secure: true,
		telemetry: []string{"apiserver_request_total", "apiserver_request_aborts_total", "apiserver_current_inflight_requests", "apiserver_storage_objects"},
		sre: []string{"apiserver_request_duration_seconds_bucket", "apiserver_request_duration_seconds_count", "apiserver_request_terminations_total",
			"apiserver_flowcontrol_rejected_requests_total", "apiserver_admission_webhook_admission_duration_seconds_bucket",
			"apiserver_admission_webhook_rejection_count", "apiserver_storage_size_bytes", "apiserver_envelope_encryption_key_id_hash_total"},
		drops: APIServerDrops()},
	{name: contract.ControllerManager, port: "client", secure: true, telemetry: election, drops: []any{drop("etcd_(debugging|disk|request|server).*")},
		sre: []string{"workqueue_depth", "workqueue_adds_total", "workqueue_retries_total", "rest_client_requests_total", "node_collector_unhealthy_nodes_in_zone"}},
	{name: contract.Scheduler, port: "client", secure: true, telemetry: election, drops: []any{drop("etcd_(debugging|disk|request|server).*")},
		sre: []string{"scheduler_pending_pods", "scheduler_schedule_attempts_total", "scheduler_scheduling_attempt_duration_seconds_bucket", "rest_client_requests_total"}},
	{name: contract.ClusterAutoscaler, port: "metrics", telemetry: []string{"cluster_autoscaler_nodes_count"},
		sre: []string{"cluster_autoscaler_unschedulable_pods_count", "cluster_autoscaler_failed_scale_ups_total", "cluster_autoscaler_scaled_up_nodes_total",
			"cluster_autoscaler_scaled_down_nodes_total", "cluster_autoscaler_errors_total"}},
	{name: contract.ConfigOperator, port: "metrics", telemetry: []string{"controller_runtime_reconcile_errors_total"}, sre: manager},
	{name: contract.IgnitionServer, port: "metrics",
		telemetry: []string{"ign_server_get_request", "ign_server_payload_generation_seconds_bucket", "ign_server_payload_generation_seconds_count"},
		sre:       []string{"ign_server_token_rotation_total", "ign_server_payload_cache_miss_total", "ign_server_payload_cache_total"}},
	{name: contract.ControlPlaneOperator, port: "metrics", telemetry: []string{"controller_runtime_reconcile_errors_total"}, sre: manager},
	{name: contract.ClusterAPI, port: "metrics", telemetry: []string{"controller_runtime_reconcile_errors_total"}, sre: manager},
	{name: contract.ClusterAPIProvider, port: "metrics", telemetry: []string{"controller_runtime_reconcile_errors_total"}, sre: manager},
}

// Names of all targets.
func Names() []string {
	var names []string
	for _, t := range targets {
		names = append(names, t.name)
	}
	return names
}

// Objects are the monitors of the targets that exist.
func Objects(hcp *hyperv1.HostedControlPlane, set Set, sre map[string][]any, exists func(name string) bool) []client.Object {
	var objects []client.Object
	for _, t := range targets {
		if exists(t.name) {
			objects = append(objects, t.monitor(hcp, t.relabelings(set, sre)))
		}
	}
	return objects
}

func (t target) monitor(hcp *hyperv1.HostedControlPlane, relabelings []any) *unstructured.Unstructured {
	// Every series names its hosted cluster, and what the program itself calls so does not.
	id := map[string]any{"action": "replace", "targetLabel": "_id", "replacement": hcp.Spec.ClusterID}
	endpoint := map[string]any{
		"port": t.port, "scheme": "http", "relabelings": []any{id}, "metricRelabelings": append(slices.Clone(relabelings), id),
	}
	if t.secure {
		key := func(name, key string) map[string]any { return map[string]any{"name": name, "key": key} }
		names := t.tlsNames()
		endpoint["scheme"] = "https"
		endpoint["tlsConfig"] = map[string]any{
			"ca":         map[string]any{"configMap": key(names.authority, contract.CAKey)},
			"cert":       map[string]any{"secret": key(names.client, corev1.TLSCertKey)},
			"keySecret":  key(names.client, corev1.TLSPrivateKeyKey),
			"serverName": names.server,
		}
	}
	obj := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{
		"jobLabel":            component.LabelApp,
		"selector":            map[string]any{"matchLabels": map[string]any{component.LabelApp: t.name}},
		"podMetricsEndpoints": []any{endpoint},
	}}}
	obj.SetGroupVersionKind(Kind)
	obj.SetNamespace(hcp.Namespace)
	obj.SetName(t.name)
	return obj
}

// tlsNames are those by which a secure program is asked.
func (t target) tlsNames() tlsNames {
	if t.tls != nil {
		return *t.tls
	}
	return tlsNames{contract.RootCA, contract.MetricsClient, t.name}
}

// Access lets OpenShift's Prometheus find the pods: the platform's where the namespace carries its label, and that of user workloads.
// The Role comes first: nobody but an administrator can bind one that is not there.
func Access(namespace string) []client.Object {
	name := metav1.ObjectMeta{Namespace: namespace, Name: prometheus}
	return []client.Object{
		&rbacv1.Role{ObjectMeta: name, Rules: []rbacv1.PolicyRule{
			rbac.Rule("", rbac.Read, "pods", "services", "endpoints"), rbac.Rule("discovery.k8s.io", rbac.Read, "endpointslices"),
		}},
		&rbacv1.RoleBinding{ObjectMeta: name,
			RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: prometheus},
			Subjects: []rbacv1.Subject{
				{Kind: rbacv1.ServiceAccountKind, Namespace: contract.MonitoringNamespace, Name: contract.PlatformPrometheus},
				{Kind: rbacv1.ServiceAccountKind, Namespace: contract.UserMonitoringNamespace, Name: contract.UserPrometheus},
			}},
	}
}
