package install

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hypershift-on-azure/hypershift/api/v1beta1"
	"github.com/hypershift-on-azure/hypershift/internal/kube/proxyenv"
	"github.com/hypershift-on-azure/hypershift/internal/version"
)

const (
	metricsPort = 9000
	healthPort  = 6060
)

// operatorDeployment runs one replica: the operator answers no webhooks, so a second one would only wait for the lease.
func (o *Options) operatorDeployment() client.Object {
	labels := map[string]string{"name": operatorName, "app": operatorName, componentLabel: operatorName}
	replicas := int32(1)
	if o.Development {
		replicas = 0
	}
	pod := corev1.PodSpec{
		ServiceAccountName: operatorName,
		PriorityClassName:  operatorPriority,
		ImagePullSecrets:   o.imagePullSecrets(),
		Containers:         []corev1.Container{o.operatorContainer()},
		// Programs write temporary files although their root is read-only.
		Volumes: []corev1.Volume{{Name: "tmp", VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}}},
		Affinity: &corev1.Affinity{PodAntiAffinity: &corev1.PodAntiAffinity{
			PreferredDuringSchedulingIgnoredDuringExecution: []corev1.WeightedPodAffinityTerm{{Weight: 10, PodAffinityTerm: corev1.PodAffinityTerm{
				LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"name": operatorName}},
				TopologyKey:   corev1.LabelHostname,
			}}},
		}},
	}
	if len(o.TrustBundle) > 0 {
		o.trust(&pod)
	}
	proxyenv.Stamp(&pod, o.Proxy)
	return &appsv1.Deployment{
		TypeMeta: metav1.TypeMeta{APIVersion: "apps/v1", Kind: "Deployment"},
		ObjectMeta: metav1.ObjectMeta{
			Namespace: o.Namespace, Name: operatorName,
			Annotations: map[string]string{"hypershift.openshift.io/install-cli-version": version.Version},
		},
		Spec: appsv1.DeploymentSpec{
			Replicas: &replicas,
			Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"name": operatorName}},
			Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels}, Spec: pod},
		},
	}
}

// trust mounts the user's certificate authorities beside the management cluster's, where programs read all files of the folder.
// Stamp takes the volume for its own, so that there is one.
func (o *Options) trust(pod *corev1.PodSpec) {
	from := func(name, key, path string) corev1.VolumeProjection {
		return corev1.VolumeProjection{ConfigMap: &corev1.ConfigMapProjection{
			LocalObjectReference: corev1.LocalObjectReference{Name: name}, Items: []corev1.KeyToPath{{Key: key, Path: path}},
		}}
	}
	sources := []corev1.VolumeProjection{from(trustBundleName, hyperv1.TrustBundleKey, "user-ca-bundle.pem")}
	if o.Proxy.TrustBundle != "" {
		sources = append(sources, from(o.Proxy.TrustBundle, proxyenv.TrustBundleKey, proxyenv.TrustBundleKey))
	}
	pod.Volumes = append(pod.Volumes, corev1.Volume{Name: proxyenv.TrustBundleName, VolumeSource: corev1.VolumeSource{
		Projected: &corev1.ProjectedVolumeSource{Sources: sources, DefaultMode: new(int32(0o644))},
	}})
	mounts := &pod.Containers[0].VolumeMounts
	*mounts = append(*mounts, corev1.VolumeMount{Name: proxyenv.TrustBundleName, MountPath: proxyenv.TrustBundleDir, ReadOnly: true})
}

