package hostedcluster

import (
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	hyperv1 "github.com/hypershift-on-azure/hypershift/api/v1beta1"
	"github.com/hypershift-on-azure/hypershift/internal/component"
)

const (
	webhookCertSecret = "capi-webhooks-tls"
	webhookCertDir    = "/etc/webhook-certs"
	capiHealthPort    = 9440
	// Insecure diagnostics are the metrics alone, without profiles.
	capiMetricsPort = 8443
)

// electionFlags: one replica with strategy Recreate never runs twice for long, so the lease may be short, and a manager that was
// killed without releasing it is back soon.
var electionFlags = []string{
	"--leader-elect=true",
	"--leader-elect-lease-duration=30s",
	"--leader-elect-renew-deadline=20s",
	"--leader-elect-retry-period=5s",
}

// managerTraits: the managers talk to the management API with their own service account.
var managerTraits = component.Traits{ManagementAccess: true, Recreate: true}

// clusterAPIDeployment is the core manager. It needs no guest to start: it connects when the cluster's kubeconfig appears.
func (n names) clusterAPIDeployment(image string) *appsv1.Deployment {
	args := append([]string{
		"--namespace=" + n.namespace,
		"--feature-gates=MachinePool=false,ClusterTopology=false,MachineSetPreflightChecks=false",
		// Storage versions of shared CRDs are not the business of one namespace's manager.
		"--skip-crd-migration-phases=StorageVersionMigration,CleanupManagedFields",
		"--webhook-cert-dir=" + webhookCertDir,
		"--health-addr=:9440",
		"--diagnostics-address=0.0.0.0:8443", "--insecure-diagnostics",
		"--v=4",
	}, electionFlags...)
	manager := managerContainer(image, "/bin/cluster-api", args)
	manager.Resources = component.Requests("10m", "40Mi")
	return n.deployment(clusterAPIName, corev1.PodSpec{
		Containers: []corev1.Container{manager},
		Volumes:    []corev1.Volume{webhookCertVolume()},
	})
}

// capiProviderDeployment is the Azure manager with a side-car that keeps its guest token fresh.
func (n names) capiProviderDeployment(image, helperImage string, azure *hyperv1.AzurePlatformSpec) *appsv1.Deployment {
	args := append([]string{
		"--namespace=" + n.namespace,
		"--feature-gates=MachinePool=false,ASOAPI=false",
		"--disable-controllers-or-webhooks=DisableASOSecretController,DisableAzureJSONMachineController",
		"--webhook-cert-dir=" + webhookCertDir,
		"--health-addr=:9440",
		"--diagnostics-address=0.0.0.0:8443", "--insecure-diagnostics",
		// The default holds back every second look at an object for ten seconds.
		"--debouncing-timer=1s",
		"--v=2",
	}, electionFlags...)
	manager := managerContainer(image, "/bin/cluster-api-provider-azure", args)
	manager.Resources = component.Requests("10m", "10Mi")
	manager.Env = []corev1.EnvVar{
		{Name: "AZURE_CLIENT_ID", Value: string(azure.AzureAuthenticationConfig.WorkloadIdentities.NodePoolManagement.ClientID)},
		{Name: "AZURE_TENANT_ID", Value: azure.TenantID},
		{Name: "AZURE_FEDERATED_TOKEN_FILE", Value: component.CloudTokenFile},
	}
	manager.VolumeMounts = append(manager.VolumeMounts, corev1.VolumeMount{Name: "cloud-token", MountPath: component.CloudTokenDir, ReadOnly: true})
	minter := component.TokenMinter(helperImage, component.MachineProvider)
	// An ordinary container: the manager must be able to start, and to delete, while the guest's API is away.
	minter.RestartPolicy, minter.StartupProbe = nil, nil
	return n.deployment(capiProviderName, corev1.PodSpec{
		Containers: []corev1.Container{manager, minter},
		Volumes: []corev1.Volume{
			webhookCertVolume(),
			{Name: "cloud-token", VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{Medium: corev1.StorageMediumMemory}}},
			component.SecretVolume("token-minter-kubeconfig", component.AdminKubeconfigSecret),
		},
	})
}

func managerContainer(image, binary string, args []string) corev1.Container {
	probe := func(path string) *corev1.Probe {
		return &corev1.Probe{PeriodSeconds: 10, TimeoutSeconds: 5, FailureThreshold: 3, ProbeHandler: corev1.ProbeHandler{
			HTTPGet: &corev1.HTTPGetAction{Path: path, Port: intstr.FromInt32(capiHealthPort)}}}
	}
	return corev1.Container{
		Name: "manager", Image: image, Command: []string{binary}, Args: args,
		Ports:          []corev1.ContainerPort{{Name: "healthz", ContainerPort: capiHealthPort}, {Name: "metrics", ContainerPort: capiMetricsPort}},
		LivenessProbe:  probe("/healthz"),
		ReadinessProbe: probe("/readyz"),
		VolumeMounts:   []corev1.VolumeMount{{Name: "webhook-cert", MountPath: webhookCertDir, ReadOnly: true}},
	}
}

func webhookCertVolume() corev1.Volume {
	return component.SecretVolume("webhook-cert", webhookCertSecret)
}

func (n names) deployment(name string, spec corev1.PodSpec) *appsv1.Deployment {
	grace := int64(10)
	spec.TerminationGracePeriodSeconds = &grace
	return &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: n.namespace},
		Spec:       appsv1.DeploymentSpec{Template: corev1.PodTemplateSpec{Spec: spec}},
	}
}
