package configuration

import (
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/hypershift-on-azure/hypershift/internal/component"
	"github.com/hypershift-on-azure/hypershift/internal/contract"
	"github.com/hypershift-on-azure/hypershift/internal/guest/inside"
	"github.com/hypershift-on-azure/hypershift/internal/monitor"
)

// Kinds of the operator of Prometheus.
var (
	PodMonitorKind = schema.GroupVersionKind{Group: "monitoring.coreos.com", Version: "v1", Kind: "PodMonitor"}
	MonitorKind    = schema.GroupVersionKind{Group: "monitoring.coreos.com", Version: "v1", Kind: "ServiceMonitor"}
	RuleKind       = schema.GroupVersionKind{Group: "monitoring.coreos.com", Version: "v1", Kind: "PrometheusRule"}
)

const (
	apiServerNamespace = contract.APIServerNamespace
	scraperFiles       = "/var/run/secrets/kubernetes.io/serviceaccount/"
	// requested is an API that is asked for in four hours by others than OpenShift's own controllers, which look at every API there is.
	requested = `group by (group, version, resource, removed_release) (apiserver_requested_deprecated_apis{removed_release=~"RELEASES"})` +
		` * on (group, version, resource) group_left () sum by (group, version, resource)` +
		` (rate(apiserver_request_total{system_client!="kube-controller-manager",system_client!="cluster-policy-controller"}[4h])) > 0`
	// denied are pods that the audited level of pod security would not let in.
	denied = `(increase(pod_security_evaluations_total{decision="deny",mode="audit",resource="pod",ocp_namespace`
)

// monitors have the guest's own monitoring look at its API server, through the Service by which pods reach it, and warn of APIs that go
// and of pods that a stricter level would refuse.
func monitors(*inside.Facts) []*unstructured.Unstructured {
	endpoint := map[string]any{
		"port": "https", "path": "/metrics", "scheme": "https", "bearerTokenFile": scraperFiles + "token",
		"tlsConfig":         map[string]any{"caFile": scraperFiles + contract.CAKey, "serverName": "kubernetes.default.svc"},
		"metricRelabelings": monitor.APIServerDrops(),
	}
	return []*unstructured.Unstructured{
		object(MonitorKind, apiServerNamespace, apiServerNamespace, map[string]any{"spec": map[string]any{
			"endpoints": []any{endpoint}, "namespaceSelector": map[string]any{"matchNames": []any{"default"}},
			"selector": map[string]any{"matchLabels": map[string]any{"component": "apiserver"}},
		}}),
		rules("api-usage", "pre-release-lifecycle",
			deprecated("APIRemovedInNextReleaseInUse", "1.24", "release"),
			deprecated("APIRemovedInNextEUSReleaseInUse", "1.24|1.25", "release with extended support")),
		rules("podsecurity", "pod-security-violation",
			violation(denied+`=""}[1d])`, "policy_level", "A user's namespace has pods"),
			violation(denied+`!=""}[1d])`, "policy_level, ocp_namespace", "Namespace {{ $labels.ocp_namespace }} of the platform has pods")),
	}
}

// forwarderMonitor has the guest's own monitoring read the metrics of the control plane's programs, one after the other.
func forwarderMonitor(facts *inside.Facts) []*unstructured.Unstructured {
	if facts.Forwarding == nil {
		return nil
	}
	var endpoints []any
	for _, name := range facts.Forwarding.Components {
		endpoints = append(endpoints, map[string]any{
			"port": "metrics", "path": "/metrics/" + name, "scheme": "https", "honorLabels": true,
			"tlsConfig": map[string]any{"serverName": facts.Forwarding.Host,
				"ca": map[string]any{"configMap": map[string]any{"name": inside.MetricsProxyServingCA, "key": contract.CAKey}}},
		})
	}
	return []*unstructured.Unstructured{object(PodMonitorKind, contract.MonitoringNamespace, inside.MetricsForwarder, map[string]any{"spec": map[string]any{
		"scrapeClass": "tls-client-certificate-auth", "podMetricsEndpoints": endpoints,
		"selector": map[string]any{"matchLabels": map[string]any{component.LabelApp: inside.MetricsForwarder}},
	}})}
}

func rules(name, group string, alerts ...any) *unstructured.Unstructured {
	return object(RuleKind, apiServerNamespace, name, map[string]any{"spec": map[string]any{
		"groups": []any{map[string]any{"name": group, "rules": alerts}}}})
}

func alert(name, expression, summary, description string) map[string]any {
	return map[string]any{
		"alert": name, "expr": expression, "annotations": map[string]any{"summary": summary, "description": description},
		"labels": map[string]any{"namespace": apiServerNamespace, "severity": "info"},
	}
}

// deprecated warns of an API that is in use and goes with one of these releases of Kubernetes.
func deprecated(name, releases, until string) map[string]any {
	out := alert(name, strings.ReplaceAll(requested, "RELEASES", strings.ReplaceAll(releases, ".", `\\.`)),
		"An API is in use that the next "+until+" does not have.",
		"Something asks for {{ $labels.group }}.{{ $labels.version }}/{{ $labels.resource }}, which goes with Kubernetes {{ $labels.removed_release }}. Who does is told by"+
			" `oc get apirequestcounts {{ $labels.resource }}.{{ $labels.version }}.{{ $labels.group }} -o yaml`. Change it before the update.")
	out["for"] = "1h"
	return out
}

func violation(evaluations, by, whose string) map[string]any {
	return alert("PodSecurityViolation", "sum by ("+by+") "+evaluations+") > 0", "Pods break a level of pod security that is audited.",
		whose+" that level {{ $labels.policy_level }} of pod security does not let in; they would be refused if it were enforced. The audit log has their names.")
}
