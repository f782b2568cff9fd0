package workloads

import (
	"context"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	hyperv1 "github.com/hypershift-on-azure/hypershift/api/v1beta1"
	"github.com/hypershift-on-azure/hypershift/internal/component"
	"github.com/hypershift-on-azure/hypershift/internal/hostedcluster/cluster"
	"github.com/hypershift-on-azure/hypershift/internal/kube/proxyenv"
	"github.com/hypershift-on-azure/hypershift/internal/release"
)

// Settings are what the Deployments of one hosted cluster follow.
type Settings struct {
	// Plane is the wanted HostedControlPlane, not the stored one: a change of the HostedCluster needs no second pass. It has the uid of
	// the stored one.
	Plane *hyperv1.HostedControlPlane
	// HelperImage is the image of the control-plane operator and of the helpers in pods.
	HelperImage string
	// Payload is the kind of the release's payload; empty while none has been read.
	Payload release.Kind
	// User is the user id of pods; nil where the management cluster chooses one.
	User *int64
	// Proxy is the way out of the management cluster.
	Proxy proxyenv.Proxy
}

// Deployment is one of a control-plane namespace, whose pods have ten seconds to end.
func Deployment(namespace, name string, spec corev1.PodSpec) *appsv1.Deployment {
	grace := int64(10)
	spec.TerminationGracePeriodSeconds = &grace
	return &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: namespace},
		Spec:       appsv1.DeploymentSpec{Template: corev1.PodTemplateSpec{Spec: spec}},
	}
}

// Probe asks for a path over HTTP. Period and timeout are in seconds.
func Probe(path string, port, period, timeout, failures int32) *corev1.Probe {
	return &corev1.Probe{PeriodSeconds: period, TimeoutSeconds: timeout, FailureThreshold: failures, ProbeHandler: corev1.ProbeHandler{
		HTTPGet: &corev1.HTTPGetAction{Path: path, Port: intstr.FromInt32(port)}}}
}

// Apply writes a Deployment with the defaults that every control-plane workload has.
func (s Settings) Apply(ctx context.Context, c *cluster.Cluster, deployment *appsv1.Deployment, traits component.Traits) error {
	settings := component.Settings{Image: s.HelperImage, UID: s.User, Cloud: func(template *corev1.PodTemplateSpec) {
		proxyenv.Stamp(&template.Spec, s.Proxy)
	}}
	if err := component.Stamp(s.Plane, settings, deployment.Name, traits, deployment); err != nil {
		return err
	}
	deployment.Labels[hyperv1.ManagedByLabel] = cluster.FieldManager
	// No owner: these workloads must outlive the HostedControlPlane, or nothing would finish the deletion of its machines.
	// They end with the namespace.
	deployment.OwnerReferences = []metav1.OwnerReference{}
	return c.Apply(ctx, deployment)
}
