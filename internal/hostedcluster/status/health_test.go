package status

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	hyperv1 "github.com/hypershift-on-azure/hypershift/api/v1beta1"
	"github.com/hypershift-on-azure/hypershift/internal/component"
	"github.com/hypershift-on-azure/hypershift/internal/contract"
	"github.com/hypershift-on-azure/hypershift/internal/hostedcluster/cluster"
	"github.com/hypershift-on-azure/hypershift/internal/hostedcluster/hostedclustertest"
	"github.com/hypershift-on-azure/hypershift/internal/kube"
	"github.com/hypershift-on-azure/hypershift/internal/survey/surveytest"
)

var clock = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

func members(wanted, ready int32) *appsv1.StatefulSet {
	return &appsv1.StatefulSet{ObjectMeta: metav1.ObjectMeta{Name: contract.Etcd, Namespace: surveytest.Namespace},
		Spec:   appsv1.StatefulSetSpec{Replicas: ptr.To(wanted)},
		Status: appsv1.StatefulSetStatus{ReadyReplicas: ready}}
}

// servers are a Deployment with so many ready pods, which has not had enough of them for a while.
func servers(name string, wanted, ready int32, since time.Duration, more ...appsv1.DeploymentCondition) *appsv1.Deployment {
	d := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: surveytest.Namespace}, Spec: appsv1.DeploymentSpec{Replicas: ptr.To(wanted)},
		Status: appsv1.DeploymentStatus{ReadyReplicas: ready, Conditions: more}}
	if ready == 0 {
		d.Status.Conditions = append(d.Status.Conditions, appsv1.DeploymentCondition{
			Type: appsv1.DeploymentAvailable, Status: corev1.ConditionFalse, LastTransitionTime: metav1.NewTime(clock.Add(-since))})
	}
	return d
}

// stuck is a pod of a workload for which there is no node.
func stuck(app string) *corev1.Pod {
	return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: app + "-x", Namespace: surveytest.Namespace, Labels: map[string]string{component.LabelApp: app}},
		Status: corev1.PodStatus{Conditions: []corev1.PodCondition{{Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Message: "0/3 nodes are available"}}}}
}

// examined is a hosted cluster whose control plane, which is an hour old, said of everything that it is as told.
func examined(told metav1.ConditionStatus, objects ...client.Object) (*cluster.Cluster, *hyperv1.HostedControlPlane) {
	c := hostedclustertest.At(hostedclustertest.Cluster("demo", "image"))
	c.Client = surveytest.Client(objects...).Build()
	c.Live = c.Client
	set := c.Conditions()
	for _, kind := range []string{hyperv1.EtcdAvailable, hyperv1.KubeAPIServerAvailable, hyperv1.HostedClusterAvailable} {
		set.Set(kind, told, "AsTold", "as told")
	}
	set.False(hyperv1.HostedClusterDegraded, hyperv1.AsExpectedReason, "")
	return c, &hyperv1.HostedControlPlane{ObjectMeta: metav1.ObjectMeta{CreationTimestamp: metav1.NewTime(clock.Add(-time.Hour))}}
}

// said is a condition as "STATUS REASON: MESSAGE".
func said(c *cluster.Cluster, kind string) string {
	told := kube.Find(c.Hosted.Status.Conditions, kind)
	return string(told.Status) + " " + told.Reason + ": " + told.Message
}

