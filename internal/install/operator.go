package install

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hypershift-on-azure/hypershift/api/v1beta1"
	"github.com/hypershift-on-azure/hypershift/internal/contract"
	"github.com/hypershift-on-azure/hypershift/internal/conversion/wire"
	"github.com/hypershift-on-azure/hypershift/internal/kube/proxyenv"
	"github.com/hypershift-on-azure/hypershift/internal/version"
)

const (
	metricsPort = 9000
	healthPort  = 6060
	webhookPort = 9443
)

// imageVariables are the operator's replacements for images of the payload, by their tag in an ImageStream.
var imageVariables = map[string]string{
	contract.ClusterAPI:          contract.ClusterAPIImageEnv,
	"cluster-api-provider-azure": contract.AzureProviderImageEnv,
	contract.ImageKonnectivity:   contract.KonnectivityImageEnv,
}

// operatorTag replaces the operator's own image.
const operatorTag = contract.Operator

// OperatorImage is the image that the operator runs, wherever it was named.
func (o *Options) OperatorImage() string {
	if image := o.ImageRefs[operatorTag]; image != "" {
		return image
	}
	return o.Image
}

func (o *Options) operatorDeployment() client.Object {
	labels := map[string]string{"name": operatorName, "app": operatorName, componentLabel: operatorName}
	replicas := o.replicas()
	pod := corev1.PodSpec{
		ServiceAccountName: operatorName,
		PriorityClassName:  operatorPriority,
		ImagePullSecrets:   o.imagePullSecrets(),
		Containers:         []corev1.Container{o.operatorContainer()},
		// Programs write temporary files although their root is read-only.
		Volumes:  []corev1.Volume{{Name: "tmp", VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}}},
		Affinity: spread(operatorName),
	}
	if len(o.TrustBundle) > 0 {
		o.trust(&pod)
	}
	if len(o.ReleaseSignatureKeys) > 0 {
		mountReleaseKeys(&pod)
	}
	proxyenv.Stamp(&pod, o.Proxy)
	return &appsv1.Deployment{
		TypeMeta: metav1.TypeMeta{APIVersion: "apps/v1", Kind: "Deployment"},
		ObjectMeta: metav1.ObjectMeta{
			Namespace: o.Namespace, Name: operatorName,
			Annotations: o.given(o.OperatorImage(), map[string]string{"hypershift.openshift.io/install-cli-version": version.Version}),
		},
		Spec: appsv1.DeploymentSpec{
			Replicas: &replicas,
			Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"name": operatorName}},
			Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels, Annotations: restartOn(o.TrustBundle, o.ReleaseSignatureKeys)}, Spec: pod},
		},
	}
}

// inputsHash changes with the files that a program reads once, when it starts.
const inputsHash = "hypershift.openshift.io/install-inputs-hash"

func restartOn(files ...[]byte) map[string]string {
	all := sha256.New()
	given := false
	for _, file := range files {
		given = given || len(file) > 0
		fmt.Fprintf(all, "%d:%s", len(file), file)
	}
	if !given {
		return nil
	}
	return map[string]string{inputsHash: hex.EncodeToString(all.Sum(nil))}
}

// spread prefers a node for each replica.
func spread(name string) *corev1.Affinity {
	return &corev1.Affinity{PodAntiAffinity: &corev1.PodAntiAffinity{
		PreferredDuringSchedulingIgnoredDuringExecution: []corev1.WeightedPodAffinityTerm{{Weight: 10, PodAffinityTerm: corev1.PodAffinityTerm{
			LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"name": name}},
			TopologyKey:   corev1.LabelHostname,
		}}},
	}}
}

