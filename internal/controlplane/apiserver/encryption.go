package apiserver

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	hyperv1 "github.com/hypershift-on-azure/hypershift/api/v1beta1"
	"github.com/hypershift-on-azure/hypershift/internal/component"
	"github.com/hypershift-on-azure/hypershift/internal/contract"
	"github.com/hypershift-on-azure/hypershift/internal/encryption"
)

// AnnotationEncryptionHash of a pod is the hash of the encryption configuration it runs with.
const AnnotationEncryptionHash = "hypershift.openshift.io/secret-encryption-config-hash"

// KMSAccount is the guest service account that the identity of the key vault is federated with.
var KMSAccount = component.Token{Namespace: metav1.NamespaceSystem, ServiceAccount: "kms-provider"}

const (
	encryptionDir    = configDir + "/secret-encryption"
	localKubeconfig  = contract.LocalhostKubeconfig
	kmsSocketsVolume = "kms-sockets"
	kmsTokenVolume   = "cloud-token"
	kmsHealthPort    = 8787
	kmsMetricsPort   = 8095
)

// encryptionArgs tell the API server where its configuration is. It is not reloaded: a rotation has to know what each pod runs with.
func encryptionArgs(ctx *component.Context) []string {
	if ctx.HCP.Spec.SecretEncryption == nil {
		return nil
	}
	return []string{
		"--encryption-provider-config=" + encryptionDir + "/" + encryption.ConfigKey,
		"--encryption-provider-config-automatic-reload=false",
	}
}

// encrypt gives the pod the configuration and, for keys of a key vault, the providers that reach it.
func encrypt(ctx *component.Context, template *corev1.PodTemplateSpec) {
	if ctx.HCP.Spec.SecretEncryption == nil {
		return
	}
	pod := &template.Spec
	server := &pod.Containers[0]
	pod.Volumes = append(pod.Volumes, component.SecretVolume("secret-encryption", encryption.ConfigSecret))
	server.VolumeMounts = append(server.VolumeMounts, component.Mount("secret-encryption:"+encryptionDir))
	if config, known := ctx.Inputs.Data("Secret", encryption.ConfigSecret); known {
		template.Annotations = map[string]string{AnnotationEncryptionHash: encryption.Hash(config[encryption.ConfigKey])}
	}
	addKMS(ctx, pod)
}

// addKMS adds a provider for each key of a key vault. Only they get the way to the cloud: the API server itself must not begin to send
// its calls to webhooks and identity providers through a proxy.
func addKMS(ctx *component.Context, pod *corev1.PodSpec) {
	write, read := encryption.Keys(ctx.HCP.Status.SecretEncryption)
	var providers []corev1.Container
	if write != nil && write.Azure != nil {
		providers = append(providers, kmsProvider(ctx, "active", write.Azure, encryption.ActiveSocket, 0))
	}
	if read != nil && read.Azure != nil {
		providers = append(providers, kmsProvider(ctx, "backup", read.Azure, encryption.BackupSocket, 1))
	}
	if len(providers) == 0 {
		return
	}
	side := corev1.PodTemplateSpec{Spec: corev1.PodSpec{Containers: providers, Volumes: []corev1.Volume{
		component.EmptyDirVolume(kmsSocketsVolume),
		{Name: "kms-config", VolumeSource: corev1.VolumeSource{Secret: &corev1.SecretVolumeSource{
			SecretName: contract.KMSConfig, Items: []corev1.KeyToPath{{Key: contract.CloudConfigKey, Path: "azure.json"}}}}},
	}}}
	if ctx.Settings.Cloud != nil {
		ctx.Settings.Cloud(&side)
	}
	if workloadIdentity(ctx.HCP) != nil {
		side.Spec.Containers = append(side.Spec.Containers, kmsTokenMinter(ctx))
		side.Spec.Volumes = append(side.Spec.Volumes, component.SecretVolume(localKubeconfig, localKubeconfig),
			corev1.Volume{Name: kmsTokenVolume, VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{Medium: corev1.StorageMediumMemory}}})
	}
	server := &pod.Containers[0]
	server.VolumeMounts = append(server.VolumeMounts, corev1.VolumeMount{Name: kmsSocketsVolume, MountPath: encryption.SocketDir})
	// A vault that does not answer is no reason to restart an API server, which would then not come back.
	server.LivenessProbe.HTTPGet.Path += "&exclude=kms-providers"
	pod.Containers = append(pod.Containers, side.Spec.Containers...)
	pod.Volumes = append(pod.Volumes, side.Spec.Volumes...)
}

