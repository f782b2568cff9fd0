package guest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	corev1 "k8s.io/api/core/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/util/retry"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/cluster"

	hyperv1 "github.com/hypershift-on-azure/hypershift/api/v1beta1"
)

const (
	fastProbe = 2 * time.Second
	slowProbe = 30 * time.Second
	// logSample is how much of an agent's log shows that the tunnel carries traffic, in bytes.
	logSample = 4096
)

// SetCondition writes one condition of the hosted control plane. The list has other writers: the lock and the retry keep theirs.
func SetCondition(ctx context.Context, management client.Client, hcp *hyperv1.HostedControlPlane, condition metav1.Condition) error {
	return mutateStatus(ctx, management, hcp, func(status *hyperv1.HostedControlPlaneStatus) {
		apimeta.SetStatusCondition(&status.Conditions, condition)
	})
}

func mutateStatus(ctx context.Context, management client.Client, hcp *hyperv1.HostedControlPlane, mutate func(*hyperv1.HostedControlPlaneStatus)) error {
	current := hcp.DeepCopy()
	err := retry.RetryOnConflict(retry.DefaultBackoff, func() error {
		before := current.DeepCopy()
		mutate(&current.Status)
		if apiequality.Semantic.DeepEqual(before.Status, current.Status) {
			return nil
		}
		// A merge patch would drop the nulls that the version's status must have.
		err := management.Status().Update(ctx, current)
		if apierrors.IsConflict(err) {
			if readErr := management.Get(ctx, client.ObjectKeyFromObject(hcp), current); readErr != nil {
				return readErr
			}
		}
		return err
	})
	if err != nil && !apierrors.IsConflict(err) {
		return fmt.Errorf("write the status of HostedControlPlane %s: %w", hcp.Name, err)
	}
	return err
}

// statusReporter tells the control plane what only a look into the guest shows: how many nodes there are, and whether the tunnel
// carries traffic (by reading a log line of an agent through the API server), and whether nodes reach the API server (as they say).
type statusReporter struct {
	guest, management client.Client
	logs              kubernetes.Interface
	namespace         string
	now               func() time.Time
}

func newStatusReporter(manager ctrl.Manager, management cluster.Cluster, namespace string) (*statusReporter, error) {
	clientset, err := kubernetes.NewForConfig(manager.GetConfig())
	if err != nil {
		return nil, fmt.Errorf("hosted-cluster-config-operator: %w", err)
	}
	return &statusReporter{guest: manager.GetClient(), management: management.GetClient(), logs: clientset, namespace: namespace, now: time.Now}, nil
}

// Start reports until ctx ends; quickly until the tunnel works, then seldom.
func (s *statusReporter) Start(ctx context.Context) error {
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

func (s *statusReporter) report(ctx context.Context) (bool, error) {
	hcp, err := controlPlane(ctx, s.management, s.namespace)
	if err != nil {
		return false, err
	}
	var nodes corev1.NodeList
	if err := s.guest.List(ctx, &nodes); err != nil {
		return false, fmt.Errorf("list nodes: %w", err)
	}
	down, up := s.dataPlane(ctx, len(nodes.Items)), s.controlPlaneConnection(ctx, len(nodes.Items))
	down.ObservedGeneration, up.ObservedGeneration = hcp.Generation, hcp.Generation
	err = mutateStatus(ctx, s.management, hcp, func(status *hyperv1.HostedControlPlaneStatus) {
		status.NodeCount = ptr.To(len(nodes.Items))
		apimeta.SetStatusCondition(&status.Conditions, down)
		apimeta.SetStatusCondition(&status.Conditions, up)
	})
	return down.Status == metav1.ConditionTrue && up.Status == metav1.ConditionTrue, err
}

func (s *statusReporter) dataPlane(ctx context.Context, nodes int) metav1.Condition {
	condition := metav1.Condition{Type: hyperv1.DataPlaneConnectionAvailable, Status: metav1.ConditionTrue, Reason: hyperv1.AsExpectedReason}
	if nodes == 0 {
		condition.Status, condition.Reason, condition.Message = metav1.ConditionUnknown, hyperv1.NoWorkerNodesAvailableReason, "No worker nodes exist"
		return condition
	}
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	pods, err := s.logs.CoreV1().Pods(kubeSystem).List(ctx, metav1.ListOptions{LabelSelector: "k8s-app=" + konnectivityAgentName, FieldSelector: "status.phase=Running"})
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
func (s *statusReporter) readSome(ctx context.Context, pod string) error {
	options := &corev1.PodLogOptions{TailLines: ptr.To[int64](1), LimitBytes: ptr.To[int64](logSample)}
	stream, err := s.logs.CoreV1().Pods(kubeSystem).GetLogs(pod, options).Stream(ctx)
	if err != nil {
		return err
	}
	_, err = io.CopyN(io.Discard, stream, logSample)
	if errors.Is(err, io.EOF) { // shorter than the sample
		err = nil
	}
	return errors.Join(err, stream.Close())
}
