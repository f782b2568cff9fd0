package install

import (
	"slices"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	policyv1 "k8s.io/api/policy/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/hypershift-on-azure/hypershift/config"
	"github.com/hypershift-on-azure/hypershift/internal/contract"
	"github.com/hypershift-on-azure/hypershift/internal/kube/proxyenv"
)

// Other tools of this field know the objects by these names and expect this order.
func TestObjectsInOrder(t *testing.T) {
	o := Everything("hypershift")
	var got []string
	for _, obj := range o.Objects() {
		name := obj.GetName()
		if obj.GetNamespace() != "" && obj.GetNamespace() != "hypershift" {
			name = obj.GetNamespace() + "/" + name
		}
		got = append(got, obj.GetObjectKind().GroupVersionKind().Kind+" "+name)
	}
	want := strings.Split(strings.TrimSpace(everyObject), "\n")
	for i := range max(len(got), len(want)) {
		if i >= len(got) || i >= len(want) || got[i] != want[i] {
			t.Fatalf("from object %d on:\n got %q\nwant %q", i, got[min(i, len(got)):], want[min(i, len(want)):])
		}
	}
}

const everyObject = `
PriorityClass hypershift-control-plane
PriorityClass hypershift-etcd
PriorityClass hypershift-api-critical
PriorityClass hypershift-operator
Namespace hypershift
ServiceAccount operator
ClusterRole hypershift-operator
ClusterRoleBinding hypershift-operator
Role hypershift-operator
RoleBinding hypershift-operator
RoleBinding kube-system/hypershift:extension-apiserver-authentication-reader
ClusterRole hypershift-client
ServiceAccount hypershift-client
ClusterRoleBinding hypershift-client
ClusterRole hypershift-readers
ClusterRoleBinding hypershift-readers
Secret pull-secret
ConfigMap user-ca-bundle
ConfigMap release-signature-keys
ConfigMap openshift-config-managed-trusted-ca-bundle
ConfigMap trusted-ca
ServiceAccount external-dns
ClusterRole external-dns
ClusterRoleBinding external-dns
Secret external-dns-credentials
Deployment external-dns
PodMonitor external-dns
ServiceAccount router
ClusterRole hypershift-router
ClusterRoleBinding hypershift-router
Deployment router
Service router
PodDisruptionBudget router
ServiceAccount dashboard
ClusterRole hypershift-dashboard-viewer
Deployment dashboard
Service dashboard
Deployment operator
Service operator
PodDisruptionBudget operator
NetworkPolicy metrics
ConfigMap feature-gate
Role prometheus
RoleBinding prometheus
ServiceMonitor operator
PrometheusRule metrics
PrometheusRule openshift-monitoring/alerts
ConfigMap monitoring-dashboard-template
ClusterRole hypershift-privileged
ValidatingAdmissionPolicy hypershift-hostedclusters
ValidatingAdmissionPolicyBinding hypershift-hostedclusters
ValidatingAdmissionPolicy hypershift-nodepools
ValidatingAdmissionPolicyBinding hypershift-nodepools
`

// Uninstall looks for Everything: whatever an installation consists of must be in it.
func TestEverythingIsEverything(t *testing.T) {
	identity := func(obj client.Object) string {
		return obj.GetObjectKind().GroupVersionKind().String() + " " + obj.GetNamespace() + "/" + obj.GetName()
	}
	everything := Everything("ns")
	known := map[string]bool{}
	for _, obj := range everything.Objects() {
		known[identity(obj)] = true
	}
	for bits := range 1 << 10 {
		has := func(n int) bool { return bits&(1<<n) != 0 }
		o := minimal()
		o.Namespace, o.Router, o.AdminRBAC, o.SLOAlerts, o.NoMonitoring, o.Development = "ns", has(0), has(1), has(2), has(3), has(4)
		o.NoConversion, o.NoCAPIConversion = has(5), has(5)
		if has(6) {
			o.PullSecret, o.TrustBundle = []byte("{}"), []byte("PEM")
		}
		if has(7) {
			o.ExternalDNS = ExternalDNS{Provider: "azure", DomainFilter: "d", SecretName: "s"}
		}
		if has(8) {
			o.ExternalDNS.SecretName, o.ExternalDNS.Credentials = "", []byte("{}")
		}
		o.MonitoringDashboards, o.Dashboard = has(2), has(1)
		if has(9) {
			o.Proxy = proxyenv.Proxy{TrustBundle: contract.TrustedCA}
		}
		for _, obj := range o.Objects() {
			if !known[identity(obj)] {
				t.Fatalf("%s is not in Everything", identity(obj))
			}
		}
	}
}

