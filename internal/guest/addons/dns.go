package addons

import (
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/hypershift-on-azure/hypershift/internal/contract"
	"github.com/hypershift-on-azure/hypershift/internal/guest/access"
	"github.com/hypershift-on-azure/hypershift/internal/guest/inside"
	"github.com/hypershift-on-azure/hypershift/internal/kube/rbac"
)

func coreDNS(facts *inside.Facts) []client.Object {
	service := &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Namespace: inside.KubeSystem, Name: "kube-dns", Labels: map[string]string{contract.AppLabel: "kube-dns", "kubernetes.io/name": "CoreDNS"}},
		Spec: corev1.ServiceSpec{
			ClusterIP: facts.DNSAddress, Selector: map[string]string{contract.AppLabel: "kube-dns"},
			Ports: []corev1.ServicePort{
				{Name: "dns", Port: 53, Protocol: corev1.ProtocolUDP, TargetPort: intstr.FromInt32(53)},
				{Name: "dns-tcp", Port: 53, Protocol: corev1.ProtocolTCP, TargetPort: intstr.FromInt32(53)},
			},
		},
	}
	return []client.Object{
		access.ServiceAccount(DNSName),
		access.ClusterRole("system:coredns",
			rbac.Rule("", "list,watch", "endpoints", "services", "pods", "namespaces"),
			rbac.Rule("discovery.k8s.io", "list,watch", "endpointslices"),
		),
		&rbacv1.ClusterRoleBinding{
			ObjectMeta: metav1.ObjectMeta{Name: "system:coredns"},
			RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "system:coredns"},
			Subjects:   []rbacv1.Subject{access.Account(DNSName)},
		},
		configMap(DNSName, map[string]string{"Corefile": corefile}),
		service,
		dnsDeployment(facts),
	}
}

const corefile = `.:53 {
    errors
    health {
        lameduck 5s
    }
    ready
    kubernetes cluster.local in-addr.arpa ip6.arpa {
        pods insecure
        fallthrough in-addr.arpa ip6.arpa
    }
    forward . /etc/resolv.conf
    cache 30
    reload
}
`

func dnsDeployment(facts *inside.Facts) *appsv1.Deployment {
	replicas := int32(1)
	if facts.HighlyAvailable {
		replicas = 2
	}
	labels := map[string]string{contract.AppLabel: "kube-dns"}
	probe := func(path string, port int32, period int32) *corev1.Probe {
		return &corev1.Probe{
			ProbeHandler:  corev1.ProbeHandler{HTTPGet: &corev1.HTTPGetAction{Path: path, Port: intstr.FromInt32(port)}},
			PeriodSeconds: period, TimeoutSeconds: 5, FailureThreshold: 5,
		}
	}
	container := corev1.Container{
		Name: DNSName, Image: facts.Images["coredns"], Command: []string{"/bin/coredns"}, Args: []string{"-conf", "/etc/coredns/Corefile"},
		Ports: []corev1.ContainerPort{
			{Name: "dns", ContainerPort: 53, Protocol: corev1.ProtocolUDP}, {Name: "dns-tcp", ContainerPort: 53, Protocol: corev1.ProtocolTCP},
		},
		Env:       apiEnv(facts),
		Resources: requests("50m", "70Mi"), VolumeMounts: []corev1.VolumeMount{readOnly("config", "/etc/coredns")},
		ReadinessProbe: probe("/ready", 8181, 1), LivenessProbe: probe("/health", 8080, 10),
		TerminationMessagePolicy: corev1.TerminationMessageFallbackToLogsOnError,
		SecurityContext: &corev1.SecurityContext{
			AllowPrivilegeEscalation: ptr.To(false), ReadOnlyRootFilesystem: ptr.To(true),
			Capabilities: &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}, Add: []corev1.Capability{"NET_BIND_SERVICE"}},
		},
	}
	return &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Namespace: inside.KubeSystem, Name: DNSName, Labels: labels},
		Spec: appsv1.DeploymentSpec{
			Replicas: &replicas, Selector: &metav1.LabelSelector{MatchLabels: labels},
			Strategy: appsv1.DeploymentStrategy{Type: appsv1.RollingUpdateDeploymentStrategyType, RollingUpdate: &appsv1.RollingUpdateDeployment{
				MaxUnavailable: ptr.To(intstr.FromInt32(1)), MaxSurge: ptr.To(intstr.FromInt32(1)),
			}},
			Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels}, Spec: corev1.PodSpec{
				ServiceAccountName: DNSName, PriorityClassName: "system-cluster-critical", DNSPolicy: corev1.DNSDefault,
				Containers: []corev1.Container{container}, Volumes: []corev1.Volume{configVolume("config", DNSName)},
				TopologySpreadConstraints: []corev1.TopologySpreadConstraint{{
					MaxSkew: 1, TopologyKey: corev1.LabelHostname, WhenUnsatisfiable: corev1.ScheduleAnyway,
					LabelSelector: &metav1.LabelSelector{MatchLabels: labels},
				}},
				Tolerations: []corev1.Toleration{{Key: "CriticalAddonsOnly", Operator: corev1.TolerationOpExists}},
			}},
		},
	}
}
