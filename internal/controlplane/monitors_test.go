package controlplane

import (
	"context"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	hyperv1 "github.com/hypershift-on-azure/hypershift/api/v1beta1"
	"github.com/hypershift-on-azure/hypershift/internal/contract"
	"github.com/hypershift-on-azure/hypershift/internal/kube/kubetest"
	"github.com/hypershift-on-azure/hypershift/internal/monitor"
)

const clusterID = "11111111-2222-4333-8444-555555555555"

// endpoints of the monitors that there are.
func (f *fixture) monitors() map[string]map[string]any {
	f.Helper()
	list := &unstructured.UnstructuredList{}
	list.SetGroupVersionKind(monitor.Kind)
	f.list(list)
	out := map[string]map[string]any{}
	for _, m := range list.Items {
		endpoints, _, err := unstructured.NestedSlice(m.Object, "spec", "podMetricsEndpoints")
		if err != nil || len(endpoints) != 1 {
			f.Fatalf("%s: %v, %v", m.GetName(), endpoints, err)
		}
		out[m.GetName()] = endpoints[0].(map[string]any)
	}
	return out
}

func (f *fixture) annotate(key, value string) {
	f.Helper()
	f.get(f.hcp, f.hcp.Name)
	if f.hcp.Annotations == nil {
		f.hcp.Annotations = map[string]string{}
	}
	f.hcp.Annotations[key] = value
	if err := f.client.Update(context.Background(), f.hcp); err != nil {
		f.Fatal(err)
	}
}

func (f *fixture) becomeAvailable(status metav1.ConditionStatus) {
	f.Helper()
	meta.SetStatusCondition(&f.hcp.Status.Conditions, metav1.Condition{Type: hyperv1.ClusterVersionAvailable, Status: status, Reason: "FromClusterVersion"})
	if err := f.client.Status().Update(context.Background(), f.hcp); err != nil {
		f.Fatal(err)
	}
}

func TestMonitors(t *testing.T) {
	f := newFixture(t)
	kubetest.InstallPodMonitors(t, server.Config(t))
	f.hcp = inNamespace("monitors")
	f.hcp.Spec.ClusterID = clusterID
	f.withPayload()
	f.reconciler.MetricsSet = monitor.Telemetry
	f.begin(vaultConfig)
	f.publishedPasses()
	f.roll()
	f.pass()
	if made := f.monitors(); len(made) != 0 {
		t.Fatalf("monitors of a cluster that was never available: %v", made)
	}
	f.becomeAvailable(metav1.ConditionTrue)
	f.pass()
	f.checkMonitors()
	f.quiet("with monitors")

	monitors := f.monitors()
	for _, name := range slices.Sorted(maps.Keys(monitors)) {
		f.checkPort(name, monitors[name]["port"].(string))
	}
	f.checkMetricsSets()

	f.annotate(hyperv1.DisableMonitoringServicesAnnotation, "true")
	theirs := &unstructured.Unstructured{}
	theirs.SetGroupVersionKind(monitor.Kind)
	theirs.SetNamespace(f.hcp.Namespace)
	theirs.SetName("theirs")
	theirs.Object["spec"] = map[string]any{"podMetricsEndpoints": []any{map[string]any{"port": "x"}}}
	f.create(theirs)
	f.pass()
	if left := f.monitors(); len(left) != 1 || left["theirs"] == nil {
		t.Errorf("monitors that are not wanted: %v", left)
	}
	f.quiet("without monitors")
}

func (f *fixture) checkMonitors() {
	f.Helper()
	monitors := f.monitors()
	f.sameSet("monitors", slices.Collect(maps.Keys(monitors)), []string{"etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler",
		"hosted-cluster-config-operator", "ignition-server", "control-plane-operator", "cluster-api", "capi-provider"})
	for name, endpoint := range monitors {
		relabelings := endpoint["relabelings"].([]any)[0].(map[string]any)
		f.same("label of "+name, relabelings["targetLabel"], "_id")
		f.same("cluster of "+name, relabelings["replacement"], clusterID)
		series := endpoint["metricRelabelings"].([]any)
		last := series[len(series)-1].(map[string]any)
		f.same("label of series of "+name, last["targetLabel"].(string)+"="+last["replacement"].(string), "_id="+clusterID)
	}
	secure, _, _ := unstructured.NestedString(monitors["kube-scheduler"], "tlsConfig", "cert", "secret", "name")
	f.same("client certificate", secure, "metrics-client")
	host, _, _ := unstructured.NestedString(monitors["kube-apiserver"], "tlsConfig", "serverName")
	f.same("server name", host, "kube-apiserver")
	f.get(&corev1.Secret{}, contract.MetricsClient)
	f.same("how etcd is asked", fmt.Sprint(monitors["etcd"]["scheme"], monitors["etcd"]["tlsConfig"]), "httpsmap[ca:map[configMap:map[key:ca.crt name:etcd-ca]] "+
		"cert:map[secret:map[key:tls.crt name:etcd-metrics-client-tls]] keySecret:map[key:tls.key name:etcd-metrics-client-tls] serverName:etcd-client]")
	bound := &rbacv1.RoleBinding{}
	f.get(bound, "prometheus")
	f.same("platform's Prometheus", bound.Subjects[0].Namespace+"/"+bound.Subjects[0].Name, "openshift-monitoring/prometheus-k8s")
}

