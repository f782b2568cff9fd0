package install

import (
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/hypershift-on-azure/hypershift/config"
	"github.com/hypershift-on-azure/hypershift/internal/contract"
	"github.com/hypershift-on-azure/hypershift/internal/kube/rbac"
	"github.com/hypershift-on-azure/hypershift/internal/metrics/series"
)

const (
	monitoringAPI      = "monitoring.coreos.com/v1"
	prometheusName     = "prometheus"
	platformMonitoring = contract.MonitoringNamespace
)

// monitoring lets Prometheus find the operator: its rights always, what needs its API only where that is.
func (o *Options) monitoring() []client.Object {
	subject := rbacv1.Subject{Kind: rbacv1.ServiceAccountKind, Namespace: platformMonitoring, Name: contract.PlatformPrometheus}
	if !o.monitored() {
		subject.Namespace, subject.Name = contract.UserMonitoringNamespace, contract.UserPrometheus
	}
	objs := []client.Object{
		&rbacv1.Role{
			TypeMeta:   metav1.TypeMeta{APIVersion: rbacv1.SchemeGroupVersion.String(), Kind: "Role"},
			ObjectMeta: metav1.ObjectMeta{Namespace: o.Namespace, Name: prometheusName},
			Rules:      []rbacv1.PolicyRule{rbac.Rule("", rbac.Read, "services", "endpoints", "pods"), rbac.Rule("discovery.k8s.io", rbac.Read, "endpointslices")},
		},
		&rbacv1.RoleBinding{
			TypeMeta:   metav1.TypeMeta{APIVersion: rbacv1.SchemeGroupVersion.String(), Kind: "RoleBinding"},
			ObjectMeta: metav1.ObjectMeta{Namespace: o.Namespace, Name: prometheusName},
			RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: prometheusName},
			Subjects:   []rbacv1.Subject{subject},
		},
	}
	if o.NoMonitoring {
		return append(objs, o.dashboards()...)
	}
	objs = append(objs, o.monitor("ServiceMonitor", operatorName, "endpoints", series.Keep(series.Set(o.MetricsSet))), prometheusRule(o.Namespace, "metrics", config.Rules))
	if o.SLOAlerts {
		objs = append(objs, prometheusRule(platformMonitoring, "alerts", config.Alerts))
	}
	return append(objs, o.dashboards()...)
}

// dashboards is what the operator makes the hosted clusters' of.
func (o *Options) dashboards() []client.Object {
	if !o.MonitoringDashboards {
		return nil
	}
	return []client.Object{configMap(o.Namespace, series.DashboardTemplate, nil, map[string]string{series.DashboardTemplateKey: string(config.Dashboard)})}
}

// monitor is a ServiceMonitor or a PodMonitor of what is labelled with the name; keep matches the series to keep, all when empty.
func (o *Options) monitor(kind, name, endpoints, keep string) client.Object {
	// The labels of a series name the hosted cluster that it is about, not the pod that tells of it.
	endpoint := map[string]any{"port": "metrics", "interval": "30s", "honorLabels": true}
	if keep != "" {
		endpoint["metricRelabelings"] = []any{map[string]any{"action": "keep", "sourceLabels": []any{"__name__"}, "regex": keep}}
	}
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": monitoringAPI, "kind": kind,
		"metadata": map[string]any{"namespace": o.Namespace, "name": name},
		"spec": map[string]any{
			"jobLabel":          "component",
			"selector":          map[string]any{"matchLabels": map[string]any{"name": name}},
			endpoints:           []any{endpoint},
			"namespaceSelector": map[string]any{"matchNames": []any{o.Namespace}},
		},
	}}
}

// prometheusRule wraps one of the files of config/monitoring.
func prometheusRule(namespace, name string, raw []byte) client.Object {
	spec := map[string]any{}
	if err := yaml.Unmarshal(raw, &spec); err != nil {
		// Embedded at build time and read by a test.
		panic("the embedded rules are malformed: " + err.Error())
	}
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": monitoringAPI, "kind": "PrometheusRule",
		"metadata": map[string]any{"namespace": namespace, "name": name},
		"spec":     spec,
	}}
}