func healthProbe(path string, period, failures int32) *corev1.Probe {
	return &corev1.Probe{
		ProbeHandler:     corev1.ProbeHandler{HTTPGet: &corev1.HTTPGetAction{Path: path, Port: intstr.FromString("health")}},
		PeriodSeconds:    period,
		TimeoutSeconds:   5,
		FailureThreshold: failures,
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
	sources := []corev1.VolumeProjection{from(trustBundleName, hyperv1.TrustBundleKey, proxyenv.GivenBundleFile)}
	if o.Proxy.TrustBundle != "" {
		sources = append(sources, from(o.Proxy.TrustBundle, contract.CABundleKey, contract.CABundleKey))
	}
	pod.Volumes = append(pod.Volumes, corev1.Volume{Name: contract.TrustedCA, VolumeSource: corev1.VolumeSource{
		Projected: &corev1.ProjectedVolumeSource{Sources: sources, DefaultMode: new(int32(0o644))},
	}})
	mounts := &pod.Containers[0].VolumeMounts
	*mounts = append(*mounts, corev1.VolumeMount{Name: contract.TrustedCA, MountPath: proxyenv.TrustBundleDir, ReadOnly: true})
}

// releaseKeysDir is where the operator has the keys that sign releases.
const releaseKeysDir = "/etc/release-signature-keys"

func mountReleaseKeys(pod *corev1.PodSpec) {
	pod.Volumes = append(pod.Volumes, corev1.Volume{Name: contract.ReleaseSignatureKeys, VolumeSource: corev1.VolumeSource{
		ConfigMap: &corev1.ConfigMapVolumeSource{LocalObjectReference: corev1.LocalObjectReference{Name: contract.ReleaseSignatureKeys}},
	}})
	mounts := &pod.Containers[0].VolumeMounts
	*mounts = append(*mounts, corev1.VolumeMount{Name: contract.ReleaseSignatureKeys, MountPath: releaseKeysDir, ReadOnly: true})
}

func (o *Options) operatorContainer() corev1.Container {
	// Seldom, so that a busy node does not get the operator killed; ready soon, because people wait for it.
	liveness := healthProbe("/healthz", 60, 5)
	liveness.InitialDelaySeconds = 60
	return corev1.Container{
		Name:            operatorName,
		Image:           o.pinned(o.OperatorImage()),
		ImagePullPolicy: corev1.PullPolicy(o.ImagePullPolicy),
		Command:         []string{"/usr/bin/hypershift-operator"},
		Args:            o.operatorArgs(),
		Env:             o.operatorEnv(),
		Ports: []corev1.ContainerPort{
			{Name: "metrics", ContainerPort: metricsPort, Protocol: corev1.ProtocolTCP},
			{Name: "health", ContainerPort: healthPort, Protocol: corev1.ProtocolTCP},
			{Name: "manager", ContainerPort: webhookPort, Protocol: corev1.ProtocolTCP},
		},
		LivenessProbe:  liveness,
		ReadinessProbe: healthProbe("/readyz", 2, 3),
		Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{
			corev1.ResourceCPU: resource.MustParse("10m"), corev1.ResourceMemory: resource.MustParse("150Mi"),
		}},
		SecurityContext:          restricted(1000),
		TerminationMessagePolicy: corev1.TerminationMessageFallbackToLogsOnError,
		VolumeMounts:             []corev1.VolumeMount{{Name: "tmp", MountPath: "/tmp"}},
	}
}