// checkPort: a monitor that names no port of a container of its pods finds nothing, silently.
func (f *fixture) checkPort(name, port string) {
	f.Helper()
	if slices.Contains([]string{"control-plane-operator", "cluster-api", "capi-provider"}, name) {
		return // the HostedCluster controller's, whose test looks at their ports
	}
	for _, w := range f.workloads() {
		if w.template.Labels["app"] != name {
			continue
		}
		for _, c := range w.template.Spec.Containers {
			if slices.ContainsFunc(c.Ports, func(p corev1.ContainerPort) bool { return p.Name == port }) {
				return
			}
		}
	}
	f.Errorf("no container of %s has a port %q", name, port)
}

func (f *fixture) checkMetricsSets() {
	f.Helper()
	kept := func() string {
		rules, _, _ := unstructured.NestedSlice(f.monitors()["etcd"], "metricRelabelings")
		if len(rules) == 1 { // the cluster's label
			return ""
		}
		return rules[0].(map[string]any)["regex"].(string)
	}
	telemetry := kept()
	f.reconciler.MetricsSet = monitor.SRE
	f.becomeAvailable(metav1.ConditionTrue)
	f.pass()
	sre := kept()
	if telemetry == "" || !strings.HasPrefix(sre, telemetry+"|") {
		f.Errorf("Telemetry keeps %q, SRE %q", telemetry, sre)
	}
	f.create(&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: f.hcp.Namespace, Name: monitor.SREConfigMap},
		Data: map[string]string{monitor.SREKey: "etcd: [{action: keep, sourceLabels: [__name__], regex: mine}]"}})
	f.pass()
	f.same("series of the ConfigMap", kept(), "mine")
	f.hcp.Spec.Monitoring = &hyperv1.Monitoring{MetricsSet: "All"}
	if err := f.client.Update(context.Background(), f.hcp); err != nil {
		f.Fatal(err)
	}
	f.pass()
	f.same("what the cluster itself asks for", kept(), "")
	rules := f.monitors()["kube-apiserver"]["metricRelabelings"].([]any)
	for series, dropped := range map[string]bool{
		"etcd_disk_wal_fsync_duration_seconds_bucket": true, "apiserver_admission_step_admission_duration_seconds_sum": true,
		"apiserver_request_duration_seconds_bucket;0.35": true, "apiserver_request_duration_seconds_bucket;3.0": true,
		"apiserver_request_duration_seconds_bucket;1": false, "apiserver_request_duration_seconds_bucket;30": false,
		"apiserver_request_duration_seconds_bucket;0.05": false, "apiserver_request_total": false, "etcd_requests_total": false,
	} {
		f.same("All drops "+series, drops(rules, series), dropped)
	}
}

// drops tells what becomes of a series, written name;le.
func drops(rules []any, series string) bool {
	name, _, _ := strings.Cut(series, ";")
	return slices.ContainsFunc(rules, func(rule any) bool {
		r := rule.(map[string]any)
		if r["action"] != "drop" {
			return false
		}
		value := name
		if len(r["sourceLabels"].([]any)) == 2 {
			value = series
		}
		return regexp.MustCompile("^(?:" + r["regex"].(string) + ")$").MatchString(value)
	})
}

func TestSREConfigMapIsChecked(t *testing.T) {
	for text, wrong := range map[string]bool{
		"": false, "etcd: []": false, "etcd: [{action: drop}]": false, "etcs: []": true, "etcd: [1]": true, "etcd: {": true,
	} {
		if _, err := monitor.ParseSRE(text); (err != nil) != wrong {
			t.Errorf("%q: %v", text, err)
		}
	}
	if _, err := monitor.ParseSet("Some"); err == nil {
		t.Error("a set that does not exist passes")
	}
}
