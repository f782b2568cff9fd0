package component

import (
	"errors"
	"fmt"
	"net/url"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/yaml"

	hyperv1 "github.com/hypershift-on-azure/hypershift/api/v1beta1"
	"github.com/hypershift-on-azure/hypershift/internal/contract"
)

// Where the programs of OpenShift's payloads find what they mount.
const (
	// NetworkKubeconfig is contract.ServiceKubeconfig as a file, by NetworkKubeconfigMount.
	NetworkKubeconfig = "/etc/kubernetes/secrets/svc-kubeconfig/kubeconfig"
	// RequestHeaderNames are the clients that may say whose request they pass on.
	RequestHeaderNames = "kube-apiserver-proxy,system:kube-apiserver-proxy,system:openshift-aggregator"
	// AuditWebhookKubeconfig is the user's audit webhook as a file.
	AuditWebhookKubeconfig = auditWebhookDir + "/webhook-kubeconfig"
	// InternalRegistry is the guest's own registry.
	InternalRegistry = "image-registry.openshift-image-registry.svc:5000"

	auditWebhookDir = "/etc/kubernetes/auditwebhook"
)

// NetworkKubeconfigMount mounts the volume of NetworkKubeconfigVolume.
func NetworkKubeconfigMount() corev1.VolumeMount {
	return Mount("kubeconfig:/etc/kubernetes/secrets/svc-kubeconfig")
}

// NetworkKubeconfigVolume has the kubeconfig of system:admin that reaches the API server by its Service.
func NetworkKubeconfigVolume() corev1.Volume {
	return SecretVolume("kubeconfig", contract.ServiceKubeconfig)
}

// AggregatedLogs is where an aggregated API server of the name writes its audit log, as audit.log.
func AggregatedLogs(name string) string { return "/var/log/" + name }

// AggregatedVolumes are what both of OpenShift's aggregated API servers mount, with the mounts of their container; name is the Secret of
// the serving certificate without -cert, and of the audit policy without -audit.
func AggregatedVolumes(name string) ([]corev1.Volume, []corev1.VolumeMount) {
	volumes := []corev1.Volume{
		ConfigMapVolume("audit-config", name+"-audit"), ConfigMapVolume("aggregator-ca", contract.AggregatorClientCA),
		ConfigMapVolume("client-ca", contract.ClientCA), ConfigMapVolume("etcd-client-ca", contract.EtcdCA),
		SecretVolume("etcd-client-cert", contract.EtcdClientCertificate), SecretVolume("serving-cert", name+"-cert"),
		NetworkKubeconfigVolume(), EmptyDirVolume("work-logs"),
	}
	mounts := []corev1.VolumeMount{
		Mount("audit-config:/etc/kubernetes/audit-config"), Mount("aggregator-ca:/etc/kubernetes/certs/aggregator-client-ca"),
		Mount("client-ca:/etc/kubernetes/certs/client-ca"), Mount("etcd-client-ca:/etc/kubernetes/certs/etcd-client-ca"),
		Mount("etcd-client-cert:/etc/kubernetes/certs/etcd-client"), Mount("serving-cert:/etc/kubernetes/certs/serving"),
		NetworkKubeconfigMount(),
		{Name: "work-logs", MountPath: AggregatedLogs(name)},
	}
	return volumes, mounts
}

// AddAuditWebhook mounts the user's audit webhook into the first container, and tells whether there is one.
func AddAuditWebhook(ctx *Context, spec *corev1.PodSpec, volume string) bool {
	webhook := ctx.HCP.Spec.AuditWebhook
	if webhook == nil || webhook.Name == "" {
		return false
	}
	spec.Volumes = append(spec.Volumes, SecretVolume(volume, webhook.Name))
	spec.Containers[0].VolumeMounts = append(spec.Containers[0].VolumeMounts, Mount(volume+":"+auditWebhookDir))
	return true
}

