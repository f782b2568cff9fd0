package install

import (
	"strconv"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/hypershift-on-azure/hypershift/internal/contract"
	"github.com/hypershift-on-azure/hypershift/internal/kube/rbac"
)

const (
	routerName     = "router"
	routerRoleName = contract.OperatorRouter
	// RouteCRD is the definition that comes with our router.
	RouteCRD = "routes.route.openshift.io"

	routerTLSPort = 8443
	// routerGrace is how long connections may live on when a pod of the router ends.
	routerGrace = 60
)

// router serves the Routes of a management cluster that has no router.
func (o *Options) router() []client.Object {
	if !o.Router {
		return nil
	}
	return []client.Object{
		o.serviceAccount(routerName),
		clusterRole(routerRoleName, routerRules()),
		clusterRoleBinding(routerRoleName, o.subjects(routerName)...),
		o.routerDeployment(),
		&corev1.Service{
			TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "Service"},
			ObjectMeta: metav1.ObjectMeta{Namespace: o.Namespace, Name: routerName, Labels: map[string]string{"name": routerName}},
			Spec: corev1.ServiceSpec{
				Type:     corev1.ServiceTypeLoadBalancer,
				Selector: map[string]string{"name": routerName},
				Ports:    []corev1.ServicePort{{Name: "https", Protocol: corev1.ProtocolTCP, Port: 443, TargetPort: intstr.FromString("https")}},
			},
		},
		o.disruptionBudget(routerName),
	}
}

// routerRules read Routes and where their Services answer, and tell Routes that they are served.
func routerRules() []rbacv1.PolicyRule {
	return []rbacv1.PolicyRule{
		rbac.Rule("route.openshift.io", rbac.Read, "routes"),
		rbac.Rule("route.openshift.io", "patch", "routes/status"),
		rbac.Rule("discovery.k8s.io", rbac.Read, "endpointslices"),
	}
}

func (o *Options) routerDeployment() client.Object {
	replicas := int32(2)
	if o.Development {
		replicas = 0
	}
	labels := map[string]string{"name": routerName, "app": routerName, componentLabel: routerName}
	pod := corev1.PodSpec{
		ServiceAccountName:            routerName,
		PriorityClassName:             operatorPriority,
		ImagePullSecrets:              o.imagePullSecrets(),
		TerminationGracePeriodSeconds: new(int64(routerGrace)),
		Containers:                    []corev1.Container{o.routerContainer()},
		Affinity:                      spread(routerName),
	}
	return &appsv1.Deployment{
		TypeMeta:   metav1.TypeMeta{APIVersion: "apps/v1", Kind: "Deployment"},
		ObjectMeta: metav1.ObjectMeta{Namespace: o.Namespace, Name: routerName, Annotations: o.given(o.OperatorImage(), nil)},
		Spec: appsv1.DeploymentSpec{
			Replicas: &replicas,
			Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"name": routerName}},
			Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels}, Spec: pod},
		},
	}
}

func (o *Options) routerContainer() corev1.Container {
	return corev1.Container{
		Name:            routerName,
		Image:           o.pinned(o.OperatorImage()),
		ImagePullPolicy: corev1.PullPolicy(o.ImagePullPolicy),
		Command:         []string{"/usr/bin/hypershift-operator"},
		Args: []string{
			"router",
			"--ingress-domain=" + o.IngressDomain,
			"--listen-addr=:" + strconv.Itoa(routerTLSPort),
			"--health-addr=:" + strconv.Itoa(healthPort),
			// With what it lingers, it ends before the kubelet kills it.
			"--drain=" + strconv.Itoa(routerGrace-15) + "s",
		},
		Ports: []corev1.ContainerPort{
			{Name: "https", ContainerPort: routerTLSPort, Protocol: corev1.ProtocolTCP},
			{Name: "health", ContainerPort: healthPort, Protocol: corev1.ProtocolTCP},
		},
		LivenessProbe:  healthProbe("/healthz", 10, 6),
		ReadinessProbe: healthProbe("/readyz", 2, 3),
		Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{
			corev1.ResourceCPU: resource.MustParse("10m"), corev1.ResourceMemory: resource.MustParse("30Mi"),
		}},
		SecurityContext:          restricted(1000),
		TerminationMessagePolicy: corev1.TerminationMessageFallbackToLogsOnError,
	}
}
