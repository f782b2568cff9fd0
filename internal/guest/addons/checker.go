package addons

import (
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/hypershift-on-azure/hypershift/internal/contract"
	"github.com/hypershift-on-azure/hypershift/internal/guest/access"
	"github.com/hypershift-on-azure/hypershift/internal/guest/inside"
	"github.com/hypershift-on-azure/hypershift/internal/kube/rbac"
)

const (
	// CheckerName is the name of the Deployment, and of all that is its own.
	CheckerName = "kas-connection-checker"
	// checkerImage is the payload's key of an image with a shell and kubectl.
	checkerImage = "cli"
	// ConnectionCheck is the ConfigMap that checkers write the time of their last success into.
	ConnectionCheck = "control-plane-connectivity-check"
	// LastSucceeded is its key, RFC 3339.
	LastSucceeded = "lastSucceeded"
)

// checkScript writes the time through the Service of the API server, the way that applications take; it tries again soon when that fails.
// It ends at once when it is told to. The limit is not kubectl's own: with that one it does not look for the cluster that it runs in.
const checkScript = `trap 'exit 0' TERM
while :; do
  pause=60
  timeout 20 kubectl patch configmap ` + ConnectionCheck + ` --namespace=kube-system --type=merge \
    --patch="{\"data\":{\"` + LastSucceeded + `\":\"$(date -u +%Y-%m-%dT%H:%M:%SZ)\"}}" >/dev/null || pause=5
  sleep $pause & wait $!
done
`

// connectionChecker tells from the nodes whether applications reach the API server. A checker may write its one ConfigMap and nothing else.
func connectionChecker(facts *inside.Facts) []client.Object {
	labels := map[string]string{contract.AppLabel: CheckerName}
	write := rbac.Named(rbac.Rule("", "get,patch", "configmaps"), ConnectionCheck)
	pod := corev1.PodSpec{
		ServiceAccountName: CheckerName, TerminationGracePeriodSeconds: ptr.To[int64](10),
		SecurityContext: &corev1.PodSecurityContext{RunAsUser: ptr.To[int64](1000), RunAsNonRoot: ptr.To(true)},
		Containers: []corev1.Container{{
			Name: CheckerName, Image: facts.Images[checkerImage], Command: []string{"/bin/sh", "-c", checkScript},
			Resources: requests("5m", "10Mi"), SecurityContext: unprivileged(), TerminationMessagePolicy: corev1.TerminationMessageFallbackToLogsOnError,
		}},
		TopologySpreadConstraints: []corev1.TopologySpreadConstraint{{
			MaxSkew: 1, TopologyKey: corev1.LabelHostname, WhenUnsatisfiable: corev1.ScheduleAnyway, LabelSelector: &metav1.LabelSelector{MatchLabels: labels},
		}},
	}
	return []client.Object{
		access.ServiceAccount(CheckerName),
		access.Role(inside.KubeSystem, CheckerName, write),
		access.BindRole(inside.KubeSystem, CheckerName, CheckerName, rbacv1.Subject{Kind: rbacv1.ServiceAccountKind, Namespace: inside.KubeSystem, Name: CheckerName}),
		configMap(ConnectionCheck, nil),
		&appsv1.Deployment{ObjectMeta: inside.Meta(CheckerName), Spec: appsv1.DeploymentSpec{
			Replicas: ptr.To[int32](3), Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels}, Spec: pod},
		}},
	}
}
