package install

import (
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/hypershift-on-azure/hypershift/internal/kube/proxyenv"
)

const (
	externalDNSName       = "external-dns"
	externalDNSSecretName = "external-dns-credentials"
	externalDNSMount      = "/etc/provider"
	// externalDNSSecretKey is the key that a Secret given by name must have, too.
	externalDNSSecretKey = "credentials"

	// DefaultExternalDNSImage is the vendor's image; pulling it needs the vendor's pull secret.
	DefaultExternalDNSImage = "registry.redhat.io/edo/external-dns-rhel8@sha256:9f60c682b44497d9736a04991c0d2b3485d477f6c89a87c4a44a211a3d1f3cd4"
)

func (o *Options) externalDNS() []client.Object {
	e := o.ExternalDNS
	if e.Provider == "" {
		return nil
	}
	objs := []client.Object{
		o.serviceAccount(externalDNSName),
		clusterRole(externalDNSName, externalDNSRules()),
		o.clusterRoleBinding(externalDNSName, externalDNSName),
	}
	if e.SecretName == "" {
		objs = append(objs, &corev1.Secret{
			TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "Secret"},
			ObjectMeta: metav1.ObjectMeta{Namespace: o.Namespace, Name: externalDNSSecretName},
			Data:       map[string][]byte{externalDNSSecretKey: e.Credentials},
		})
	}
	return append(objs, o.externalDNSDeployment())
}

func (o *Options) externalDNSDeployment() client.Object {
	e := o.ExternalDNS
	secret := e.SecretName
	if secret == "" {
		secret = externalDNSSecretName
	}
	pod := corev1.PodSpec{
		ServiceAccountName: externalDNSName,
		PriorityClassName:  operatorPriority,
		ImagePullSecrets:   []corev1.LocalObjectReference{{Name: pullSecretName}},
		Containers:         []corev1.Container{e.container()},
		Volumes: []corev1.Volume{{Name: "credentials", VolumeSource: corev1.VolumeSource{
			Secret: &corev1.SecretVolumeSource{SecretName: secret},
		}}},
	}
	proxyenv.Stamp(&pod, o.Proxy)
	labels := map[string]string{"name": externalDNSName, "app": externalDNSName, componentLabel: externalDNSName}
	return &appsv1.Deployment{
		TypeMeta:   metav1.TypeMeta{APIVersion: "apps/v1", Kind: "Deployment"},
		ObjectMeta: metav1.ObjectMeta{Namespace: o.Namespace, Name: externalDNSName},
		Spec: appsv1.DeploymentSpec{
			Replicas: new(int32(1)),
			Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"name": externalDNSName}},
			Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels}, Spec: pod},
		},
	}
}

func (e ExternalDNS) container() corev1.Container {
	interval := e.Interval
	if interval == "" {
		interval = "1m"
	}
	c := corev1.Container{
		Name:            externalDNSName,
		Image:           e.Image,
		ImagePullPolicy: corev1.PullIfNotPresent,
		Command:         []string{"/external-dns"},
		Args: []string{
			"--source=service", "--source=openshift-route", "--domain-filter=" + e.DomainFilter, "--provider=" + e.Provider,
			"--registry=txt", "--txt-suffix=-external-dns", "--txt-owner-id=" + e.TXTOwnerID,
			"--label-filter=hypershift.openshift.io/route-visibility!=private", "--interval=" + interval, "--txt-cache-interval=1h",
		},
		Ports: []corev1.ContainerPort{{Name: "metrics", ContainerPort: 7979, Protocol: corev1.ProtocolTCP}},
		LivenessProbe: &corev1.Probe{
			ProbeHandler:        corev1.ProbeHandler{HTTPGet: &corev1.HTTPGetAction{Path: "/healthz", Port: intstr.FromInt32(7979)}},
			InitialDelaySeconds: 60, PeriodSeconds: 60, FailureThreshold: 5, TimeoutSeconds: 5,
		},
		Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{
			corev1.ResourceCPU: resource.MustParse("5m"), corev1.ResourceMemory: resource.MustParse("20Mi"),
		}},
		SecurityContext:          &corev1.SecurityContext{Privileged: new(false), ReadOnlyRootFilesystem: new(true)},
		TerminationMessagePolicy: corev1.TerminationMessageFallbackToLogsOnError,
		VolumeMounts:             []corev1.VolumeMount{{Name: "credentials", MountPath: externalDNSMount, ReadOnly: true}},
	}
	if e.Provider == "azure" {
		c.Args = append(c.Args, "--azure-config-file="+externalDNSMount+"/"+externalDNSSecretKey)
		// Azure throttles when many clusters publish at once; fewer retries spread the load.
		c.Env = []corev1.EnvVar{{Name: "AZURE_SDK_MAX_RETRIES", Value: "5"}}
	}
	return c
}
