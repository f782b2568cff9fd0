package addons

import (
	"crypto/sha256"
	"encoding/hex"

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

const (
	// MetricsName is the name of the server of resource metrics, and of all that is its own.
	MetricsName = inside.MetricsService

	metricsPort        = 10250
	metricsCertificate = MetricsName + "-serving-cert"
	metricsAuthority   = MetricsName + "-kubelet-ca"
)

// metricsServer tells what pods and nodes use, by which `kubectl top` and autoscalers of pods look. It is an API server of its own
// behind the guest's, which reaches it through the tunnel, and asks kubelets by certificates that the cluster's authority signs.
func metricsServer(facts *inside.Facts) []client.Object {
	account := access.Account(MetricsName)
	return []client.Object{
		access.ServiceAccount(MetricsName),
		access.ClusterRole("system:"+MetricsName,
			rbac.Rule("", "get", "nodes/metrics"),
			rbac.Rule("", rbac.Read, "pods", "nodes")),
		access.Bind("system:"+MetricsName, "system:"+MetricsName, account),
		access.Bind(MetricsName+":system:auth-delegator", "system:auth-delegator", account),
		access.BindRole(inside.KubeSystem, MetricsName+"-auth-reader", contract.AuthenticationReader, account),
		metricsReaders(),
		&corev1.Secret{ObjectMeta: inside.Meta(metricsCertificate), Type: corev1.SecretTypeTLS, Data: map[string][]byte{
			corev1.TLSCertKey: []byte(facts.MetricsCert), corev1.TLSPrivateKeyKey: []byte(facts.MetricsKey)}},
		configMap(metricsAuthority, map[string]string{contract.CAKey: facts.KubeletCA}),
		&corev1.Service{ObjectMeta: inside.Meta(MetricsName), Spec: corev1.ServiceSpec{
			Selector: map[string]string{contract.AppLabel: MetricsName},
			Ports:    []corev1.ServicePort{{Name: "https", Port: 443, Protocol: corev1.ProtocolTCP, TargetPort: intstr.FromInt32(metricsPort)}},
		}},
		metricsDeployment(facts),
	}
}

// metricsReaders lets who may view, edit or administer a namespace see what its pods use.
func metricsReaders() *rbacv1.ClusterRole {
	role := access.ClusterRole("system:aggregated-metrics-reader", rbac.Rule("metrics.k8s.io", rbac.Read, "pods", "nodes"))
	role.Labels = map[string]string{}
	for _, to := range []string{"view", "edit", "admin"} {
		role.Labels["rbac.authorization.k8s.io/aggregate-to-"+to] = "true"
	}
	return role
}

func metricsDeployment(facts *inside.Facts) *appsv1.Deployment {
	labels := map[string]string{contract.AppLabel: MetricsName}
	probe := func(path string, period int32) *corev1.Probe {
		return &corev1.Probe{PeriodSeconds: period, FailureThreshold: 3, TimeoutSeconds: 5, ProbeHandler: corev1.ProbeHandler{
			HTTPGet: &corev1.HTTPGetAction{Path: path, Port: intstr.FromInt32(metricsPort), Scheme: corev1.URISchemeHTTPS}}}
	}
	inputs := sha256.Sum256([]byte(facts.MetricsCert + facts.KubeletCA))
	container := corev1.Container{
		Name: MetricsName, Image: facts.Images[inside.MetricsImage], Command: []string{"/bin/metrics-server"},
		Args: []string{"--secure-port=10250", "--tls-cert-file=/etc/metrics-server/serving/tls.crt", "--tls-private-key-file=/etc/metrics-server/serving/tls.key",
			"--kubelet-certificate-authority=/etc/metrics-server/kubelet/ca.crt", "--kubelet-preferred-address-types=InternalIP",
			"--kubelet-use-node-status-port", "--metric-resolution=15s"},
		Ports:          []corev1.ContainerPort{{Name: "https", ContainerPort: metricsPort, Protocol: corev1.ProtocolTCP}},
		Resources:      requests("20m", "60Mi"),
		ReadinessProbe: probe("/readyz", 5), LivenessProbe: probe("/livez", 10),
		VolumeMounts:    []corev1.VolumeMount{readOnly("serving", "/etc/metrics-server/serving"), readOnly("kubelet", "/etc/metrics-server/kubelet")},
		SecurityContext: unprivileged(), TerminationMessagePolicy: corev1.TerminationMessageFallbackToLogsOnError,
	}
	return &appsv1.Deployment{
		ObjectMeta: inside.Meta(MetricsName),
		Spec: appsv1.DeploymentSpec{
			Replicas: ptr.To[int32](1), Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{
				// It reads its authority when it starts.
				ObjectMeta: metav1.ObjectMeta{Labels: labels, Annotations: map[string]string{"hypershift.openshift.io/certificate-hash": hex.EncodeToString(inputs[:8])}},
				Spec: corev1.PodSpec{
					ServiceAccountName: MetricsName, PriorityClassName: "system-cluster-critical",
					SecurityContext: &corev1.PodSecurityContext{RunAsUser: ptr.To[int64](1000), RunAsNonRoot: ptr.To(true), FSGroup: ptr.To[int64](1000)},
					Containers:      []corev1.Container{container},
					Volumes: []corev1.Volume{{Name: "serving", VolumeSource: corev1.VolumeSource{
						Secret: &corev1.SecretVolumeSource{SecretName: metricsCertificate, DefaultMode: ptr.To[int32](0o440)}}}, configVolume("kubelet", metricsAuthority)},
				},
			},
		},
	}
}