// AuditWebhookFlags are the arguments of an API server that sends its audit events to the user's webhook too.
func AuditWebhookFlags() []string {
	return []string{"--audit-webhook-config-file=" + AuditWebhookKubeconfig, "--audit-webhook-mode=batch", "--audit-webhook-initial-backoff=5s"}
}

// NewDeployment is a Deployment of the pods; Stamp completes it.
func NewDeployment(name string, spec corev1.PodSpec) *appsv1.Deployment {
	return &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: appsv1.DeploymentSpec{Template: corev1.PodTemplateSpec{Spec: spec}}}
}

// NewConfigMap has files by name.
func NewConfigMap(name string, files map[string]string) *corev1.ConfigMap {
	return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name}, Data: files}
}

// NewService leads a port, named https, to the pods of a component.
func NewService(name string, port, target int32) *corev1.Service {
	return &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{LabelApp: name}},
		Spec: corev1.ServiceSpec{
			Type: corev1.ServiceTypeClusterIP, Selector: map[string]string{LabelApp: name},
			Ports: []corev1.ServicePort{{Name: "https", Protocol: corev1.ProtocolTCP, Port: port, TargetPort: intstr.FromInt32(target)}},
		},
	}
}

// Environment makes variables of name and value pairs, in their order.
func Environment(pairs ...string) []corev1.EnvVar {
	var env []corev1.EnvVar
	for i := 0; i+1 < len(pairs); i += 2 {
		env = append(env, corev1.EnvVar{Name: pairs[i], Value: pairs[i+1]})
	}
	return env
}

// FromField is a variable with a field of the pod.
func FromField(name, field string) corev1.EnvVar {
	return corev1.EnvVar{Name: name, ValueFrom: &corev1.EnvVarSource{FieldRef: &corev1.ObjectFieldSelector{APIVersion: "v1", FieldPath: field}}}
}

// TCPPort is a named port of a container.
func TCPPort(name string, port int32) corev1.ContainerPort {
	return corev1.ContainerPort{Name: name, ContainerPort: port, Protocol: corev1.ProtocolTCP}
}

// After delays a probe, in seconds.
func After(seconds int32, probe *corev1.Probe) *corev1.Probe {
	probe.InitialDelaySeconds = seconds
	return probe
}

// RequestHeaderFlags are the arguments by which an aggregated API server believes the API server in front of it.
func RequestHeaderFlags() []string {
	return []string{
		"--requestheader-client-ca-file=/etc/kubernetes/certs/aggregator-client-ca/ca.crt",
		"--requestheader-allowed-names=" + RequestHeaderNames,
		"--requestheader-username-headers=X-Remote-User", "--requestheader-group-headers=X-Remote-Group",
		"--requestheader-extra-headers-prefix=X-Remote-Extra-",
		"--client-ca-file=/etc/kubernetes/certs/client-ca/ca.crt",
	}
}

// NotThroughTheTunnel are the hosts that an aggregated API server reaches by itself.
func NotThroughTheTunnel(hcp *hyperv1.HostedControlPlane) string {
	etcd := contract.EtcdClientService
	if u := hcp.Spec.Etcd.Unmanaged; u != nil {
		if endpoint, err := url.Parse(u.Endpoint); err == nil {
			etcd = endpoint.Hostname()
		}
	}
	return contract.APIServer + "," + etcd + ",audit-webhook"
}

// Observed reads an object of the guest's configuration as the config operator has seen it there; nothing where the guest has none.
func (c *Context) Observed(name string, into any) error {
	configMap := contract.ObservedConfigPrefix + name
	data, err := c.ConfigMap(configMap)
	var missing *MissingInputError
	if errors.As(err, &missing) {
		return nil
	}
	if err != nil {
		return err
	}
	if err := yaml.Unmarshal(data["config"], into); err != nil {
		return fmt.Errorf("read key config of ConfigMap %s: %w", configMap, err)
	}
	return nil
}
