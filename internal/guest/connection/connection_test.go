package connection

import (
	"errors"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"
	crfake "sigs.k8s.io/controller-runtime/pkg/client/fake"

	hyperv1 "github.com/hypershift-on-azure/hypershift/api/v1beta1"
	"github.com/hypershift-on-azure/hypershift/internal/guest/addons"
	"github.com/hypershift-on-azure/hypershift/internal/guest/guesttest"
	"github.com/hypershift-on-azure/hypershift/internal/guest/inside"
	"github.com/hypershift-on-azure/hypershift/internal/guest/plane"
)

func TestReportReadsTheTunnel(t *testing.T) {
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "np-1"}}
	agent := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: inside.KubeSystem, Name: "konnectivity-agent-x", Labels: map[string]string{"k8s-app": addons.KonnectivityAgentName}},
		Status:     corev1.PodStatus{Phase: corev1.PodRunning},
	}
	tests := map[string]struct {
		nodes          []client.Object
		pods           []*corev1.Pod
		status, reason string
	}{
		"no nodes":     {nil, nil, "Unknown", "NoWorkerNodesAvailable"},
		"no agent":     {[]client.Object{node}, nil, "False", "KonnectivityAgentPodsNotFound"},
		"tunnel works": {[]client.Object{node}, []*corev1.Pod{agent}, "True", "AsExpected"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			hcp := &hyperv1.HostedControlPlane{ObjectMeta: metav1.ObjectMeta{Namespace: "clusters-demo", Name: "demo"}}
			logs := fake.NewClientset()
			for _, pod := range test.pods {
				if _, err := logs.CoreV1().Pods(inside.KubeSystem).Create(t.Context(), pod, metav1.CreateOptions{}); err != nil {
					t.Fatal(err)
				}
			}
			s := &Reporter{
				guest:      crfake.NewClientBuilder().WithScheme(guesttest.Scheme(t)).WithObjects(test.nodes...).Build(),
				management: crfake.NewClientBuilder().WithScheme(guesttest.Scheme(t)).WithObjects(hcp).WithStatusSubresource(hcp).Build(),
				logs:       logs, namespace: "clusters-demo", now: time.Now,
			}
			if _, err := s.report(t.Context()); err != nil {
				t.Fatal(err)
			}
			got, err := plane.Find(t.Context(), s.management, "clusters-demo")
			if err != nil {
				t.Fatal(err)
			}
			if got.Status.NodeCount == nil || *got.Status.NodeCount != len(test.nodes) {
				t.Errorf("nodeCount = %v", got.Status.NodeCount)
			}
			if len(got.Status.Conditions) != 2 || string(got.Status.Conditions[0].Status) != test.status || got.Status.Conditions[0].Reason != test.reason {
				t.Errorf("conditions = %+v", got.Status.Conditions)
			}
			before := got.ResourceVersion
			if _, err := s.report(t.Context()); err != nil {
				t.Fatal(err)
			}
			if got, err = plane.Find(t.Context(), s.management, "clusters-demo"); err != nil || got.ResourceVersion != before {
				t.Errorf("an unchanged state was written again (%v)", err)
			}
		})
	}
}

func TestControlPlaneConnection(t *testing.T) {
	now := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	written := func(text string) map[string]string { return map[string]string{addons.LastSucceeded: text} }
	tests := map[string]struct {
		nodes          int
		check          map[string]string
		missing        bool
		failure        error
		status, reason string
	}{
		"no nodes":       {nodes: 0, status: "Unknown", reason: "NoWorkerNodesAvailable"},
		"just reached":   {nodes: 1, check: written("2026-11-20T11:59:30Z"), status: "True", reason: "AsExpected"},
		"not for long":   {nodes: 1, check: written("2026-11-20T11:54:59Z"), status: "False", reason: "ConnectionCheckStale"},
		"never":          {nodes: 1, status: "False", reason: "ConfigMapNotFound"},
		"no time":        {nodes: 1, check: written("yes"), status: "False", reason: "ConnectionCheckStale"},
		"nothing there":  {nodes: 1, missing: true, status: "False", reason: "ConfigMapNotFound"},
		"cannot be read": {nodes: 1, failure: apierrors.NewInternalError(errors.New("broken")), status: "False", reason: "KASAccessFailed"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			guest := fake.NewClientset()
			if !test.missing {
				guest = fake.NewClientset(&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: inside.KubeSystem, Name: addons.ConnectionCheck}, Data: test.check})
			}
			if test.failure != nil {
				guest.PrependReactor("get", "configmaps", func(clienttesting.Action) (bool, runtime.Object, error) { return true, nil, test.failure })
			}
			s := &Reporter{logs: guest, now: func() time.Time { return now }}
			if got := s.controlPlaneConnection(t.Context(), test.nodes); string(got.Status) != test.status || got.Reason != test.reason {
				t.Errorf("condition %+v", got)
			}
		})
	}
}
