package monitor

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/hypershift-on-azure/hypershift/internal/contract"
	"github.com/hypershift-on-azure/hypershift/internal/controlplane/planetest"
)

func TestParseSet(t *testing.T) {
	for text, want := range map[string]Set{"": Telemetry, "Telemetry": Telemetry, "SRE": SRE, "All": All, "sre": "", "Everything": ""} {
		got, err := ParseSet(text)
		if got != want || (err == nil) != (want != "") {
			t.Errorf("%q: %q, %v", text, got, err)
		}
		if err != nil && (!strings.Contains(err.Error(), text) || !strings.Contains(err.Error(), "Telemetry, SRE, All")) {
			t.Errorf("%q: the error does not say what to use: %v", text, err)
		}
	}
}

// TestParseSRE: a ConfigMap that somebody writes by hand is taken whole or refused with what is wrong in it.
func TestParseSRE(t *testing.T) {
	for name, c := range map[string]struct{ text, says string }{
		"nothing":          {"", ""},
		"a list":           {"etcd:\n- {action: keep, regex: etcd_server_has_leader}\n", ""},
		"no rules of one":  {"kube-apiserver: []\n", ""},
		"another program":  {"etcdd: []\n", `rules for "etcdd", which is none of etcd, kube-apiserver`},
		"no map":           {"etcd\n", "not a list of relabelings for each target"},
		"no list":          {"etcd: {action: keep}\n", "not a list of relabelings for each target"},
		"no relabeling":    {"etcd: [keep]\n", "keep of etcd is not a relabeling"},
		"twice":            {"etcd: []\netcd: []\n", "not a list of relabelings"},
		"nothing readable": {"\t:", "not a list of relabelings"},
	} {
		rules, err := ParseSRE(c.text)
		if c.says == "" && err != nil || c.says != "" && (err == nil || rules != nil || !strings.Contains(err.Error(), c.says)) {
			t.Errorf("%s: %v, %v", name, rules, err)
		}
		if err != nil && !strings.Contains(err.Error(), "ConfigMap sre-metric-set, key config") {
			t.Errorf("%s: the error does not name its place: %v", name, err)
		}
	}
}

// keeps tells whether relabelings keep a series, as Prometheus does.
func keeps(t *testing.T, relabelings []any, series, le string) bool {
	t.Helper()
	for _, item := range relabelings {
		rule := item.(map[string]any)
		text := series
		if len(rule["sourceLabels"].([]any)) == 2 {
			text += ";" + le
		}
		matches, err := regexp.MatchString("^(?:"+rule["regex"].(string)+")$", text)
		if err != nil {
			t.Fatal(err)
		}
		if matches != (rule["action"] == "keep") {
			return false
		}
	}
	return true
}

// TestSets: each set has what the smaller one has, but for what even the largest leaves out; and the alerts' series are in the smallest.
func TestSets(t *testing.T) {
	for _, target := range targets {
		telemetry, sre, all := Relabelings(target.name, Telemetry, nil), Relabelings(target.name, SRE, nil), Relabelings(target.name, All, nil)
		if len(target.telemetry) == 0 {
			t.Errorf("%s: the smallest set is empty, which keeps everything", target.name)
		}
		for _, series := range slices.Concat(target.telemetry, target.sre, process) {
			small, middle, large := keeps(t, telemetry, series, "1"), keeps(t, sre, series, "1"), keeps(t, all, series, "1")
			if small != slices.Contains(target.telemetry, series) || !middle || !large {
				t.Errorf("%s: %s is kept by Telemetry: %t, SRE: %t, All: %t", target.name, series, small, middle, large)
			}
		}
		if keeps(t, sre, "go_goroutines", "") || !keeps(t, all, "go_goroutines", "") {
			t.Errorf("%s: what is in no list", target.name)
		}
	}
	if Relabelings("nobody", All, nil) != nil {
		t.Error("a program that there is not has relabelings")
	}
}

// TestBuckets: of the widest histogram some buckets stay, with which a quantile can be had; the others go.
func TestBuckets(t *testing.T) {
	const series = "apiserver_request_duration_seconds_bucket"
	for le, want := range map[string]bool{"0.1": true, "0.2": true, "0.5": true, "1": true, "1.0": true, "2": true, "5": true, "10": true, "30": true, "60": true,
		"+Inf": true, "0.15": false, "0.25": false, "1.25": false, "3": false, "3.0": false, "15": false, "50.0": false} {
		if got := keeps(t, Relabelings("kube-apiserver", All, nil), series, le); got != want {
			t.Errorf("bucket %s is kept: %t", le, got)
		}
	}
	for dropped, want := range map[string]bool{
		"etcd_debugging_x": false, "etcd_request_duration_seconds_count": true,
		"apiserver_admission_step_admission_duration_seconds_sum": false,
	} {
		if got := keeps(t, APIServerDrops(), dropped, "1"); got != want {
			t.Errorf("%s is kept: %t", dropped, got)
		}
	}
}

// TestSREReplaces: what SRE chose stands for that set and program alone.
func TestSREReplaces(t *testing.T) {
	own := map[string][]any{"etcd": {map[string]any{"action": "keep", "sourceLabels": []any{"__name__"}, "regex": "only_this"}}}
	for set, want := range map[Set]bool{Telemetry: false, SRE: true, All: true} {
		if keeps(t, Relabelings("etcd", set, own), "only_this", "") != want {
			t.Errorf("%s: only_this", set)
		}
	}
	if keeps(t, Relabelings("etcd", SRE, own), "etcd_server_has_leader", "") {
		t.Error("the list is added to, not replaced")
	}
	if keeps(t, Relabelings("kube-apiserver", SRE, own), "only_this", "") {
		t.Error("the list of one program holds for another")
	}
}

