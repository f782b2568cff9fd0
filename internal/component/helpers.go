package component

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hypershift-on-azure/hypershift/api/v1beta1"
	"github.com/hypershift-on-azure/hypershift/internal/clusterconfig"
	"github.com/hypershift-on-azure/hypershift/internal/contract"
)

// Binary is the control-plane-operator inside its image; the image has no shell.
const Binary = "/usr/bin/control-plane-operator"

// Names that helpers and components share.
const (

	// CloudTokenDir holds the token that Azure clients exchange; its file name is CloudTokenFile.
	CloudTokenDir  = "/var/run/secrets/openshift/serviceaccount"
	CloudTokenFile = CloudTokenDir + "/token"
	// CloudAudience is the audience of the federated credentials.
	CloudAudience = "openshift"

	cloudTokenVolume = "cloud-token"
	proberMount      = "/etc/availability-prober"
)

// CipherSuites of TLS 1.2 are those of the profile Intermediate, for what only the control plane itself talks to: no profile of the user's
// changes them.
var CipherSuites = strings.Join(clusterconfig.TLSOf(nil).Suites, ",")

// WaitTarget is what a pod waits for before its containers start.
type WaitTarget string

// Targets of the availability prober.
const (
	WaitForAPIServer WaitTarget = "https://kube-apiserver:6443/readyz"
	WaitForEtcd      WaitTarget = "https://etcd-client:2379/health"
)

func (t WaitTarget) volumes() []corev1.Volume {
	if t == WaitForEtcd {
		return []corev1.Volume{ConfigMapVolume("prober-ca", contract.EtcdCA), SecretVolume("prober-client", contract.EtcdClientCertificate)}
	}
	return []corev1.Volume{ConfigMapVolume("prober-ca", contract.RootCA)}
}

// AddAvailabilityProber appends the prober with its volumes, for a component whose init containers have an order of their own, and returns it.
func AddAvailabilityProber(spec *corev1.PodSpec, image string, target WaitTarget) *corev1.Container {
	spec.InitContainers = append(spec.InitContainers, AvailabilityProber(image, target))
	addVolumes(spec, target.volumes()...)
	return &spec.InitContainers[len(spec.InitContainers)-1]
}

// AvailabilityProber is the init container that ends when the target answers; Stamp adds it, with its volumes, for Traits.WaitFor.
func AvailabilityProber(image string, target WaitTarget) corev1.Container {
	c := corev1.Container{
		Name: "availability-prober", Image: image,
		Command:      []string{Binary, contract.CommandProber, "--target=" + string(target), "--ca-file=" + proberMount + "/ca/ca.crt"},
		Resources:    Requests("10m", "10Mi"),
		VolumeMounts: []corev1.VolumeMount{{Name: "prober-ca", MountPath: proberMount + "/ca", ReadOnly: true}},
	}
	if target == WaitForEtcd {
		c.Command = append(c.Command, "--cert-file="+proberMount+"/client/etcd-client.crt", "--key-file="+proberMount+"/client/etcd-client.key")
		c.VolumeMounts = append(c.VolumeMounts, corev1.VolumeMount{Name: "prober-client", MountPath: proberMount + "/client", ReadOnly: true})
	}
	return c
}

// AccessProber is the init container that ends when the guest's API answers and has the binding that gives the pod its rights, which
// they must allow to read. volume has the pod's kubeconfig.
func AccessProber(image, volume, binding string) corev1.Container {
	return corev1.Container{
		Name: "availability-prober", Image: image,
		Command: []string{Binary, contract.CommandProber,
			"--kubeconfig=/etc/kubernetes/kubeconfig/kubeconfig", WaitForBinding + binding},
		Resources:    Requests("10m", "10Mi"),
		VolumeMounts: []corev1.VolumeMount{Mount(volume + ":/etc/kubernetes/kubeconfig")},
	}
}

// APIProber is the init container that ends when the guest's API answers and serves the kinds, each "group,version,Kind". volume has the pod's
// kubeconfig.
func APIProber(image, volume string, kinds ...string) corev1.Container {
	c := AvailabilityProber(image, WaitForAPIServer)
	c.Command = append(c.Command, "--kubeconfig="+proberMount+"/kubeconfig/kubeconfig")
	for _, kind := range kinds {
		c.Command = append(c.Command, "--required-api="+kind)
	}
	c.VolumeMounts = append(c.VolumeMounts, Mount(volume+":"+proberMount+"/kubeconfig"))
	return c
}