func (o *Options) operatorContainer() corev1.Container {
	probe := func(path string, period, failures int32) *corev1.Probe {
		return &corev1.Probe{
			ProbeHandler:     corev1.ProbeHandler{HTTPGet: &corev1.HTTPGetAction{Path: path, Port: intstr.FromString("health")}},
			PeriodSeconds:    period,
			TimeoutSeconds:   5,
			FailureThreshold: failures,
		}
	}
	// Seldom, so that a busy node does not get the operator killed; ready soon, because people wait for it.
	liveness := probe("/healthz", 60, 5)
	liveness.InitialDelaySeconds = 60
	return corev1.Container{
		Name:            operatorName,
		Image:           o.Image,
		ImagePullPolicy: corev1.PullPolicy(o.ImagePullPolicy),
		Command:         []string{"/usr/bin/hypershift-operator"},
		Args:            o.operatorArgs(),
		Env:             o.operatorEnv(),
		Ports: []corev1.ContainerPort{
			{Name: "metrics", ContainerPort: metricsPort, Protocol: corev1.ProtocolTCP},
			{Name: "health", ContainerPort: healthPort, Protocol: corev1.ProtocolTCP},
		},
		LivenessProbe:  liveness,
		ReadinessProbe: probe("/readyz", 2, 3),
		Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{
			corev1.ResourceCPU: resource.MustParse("10m"), corev1.ResourceMemory: resource.MustParse("150Mi"),
		}},
		SecurityContext:          restricted(1000),
		TerminationMessagePolicy: corev1.TerminationMessageFallbackToLogsOnError,
		VolumeMounts:             []corev1.VolumeMount{{Name: "tmp", MountPath: "/tmp"}},
	}
}

func (o *Options) operatorArgs() []string {
	return []string{
		"run",
		"--namespace=$(MY_NAMESPACE)",
		"--pod-name=$(MY_NAME)",
		"--metrics-addr=:" + strconv.Itoa(metricsPort),
		"--health-addr=:" + strconv.Itoa(healthPort),
		fmt.Sprintf("--enable-ocp-cluster-monitoring=%t", o.PlatformMonitoring == "All"),
		fmt.Sprintf("--enable-ci-debug-output=%t", o.CIDebugOutput),
		"--private-platform=" + o.PrivatePlatform,
	}
}

func (o *Options) operatorEnv() []corev1.EnvVar {
	field := func(name, path string) corev1.EnvVar {
		return corev1.EnvVar{Name: name, ValueFrom: &corev1.EnvVarSource{FieldRef: &corev1.ObjectFieldSelector{APIVersion: "v1", FieldPath: path}}}
	}
	env := []corev1.EnvVar{
		field("MY_NAMESPACE", "metadata.namespace"),
		field("MY_NAME", "metadata.name"),
		{Name: "METRICS_SET", Value: o.MetricsSet},
		{Name: "CERT_ROTATION_SCALE", Value: o.CertRotationScale.String()},
	}
	for _, name := range slices.Sorted(maps.Keys(o.ExtraEnv)) {
		isBase := slices.ContainsFunc(env, func(e corev1.EnvVar) bool { return e.Name == name })
		if !isBase {
			env = append(env, corev1.EnvVar{Name: name, Value: o.ExtraEnv[name]})
		}
	}
	if o.TechPreview {
		env = append(env, corev1.EnvVar{Name: "HYPERSHIFT_FEATURESET", Value: "TechPreviewNoUpgrade"})
	}
	if len(o.Platforms) > 0 {
		env = append(env, corev1.EnvVar{Name: "PLATFORMS_INSTALLED", Value: strings.Join(o.Platforms, ",")})
	}
	return env
}

func restricted(uid int64) *corev1.SecurityContext {
	return &corev1.SecurityContext{
		RunAsUser:                &uid,
		RunAsNonRoot:             new(true),
		Privileged:               new(false),
		ReadOnlyRootFilesystem:   new(true),
		AllowPrivilegeEscalation: new(false),
		Capabilities:             &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}},
		SeccompProfile:           &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeRuntimeDefault},
	}
}

func (o *Options) operatorService() client.Object {
	return &corev1.Service{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "Service"},
		ObjectMeta: metav1.ObjectMeta{Namespace: o.Namespace, Name: operatorName, Labels: map[string]string{"name": operatorName}},
		Spec: corev1.ServiceSpec{
			Type:     corev1.ServiceTypeClusterIP,
			Selector: map[string]string{"name": operatorName},
			Ports: []corev1.ServicePort{
				{Name: "metrics", Protocol: corev1.ProtocolTCP, Port: 9393, TargetPort: intstr.FromString("metrics")},
			},
		},
	}
}
