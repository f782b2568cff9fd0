package objects

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/hypershift-on-azure/hypershift/sandbox/cluster/names"
)

func testOptions(t *testing.T) Options {
	t.Helper()
	dir := t.TempDir()
	from := Options{PullSecretFile: filepath.Join(dir, "pull-secret.json"), CA: filepath.Join(dir, "ca.crt"), Volumes: filepath.Join(dir, "volumes"),
		Images: map[string]string{"coredns": "quay.io/a/coredns@sha256:1", "local-path-provisioner": "quay.io/a/local@sha256:2"}}
	for _, path := range []string{from.PullSecretFile, from.CA} {
		if err := os.WriteFile(path, []byte("{}"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return from
}

func TestRender(t *testing.T) {
	objects, err := render(testOptions(t))
	if err != nil {
		t.Fatal(err)
	}
	rank := map[string]int{"CustomResourceDefinition": 0, "Namespace": 1}
	last, proxies := 0, 0
	for _, o := range objects {
		if _, known := resources[o.GroupVersionKind().GroupKind()]; !known {
			t.Errorf("no resource is known for %s", o.GroupVersionKind())
		}
		now, early := rank[o.GetKind()]
		if !early {
			now = 2
		}
		if now < last {
			t.Errorf("%s %s comes too late", o.GetKind(), o.GetName())
		}
		last = now
		if o.GetKind() == "Proxy" {
			proxies++
			if https, _, _ := unstructured.NestedString(o.Object, "status", "httpsProxy"); https != names.ProxyURL {
				t.Errorf("Proxy: %q", https)
			}
		}
	}
	if proxies != 1 || len(objects) < 20 {
		t.Errorf("%d objects, %d of them Proxy", len(objects), proxies)
	}
}

// A plain cluster knows nothing of OpenShift.
func TestRenderPlain(t *testing.T) {
	from := testOptions(t)
	from.Plain = true
	objects, err := render(from)
	if err != nil {
		t.Fatal(err)
	}
	for _, o := range objects {
		if text := o.GetAPIVersion() + " " + o.GetNamespace() + " " + o.GetName(); strings.Contains(text, "openshift") {
			t.Errorf("it has %s %s", o.GetKind(), text)
		}
	}
	if len(objects) < 10 {
		t.Errorf("only %d objects are left", len(objects))
	}
}

// With several nodes each has a provisioner of its own for volumes, which are bound to it.
func TestVolumesOfSeveralNodes(t *testing.T) {
	for nodes, want := range map[int]string{1: "Deployment", 3: "DaemonSet"} {
		from := testOptions(t)
		from.SeveralNodes = nodes > 1
		objects, err := render(from)
		if err != nil {
			t.Fatal(err)
		}
		for _, o := range objects {
			if o.GetName() == "local-path-provisioner" && o.GetNamespace() == "kube-system" && o.GetKind() != "ServiceAccount" {
				text, _ := yaml.Marshal(o.Object)
				if o.GetKind() != want || strings.Contains(string(text), "--node=$(NODE_NAME)") != (nodes > 1) {
					t.Errorf("with %d nodes:\n%s", nodes, text)
				}
			}
		}
	}
}

func TestReadiness(t *testing.T) {
	since := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	at := func(seconds int) string { return since.Add(time.Duration(seconds) * time.Second).Format(time.RFC3339) }
	node := func(status, heartbeat string) object {
		return object{"status": object{"conditions": []any{object{"type": "Ready", "status": status, "lastHeartbeatTime": heartbeat}}}}
	}
	for _, test := range []struct {
		node  object
		since time.Time
		want  bool
	}{
		{node("True", at(0)), since, true}, {node("True", at(-1)), since, false}, {node("True", at(-1)), time.Time{}, true},
		{node("Unknown", at(1)), since, false}, {object{}, time.Time{}, false},
	} {
		if got := hasCondition(test.node, "Ready", test.since); got != test.want {
			t.Errorf("%v since %v: %v", test.node, test.since, got)
		}
	}
	pod := func(ready, started string) unstructured.Unstructured {
		o := node(ready, at(0))
		o["metadata"] = object{"name": "p"}
		o["status"].(object)["containerStatuses"] = []any{object{"state": object{"running": object{"startedAt": started}}}}
		return unstructured.Unstructured{Object: o}
	}
	if !anyRuns([]unstructured.Unstructured{pod("False", at(2)), pod("True", at(1))}, since) {
		t.Error("a ready pod is overlooked")
	}
	if anyRuns([]unstructured.Unstructured{pod("True", at(-5)), pod("False", at(1))}, since) {
		t.Error("a pod of before counts")
	}
}
