package install

import (
	"strconv"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

const (
	dashboardName = "dashboard"
	// dashboardViewer is a role for people; nobody is bound to it.
	dashboardViewer = "hypershift-dashboard-viewer"
	dashboardPort   = 8443
	// DashboardCertificate is the Secret, of type kubernetes.io/tls, that the dashboard serves with. OpenShift makes it; elsewhere whoever installs.
	DashboardCertificate = "dashboard-serving-cert"
	// servingCertificate has OpenShift make a Secret with a certificate for a Service.
	servingCertificate = "service.beta.openshift.io/serving-cert-secret-name"
	dashboardCertDir   = "/etc/dashboard/certificate"
)

// dashboard shows hosted clusters to people who sign in. Its service account has no rights: everything is read with the token of who looks. The
// ClusterRole is what people need to see all of it, for an administrator to bind them to.
func (o *Options) dashboard() []client.Object {
	if !o.Dashboard {
		return nil
	}
	return []client.Object{
		o.serviceAccount(dashboardName),
		clusterRole(dashboardViewer, readerRules()),
		o.dashboardDeployment(),
		&corev1.Service{
			TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Service"},
			ObjectMeta: metav1.ObjectMeta{Namespace: o.Namespace, Name: dashboardName, Labels: map[string]string{"name": dashboardName},
				Annotations: map[string]string{servingCertificate: DashboardCertificate}},
			Spec: corev1.ServiceSpec{
				Type:     corev1.ServiceTypeClusterIP,
				Selector: map[string]string{"name": dashboardName},
				Ports:    []corev1.ServicePort{{Name: "https", Protocol: corev1.ProtocolTCP, Port: 443, TargetPort: intstr.FromString("https")}},
			},
		},
	}
}

func (o *Options) dashboardDeployment() client.Object {
	replicas := int32(1)
	if o.Development {
		replicas = 0
	}
	pod := corev1.PodSpec{
		ServiceAccountName: dashboardName,
		ImagePullSecrets:   o.imagePullSecrets(),
		Containers:         []corev1.Container{o.dashboardContainer()},
		Volumes: []corev1.Volume{{Name: "certificate", VolumeSource: corev1.VolumeSource{
			Secret: &corev1.SecretVolumeSource{SecretName: DashboardCertificate},
		}}},
	}
	return &appsv1.Deployment{
		TypeMeta:   metav1.TypeMeta{APIVersion: "apps/v1", Kind: "Deployment"},
		ObjectMeta: metav1.ObjectMeta{Namespace: o.Namespace, Name: dashboardName, Annotations: o.given(o.OperatorImage(), nil)},
		Spec: appsv1.DeploymentSpec{
			Replicas: &replicas,
			Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"name": dashboardName}},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"name": dashboardName, "app": dashboardName, componentLabel: dashboardName}},
				Spec:       pod,
			},
		},
	}
}

func (o *Options) dashboardContainer() corev1.Container {
	probe := func(period, failures int32) *corev1.Probe {
		p := healthProbe("/healthz", period, failures)
		p.HTTPGet.Port, p.HTTPGet.Scheme = intstr.FromString("https"), corev1.URISchemeHTTPS
		return p
	}
	return corev1.Container{
		Name:            dashboardName,
		Image:           o.pinned(o.OperatorImage()),
		ImagePullPolicy: corev1.PullPolicy(o.ImagePullPolicy),
		Command:         []string{"/usr/bin/hypershift-operator"},
		Args: []string{
			"dashboard",
			"--namespace=" + o.Namespace,
			"--listen-addr=:" + strconv.Itoa(dashboardPort),
			"--cert-dir=" + dashboardCertDir,
		},
		Ports:          []corev1.ContainerPort{{Name: "https", ContainerPort: dashboardPort, Protocol: corev1.ProtocolTCP}},
		LivenessProbe:  probe(10, 6),
		ReadinessProbe: probe(2, 3),
		Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{
			corev1.ResourceCPU: resource.MustParse("10m"), corev1.ResourceMemory: resource.MustParse("40Mi"),
		}},
		SecurityContext:          restricted(1000),
		TerminationMessagePolicy: corev1.TerminationMessageFallbackToLogsOnError,
		VolumeMounts:             []corev1.VolumeMount{{Name: "certificate", MountPath: dashboardCertDir, ReadOnly: true}},
	}
}