func workloadIdentity(hcp *hyperv1.HostedControlPlane) *hyperv1.WorkloadIdentity {
	if kms := hcp.Spec.SecretEncryption.KMS; kms != nil && kms.Azure != nil {
		return kms.Azure.WorkloadIdentity
	}
	return nil
}

// kmsProvider is the side-car that wraps the API server's keys with one key of a vault.
func kmsProvider(ctx *component.Context, role string, key *hyperv1.AzureKMSKey, socket string, index int32) corev1.Container {
	health, metrics := kmsHealthPort+index, kmsMetricsPort+index
	c := corev1.Container{
		Name: "azure-kms-provider-" + role, Image: ctx.Settings.Image,
		Command: []string{component.Binary, contract.CommandKMSProvider,
			"--keyvault-name=" + key.KeyVaultName, "--key-name=" + key.KeyName, "--key-version=" + key.KeyVersion,
			"--listen-addr=unix://" + socket,
			fmt.Sprintf("--healthz-port=%d", health), "--healthz-path=/healthz",
			fmt.Sprintf("--metrics-addr=%d", metrics),
			"--config-file-path=/etc/kubernetes/azure.json",
			"-v=1"},
		Ports: []corev1.ContainerPort{
			{Name: fmt.Sprintf("kms-health-%d", index), ContainerPort: health, Protocol: corev1.ProtocolTCP},
			{Name: fmt.Sprintf("kms-metrics-%d", index), ContainerPort: metrics, Protocol: corev1.ProtocolTCP}},
		Resources: component.Requests("10m", "10Mi"),
		LivenessProbe: &corev1.Probe{InitialDelaySeconds: 120, PeriodSeconds: 300, TimeoutSeconds: 160, FailureThreshold: 3, ProbeHandler: corev1.ProbeHandler{
			HTTPGet: &corev1.HTTPGetAction{Path: "/healthz", Port: intstr.FromInt32(health), Scheme: corev1.URISchemeHTTP}}},
		VolumeMounts: []corev1.VolumeMount{
			{Name: kmsSocketsVolume, MountPath: encryption.SocketDir}, component.Mount("kms-config:/etc/kubernetes")},
	}
	if kms := ctx.HCP.Spec.SecretEncryption.KMS; kms != nil && kms.Azure != nil && kms.Azure.KeyVaultType == "ManagedHSM" {
		c.Command = append(c.Command, "--managed-hsm")
	}
	if identity := workloadIdentity(ctx.HCP); identity != nil {
		c.Env = []corev1.EnvVar{
			{Name: contract.AzureClientIDEnv, Value: string(identity.ClientID)},
			{Name: contract.AzureTenantIDEnv, Value: ctx.HCP.Spec.Platform.Azure.TenantID},
			{Name: contract.AzureFederatedTokenFileEnv, Value: component.CloudTokenFile}}
		c.VolumeMounts = append(c.VolumeMounts, corev1.VolumeMount{Name: kmsTokenVolume, MountPath: component.CloudTokenDir, ReadOnly: true})
	}
	return c
}

// kmsTokenMinter asks the API server beside it, which answers before it is ready: its Service would have to wait for the key vault first.
// For the same reason it is no side-car that the others wait for.
func kmsTokenMinter(ctx *component.Context) corev1.Container {
	c := component.TokenMinter(ctx.Settings.Image, KMSAccount)
	c.Name, c.RestartPolicy, c.StartupProbe = "azure-kms-token-minter", nil, nil
	for i, mount := range c.VolumeMounts {
		if mount.Name == contract.TokenMinterKubeconfig {
			c.VolumeMounts[i].Name = localKubeconfig
		}
	}
	return c
}