// AddAPIProber puts the prober before all other init containers, with what it mounts, and returns it.
func AddAPIProber(spec *corev1.PodSpec, image, volume string, kinds ...string) *corev1.Container {
	spec.InitContainers = append([]corev1.Container{APIProber(image, volume, kinds...)}, spec.InitContainers...)
	addVolumes(spec, WaitForAPIServer.volumes()...)
	return &spec.InitContainers[0]
}

// Arguments of the prober that APIProber does not set.
const (
	// WaitForInfrastructure waits until the guest's Infrastructure has its name.
	WaitForInfrastructure = "--wait-for-infrastructure-resource"
	// WaitForBinding, with a name, waits for a ClusterRoleBinding of the guest.
	WaitForBinding = "--wait-for-cluster-rolebinding="
	// WaitForPodsGone, with namespace/key=value, waits until the guest has no such pods.
	WaitForPodsGone = "--wait-for-labeled-pods-gone="
)

// Token names a service account of the hosted cluster whose token a pod of the control plane needs.
type Token struct {
	Namespace      string
	ServiceAccount string
	// Audience defaults to CloudAudience.
	Audience string
	// Kubeconfig is the Secret with which tokens are asked for; the account whose they are needs nothing else.
	Kubeconfig string
}

// MachineProvider is whose token Cluster API's Azure provider exchanges at Entra; the federated credential names it.
var MachineProvider = Token{Namespace: metav1.NamespaceSystem, ServiceAccount: contract.ClusterAPIProvider}

// AddTokenMinter adds the native side-car that keeps the token fresh, its volumes, and the token's mount on every container.
func AddTokenMinter(spec *corev1.PodSpec, image string, token Token) {
	addVolumes(spec,
		corev1.Volume{Name: cloudTokenVolume, VolumeSource: corev1.VolumeSource{
			EmptyDir: &corev1.EmptyDirVolumeSource{Medium: corev1.StorageMediumMemory}}},
		SecretVolume(contract.TokenMinterKubeconfig, token.Kubeconfig))
	for i := range spec.Containers {
		spec.Containers[i].VolumeMounts = append(spec.Containers[i].VolumeMounts,
			corev1.VolumeMount{Name: cloudTokenVolume, MountPath: CloudTokenDir, ReadOnly: true})
	}
	spec.InitContainers = append(spec.InitContainers, TokenMinter(image, token))
}

// TokenMinter is the side-car alone: it expects the volumes "cloud-token" and "token-minter-kubeconfig".
func TokenMinter(image string, token Token) corev1.Container {
	audience := token.Audience
	if audience == "" {
		audience = CloudAudience
	}
	return corev1.Container{
		Name: "cloud-token-minter", Image: image,
		RestartPolicy: ptr.To(corev1.ContainerRestartPolicyAlways),
		Command: []string{Binary, contract.CommandTokenMinter,
			"--service-account-namespace=" + token.Namespace, "--service-account-name=" + token.ServiceAccount,
			"--token-audience=" + audience, "--token-file=" + CloudTokenFile,
			"--kubeconfig=/etc/kubernetes/token-minter/kubeconfig"},
		Resources: Requests("10m", "30Mi"),
		StartupProbe: &corev1.Probe{PeriodSeconds: 1, FailureThreshold: 30, ProbeHandler: corev1.ProbeHandler{
			Exec: &corev1.ExecAction{Command: []string{Binary, contract.CommandTokenMinter, "--check", "--token-file=" + CloudTokenFile}}}},
		VolumeMounts: []corev1.VolumeMount{
			{Name: cloudTokenVolume, MountPath: CloudTokenDir},
			{Name: contract.TokenMinterKubeconfig, MountPath: "/etc/kubernetes/token-minter", ReadOnly: true}},
	}
}