func (o *Options) operatorArgs() []string {
	args := []string{
		"run",
		"--namespace=$(MY_NAMESPACE)",
		"--pod-name=$(MY_NAME)",
		"--metrics-addr=:" + strconv.Itoa(metricsPort),
		"--health-addr=:" + strconv.Itoa(healthPort),
		fmt.Sprintf("--enable-ocp-cluster-monitoring=%t", o.PlatformMonitoring == "All"),
		fmt.Sprintf("--enable-ci-debug-output=%t", o.CIDebugOutput),
		"--private-platform=" + o.PrivatePlatform,
	}
	for _, cidr := range o.EgressBlockCIDRs {
		args = append(args, "--hcp-egress-block-cidrs="+cidr)
	}
	if o.MaxConcurrentUpgrades > 0 {
		args = append(args, fmt.Sprintf("--max-concurrent-upgrades=%d", o.MaxConcurrentUpgrades))
	}
	if o.AllowPrivateRegistries {
		args = append(args, "--allow-private-registries")
	}
	if len(o.ReleaseSignatureKeys) > 0 {
		args = append(args, "--release-signature-keys="+releaseKeysDir+"/"+ReleaseKeysKey)
	}
	if o.RegistryOverrides != "" {
		args = append(args, "--registry-overrides="+o.RegistryOverrides)
	}
	if o.webhooks() {
		args = append(args, "--webhook-port="+strconv.Itoa(webhookPort))
	}
	if o.IngressDomain != "" {
		args = append(args, "--ingress-domain="+o.IngressDomain)
	}
	return args
}

func (o *Options) operatorEnv() []corev1.EnvVar {
	field := func(name, path string) corev1.EnvVar {
		return corev1.EnvVar{Name: name, ValueFrom: &corev1.EnvVarSource{FieldRef: &corev1.ObjectFieldSelector{APIVersion: "v1", FieldPath: path}}}
	}
	env := []corev1.EnvVar{
		field(contract.NamespaceEnv, "metadata.namespace"),
		field("MY_NAME", "metadata.name"),
		{Name: contract.MetricsSetEnv, Value: o.MetricsSet},
		{Name: contract.CertificateScaleEnv, Value: o.CertRotationScale.String()},
		{Name: "KUBE_FEATURE_WatchListClient", Value: "false"},
	}
	for _, name := range slices.Sorted(maps.Keys(o.ExtraEnv)) {
		isBase := slices.ContainsFunc(env, func(e corev1.EnvVar) bool { return e.Name == name })
		if !isBase {
			env = append(env, corev1.EnvVar{Name: name, Value: o.ExtraEnv[name]})
		}
	}
	if o.TechPreview {
		env = append(env, corev1.EnvVar{Name: contract.FeatureSetEnv, Value: "TechPreviewNoUpgrade"})
	}
	if o.KeyVaultClientID != "" {
		env = append(env, corev1.EnvVar{Name: "ARO_HCP_KEY_VAULT_USER_CLIENT_ID", Value: o.KeyVaultClientID})
	}
	stored := storedVersion
	if o.NoCAPIMigration {
		stored = formerVersion
	}
	env = append(env, corev1.EnvVar{Name: "CAPI_STORAGE_VERSION", Value: stored})
	if len(o.Platforms) > 0 {
		env = append(env, corev1.EnvVar{Name: "PLATFORMS_INSTALLED", Value: strings.Join(o.Platforms, ",")})
	}
	if o.MonitoringDashboards {
		env = append(env, corev1.EnvVar{Name: contract.MonitoringDashboardsEnv, Value: "1"})
	}
	for _, tag := range slices.Sorted(maps.Keys(imageVariables)) {
		if image := o.ImageRefs[tag]; image != "" {
			env = append(env, corev1.EnvVar{Name: imageVariables[tag], Value: image})
		}
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

// disruptionBudget lets nodes be drained, one replica at a time.
func (o *Options) disruptionBudget(name string) client.Object {
	return &policyv1.PodDisruptionBudget{
		TypeMeta:   metav1.TypeMeta{APIVersion: "policy/v1", Kind: "PodDisruptionBudget"},
		ObjectMeta: metav1.ObjectMeta{Namespace: o.Namespace, Name: name},
		Spec: policyv1.PodDisruptionBudgetSpec{
			MinAvailable: new(intstr.FromInt32(1)),
			Selector:     &metav1.LabelSelector{MatchLabels: map[string]string{"name": name}},
		},
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
				{Name: "manager", Protocol: corev1.ProtocolTCP, Port: wire.ServicePort, TargetPort: intstr.FromString("manager")},
			},
		},
	}
}
