package addons

import (
	"crypto/sha256"
	"encoding/hex"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/hypershift-on-azure/hypershift/internal/component"
	"github.com/hypershift-on-azure/hypershift/internal/contract"
	"github.com/hypershift-on-azure/hypershift/internal/guest/access"
	"github.com/hypershift-on-azure/hypershift/internal/guest/inside"
	"github.com/hypershift-on-azure/hypershift/internal/kube/rbac"
)

const (
	routerRole    = "openshift-ingress-router"
	routerAccount = "router"
	ingressClass  = "openshift-default"

	routerHTTP, routerHTTPS, routerMetrics = 8080, 8443, 1936
	// routerPoll is how often, in milliseconds, the router looks for changes.
	routerPoll = "5000"
)

var routerLabels = map[string]string{"ingresscontroller.operator.openshift.io/deployment-ingresscontroller": "default"}

// defaultIngress is the ingress of a payload that has no operator for it: a router behind a Service, and the class that Ingresses
// have unless they say otherwise. The record of the Service's address is written by the component ingress-operator.
func defaultIngress(facts *inside.Facts) []client.Object {
	if !inside.Capable(facts.HCP, inside.IngressCapability) || facts.Ingress == "" {
		return nil
	}
	account := rbacv1.Subject{Kind: rbacv1.ServiceAccountKind, Namespace: contract.RouterNamespace, Name: routerAccount}
	return append(ingressNeeds(facts),
		&corev1.ServiceAccount{ObjectMeta: inRouter(routerAccount)},
		// Ingresses name Secrets with certificates in any namespace.
		access.ClusterRole(routerRole,
			rbac.Rule("", "get,list", "services", "secrets"),
			rbac.Rule("discovery.k8s.io", "get,list", "endpointslices"),
			rbac.Rule("networking.k8s.io", "get,list", "ingresses"),
		),
		access.Bind(routerRole, routerRole, account),
		&networkingv1.IngressClass{
			ObjectMeta: metav1.ObjectMeta{Name: ingressClass, Annotations: map[string]string{networkingv1.AnnotationIsDefaultIngressClass: "true"}},
			Spec:       networkingv1.IngressClassSpec{Controller: "zalando.org/skipper"},
		},
		routerDeployment(facts),
		routerService(facts),
	)
}

// ingressNeeds are what any default router finds: its namespace and its certificate.
func ingressNeeds(facts *inside.Facts) []client.Object {
	if !inside.Capable(facts.HCP, inside.IngressCapability) {
		return nil
	}
	return []client.Object{
		namespace(contract.RouterNamespace, map[string]string{
			contract.PolicyGroupLabel: contract.PolicyGroupIngress, contract.ClusterMonitoringLabel: "true"}),
		&corev1.Secret{ObjectMeta: inRouter(contract.IngressCertificate), Type: corev1.SecretTypeTLS, Data: map[string][]byte{
			corev1.TLSCertKey: []byte(facts.IngressCert), corev1.TLSPrivateKeyKey: []byte(facts.IngressKey)}},
	}
}

func inRouter(name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Namespace: contract.RouterNamespace, Name: name}
}

func routerService(facts *inside.Facts) *corev1.Service {
	port := func(name string, number int32) corev1.ServicePort {
		return corev1.ServicePort{Name: name, Port: number, Protocol: corev1.ProtocolTCP, TargetPort: intstr.FromString(name)}
	}
	service := &corev1.Service{
		ObjectMeta: inRouter(component.RouterName),
		Spec: corev1.ServiceSpec{
			Type: corev1.ServiceTypeLoadBalancer, Selector: routerLabels,
			// Applications see who calls, and nodes without a router are left out.
			ExternalTrafficPolicy: corev1.ServiceExternalTrafficPolicyLocal,
			Ports:                 []corev1.ServicePort{port("http", 80), port("https", 443)},
		},
	}
	switch facts.Ingress {
	case component.IngressInternal:
		service.Annotations = map[string]string{"service.beta.kubernetes.io/azure-load-balancer-internal": "true"}
	case component.IngressPrivate:
		service.Spec.Type, service.Spec.ExternalTrafficPolicy = corev1.ServiceTypeClusterIP, ""
	case component.IngressExternal:
	}
	return service
}

