package look

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hypershift-on-azure/hypershift/api/v1beta1"
	"github.com/hypershift-on-azure/hypershift/internal/explain"
	"github.com/hypershift-on-azure/hypershift/internal/survey/surveytest"
)

// broken is a cluster whose etcd is not scheduled, whose name does not resolve and whose machines are refused.
func broken() []client.Object {
	hc := surveytest.Cluster("demo")
	surveytest.Says(hc, hyperv1.HostedClusterAvailable, metav1.ConditionFalse, hyperv1.EtcdWaitingForQuorumReason, "0 of 1 pods of etcd are ready, 1 needed")
	surveytest.Says(hc, hyperv1.EtcdAvailable, metav1.ConditionFalse, hyperv1.EtcdWaitingForQuorumReason, "0 of 1 pods of etcd are ready, 1 needed")
	surveytest.Says(hc, hyperv1.ExternalDNSReachable, metav1.ConditionFalse, hyperv1.ExternalDNSHostNotReachable, "lookup api.demo.example.com: no such host")
	pool := surveytest.Pool("demo", "demo", 2, func(np *hyperv1.NodePool) { np.Status.Replicas = 0 })
	return []client.Object{hc, pool,
		&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: surveytest.Namespace, Annotations: map[string]string{hyperv1.HostedClusterAnnotation: "clusters/demo"}}},
		&corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: surveytest.Namespace, Name: "etcd-0", Labels: map[string]string{"app": "etcd"}}, Status: corev1.PodStatus{Conditions: []corev1.PodCondition{{
			Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: "Unschedulable", Message: "0/1 nodes are available: 1 Insufficient cpu.", LastTransitionTime: metav1.NewTime(surveytest.Now.Add(-4 * time.Minute))}}}},
		&corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "dns", Name: "external-dns-1", Labels: map[string]string{"name": "external-dns"}}},
		surveytest.Machine("demo", "demo-a", "InfrastructureReady False VMProvisionFailed AuthorizationFailed: The client \x1b[2J does not have authorization"),
		surveytest.Machine("demo", "demo-b", "InfrastructureReady True Ready"),
	}
}

// TestExplain: what is printed of a cluster and of a pool, for people and for programs.
func TestExplain(t *testing.T) {
	c := surveytest.Client(broken()...).Build()
	for _, output := range []string{"", "json"} {
		for what, run := range map[string]func(*explainer, context.Context, client.Reader, gathering, string) (explain.Finding, []string, error){"cluster": (*explainer).cluster, "nodepool": (*explainer).pool} {
			e := &explainer{namespace: "clusters", operatorNamespace: "dns", output: output, now: func() time.Time { return surveytest.Now }}
			told, unseen, err := run(e, t.Context(), c, e.gatherFrom(c), "demo")
			if err != nil {
				t.Fatal(err)
			}
			var out bytes.Buffer
			if err := e.show(&out, &out, told, append(unseen, "what is hidden")); err != nil {
				t.Fatal(err)
			}
			golden(t, strings.TrimSuffix("explain-"+what+"."+output, ".")+".txt", out.String())
		}
	}
}

func (e *explainer) gatherFrom(c client.Reader) gathering {
	return func(ctx context.Context, name string) (*explain.Facts, error) {
		logs := func(_ context.Context, namespace, pod, _ string, _ bool) (string, error) {
			if namespace == "dns" && pod == "external-dns-1" {
				return "first\nlevel=error msg=\"no zone\"\n", nil
			}
			return "", errors.New("no log")
		}
		return explain.Gather(ctx, c, logs, explain.Question{Namespace: e.namespace, Name: name, Operator: e.operatorNamespace, Now: e.now()})
	}
}

// What is mistyped is told by what may be meant.
func TestExplainNobody(t *testing.T) {
	c := surveytest.Client(broken()...).Build()
	e := &explainer{namespace: "clusters", operatorNamespace: "dns", now: time.Now}
	_, _, err := e.cluster(t.Context(), c, e.gatherFrom(c), "dem")
	if err == nil || !strings.HasPrefix(err.Error(), "there is no HostedCluster clusters/dem; did you mean demo?") {
		t.Errorf("%v", err)
	}
	if _, _, err = e.pool(t.Context(), c, e.gatherFrom(c), "dmeo"); err == nil || !strings.HasPrefix(err.Error(), "there is no NodePool clusters/dmeo; did you mean demo?") {
		t.Errorf("%v", err)
	}
}
