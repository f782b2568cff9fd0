package addons

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/hypershift-on-azure/hypershift/internal/component"
	"github.com/hypershift-on-azure/hypershift/internal/contract"
	"github.com/hypershift-on-azure/hypershift/internal/guest/inside"
)

const (
	forwarderImage  = contract.ImageRouter
	forwarderConfig = "metrics-forwarder-config"
	forwarderFile   = "haproxy.cfg"
	forwarderDir    = "/usr/local/etc/haproxy"
	forwarderPort   = 9443

	// forwarderText leads whoever connects to the proxy of the control plane's metrics, which both sides' certificates are for.
	forwarderText = `defaults
  mode tcp
  timeout connect 5s
  timeout client 30s
  timeout server 30s
frontend metrics
  bind *:%d
  default_backend proxy
backend proxy
  server proxy %s:443
`
)

// metricsForwarder is a pod of the guest that its monitoring finds, in front of the proxy of the control plane's metrics.
func metricsForwarder(facts *inside.Facts) []client.Object {
	if facts.Forwarding == nil {
		return nil
	}
	text := fmt.Sprintf(forwarderText, forwarderPort, facts.Forwarding.Host)
	sum := sha256.Sum256([]byte(text))
	files := func(name, key, content string) client.Object {
		return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: contract.MonitoringNamespace, Name: name}, Data: map[string]string{key: content}}
	}
	labels := map[string]string{component.LabelApp: inside.MetricsForwarder}
	annotations := component.ManagementWorkload()
	annotations["hypershift.openshift.io/metrics-forwarder-config-checksum"] = hex.EncodeToString(sum[:])
	return []client.Object{
		files(forwarderConfig, forwarderFile, text),
		files(inside.MetricsProxyServingCA, contract.CAKey, facts.Forwarding.CA),
		&appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: contract.MonitoringNamespace, Name: inside.MetricsForwarder},
			Spec: appsv1.DeploymentSpec{Replicas: ptr.To[int32](1), Selector: &metav1.LabelSelector{MatchLabels: labels},
				Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels, Annotations: annotations}, Spec: forwarderPod(facts)}}},
	}
}

func forwarderPod(facts *inside.Facts) corev1.PodSpec {
	return corev1.PodSpec{
		AutomountServiceAccountToken: ptr.To(false),
		Containers: []corev1.Container{{
			Name: "haproxy", Image: facts.Images[forwarderImage], Command: []string{"haproxy", "-f", forwarderDir + "/" + forwarderFile},
			Ports: []corev1.ContainerPort{component.TCPPort("metrics", forwarderPort)},
			Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{
				corev1.ResourceCPU: resource.MustParse("10m"), corev1.ResourceMemory: resource.MustParse("32Mi")}},
			SecurityContext: &corev1.SecurityContext{RunAsNonRoot: ptr.To(true), AllowPrivilegeEscalation: ptr.To(false),
				Capabilities: &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}, Add: []corev1.Capability{"NET_BIND_SERVICE"}}},
			VolumeMounts: []corev1.VolumeMount{{Name: "config", MountPath: forwarderDir, ReadOnly: true}},
		}},
		Volumes: []corev1.Volume{component.ConfigMapVolume("config", forwarderConfig)},
	}
}
