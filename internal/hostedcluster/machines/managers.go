package machines

import (
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	hyperv1 "github.com/hypershift-on-azure/hypershift/api/v1beta1"
	"github.com/hypershift-on-azure/hypershift/internal/component"
	"github.com/hypershift-on-azure/hypershift/internal/contract"
	"github.com/hypershift-on-azure/hypershift/internal/hostedcluster/workloads"
	"github.com/hypershift-on-azure/hypershift/internal/release"
)

const (
	// WebhookCertSecret is a Secret with the certificate that the managers serve their webhooks with.
	WebhookCertSecret = "capi-webhooks-tls"
	webhookCertDir    = "/etc/webhook-certs"
	// openShiftCertDir is where programs look that are not told.
	openShiftCertDir = "/tmp/k8s-webhook-server/serving-certs"
	healthPort       = 9440
	// Insecure diagnostics are the metrics alone, without profiles.
	metricsPort = 8443
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

// coreDeployment is the core manager. It needs no guest to start: it connects when the cluster's kubeconfig appears.
func coreDeployment(namespace string, payload Payload) *appsv1.Deployment {
	manager := coreManagers[payload.Kind](namespace, payload)
	manager.Image, manager.Resources = payload.Core, component.Requests("10m", "40Mi")
	return workloads.Deployment(namespace, contract.ClusterAPI, corev1.PodSpec{
		Containers: []corev1.Container{manager},
		Volumes:    []corev1.Volume{webhookCertVolume()},
	})
}

// coreManagers and providers are the programs of each kind of payload.
var (
	coreManagers = map[release.Kind]func(namespace string, payload Payload) corev1.Container{
		release.KindKubernetes: plainCore, release.KindOpenShift: openShiftCore,
	}
	providers = map[release.Kind]func(namespace string, payload Payload) corev1.Container{
		release.KindKubernetes: plainProvider, release.KindOpenShift: openShiftProvider,
	}
)

func plainCore(namespace string, _ Payload) corev1.Container {
	return plainManager("/bin/cluster-api", append([]string{
		"--namespace=" + namespace,
		"--feature-gates=MachinePool=false,ClusterTopology=false,MachineSetPreflightChecks=false",
		// Storage versions of shared CRDs are not the business of one namespace's manager.
		"--skip-crd-migration-phases=StorageVersionMigration,CleanupManagedFields",
		"--webhook-cert-dir=" + webhookCertDir,
		"--health-addr=:9440",
		"--diagnostics-address=0.0.0.0:8443", "--insecure-diagnostics",
		"--v=4",
	}, electionFlags...))
}

// providerDeployment is the Azure manager with a side-car that keeps its guest token fresh.
func providerDeployment(namespace string, payload Payload, helperImage string, azure *hyperv1.AzurePlatformSpec) *appsv1.Deployment {
	manager := providers[payload.Kind](namespace, payload)
	manager.Image, manager.Resources = payload.Provider, component.Requests("10m", "10Mi")
	manager.Env = []corev1.EnvVar{
		{Name: contract.AzureClientIDEnv, Value: string(azure.AzureAuthenticationConfig.WorkloadIdentities.NodePoolManagement.ClientID)},
		{Name: contract.AzureTenantIDEnv, Value: azure.TenantID},
		{Name: contract.AzureFederatedTokenFileEnv, Value: component.CloudTokenFile},
	}
	manager.VolumeMounts = append(manager.VolumeMounts, corev1.VolumeMount{Name: "cloud-token", MountPath: component.CloudTokenDir, ReadOnly: true})
	minter := component.TokenMinter(helperImage, component.MachineProvider)
	// An ordinary container: the manager must be able to start, and to delete, while the guest's API is away.
	minter.RestartPolicy, minter.StartupProbe = nil, nil
	return workloads.Deployment(namespace, contract.ClusterAPIProvider, corev1.PodSpec{
		Containers: []corev1.Container{manager, minter},
		Volumes: []corev1.Volume{
			webhookCertVolume(),
			{Name: "cloud-token", VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{Medium: corev1.StorageMediumMemory}}},
			component.SecretVolume(contract.TokenMinterKubeconfig, contract.ServiceKubeconfig),
		},
	})
}

func plainProvider(namespace string, _ Payload) corev1.Container {
	return plainManager("/bin/cluster-api-provider-azure", append([]string{
		"--namespace=" + namespace,
		"--feature-gates=MachinePool=false,ASOAPI=false",
		"--disable-controllers-or-webhooks=DisableASOSecretController,DisableAzureJSONMachineController",
		"--webhook-cert-dir=" + webhookCertDir,
		"--health-addr=:9440",
		"--diagnostics-address=0.0.0.0:8443", "--insecure-diagnostics",
		// The default holds back every second look at an object for ten seconds.
		"--debouncing-timer=1s",
		"--v=2",
	}, electionFlags...))
}

func plainManager(binary string, args []string) corev1.Container {
	c := managerContainer(webhookCertDir, args)
	c.Command = []string{binary}
	c.Ports = append(c.Ports, corev1.ContainerPort{Name: "metrics", ContainerPort: metricsPort})
	return c
}

// openShiftCore has no command: the entry point of the image has had several names.
func openShiftCore(namespace string, payload Payload) corev1.Container {
	return managerContainer(openShiftCertDir, slices.Concat([]string{"--namespace=" + namespace, "--v=4"}, electionFlags,
		payload.since(4, 19, "--feature-gates=MachineSetPreflightChecks=false"),
		payload.since(4, 20, "--skip-crd-migration-phases=StorageVersionMigration,CleanupManagedFields"),
		payload.since(5, 0, payload.TLS.Flags()...)))
}

func openShiftProvider(namespace string, payload Payload) corev1.Container {
	return managerContainer(openShiftCertDir, slices.Concat([]string{"--namespace=" + namespace}, electionFlags,
		[]string{"--feature-gates=MachinePool=false,ASOAPI=false", "--disable-controllers-or-webhooks=DisableASOSecretController"},
		payload.since(5, 0, payload.TLS.Flags()...)))
}

func managerContainer(certs string, args []string) corev1.Container {
	probe := func(path string) *corev1.Probe { return workloads.Probe(path, healthPort, 10, 5, 3) }
	return corev1.Container{
		Name: "manager", Args: args,
		Ports:          []corev1.ContainerPort{{Name: "healthz", ContainerPort: healthPort}},
		LivenessProbe:  probe("/healthz"),
		ReadinessProbe: probe("/readyz"),
		VolumeMounts:   []corev1.VolumeMount{{Name: "webhook-cert", MountPath: certs, ReadOnly: true}},
	}
}

func webhookCertVolume() corev1.Volume {
	return component.SecretVolume("webhook-cert", WebhookCertSecret)
}
