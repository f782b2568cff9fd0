package status

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hypershift-on-azure/hypershift/api/v1beta1"
	"github.com/hypershift-on-azure/hypershift/internal/component"
	"github.com/hypershift-on-azure/hypershift/internal/contract"
	"github.com/hypershift-on-azure/hypershift/internal/hostedcluster/cluster"
	"github.com/hypershift-on-azure/hypershift/internal/kube"
)

const (
	// illPeriod is how soon what does not serve is looked at again: the pods that say why are not watched.
	illPeriod = 5 * time.Second
	// silenceLimit is how long the word of a control-plane-operator counts that has no ready pod and says why. startLimit is the same for one
	// that is only being started: a node is drained, an image pulled.
	silenceLimit = 10 * time.Second
	startLimit   = time.Minute
)

// vital are the workloads that a control plane serves with. The control-plane-operator tells of them too, but it may have been the first to go.
var vital = []struct {
	name      string
	condition hyperv1.ConditionType
	// gone and few are the reasons of the condition when the workload is not there, and when too few of its pods are ready.
	gone, few string
}{
	{contract.Etcd, hyperv1.EtcdAvailable, hyperv1.EtcdStatefulSetNotFoundReason, hyperv1.EtcdWaitingForQuorumReason},
	{contract.APIServer, hyperv1.KubeAPIServerAvailable, hyperv1.NotFoundReason, hyperv1.WaitingForAvailableReason},
}

// workload is what the management cluster shows of one.
type workload struct {
	exists        bool
	ready, wanted int32
	// needed is how many have to be ready.
	needed int32
	// since is when too few of its pods began to be ready; zero when that is not known.
	since time.Time
	// refused is why no pod can be made.
	refused string
}

func (w workload) serves() bool { return w.exists && w.ready >= w.needed }

// Examine holds the word of the control plane against what the management cluster shows: a control plane that is dead cannot tell
// so. It costs nothing while all is well: workloads are in the cache, and pods are read only of one that does not serve.
// hcp is nil when there is no control plane to look at. Examine returns when to look again without an event; zero means never.
func Examine(ctx context.Context, c *cluster.Cluster, hcp *hyperv1.HostedControlPlane) (time.Duration, error) {
	if hcp == nil {
		return 0, nil
	}
	e := &examination{Cluster: c, hcp: hcp}
	err := e.run(ctx)
	return e.again, err
}

// examination of the workloads of one control plane.
type examination struct {
	*cluster.Cluster
	hcp *hyperv1.HostedControlPlane
	// again is when to look again without an event; zero means never.
	again time.Duration
}

func (e *examination) run(ctx context.Context) error {
	var ill []string
	for _, v := range vital {
		if v.name == contract.Etcd && e.Hosted.Spec.Etcd.ManagementType == hyperv1.Unmanaged {
			continue
		}
		w, trouble, err := e.examine(ctx, v.name)
		if err != nil {
			return err
		}
		reason, message := v.few, describe(v.name, w)
		switch {
		case !w.exists:
			reason = v.gone
		case w.serves() && len(ill) > 0:
			// Its pods are called ready for minutes after it has lost etcd.
			message = v.name + " answers nothing without etcd"
		case w.serves():
			continue
		}
		if e.doubt(v.condition, reason, message, trouble) {
			ill = append(ill, withCause(message, trouble))
			e.doubt(hyperv1.HostedClusterAvailable, reason, message, trouble)
		}
	}
	silent, err := e.observeOperator(ctx, len(ill) > 0)
	if err != nil {
		return err
	}
	if silent != "" {
		ill = append(ill, silent)
	}
	if degraded := kube.Find(e.Hosted.Status.Conditions, hyperv1.HostedClusterDegraded); len(ill) > 0 && degraded.Status != metav1.ConditionTrue {
		e.Conditions().True(hyperv1.HostedClusterDegraded, hyperv1.UnavailableReplicasReason, strings.Join(ill, "; "))
	}
	return nil
}

// examine looks at a workload and, if it does not serve, for the reason.
func (e *examination) examine(ctx context.Context, name string) (workload, string, error) {
	w, err := e.lookAt(ctx, name)
	if err != nil || w.serves() {
		return w, "", err
	}
	e.again = illPeriod
	if !w.exists || w.wanted == 0 {
		return w, "", nil
	}
	pods := &corev1.PodList{}
	if err := e.Live.List(ctx, pods, client.InNamespace(e.Namespace), client.MatchingLabels{component.LabelApp: name}); err != nil {
		return w, "", fmt.Errorf("list the pods of %s/%s: %w", e.Namespace, name, err)
	}
	return w, cmp.Or(component.PodTrouble(pods.Items, e.Now(), startLimit), w.refused), nil
}

