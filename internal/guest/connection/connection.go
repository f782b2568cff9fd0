// Package connection tells the control plane how many nodes a guest has, and whether they and their API server reach each other.
package connection

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/cluster"

	hyperv1 "github.com/hypershift-on-azure/hypershift/api/v1beta1"
	"github.com/hypershift-on-azure/hypershift/internal/guest/addons"
	"github.com/hypershift-on-azure/hypershift/internal/guest/inside"
	"github.com/hypershift-on-azure/hypershift/internal/guest/plane"
)

const (
	fastProbe = 2 * time.Second
	slowProbe = 30 * time.Second
	// logSample is how much of an agent's log shows that the tunnel carries traffic, in bytes.
	logSample = 4096
)

// Reporter tells the control plane what only a look into the guest shows: how many nodes there are, and whether the tunnel
// carries traffic (by reading a log line of an agent through the API server), and whether nodes reach the API server (as they say).
type Reporter struct {
	guest, management client.Client
	logs              kubernetes.Interface
	namespace         string
	now               func() time.Time
}

// NewReporter makes the reporter; namespace is the control plane's.
func NewReporter(manager ctrl.Manager, management cluster.Cluster, namespace string) (*Reporter, error) {
	clientset, err := kubernetes.NewForConfig(manager.GetConfig())
	if err != nil {
		return nil, fmt.Errorf("hosted-cluster-config-operator: %w", err)
	}
	return &Reporter{guest: manager.GetClient(), management: management.GetClient(), logs: clientset, namespace: namespace, now: time.Now}, nil
}

// Start reports until ctx ends; quickly until the tunnel works, then seldom.
func (s *Reporter) Start(ctx context.Context) error {
	for {
		wait := slowProbe
		healthy, err := s.report(ctx)
		if err != nil {
			ctrl.LoggerFrom(ctx).Error(err, "report the state of the guest")
		}
		if err != nil || !healthy {
			wait = fastProbe
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(wait):
		}
	}
}

func (s *Reporter) report(ctx context.Context) (bool, error) {
	hcp, err := plane.Find(ctx, s.management, s.namespace)
	if err != nil {
		return false, err
	}
	var nodes corev1.NodeList
	if err := s.guest.List(ctx, &nodes); err != nil {
		return false, fmt.Errorf("list nodes: %w", err)
	}
	down, up := s.dataPlane(ctx, len(nodes.Items)), s.controlPlaneConnection(ctx, len(nodes.Items))
	down.ObservedGeneration, up.ObservedGeneration = hcp.Generation, hcp.Generation
	err = plane.MutateStatus(ctx, s.management, hcp, func(status *hyperv1.HostedControlPlaneStatus) {
		status.NodeCount = ptr.To(len(nodes.Items))
		apimeta.SetStatusCondition(&status.Conditions, down)
		apimeta.SetStatusCondition(&status.Conditions, up)
	})
	return down.Status == metav1.ConditionTrue && up.Status == metav1.ConditionTrue, err
}

func (s *Reporter) dataPlane(ctx context.Context, nodes int) metav1.Condition {
	condition := metav1.Condition{Type: hyperv1.DataPlaneConnectionAvailable, Status: metav1.ConditionTrue, Reason: hyperv1.AsExpectedReason}
	if nodes == 0 {
		condition.Status, condition.Reason, condition.Message = metav1.ConditionUnknown, hyperv1.NoWorkerNodesAvailableReason, "No worker nodes exist"
		return condition
	}
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	pods, err := s.logs.CoreV1().Pods(inside.KubeSystem).List(ctx, metav1.ListOptions{LabelSelector: "k8s-app=" + addons.KonnectivityAgentName, FieldSelector: "status.phase=Running"})
	if err != nil || len(pods.Items) == 0 {
		condition.Status, condition.Reason, condition.Message = metav1.ConditionFalse, hyperv1.KonnectivityAgentPodsNotFound, "no konnectivity agent runs in the guest"
		return condition
	}
	var failure error
	for _, pod := range pods.Items {
		failure = s.readSome(ctx, pod.Name)
		if failure == nil {
			return condition
		}
	}
	condition.Status, condition.Reason = metav1.ConditionFalse, "KonnectivityTunnelFailed"
	condition.Message = "the control plane cannot read logs from nodes through the tunnel: " + failure.Error()
	return condition
}

// readSome reads the beginning of a pod's last line. What answers may be a kubelet of somebody else's making, which keeps to no limit.
func (s *Reporter) readSome(ctx context.Context, pod string) error {
	options := &corev1.PodLogOptions{TailLines: ptr.To[int64](1), LimitBytes: ptr.To[int64](logSample)}
	stream, err := s.logs.CoreV1().Pods(inside.KubeSystem).GetLogs(pod, options).Stream(ctx)
	if err != nil {
		return err
	}
	_, err = io.CopyN(io.Discard, stream, logSample)
	if errors.Is(err, io.EOF) { // shorter than the sample
		err = nil
	}
	return errors.Join(err, stream.Close())
}

// checkStale is how old the last success may be; each checker has one a minute.
const checkStale = 5 * time.Minute

// controlPlaneConnection is what the checkers say.
func (s *Reporter) controlPlaneConnection(ctx context.Context, nodes int) metav1.Condition {
	condition := metav1.Condition{Type: hyperv1.ControlPlaneConnectionAvailable, Status: metav1.ConditionFalse}
	if nodes == 0 {
		condition.Status, condition.Reason, condition.Message = metav1.ConditionUnknown, hyperv1.NoWorkerNodesAvailableReason, "No worker nodes exist"
		return condition
	}
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	check, err := s.logs.CoreV1().ConfigMaps(inside.KubeSystem).Get(ctx, addons.ConnectionCheck, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		condition.Reason = hyperv1.ConfigMapNotFoundReason
		condition.Message = fmt.Sprintf("ConfigMap %s/%s, where the nodes say that they reach the API server, does not exist in the hosted cluster", inside.KubeSystem, addons.ConnectionCheck)
		return condition
	}
	if err != nil {
		condition.Reason, condition.Message = hyperv1.KASAccessFailedReason, "the API server does not tell whether nodes reach it: "+err.Error()
		return condition
	}
	last, err := time.Parse(time.RFC3339, check.Data[addons.LastSucceeded])
	switch {
	case check.Data[addons.LastSucceeded] == "":
		condition.Reason, condition.Message = hyperv1.ConfigMapNotFoundReason, "no pod of "+addons.CheckerName+" has reached the API server yet"
	case err != nil:
		condition.Reason, condition.Message = hyperv1.ConnectionCheckStaleReason, fmt.Sprintf("%s of ConfigMap %s is no time: %v", addons.LastSucceeded, addons.ConnectionCheck, err)
	case s.now().Sub(last) > checkStale:
		// The time of the last success is not in the message: it is when the condition changed, and the condition is written once.
		condition.Reason, condition.Message = hyperv1.ConnectionCheckStaleReason, fmt.Sprintf("no pod of %s has reached the API server for more than %s; look at their logs in namespace %s of the hosted cluster", addons.CheckerName, checkStale, inside.KubeSystem)
	default:
		condition.Status, condition.Reason = metav1.ConditionTrue, hyperv1.AsExpectedReason
	}
	return condition
}