func TestReplicasAndWebhook(t *testing.T) {
	for _, tc := range []struct {
		name     string
		change   func(*Options)
		replicas int32
		budget   bool
		webhook  bool
	}{
		{"default", func(*Options) {}, 2, true, true},
		{"development", func(o *Options) { o.Development = true }, 0, false, true},
		{"our kinds alone", func(o *Options) { o.NoCAPIConversion = true }, 2, true, true},
		{"no webhook", func(o *Options) { o.NoConversion, o.NoCAPIConversion = true, true }, 1, false, false},
	} {
		o := minimal()
		tc.change(o)
		d := find[*appsv1.Deployment](t, o, operatorName)
		budget := slices.ContainsFunc(o.Objects(), func(obj client.Object) bool { _, ok := obj.(*policyv1.PodDisruptionBudget); return ok })
		webhook := slices.Contains(d.Spec.Template.Spec.Containers[0].Args, "--webhook-port=9443")
		if *d.Spec.Replicas != tc.replicas || budget != tc.budget || webhook != tc.webhook {
			t.Errorf("%s: %d replicas, budget %v, webhook %v", tc.name, *d.Spec.Replicas, budget, webhook)
		}
	}
}

func TestVersionsOfClusterAPI(t *testing.T) {
	for _, tc := range []struct {
		name           string
		change         func(*Options)
		served, stored string
		webhook        bool
	}{
		{"default", func(*Options) {}, "v1beta1 v1beta2", "v1beta2", true},
		{"without migration", func(o *Options) { o.NoCAPIMigration = true }, "v1beta1 v1beta2", "v1beta1", true},
		{"without conversion", func(o *Options) { o.NoCAPIConversion = true }, "v1beta2", "v1beta2", false},
	} {
		o := minimal()
		o.Namespace = "other"
		tc.change(o)
		crds, err := o.CRDs()
		if err != nil {
			t.Fatal(err)
		}
		for _, crd := range crds {
			if crd.Name != "machines.cluster.x-k8s.io" {
				continue
			}
			var served []string
			stored := ""
			for _, v := range crd.Spec.Versions {
				if v.Served {
					served = append(served, v.Name)
				}
				if v.Storage {
					stored += v.Name
				}
			}
			webhook := crd.Spec.Conversion.Webhook
			if strings.Join(served, " ") != tc.served || stored != tc.stored || (webhook != nil) != tc.webhook {
				t.Errorf("%s: served %v, stored %s, conversion %v", tc.name, served, stored, crd.Spec.Conversion)
			}
			if webhook != nil && (webhook.ClientConfig.Service.Namespace != "other" || webhook.ClientConfig.CABundle != nil) {
				t.Errorf("%s: webhook %v", tc.name, webhook.ClientConfig)
			}
		}
	}
}

func TestRulesAreComplete(t *testing.T) {
	for name, raw := range map[string][]byte{"rules": config.Rules, "alerts": config.Alerts} {
		var file struct {
			Groups []struct {
				Name, Interval string
				Rules          []struct {
					Record, Alert, Expr, For string
					Labels, Annotations      map[string]string
				}
			}
		}
		if err := yaml.UnmarshalStrict(raw, &file); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		for _, rule := range file.Groups[0].Rules {
			if (rule.Record == "") == (rule.Alert == "") || rule.Expr == "" {
				t.Errorf("%s: %+v is no rule", name, rule)
			}
		}
	}
}

// Readers read: no verb of theirs changes anything or uses a right of somebody else's, such as use of security context constraints, and none
// shows them a Secret.
func TestReadersOnlyRead(t *testing.T) {
	reads := []string{"get", "list", "watch"}
	rules := readerRules()
	if len(rules) == 0 {
		t.Fatal("readers have no rule")
	}
	for _, rule := range rules {
		for _, verb := range rule.Verbs {
			if !slices.Contains(reads, verb) {
				t.Errorf("readers may %s %v of %v", verb, rule.Resources, rule.APIGroups)
			}
		}
		for _, resource := range rule.Resources {
			if slices.Contains(rule.APIGroups, "") && (resource == "*" || strings.HasPrefix(resource, "secrets") || strings.HasSuffix(resource, "/exec") || strings.HasSuffix(resource, "/proxy")) {
				t.Errorf("readers see %s", resource)
			}
		}
		if slices.Contains(rule.APIGroups, "*") {
			t.Errorf("readers see every group: %v", rule.Resources)
		}
	}
}
