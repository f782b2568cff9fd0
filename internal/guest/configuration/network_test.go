package configuration

import (
	"slices"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	hyperv1 "github.com/hypershift-on-azure/hypershift/api/v1beta1"
	"github.com/hypershift-on-azure/hypershift/internal/contract"
	"github.com/hypershift-on-azure/hypershift/internal/guest/addons"
	"github.com/hypershift-on-azure/hypershift/internal/guest/guesttest"
	"github.com/hypershift-on-azure/hypershift/internal/guest/inside"
)

// The guest's Network and the warning follow the payload: a network operator speaks for itself.
func TestNetworkTellsWhatRuns(t *testing.T) {
	for name, test := range map[string]struct {
		change func(map[string]string)
		want   any
	}{
		"flannel":                    {func(map[string]string) {}, flannelNetworkType},
		"no network":                 {func(m map[string]string) { delete(m, inside.FlannelName) }, nil},
		"OpenShift's network":        {func(m map[string]string) { delete(m, inside.FlannelName); m[contract.NetworkOperator] = "x" }, nil},
		"flannel beside OpenShift's": {func(m map[string]string) { m[contract.NetworkOperator] = "x" }, nil},
	} {
		facts := guesttest.PlainFacts()
		facts.HCP.Spec.Networking.NetworkType = "OVNKubernetes"
		test.change(facts.Images)
		var runs any
		notices := 0
		for _, obj := range Objects(facts) {
			switch {
			case obj.GroupVersionKind() == NetworkKind:
				if asked := obj.Object["spec"].(map[string]any)["networkType"]; asked != "OVNKubernetes" {
					t.Errorf("%s: spec has %v", name, asked)
				}
				if status, ok := obj.Object["status"].(map[string]any); ok {
					runs = status["networkType"]
				}
			case slices.Contains([]string{policyNotice, policyNotice + "-binding"}, obj.GetName()):
				notices++
			}
		}
		if runs != test.want || (notices == 2) != (test.want != nil) || notices == 1 {
			t.Errorf("%s: status says %v, %d objects warn", name, runs, notices)
		}
	}
}

// TestNetworkOfTheUsers: who says that he brings a network plugin gets none, unless his cluster has the payload's already; and
// Network/cluster says in its status what there is.
func TestNetworkOfTheUsers(t *testing.T) {
	running := &appsv1.DaemonSet{ObjectMeta: metav1.ObjectMeta{Namespace: inside.KubeSystem, Name: inside.FlannelName}}
	for name, c := range map[string]struct {
		kind    hyperv1.NetworkType
		running bool
		status  string
	}{
		"OVN":                   {hyperv1.OVNKubernetes, false, flannelNetworkType},
		"other":                 {hyperv1.OtherNetwork, false, "Other"},
		"Calico":                {"Calico", false, "Calico"},
		"other, made with ours": {hyperv1.OtherNetwork, true, flannelNetworkType},
	} {
		builder := fake.NewClientBuilder().WithScheme(guesttest.Scheme(t))
		if c.running {
			builder = builder.WithObjects(running.DeepCopy())
		}
		r, facts := &inside.Reader{Guest: builder.Build()}, guesttest.PlainFacts()
		facts.HCP.Spec.Networking = hyperv1.ClusterNetworking{NetworkType: c.kind, ClusterNetwork: []hyperv1.ClusterNetworkEntry{{CIDR: "10.132.0.0/14"}, {CIDR: "fd01::/48"}}}
		var err error
		if facts.OwnNetwork, err = r.OwnNetwork(t.Context(), facts.HCP); err != nil {
			t.Fatal(err)
		}
		if there := slices.Contains(guesttest.Workloads(addons.Objects(facts)), inside.FlannelName); there != (c.status == flannelNetworkType) {
			t.Errorf("%s: flannel is there: %v", name, there)
		}
		object := networkObject(facts, map[string]any{})
		if kind, _, _ := unstructured.NestedString(object.Object, "status", "networkType"); kind != c.status {
			t.Errorf("%s: the status says %s", name, kind)
		}
		networks, _, _ := unstructured.NestedSlice(object.Object, "status", "clusterNetwork")
		for i, prefix := range []int64{24, 64} {
			if got := networks[i].(map[string]any)["hostPrefix"]; got != prefix {
				t.Errorf("%s: host prefix %v of network %d", name, got, i)
			}
		}
	}
}