// TestObjects: a monitor for each program that exists, which asks the pods of its own namespace and leaves the lists of others alone.
func TestObjects(t *testing.T) {
	hcp := planetest.Plane()
	hcp.Spec.ClusterID = "an-id"
	there := []string{"etcd", "kube-apiserver", "cluster-autoscaler"}
	own := map[string][]any{"etcd": {map[string]any{"action": "keep"}}}
	objects := Objects(hcp, SRE, own, func(name string) bool { return slices.Contains(there, name) })
	if len(objects) != 3 || len(own["etcd"]) != 1 {
		t.Fatalf("%d monitors; the list of SRE is %v", len(objects), own)
	}
	for i, want := range []struct{ name, port, scheme, server, client string }{
		{"etcd", "metrics", "https", "etcd-client", contract.EtcdMetricsClientCertificate},
		{"kube-apiserver", "https", "https", "kube-apiserver", contract.MetricsClient},
		{"cluster-autoscaler", "metrics", "http", "", ""},
	} {
		obj := objects[i].(*unstructured.Unstructured)
		spec := obj.Object["spec"].(map[string]any)
		selector, _, _ := unstructured.NestedStringMap(spec, "selector", "matchLabels")
		endpoint := spec["podMetricsEndpoints"].([]any)[0].(map[string]any)
		server, _, _ := unstructured.NestedString(endpoint, "tlsConfig", "serverName")
		key, _, _ := unstructured.NestedString(endpoint, "tlsConfig", "keySecret", "name")
		if obj.GetName() != want.name || obj.GetNamespace() != "clusters-demo" || len(selector) != 1 || selector["app"] != want.name {
			t.Errorf("%s in %s selects %v", obj.GetName(), obj.GetNamespace(), selector)
		}
		if endpoint["port"] != want.port || endpoint["scheme"] != want.scheme || server != want.server || key != want.client {
			t.Errorf("%s: %v", want.name, endpoint)
		}
		for _, field := range []string{"relabelings", "metricRelabelings"} {
			rules := endpoint[field].([]any)
			if last := rules[len(rules)-1].(map[string]any); last["targetLabel"] != "_id" || last["replacement"] != "an-id" {
				t.Errorf("%s: %s ends with %v", want.name, field, last)
			}
		}
	}
}

// TestForward: what has no port known is left out; the rest is in order, and has what its certificates need.
func TestForward(t *testing.T) {
	ports := map[string]int32{"etcd": 2381, "kube-apiserver": 6443, "kube-scheduler": 10259, "ignition-server": 8080}
	out, authorities, clients := Forward("clusters-demo", "/certs", func(target, _ string) int32 { return ports[target] })
	var names []string
	for _, f := range out {
		names = append(names, f.Name)
		if f.MetricsPort != ports[f.Name] || f.Selector["app"] != f.Name || f.MetricsPath != "/metrics" {
			t.Errorf("%+v", f)
		}
		secure := f.Name != "ignition-server"
		if (f.MetricsScheme == "https") != secure || (f.CAFile != "") != secure || (f.KeyFile != "") != secure || (f.TLSServerName != "") != secure {
			t.Errorf("%+v", f)
		}
	}
	if !slices.Equal(names, []string{"etcd", "ignition-server", "kube-apiserver", "kube-scheduler"}) {
		t.Errorf("%v", names)
	}
	// Each authority and each client is mounted once, though several programs need it.
	if len(authorities) != 2 || len(clients) != 2 || !slices.IsSorted(authorities) {
		t.Errorf("authorities %v, clients %v", authorities, clients)
	}
	for _, f := range out {
		if f.CAFile != "" && !slices.ContainsFunc(authorities, func(name string) bool { return f.CAFile == "/certs/"+name+"/ca.crt" }) {
			t.Errorf("%s trusts %s, and mounted are %v", f.Name, f.CAFile, authorities)
		}
	}
	// Dashboards of a cluster that has the programs in itself find them.
	if s := out[2]; s.MetricsJob != "apiserver" || s.MetricsNamespace != "default" || s.MetricsService != "kubernetes" {
		t.Errorf("%+v", s)
	}
	if s := out[1]; s.MetricsJob != "ignition-server" || s.MetricsNamespace != "clusters-demo" {
		t.Errorf("%+v", s)
	}
}

// TestAccess: Prometheus finds pods of this namespace, and sees no Secret of it. The Role comes before who binds it.
func TestAccess(t *testing.T) {
	objects := Access("clusters-demo")
	role, binding := objects[0].(*rbacv1.Role), objects[1].(*rbacv1.RoleBinding)
	for _, rule := range role.Rules {
		for _, resource := range rule.Resources {
			if !slices.Contains([]string{"pods", "services", "endpoints", "endpointslices"}, resource) {
				t.Errorf("it reads %s", resource)
			}
		}
		if !slices.Equal(rule.Verbs, []string{"get", "list", "watch"}) {
			t.Errorf("it may %v", rule.Verbs)
		}
	}
	if binding.RoleRef.Kind != "Role" || binding.RoleRef.Name != role.Name || role.Namespace != "clusters-demo" || binding.Namespace != "clusters-demo" {
		t.Errorf("%+v, %+v", role.ObjectMeta, binding)
	}
	for _, s := range binding.Subjects {
		if s.Kind != "ServiceAccount" || s.Namespace == "" || !strings.HasPrefix(s.Name, "prometheus-") {
			t.Errorf("%+v", s)
		}
	}
}