// TLSFlags are the serving options that the Kubernetes programs share.
func (c *Context) TLSFlags(dir string) []string {
	return append([]string{"--tls-cert-file=" + dir + "/tls.crt", "--tls-private-key-file=" + dir + "/tls.key"}, c.TLSProfile()...)
}

// TLSProfile is what servers are told to take at least.
func (c *Context) TLSProfile() []string { return clusterconfig.TLSOf(c.HCP.Spec.Configuration).Flags() }

// ProfilingDisabled tells whether the user switched profiling off for a component.
func ProfilingDisabled(hcp *hyperv1.HostedControlPlane, name string) bool {
	return slices.Contains(strings.Split(hcp.Annotations[hyperv1.DisableProfilingAnnotation], ","), name)
}

// HTTPSProbe probes a TLS port; the kubelet does not verify the certificate.
func HTTPSProbe(path string, port, period, timeout, failures int32) *corev1.Probe {
	return &corev1.Probe{PeriodSeconds: period, TimeoutSeconds: timeout, FailureThreshold: failures, ProbeHandler: corev1.ProbeHandler{
		HTTPGet: &corev1.HTTPGetAction{Path: path, Port: intstr.FromInt32(port), Scheme: corev1.URISchemeHTTPS}}}
}

// SecretVolume mounts a whole Secret.
func SecretVolume(name, secret string) corev1.Volume {
	return corev1.Volume{Name: name, VolumeSource: corev1.VolumeSource{
		Secret: &corev1.SecretVolumeSource{SecretName: secret, DefaultMode: ptr.To(secretMode)}}}
}

// ConfigMapVolume mounts a whole ConfigMap.
func ConfigMapVolume(name, configMap string) corev1.Volume {
	return corev1.Volume{Name: name, VolumeSource: corev1.VolumeSource{ConfigMap: &corev1.ConfigMapVolumeSource{
		LocalObjectReference: corev1.LocalObjectReference{Name: configMap}, DefaultMode: ptr.To(configMapMode)}}}
}

// EmptyDirVolume is scratch space on the node.
func EmptyDirVolume(name string) corev1.Volume {
	return corev1.Volume{Name: name, VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}}
}

// Requests is a container's resource requests; the quantities are literals of the caller.
func Requests(cpu, memory string) corev1.ResourceRequirements {
	return corev1.ResourceRequirements{Requests: corev1.ResourceList{
		corev1.ResourceCPU: resource.MustParse(cpu), corev1.ResourceMemory: resource.MustParse(memory)}}
}

// Mount is a read-only volume mount written "volume:path".
func Mount(spec string) corev1.VolumeMount {
	name, path, _ := strings.Cut(spec, ":")
	return corev1.VolumeMount{Name: name, MountPath: path, ReadOnly: true}
}

// Access is a Role and its binding to the service account of the same name, in the control-plane namespace.
func Access(name, namespace string, rules ...rbacv1.PolicyRule) []client.Object {
	return AccessOf(name, name, namespace, rules...)
}

// AccessOf is a Role and its binding, of the Role's name, to a service account of the control-plane namespace.
func AccessOf(account, role, namespace string, rules ...rbacv1.PolicyRule) []client.Object {
	return []client.Object{
		&rbacv1.Role{ObjectMeta: metav1.ObjectMeta{Name: role}, Rules: rules},
		&rbacv1.RoleBinding{
			ObjectMeta: metav1.ObjectMeta{Name: role},
			RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: role},
			Subjects:   []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Name: account, Namespace: namespace}},
		},
	}
}

// CloudAccount is the ServiceAccount of a component that signs in to Azure as this identity.
func CloudAccount(name string, hcp *hyperv1.HostedControlPlane, identity hyperv1.WorkloadIdentity) *corev1.ServiceAccount {
	return &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: name, Annotations: map[string]string{
		"azure.workload.identity/client-id": string(identity.ClientID),
		"azure.workload.identity/tenant-id": hcp.Spec.Platform.Azure.TenantID,
	}}}
}

// ManagementWorkload is the annotation of pods that an OpenShift management cluster with workload partitioning places on processors of its own.
func ManagementWorkload() map[string]string {
	return map[string]string{contract.ManagementWorkload: `{"effect": "PreferredDuringScheduling"}`}
}
