package hostedcluster

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hypershift-on-azure/hypershift/api/v1beta1"
	"github.com/hypershift-on-azure/hypershift/internal/component"
	"github.com/hypershift-on-azure/hypershift/internal/kube/proxyenv"
	"github.com/hypershift-on-azure/hypershift/internal/release"
)

const operatorHealthPort = 6060

// keepHelperImage holds on to the image that a control plane runs when its payload brings none and this operator's own takes the
// place: a new version of this operator must not restart the pods of a cluster that nobody changed. A new release takes the new image.
func (p *pass) keepHelperImage(ctx context.Context) error {
	if p.hc.Annotations[hyperv1.ControlPlaneOperatorImageAnnotation] != "" || p.ControlPlaneOperatorImage != "" || p.release.Images[release.KeyHypershift] != "" {
		return nil
	}
	live := &appsv1.Deployment{}
	err := p.Get(ctx, client.ObjectKey{Namespace: p.namespace, Name: controlPlaneOperatorName}, live)
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("read Deployment %s/%s: %w", p.namespace, controlPlaneOperatorName, err)
	}
	template := live.Spec.Template
	if template.Annotations[component.AnnotationReleaseImage] == p.hc.Spec.Release.Image && len(template.Spec.Containers) > 0 {
		p.helperImage = template.Spec.Containers[0].Image
	}
	return nil
}

// ensureControlPlaneOperator runs the operator of this one control plane.
func (p *pass) ensureControlPlaneOperator(ctx context.Context) error {
	if err := p.apply(ctx, ControlPlaneOperatorAccess(p.namespace)...); err != nil {
		return err
	}
	return p.applyWorkload(ctx, p.controlPlaneOperatorDeployment(), component.Traits{
		ManagementAccess: true, ReachesCloud: true, Recreate: true,
	})
}

func (p *pass) controlPlaneOperatorDeployment() *appsv1.Deployment {
	probe := func(path string, period, timeout, failures int32) *corev1.Probe {
		return &corev1.Probe{PeriodSeconds: period, TimeoutSeconds: timeout, FailureThreshold: failures, ProbeHandler: corev1.ProbeHandler{
			HTTPGet: &corev1.HTTPGetAction{Path: path, Port: intstr.FromInt32(operatorHealthPort)}}}
	}
	operator := corev1.Container{
		Name: controlPlaneOperatorName, Image: p.helperImage,
		Command:       []string{component.Binary, "run"},
		Args:          p.controlPlaneOperatorArgs(),
		Env:           p.controlPlaneOperatorEnv(),
		Ports:         []corev1.ContainerPort{{Name: "metrics", ContainerPort: 8080}, {Name: "healthz", ContainerPort: operatorHealthPort}},
		LivenessProbe: probe("/healthz", 10, 5, 6),
		// It serves nobody: being ready is the heartbeat by which its word counts, so a hang shows soon.
		ReadinessProbe: probe("/readyz", 5, 3, 2),
		Resources:      component.Requests("10m", "80Mi"),
	}
	return p.deployment(controlPlaneOperatorName, corev1.PodSpec{Containers: []corev1.Container{operator}})
}

func (p *pass) controlPlaneOperatorArgs() []string {
	args := []string{
		"--namespace", "$(MY_NAMESPACE)",
		"--deployment-name", controlPlaneOperatorName,
		"--metrics-addr", "0.0.0.0:8080",
	}
	if p.RegistryOverrides != "" {
		args = append(args, "--registry-overrides", p.RegistryOverrides)
	}
	var images []string
	if p.KonnectivityImage != "" {
		images = append(images, release.KeyKonnectivity+"="+p.KonnectivityImage)
	}
	// Of two entries for a component the later one counts.
	if own := p.hc.Annotations[hyperv1.ImageOverridesAnnotation]; own != "" {
		images = append(images, own)
	}
	if len(images) > 0 {
		args = append(args, "--image-overrides", strings.Join(images, ","))
	}
	return args
}

// controlPlaneOperatorEnv tells the operator which images to run and which release it is responsible for: an object of another
// release belongs to the operator before or after it.
func (p *pass) controlPlaneOperatorEnv() []corev1.EnvVar {
	env := []corev1.EnvVar{
		{Name: "MY_NAMESPACE", ValueFrom: &corev1.EnvVarSource{FieldRef: &corev1.ObjectFieldSelector{APIVersion: "v1", FieldPath: "metadata.namespace"}}},
		{Name: "OPERATE_ON_RELEASE_IMAGE", Value: p.controlPlaneImage()},
	}
	for _, name := range []string{
		"CONTROL_PLANE_OPERATOR_IMAGE", "HOSTED_CLUSTER_CONFIG_OPERATOR_IMAGE", "AVAILABILITY_PROBER_IMAGE", "TOKEN_MINTER_IMAGE",
	} {
		env = append(env, corev1.EnvVar{Name: name, Value: p.helperImage})
	}
	optional := map[string]string{
		"CERT_ROTATION_SCALE":  p.CertRotationScale,
		"METRICS_SET":          p.MetricsSet,
		"CERTIFICATE_VALIDITY": p.hc.Annotations[hyperv1.CertificateValidityAnnotation],
		"CERTIFICATE_RENEWAL":  p.hc.Annotations[hyperv1.CertificateRenewalAnnotation],
		// Routes without a hostname get theirs below this domain.
		"DEFAULT_INGRESS_DOMAIN": p.IngressDomain,
		release.MirrorsEnv:       p.mirrors,
	}
	if p.userID != nil {
		optional["DEFAULT_SECURITY_CONTEXT_UID"] = strconv.FormatInt(*p.userID, 10)
	}
	for _, name := range []string{"CERT_ROTATION_SCALE", "CERTIFICATE_VALIDITY", "CERTIFICATE_RENEWAL", "DEFAULT_INGRESS_DOMAIN", "DEFAULT_SECURITY_CONTEXT_UID", "METRICS_SET", release.MirrorsEnv} {
		if optional[name] != "" {
			env = append(env, corev1.EnvVar{Name: name, Value: optional[name]})
		}
	}
	return env
}

// applyWorkload gives a Deployment of this operator the defaults every control-plane workload has.
func (p *pass) applyWorkload(ctx context.Context, deployment *appsv1.Deployment, traits component.Traits) error {
	settings := component.Settings{Image: p.helperImage, UID: p.userID, Cloud: func(template *corev1.PodTemplateSpec) {
		proxyenv.Stamp(&template.Spec, p.Proxy)
	}}
	// Stamped from what is wanted, not from what is stored: a change of the HostedCluster needs no second pass.
	hcp := p.desiredControlPlane()
	hcp.UID = p.hcp.UID
	if err := component.Stamp(hcp, settings, deployment.Name, traits, deployment); err != nil {
		return err
	}
	deployment.Labels[hyperv1.ManagedByLabel] = fieldManager
	// No owner: these workloads must outlive the HostedControlPlane, or nothing would finish the deletion of its machines.
	// They end with the namespace.
	deployment.OwnerReferences = []metav1.OwnerReference{}
	return p.apply(ctx, deployment)
}