func routerDeployment(facts *inside.Facts) *appsv1.Deployment {
	replicas := int32(1)
	if facts.HighlyAvailable {
		replicas = 2
	}
	certificate := sha256.Sum256([]byte(facts.IngressCert))
	return &appsv1.Deployment{
		ObjectMeta: inRouter(component.RouterName),
		Spec: appsv1.DeploymentSpec{
			Replicas: &replicas, Selector: &metav1.LabelSelector{MatchLabels: routerLabels},
			Strategy: appsv1.DeploymentStrategy{Type: appsv1.RollingUpdateDeploymentStrategyType, RollingUpdate: &appsv1.RollingUpdateDeployment{
				MaxUnavailable: ptr.To(intstr.FromInt32(0)), MaxSurge: ptr.To(intstr.FromInt32(1)),
			}},
			Template: corev1.PodTemplateSpec{
				// The router reads its certificate when it starts.
				ObjectMeta: metav1.ObjectMeta{Labels: routerLabels, Annotations: map[string]string{
					"hypershift.openshift.io/certificate-hash": hex.EncodeToString(certificate[:8])}},
				Spec: corev1.PodSpec{
					ServiceAccountName: routerAccount, PriorityClassName: "system-cluster-critical",
					SecurityContext:               &corev1.PodSecurityContext{RunAsUser: ptr.To[int64](1001), RunAsNonRoot: ptr.To(true), FSGroup: ptr.To[int64](1001)},
					TerminationGracePeriodSeconds: ptr.To[int64](60),
					Containers:                    []corev1.Container{routerContainer(facts)},
					Volumes: []corev1.Volume{{Name: "certificate", VolumeSource: corev1.VolumeSource{
						Secret: &corev1.SecretVolumeSource{SecretName: contract.IngressCertificate, DefaultMode: ptr.To[int32](0o440)}}}},
					TopologySpreadConstraints: []corev1.TopologySpreadConstraint{{
						MaxSkew: 1, TopologyKey: corev1.LabelHostname, WhenUnsatisfiable: corev1.ScheduleAnyway,
						LabelSelector: &metav1.LabelSelector{MatchLabels: routerLabels},
					}},
				},
			},
		},
	}
}

func routerContainer(facts *inside.Facts) corev1.Container {
	probe := func(period, failures int32) *corev1.Probe {
		return &corev1.Probe{PeriodSeconds: period, TimeoutSeconds: 5, FailureThreshold: failures, ProbeHandler: corev1.ProbeHandler{
			HTTPGet: &corev1.HTTPGetAction{Path: "/kube-system/healthz", Port: intstr.FromString("http")}}}
	}
	return corev1.Container{
		Name: "router", Image: facts.Images[inside.RouterImage], Command: []string{"/bin/skipper"},
		Args: []string{
			"-kubernetes", "-kubernetes-in-cluster", "-kubernetes-ingress-class=^" + ingressClass + "$",
			"-kubernetes-path-mode=path-prefix", "-enable-kubernetes-endpointslices",
			"-address=:8443", "-insecure-address=:8080", "-support-listener=:1936",
			"-tls-cert=/etc/router/certificate/tls.crt", "-tls-key=/etc/router/certificate/tls.key", "-kubernetes-enable-tls",
			// Both are served, as the default router of OpenShift does with a Route that asks for neither.
			"-kubernetes-https-redirect=false", "-proxy-preserve-host", "-wait-first-route-load",
			"-source-poll-timeout=" + routerPoll,
			// Long enough for load balancers to notice, then the connections are drained.
			"-wait-for-healthcheck-interval=15s",
			"-metrics-flavour=prometheus", "-access-log-disabled",
		},
		Ports: []corev1.ContainerPort{
			{Name: "http", ContainerPort: routerHTTP, Protocol: corev1.ProtocolTCP},
			{Name: "https", ContainerPort: routerHTTPS, Protocol: corev1.ProtocolTCP},
			{Name: "metrics", ContainerPort: routerMetrics, Protocol: corev1.ProtocolTCP},
		},
		Resources:                requests("50m", "64Mi"),
		VolumeMounts:             []corev1.VolumeMount{readOnly("certificate", "/etc/router/certificate")},
		StartupProbe:             probe(1, 60),
		ReadinessProbe:           probe(2, 3),
		LivenessProbe:            probe(10, 6),
		TerminationMessagePolicy: corev1.TerminationMessageFallbackToLogsOnError,
		SecurityContext:          unprivileged(),
	}
}