// TestAWordAgainstWhatIsSeen: conditions that a dead control plane left behind do not stay. An empty want is what was told.
func TestAWordAgainstWhatIsSeen(t *testing.T) {
	const yes, no, unknown = metav1.ConditionTrue, metav1.ConditionFalse, metav1.ConditionUnknown
	api, operator := servers(contract.APIServer, 2, 2, 0), servers(contract.ControlPlaneOperator, 1, 1, 0)
	quota := appsv1.DeploymentCondition{Type: appsv1.DeploymentReplicaFailure, Status: corev1.ConditionTrue, Message: "exceeded quota"}
	silentFor := func(since time.Duration) client.Object { return servers(contract.ControlPlaneOperator, 1, 0, since) }
	const scheduling = "0/3 nodes are available"
	for name, c := range map[string]struct {
		told                      metav1.ConditionStatus
		there                     []client.Object
		etcd, api, available, ill string
		again                     bool
	}{
		"all serve":              {told: yes, there: []client.Object{members(3, 3), api, operator}},
		"a member is away":       {told: yes, there: []client.Object{members(3, 2), api, operator}},
		"one API server is away": {told: yes, there: []client.Object{members(3, 3), servers(contract.APIServer, 2, 1, 0), operator}},
		"no majority": {yes, []client.Object{members(3, 1), api, operator, stuck(contract.Etcd)},
			"False EtcdWaitingForQuorum: 1 of 3 pods of etcd are ready, 2 needed: pod etcd-x cannot be scheduled: " + scheduling,
			"False WaitingForAvailable: kube-apiserver answers nothing without etcd", "False EtcdWaitingForQuorum: 1 of 3 pods of etcd",
			"1 of 3 pods of etcd are ready, 2 needed: pod etcd-x", true},
		"the only member": {yes, []client.Object{members(1, 0), api, operator},
			"False EtcdWaitingForQuorum: 0 of 1", "False", "False EtcdWaitingForQuorum", "0 of 1 pods", true},
		"etcd is gone": {yes, []client.Object{api, operator},
			"False StatefulSetNotFound: etcd does not exist", "False", "False StatefulSetNotFound", "etcd does not exist", true},
		"etcd was stopped": {yes, []client.Object{members(0, 0), api, operator},
			"False EtcdWaitingForQuorum: etcd is scaled to zero", "False", "False", "scaled to zero", true},
		"no API server": {yes, []client.Object{members(3, 3), servers(contract.APIServer, 2, 0, time.Hour), operator},
			"", "False WaitingForAvailable: 0 of 2 pods of kube-apiserver are ready, 1 needed", "False WaitingForAvailable: 0 of 2", "kube-apiserver", true},
		"no API server may be made": {yes, []client.Object{members(3, 3), servers(contract.APIServer, 2, 0, 0, quota), operator},
			"", "False WaitingForAvailable: 0 of 2 pods of kube-apiserver are ready, 1 needed: exceeded quota", "False", "exceeded quota", true},
		"nothing is reported yet": {told: unknown, there: []client.Object{members(3, 0), servers(contract.APIServer, 2, 0, 0), operator}, again: true},
		"nothing can be reported": {unknown, []client.Object{members(3, 0), api, operator, stuck(contract.Etcd)},
			"False EtcdWaitingForQuorum", "", "False", scheduling, true},
		"it was told, not why": {no, []client.Object{members(3, 0), api, operator, stuck(contract.Etcd)},
			"False AsTold: as told; pod etcd-x", "", "False AsTold: as told; pod etcd-x", scheduling, true},
		"its operator begins anew": {told: yes, there: []client.Object{members(3, 3), api, silentFor(59 * time.Second)}, again: true},
		"its operator is silent": {yes, []client.Object{members(3, 3), api, silentFor(time.Minute)},
			"", "", "Unknown StatusUnknown: Nobody reports how the control plane is: 0 of 1", "control-plane-operator", true},
		"its operator cannot start": {yes, []client.Object{members(3, 3), api, silentFor(10 * time.Second), stuck(contract.ControlPlaneOperator)},
			"", "", "Unknown StatusUnknown", scheduling, true},
		"it may yet, for a moment": {told: yes, there: []client.Object{members(3, 3), api, silentFor(9 * time.Second), stuck(contract.ControlPlaneOperator)},
			again: true},
		"its operator is gone": {yes, []client.Object{members(3, 3), api}, "", "", "Unknown StatusUnknown", "control-plane-operator does not exist", true},
		"silent after a bad word": {no, []client.Object{members(3, 3), api, silentFor(time.Hour)},
			"", "", "False AsTold: as told. That is the last word of the control-plane-operator", "0 of 1", true},
		"silent, and it is known why": {yes, []client.Object{members(3, 0), api, silentFor(time.Hour)},
			"False", "False", "False EtcdWaitingForQuorum: 0 of 3 pods of etcd are ready, 2 needed", "; 0 of 1 pods of control", true},
	} {
		t.Run(name, func(t *testing.T) {
			c, hcp, want := examinedRow(c.told, c.there, c.etcd, c.api, c.available, c.ill, c.again)
			again, err := Examine(t.Context(), c, hcp)
			if err != nil || (again != 0) != want.again {
				t.Errorf("again in %s, %v", again, err)
			}
			for kind, words := range want.words {
				if got := said(c, kind); !strings.HasPrefix(got, words) {
					t.Errorf("%s says %q, want %q", kind, got, words)
				}
			}
			if got := said(c, hyperv1.HostedClusterDegraded); strings.HasPrefix(got, "True") != (want.ill != "") || !strings.Contains(got, want.ill) {
				t.Errorf("degraded: %q, want %q", got, want.ill)
			}
		})
	}
}

