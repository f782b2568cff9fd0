package teardown

import (
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hypershift-on-azure/hypershift/api/v1beta1"
	"github.com/hypershift-on-azure/hypershift/internal/clusterapi"
)

const force = "hypershift destroy cluster azure --name demo --namespace clusters --force"

// TestCausesAreTold has a row for each cause that keeps a deletion from going on: what the objects of the management cluster show of it,
// and what a person is told. A cause without words is one with which the deletion ends by itself.
func TestCausesAreTold(t *testing.T) {
	now := time.Date(2026, 1, 1, 0, 1, 0, 0, time.UTC)
	deleted := ptr.To(metav1.NewTime(now.Add(-time.Minute)))
	plane := func(conditions ...metav1.Condition) *hyperv1.HostedControlPlane {
		hcp := &hyperv1.HostedControlPlane{ObjectMeta: metav1.ObjectMeta{Namespace: "clusters-demo", Name: "demo"}}
		hcp.Status.Initialized, hcp.Status.Conditions = true, conditions
		return hcp
	}
	not := func(kind, message string) metav1.Condition {
		return metav1.Condition{Type: kind, Status: metav1.ConditionFalse, Reason: "R", Message: message}
	}
	machine := func(since time.Time, reason, message string) client.Object {
		m := clusterapi.New(clusterapi.Machine, "clusters-demo", "m")
		m.SetDeletionTimestamp(ptr.To(metav1.NewTime(since)))
		m.SetFinalizers([]string{"machine.cluster.x-k8s.io"})
		m.Object["status"] = map[string]any{"conditions": []any{map[string]any{"type": "Deleting", "status": "True", "reason": reason, "message": message}}}
		return m
	}
	pool := func(finalizers ...string) client.Object {
		return &hyperv1.NodePool{TypeMeta: metav1.TypeMeta{Kind: "NodePool"}, ObjectMeta: metav1.ObjectMeta{Namespace: "clusters", Name: "p", DeletionTimestamp: deleted, Finalizers: finalizers}}
	}
	begun := now.Add(-time.Minute)
	refused := func(words string) string { return ", whose deletion Azure refuses: AzureMachine m: " + words }
	for name, test := range map[string]struct {
		plane   *hyperv1.HostedControlPlane
		objects []client.Object
		refused string
		says    []string
	}{
		"nothing is wrong":       {plane: plane(), objects: []client.Object{pool(hyperv1.Finalizer), machine(begun, "WaitingForInfrastructureDeletion", "AzureMachine m: deleting")}},
		"resource group gone":    {plane: plane(), objects: []client.Object{pool(hyperv1.Finalizer)}},
		"no control plane":       {objects: []client.Object{pool(hyperv1.Finalizer)}},
		"identity deleted":       {plane: plane(not(hyperv1.PlatformCredentialsFound, "identity nodePoolManagement cannot sign in: AADSTS700016")), says: []string{"identity nodePoolManagement", "AADSTS700016", "hypershift create iam azure", force}},
		"role gone":              {plane: plane(), refused: refused("AuthorizationFailed: the client has no authorization to delete m"), says: []string{"az role assignment create", force}},
		"subscription disabled":  {plane: plane(), refused: refused("ReadOnlyDisabledSubscription: read only"), says: []string{"owner of the subscription", force}},
		"subscription gone":      {plane: plane(), refused: refused("SubscriptionNotFound: none"), says: []string{"owner of the subscription", force}},
		"lock":                   {plane: plane(), refused: refused("ScopeLocked: locked"), says: []string{"az lock delete", force}},
		"a code nobody knows":    {plane: plane(), refused: refused("Strange: no"), says: []string{force}},
		"node unreachable":       {plane: plane(), objects: []client.Object{machine(begun, "WaitingForVolumeDetach", "Waiting for Node volumes to be detached (started at x)")}, says: []string{"Machine m cannot be emptied: Waiting for Node volumes", "exclude-wait-for-node-volume-detach="}},
		"webhook of the guest":   {plane: plane(), objects: []client.Object{machine(begun, "DrainingNode", "Drain not completed yet: * Pod default/a: cannot evict pod, failed calling webhook \"deny.example.com\"")}, says: []string{"deny.example.com", "delete the webhook", "exclude-node-draining="}},
		"a drain that began now": {plane: plane(), objects: []client.Object{machine(now.Add(-time.Second), "DrainingNode", "Drain not completed yet")}},
		"etcd dead":              {plane: plane(not(hyperv1.EtcdAvailable, "0 of 3 members are ready."), not(hyperv1.KubeAPIServerAvailable, "x")), says: []string{"etcd of the hosted cluster does not serve", "0 of 3 members are ready. To go on", "kubectl -n clusters-demo get pods", force}},
		"API server dead":        {plane: plane(not(hyperv1.KubeAPIServerAvailable, "crashes")), says: []string{"the API server of the hosted cluster does not serve", "crashes", force}},
		"foreign finalizer":      {plane: plane(), objects: []client.Object{pool(hyperv1.Finalizer, "example.com/mine")}, says: []string{"NodePool \"p\" in namespace \"clusters\" is held by finalizer example.com/mine of somebody else"}},
	} {
		hosted := &hyperv1.HostedCluster{ObjectMeta: metav1.ObjectMeta{Namespace: "clusters", Name: "demo", DeletionTimestamp: deleted, Finalizers: []string{hyperv1.Finalizer, hyperv1.DestroyFinalizer, metav1.FinalizerDeleteDependents}}}
		said := strings.Join(held{hosted: hosted, plane: test.plane, objects: test.objects, refused: test.refused, now: now}.sentences(), " ")
		for _, words := range test.says {
			if !strings.Contains(said, words) {
				t.Errorf("%s: %q does not say %q", name, said, words)
			}
		}
		if len(test.says) == 0 && said != "" {
			t.Errorf("%s: %q", name, said)
		}
	}
}

// TestForeignFinalizerOfTheCluster: it would hold the HostedCluster without a word once everything else is gone.
func TestForeignFinalizerOfTheCluster(t *testing.T) {
	hosted := &hyperv1.HostedCluster{ObjectMeta: metav1.ObjectMeta{Namespace: "clusters", Name: "demo", Finalizers: []string{hyperv1.Finalizer, "example.com/mine"}}}
	if said := (held{hosted: hosted}).sentences(); len(said) != 0 {
		t.Errorf("nobody deletes it: %q", said)
	}
	hosted.DeletionTimestamp = ptr.To(metav1.Now())
	if said := (held{hosted: hosted}).sentences(); len(said) != 1 || !strings.Contains(said[0], "example.com/mine") {
		t.Errorf("said %q", said)
	}
}
