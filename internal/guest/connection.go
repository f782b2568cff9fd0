package guest

import (
	"context"
	"fmt"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hypershift-on-azure/hypershift/api/v1beta1"
)

const (
	checkerName = "kas-connection-checker"
	// checkerImage is the payload's key of an image with a shell and kubectl.
	checkerImage = "cli"
	// connectionCheck is the ConfigMap that checkers write the time of their last success into.
	connectionCheck = "control-plane-connectivity-check"
	lastSucceeded   = "lastSucceeded"
	// checkStale is how old the last success may be; each checker has one a minute.
	checkStale = 5 * time.Minute
)

// checkScript writes the time through the Service of the API server, the way that applications take; it tries again soon when that fails.
// It ends at once when it is told to. The limit is not kubectl's own: with that one it does not look for the cluster that it runs in.
const checkScript = `trap 'exit 0' TERM
while :; do
  pause=60
  timeout 20 kubectl patch configmap ` + connectionCheck + ` --namespace=kube-system --type=merge \
    --patch="{\"data\":{\"` + lastSucceeded + `\":\"$(date -u +%Y-%m-%dT%H:%M:%SZ)\"}}" >/dev/null || pause=5
  sleep $pause & wait $!
done
`

// connectionChecker tells from the nodes whether applications reach the API server. A checker may write its one ConfigMap and nothing else.
func connectionChecker(facts *Facts) []client.Object {
	labels := map[string]string{"k8s-app": checkerName}
	write := named(rule("", []string{"get", "patch"}, "configmaps"), connectionCheck)
	pod := corev1.PodSpec{
		ServiceAccountName: checkerName, TerminationGracePeriodSeconds: ptr.To[int64](10),
		SecurityContext: &corev1.PodSecurityContext{RunAsUser: ptr.To[int64](1000), RunAsNonRoot: ptr.To(true)},
		Containers: []corev1.Container{{
			Name: checkerName, Image: facts.Images[checkerImage], Command: []string{"/bin/sh", "-c", checkScript},
			Resources: requests("5m", "10Mi"), SecurityContext: unprivileged(), TerminationMessagePolicy: corev1.TerminationMessageFallbackToLogsOnError,
		}},
		TopologySpreadConstraints: []corev1.TopologySpreadConstraint{{
			MaxSkew: 1, TopologyKey: corev1.LabelHostname, WhenUnsatisfiable: corev1.ScheduleAnyway, LabelSelector: &metav1.LabelSelector{MatchLabels: labels},
		}},
	}
	return []client.Object{
		serviceAccount(checkerName),
		role(kubeSystem, checkerName, write),
		bindRole(kubeSystem, checkerName, checkerName, rbacv1.Subject{Kind: rbacv1.ServiceAccountKind, Namespace: kubeSystem, Name: checkerName}),
		configMap(connectionCheck, nil),
		&appsv1.Deployment{ObjectMeta: meta(checkerName), Spec: appsv1.DeploymentSpec{
			Replicas: ptr.To[int32](3), Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels}, Spec: pod},
		}},
	}
}

// controlPlaneConnection is what the checkers say.
func (s *statusReporter) controlPlaneConnection(ctx context.Context, nodes int) metav1.Condition {
	condition := metav1.Condition{Type: hyperv1.ControlPlaneConnectionAvailable, Status: metav1.ConditionFalse}
	if nodes == 0 {
		condition.Status, condition.Reason, condition.Message = metav1.ConditionUnknown, hyperv1.NoWorkerNodesAvailableReason, "No worker nodes exist"
		return condition
	}
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	check, err := s.logs.CoreV1().ConfigMaps(kubeSystem).Get(ctx, connectionCheck, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		condition.Reason = hyperv1.ConfigMapNotFoundReason
		condition.Message = fmt.Sprintf("ConfigMap %s/%s, where the nodes say that they reach the API server, does not exist in the hosted cluster", kubeSystem, connectionCheck)
		return condition
	}
	if err != nil {
		condition.Reason, condition.Message = hyperv1.KASAccessFailedReason, "the API server does not tell whether nodes reach it: "+err.Error()
		return condition
	}
	last, err := time.Parse(time.RFC3339, check.Data[lastSucceeded])
	switch {
	case check.Data[lastSucceeded] == "":
		condition.Reason, condition.Message = hyperv1.ConfigMapNotFoundReason, "no pod of "+checkerName+" has reached the API server yet"
	case err != nil:
		condition.Reason, condition.Message = hyperv1.ConnectionCheckStaleReason, fmt.Sprintf("%s of ConfigMap %s is no time: %v", lastSucceeded, connectionCheck, err)
	case s.now().Sub(last) > checkStale:
		// The time of the last success is not in the message: it is when the condition changed, and the condition is written once.
		condition.Reason, condition.Message = hyperv1.ConnectionCheckStaleReason, fmt.Sprintf("no pod of %s has reached the API server for more than %s; look at their logs in namespace %s of the hosted cluster", checkerName, checkStale, kubeSystem)
	default:
		condition.Status, condition.Reason = metav1.ConditionTrue, hyperv1.AsExpectedReason
	}
	return condition
}