type expected struct {
	words map[string]string
	ill   string
	again bool
}

func examinedRow(told metav1.ConditionStatus, there []client.Object, etcd, api, available, ill string, again bool) (
	*cluster.Cluster, *hyperv1.HostedControlPlane, expected) {
	c, hcp := examined(told, there...)
	want := expected{map[string]string{}, ill, again}
	for kind, words := range map[string]string{hyperv1.EtcdAvailable: etcd, hyperv1.KubeAPIServerAvailable: api, hyperv1.HostedClusterAvailable: available} {
		if want.words[kind] = words; words == "" {
			want.words[kind] = string(told) + " AsTold: as told"
		}
	}
	return c, hcp, want
}

// TestHealthIsCheap: pods are asked only where something does not serve.
func TestHealthIsCheap(t *testing.T) {
	c, hcp := examined(metav1.ConditionTrue, members(3, 2), servers(contract.APIServer, 1, 1, 0), servers(contract.ControlPlaneOperator, 1, 1, 0))
	c.Live = nil
	if again, err := Examine(t.Context(), c, hcp); again != 0 || err != nil {
		t.Errorf("%s, %v", again, err)
	}
	if again, err := Examine(t.Context(), c, nil); again != 0 || err != nil {
		t.Errorf("without a control plane: %s, %v", again, err)
	}
}

// TestEtcdOfTheUsers: one that is not managed has no pods to count.
func TestEtcdOfTheUsers(t *testing.T) {
	c, hcp := examined(metav1.ConditionTrue, servers(contract.APIServer, 1, 1, 0), servers(contract.ControlPlaneOperator, 1, 1, 0))
	c.Hosted.Spec.Etcd.ManagementType = hyperv1.Unmanaged
	if _, err := Examine(t.Context(), c, hcp); err != nil || said(c, hyperv1.EtcdAvailable) != "True AsTold: as told" {
		t.Errorf("%s, %v", said(c, hyperv1.EtcdAvailable), err)
	}
}

// TestSilenceAtTheEnd: an operator that goes because its cluster does is no trouble.
func TestSilenceAtTheEnd(t *testing.T) {
	c, hcp := examined(metav1.ConditionTrue, members(1, 1), servers(contract.APIServer, 1, 1, 0))
	c.Hosted.DeletionTimestamp = ptr.To(metav1.NewTime(clock))
	if _, err := Examine(t.Context(), c, hcp); err != nil || said(c, hyperv1.HostedClusterAvailable) != "True AsTold: as told" {
		t.Errorf("%s, %v", said(c, hyperv1.HostedClusterAvailable), err)
	}
}

// TestYoungControlPlane: one that has just been made has not been silent for long, whatever it says of itself.
func TestYoungControlPlane(t *testing.T) {
	c, hcp := examined(metav1.ConditionUnknown, members(1, 1), servers(contract.APIServer, 1, 1, 0))
	hcp.CreationTimestamp = metav1.NewTime(clock.Add(-5 * time.Second))
	if again, err := Examine(t.Context(), c, hcp); err != nil || again == 0 || said(c, hyperv1.HostedClusterAvailable) != "Unknown AsTold: as told" {
		t.Errorf("%s, %s, %v", said(c, hyperv1.HostedClusterAvailable), again, err)
	}
}

// TestUnreadableWorkloads: no answer is neither health nor illness.
func TestUnreadableWorkloads(t *testing.T) {
	for _, kind := range []string{"get", "list"} {
		c, hcp := examined(metav1.ConditionTrue)
		c.Client = surveytest.Client(members(3, 0)).WithInterceptorFuncs(interceptor.Funcs{
			Get: func(ctx context.Context, inner client.WithWatch, key client.ObjectKey, obj client.Object, o ...client.GetOption) error {
				if kind == "get" {
					return errors.New("no answer")
				}
				return inner.Get(ctx, key, obj, o...)
			},
			List: func(context.Context, client.WithWatch, client.ObjectList, ...client.ListOption) error {
				return errors.New("no answer")
			},
		}).Build()
		c.Live = c.Client
		_, err := Examine(t.Context(), c, hcp)
		if err == nil || !strings.Contains(err.Error(), "no answer") || said(c, hyperv1.EtcdAvailable) != "True AsTold: as told" {
			t.Errorf("%s: %s, %v", kind, said(c, hyperv1.EtcdAvailable), err)
		}
	}
}
