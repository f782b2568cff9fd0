package addons

import (
	"slices"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	hyperv1 "github.com/hypershift-on-azure/hypershift/api/v1beta1"
	"github.com/hypershift-on-azure/hypershift/internal/guest/guesttest"
	"github.com/hypershift-on-azure/hypershift/internal/guest/inside"
)

func TestAddonsFollowThePayload(t *testing.T) {
	all := []string{"azure-cloud-node-manager", "azure-disk-csi-driver-node", "coredns", "flannel", "global-pull-secret-syncer", "kas-connection-checker", "konnectivity-agent", "kube-proxy", "metrics-server", "router-default"}
	tests := map[string]struct {
		change func(map[string]string)
		want   []string
	}{
		"plain payload": {func(map[string]string) {}, all},
		"no flannel":    {func(m map[string]string) { delete(m, "flannel") }, []string{"azure-cloud-node-manager", "azure-disk-csi-driver-node", "coredns", "global-pull-secret-syncer", "kas-connection-checker", "konnectivity-agent", "kube-proxy", "metrics-server", "router-default"}},
		"no registrar":  {func(m map[string]string) { delete(m, "csi-node-driver-registrar") }, slices.DeleteFunc(slices.Clone(all), func(name string) bool { return strings.HasPrefix(name, "azure-disk") })},
		"OpenShift payload": {func(m map[string]string) {
			m["cluster-network-operator"], m["cluster-dns-operator"], m["cluster-ingress-operator"], m["cluster-storage-operator"], m["cluster-monitoring-operator"] = "a", "b", "c", "d", "e"
		}, []string{"azure-cloud-node-manager", "global-pull-secret-syncer", "kas-connection-checker", "konnectivity-agent"}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			facts := guesttest.PlainFacts()
			test.change(facts.Images)
			if got := guesttest.Workloads(Objects(facts)); !slices.Equal(got, test.want) {
				t.Errorf("workloads = %v, want %v", got, test.want)
			}
		})
	}
}

// An agent looks for servers all the time, and the next node's is not replaced before it has had the time to find them.
func TestAgentsFindEveryServer(t *testing.T) {
	for _, obj := range konnectivityAgent(guesttest.PlainFacts()) {
		set, ok := obj.(*appsv1.DaemonSet)
		if !ok {
			continue
		}
		c := set.Spec.Template.Spec.Containers[0]
		i := slices.IndexFunc(c.Args, func(arg string) bool { return strings.HasPrefix(arg, "--sync-interval=") })
		if !slices.Contains(c.Args, "--sync-forever=true") || i < 0 {
			t.Fatalf("arguments %v", c.Args)
		}
		interval, err := time.ParseDuration(strings.TrimPrefix(c.Args[i], "--sync-interval="))
		if settles := time.Duration(set.Spec.MinReadySeconds) * time.Second; err != nil || settles < 7*interval {
			t.Errorf("%s are for too few attempts every %s (%v)", settles, interval, err)
		}
		if c.ReadinessProbe == nil || c.ReadinessProbe.HTTPGet.Path != "/readyz" {
			t.Error("ready without a connection")
		}
	}
}

// Everything up to a node's initialisation has to run on a node that is not initialised.
func TestNodeAddonsTolerateNewNodes(t *testing.T) {
	for _, obj := range Objects(guesttest.PlainFacts()) {
		if guesttest.TypeName(obj) != "DaemonSet" {
			continue
		}
		raw, err := runtime.DefaultUnstructuredConverter.ToUnstructured(obj)
		if err != nil {
			t.Fatal(err)
		}
		tolerations, _, _ := unstructured.NestedSlice(raw, "spec", "template", "spec", "tolerations")
		if len(tolerations) != 1 || tolerations[0].(map[string]any)["operator"] != "Exists" {
			t.Errorf("%s tolerates %v", obj.GetName(), tolerations)
		}
	}
}

func TestObjectsCarryTheirFacts(t *testing.T) {
	facts := guesttest.PlainFacts()
	want := map[string]string{
		"--proxy-server-host=konnectivity.example.com": "", "--proxy-server-port=443": "", "clusterCIDR: 10.132.0.0/14": "",
		`"Network":"10.132.0.0/14"`: "", "server: https://172.20.0.1:6443": "", "172.31.0.10": "",
	}
	var text strings.Builder
	for _, obj := range Objects(facts) {
		raw, err := runtime.DefaultUnstructuredConverter.ToUnstructured(obj)
		if err != nil {
			t.Fatal(err)
		}
		collect(&text, raw)
		if obj.GetLabels()[hyperv1.ManagedByLabel] != inside.ManagedBy {
			t.Errorf("%s %s is not labelled", guesttest.TypeName(obj), obj.GetName())
		}
	}
	for part := range want {
		if !strings.Contains(text.String(), part) {
			t.Errorf("no object holds %q", part)
		}
	}
}

func collect(out *strings.Builder, value any) {
	switch v := value.(type) {
	case map[string]any:
		for _, item := range v {
			collect(out, item)
		}
	case []any:
		for _, item := range v {
			collect(out, item)
		}
	case string:
		out.WriteString(v + "\n")
	}
}
