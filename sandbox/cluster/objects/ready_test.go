package objects

import (
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic/fake"

	"github.com/hypershift-on-azure/hypershift/sandbox/cluster/names"
)

// TestUnready: the first thing is named that is not ready since the cluster was started; what it was before does not count.
func TestUnready(t *testing.T) {
	since := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	before, after := since.Add(-time.Minute).Format(time.RFC3339), since.Add(time.Second).Format(time.RFC3339)
	node := func(heartbeat string) runtime.Object {
		return &unstructured.Unstructured{Object: object{"apiVersion": "v1", "kind": "Node", "metadata": object{"name": names.NodeName},
			"status": object{"conditions": []any{object{"type": "Ready", "status": "True", "lastHeartbeatTime": heartbeat}}}}}
	}
	pod := func(name, label, value, started string) runtime.Object {
		return &unstructured.Unstructured{Object: object{"apiVersion": "v1", "kind": "Pod",
			"metadata": object{"namespace": "kube-system", "name": name, "labels": object{label: value}},
			"status": object{"conditions": []any{object{"type": "Ready", "status": "True"}},
				"containerStatuses": []any{object{"state": object{"running": object{"startedAt": started}}}}}}}
	}
	dns, disks := pod("dns", "k8s-app", "kube-dns", after), pod("disks", "app", "local-path-provisioner", after)
	for _, test := range []struct {
		want    string
		objects []runtime.Object
	}{
		{"node " + names.NodeName, nil},
		{"node " + names.NodeName, []runtime.Object{node(before), dns, disks}},
		{"pod kube-system/coredns", []runtime.Object{node(after), disks}},
		{"pod kube-system/coredns", []runtime.Object{node(after), pod("dns", "k8s-app", "kube-dns", before), disks}},
		{"pod kube-system/local-path-provisioner", []runtime.Object{node(after), dns}},
		{"", []runtime.Object{node(after), dns, disks}},
		{"", []runtime.Object{node(after), pod("old", "k8s-app", "kube-dns", before), dns, disks}},
	} {
		kinds := map[schema.GroupVersionResource]string{nodes: "NodeList", pods: "PodList"}
		k := fake.NewSimpleDynamicClientWithCustomListKinds(runtime.NewScheme(), kinds, test.objects...)
		if got := unready(t.Context(), k, since, []string{names.NodeName}); got != test.want {
			t.Errorf("%q is not ready, want %q", got, test.want)
		}
	}
}