func (e *examination) lookAt(ctx context.Context, name string) (workload, error) {
	var obj client.Object = &appsv1.Deployment{}
	if name == contract.Etcd {
		obj = &appsv1.StatefulSet{}
	}
	err := e.Client.Get(ctx, client.ObjectKey{Namespace: e.Namespace, Name: name}, obj)
	if apierrors.IsNotFound(err) {
		return workload{}, nil
	}
	if err != nil {
		return workload{}, fmt.Errorf("read workload %s/%s: %w", e.Namespace, name, err)
	}
	switch found := obj.(type) {
	case *appsv1.StatefulSet:
		wanted := ptr.Deref(found.Spec.Replicas, 1)
		return workload{exists: true, ready: found.Status.ReadyReplicas, wanted: wanted, needed: wanted/2 + 1}, nil
	case *appsv1.Deployment:
		w := workload{exists: true, ready: found.Status.ReadyReplicas, wanted: ptr.Deref(found.Spec.Replicas, 1), needed: 1}
		for _, condition := range found.Status.Conditions {
			switch {
			case condition.Type == appsv1.DeploymentAvailable && condition.Status != corev1.ConditionTrue:
				w.since = condition.LastTransitionTime.Time
			case condition.Type == appsv1.DeploymentReplicaFailure && condition.Status == corev1.ConditionTrue:
				w.refused = condition.Message
			}
		}
		return w, nil
	}
	return workload{}, nil
}

func describe(name string, w workload) string {
	switch {
	case !w.exists:
		return name + " does not exist"
	case w.wanted == 0:
		return name + " is scaled to zero"
	}
	return fmt.Sprintf("%d of %d pods of %s are ready, %d needed", w.ready, w.wanted, name, w.needed)
}

func withCause(message, cause string) string {
	if cause == "" {
		return message
	}
	return message + ": " + cause
}

// doubt makes a condition False that is True, and tells the cause on one that is not True without it. It says whether there was a reason to:
// what the control plane has not reported yet, and nothing keeps from coming, is left alone.
func (e *examination) doubt(kind hyperv1.ConditionType, reason, message, cause string) bool {
	was := kube.Find(e.Hosted.Status.Conditions, kind)
	switch {
	case was.Status == metav1.ConditionTrue:
		e.Conditions().False(kind, reason, withCause(message, cause))
	case cause == "":
		return was.Status == metav1.ConditionFalse
	case was.Status == metav1.ConditionUnknown:
		e.Conditions().False(kind, reason, withCause(message, cause))
	case !strings.Contains(was.Message, cause):
		e.Conditions().False(kind, was.Reason, strings.TrimPrefix(was.Message+"; "+cause, "; "))
	}
	return true
}

// observeOperator looks at the control-plane-operator, whose word all other conditions are. It returns what to say when that is old.
// explained: what does not serve is told already.
func (e *examination) observeOperator(ctx context.Context, explained bool) (string, error) {
	w, trouble, err := e.examine(ctx, contract.ControlPlaneOperator)
	if err != nil || w.serves() || !e.Hosted.DeletionTimestamp.IsZero() {
		return "", err
	}
	limit := startLimit
	if trouble != "" || w.wanted == 0 || !w.exists {
		limit = silenceLimit
	}
	if e.Now().Sub(slices.MaxFunc([]time.Time{w.since, e.hcp.CreationTimestamp.Time}, time.Time.Compare)) < limit {
		return "", nil
	}
	silent := withCause(describe(contract.ControlPlaneOperator, w), trouble)
	available := kube.Find(e.Hosted.Status.Conditions, hyperv1.HostedClusterAvailable)
	switch {
	case available.Status == metav1.ConditionFalse && explained:
	case available.Status == metav1.ConditionFalse:
		e.Conditions().False(available.Type, available.Reason, sentences([]string{available.Message, "That is the last word of the control-plane-operator: " + silent}))
	default:
		e.Conditions().Unknown(available.Type, hyperv1.StatusUnknownReason, "Nobody reports how the control plane is: "+silent)
	}
	return silent, nil
}
