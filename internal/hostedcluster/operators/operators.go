// Package operators runs the control-plane-operator of a hosted cluster.
package operators

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hypershift-on-azure/hypershift/api/v1beta1"
	"github.com/hypershift-on-azure/hypershift/internal/component"
	"github.com/hypershift-on-azure/hypershift/internal/contract"
	"github.com/hypershift-on-azure/hypershift/internal/hostedcluster/cluster"
	"github.com/hypershift-on-azure/hypershift/internal/hostedcluster/workloads"
	"github.com/hypershift-on-azure/hypershift/internal/release"
)

const healthPort = 6060

// Options are what the operators of all control planes are told.
type Options struct {
	// RegistryOverrides is this operator's own flag, for the control planes' operators.
	RegistryOverrides string
	// KonnectivityImage, when set, replaces the payload's image of the tunnel's server.
	KonnectivityImage string
	// CertRotationScale compresses the lifetimes of the control planes' certificates: how long a day of them lasts.
	CertRotationScale string
	// MetricsSet is how much of the control planes' metrics is kept, unless the HostedCluster says otherwise.
	MetricsSet string
	// EtcdBackupMaxCount is how many successful HCPEtcdBackups of a control plane stay.
	EtcdBackupMaxCount int
	// FeatureSet says which technology previews are installed; a control plane's operator starts anew when it changes.
	FeatureSet string
	// IngressDomain is the management cluster's domain for Routes without a hostname; empty leaves the choice to its router.
	IngressDomain string
}

// RunningImage is the image that the operator of the control plane runs for the desired release; empty when it runs none. The control
// plane keeps it when its payload brings none and this operator's own would take the place: a new version of this operator must not
// restart the pods of a cluster that nobody changed. A new release takes the new image.
func RunningImage(ctx context.Context, c *cluster.Cluster) (string, error) {
	live := &appsv1.Deployment{}
	err := c.Client.Get(ctx, client.ObjectKey{Namespace: c.Namespace, Name: contract.ControlPlaneOperator}, live)
	if apierrors.IsNotFound(err) {
		return "", nil
	}
	if err != nil {
		return "", fmt.Errorf("read Deployment %s/%s: %w", c.Namespace, contract.ControlPlaneOperator, err)
	}
	template := live.Spec.Template
	if template.Annotations[component.AnnotationReleaseImage] == c.Hosted.Spec.Release.Image && len(template.Spec.Containers) > 0 {
		return template.Spec.Containers[0].Image, nil
	}
	return "", nil
}

// Ensure runs the operator of this one control plane. mirrors are those of the management cluster, as release.FormatMirrors writes them.
func Ensure(ctx context.Context, c *cluster.Cluster, options Options, mirrors string, settings workloads.Settings) error {
	if err := c.Apply(ctx, Account(settings.Payload).Objects(c.Namespace)...); err != nil {
		return err
	}
	if settings.Payload == release.KindOpenShift {
		access := EmergencyAccess(c.Namespace, c.Hosted.Name)
		slices.Reverse(access) // nobody binds a role that is not there
		if err := c.Apply(ctx, access...); err != nil {
			return err
		}
	}
	return settings.Apply(ctx, c, deployment(c, options, mirrors, settings), component.Traits{ManagementAccess: true, ReachesCloud: true, Recreate: true})
}

func deployment(c *cluster.Cluster, options Options, mirrors string, settings workloads.Settings) *appsv1.Deployment {
	operator := corev1.Container{
		Name: contract.ControlPlaneOperator, Image: settings.HelperImage,
		Command:       []string{component.Binary, "run"},
		Args:          arguments(c.Hosted, options),
		Env:           environment(c.Hosted, options, mirrors, settings),
		Ports:         []corev1.ContainerPort{{Name: "metrics", ContainerPort: 8080}, {Name: "healthz", ContainerPort: healthPort}},
		LivenessProbe: workloads.Probe("/healthz", healthPort, 10, 5, 6),
		// It serves nobody: being ready is the heartbeat by which its word counts, so a hang shows soon.
		ReadinessProbe: workloads.Probe("/readyz", healthPort, 5, 3, 2),
		Resources:      component.Requests("10m", "80Mi"),
	}
	return workloads.Deployment(c.Namespace, contract.ControlPlaneOperator, corev1.PodSpec{Containers: []corev1.Container{operator}})
}

func arguments(hc *hyperv1.HostedCluster, options Options) []string {
	args := []string{
		"--namespace", "$(" + contract.NamespaceEnv + ")",
		"--deployment-name", contract.ControlPlaneOperator,
		"--metrics-addr", "0.0.0.0:8080",
	}
	if options.RegistryOverrides != "" {
		args = append(args, "--registry-overrides", options.RegistryOverrides)
	}
	var images []string
	if options.KonnectivityImage != "" {
		images = append(images, release.KeyKonnectivity+"="+options.KonnectivityImage)
	}
	// Of two entries for a component the later one counts.
	if own := hc.Annotations[hyperv1.ImageOverridesAnnotation]; own != "" {
		images = append(images, own)
	}
	if len(images) > 0 {
		args = append(args, "--image-overrides", strings.Join(images, ","))
	}
	return args
}

// environment tells the operator which images to run and which release it is responsible for: an object of another
// release belongs to the operator before or after it.
func environment(hc *hyperv1.HostedCluster, options Options, mirrors string, settings workloads.Settings) []corev1.EnvVar {
	env := []corev1.EnvVar{
		{Name: contract.NamespaceEnv, ValueFrom: &corev1.EnvVarSource{FieldRef: &corev1.ObjectFieldSelector{APIVersion: "v1", FieldPath: "metadata.namespace"}}},
		{Name: contract.OwnReleaseEnv, Value: cluster.ControlPlaneImage(hc)},
	}
	for _, name := range []string{
		contract.ControlPlaneOperatorImageEnv, "HOSTED_CLUSTER_CONFIG_OPERATOR_IMAGE", "AVAILABILITY_PROBER_IMAGE", contract.TokenMinterImageEnv,
	} {
		env = append(env, corev1.EnvVar{Name: name, Value: settings.HelperImage})
	}
	optional := map[string]string{
		contract.CertificateScaleEnv:    options.CertRotationScale,
		contract.MetricsSetEnv:          options.MetricsSet,
		contract.CertificateValidityEnv: hc.Annotations[hyperv1.CertificateValidityAnnotation],
		contract.CertificateRenewalEnv:  hc.Annotations[hyperv1.CertificateRenewalAnnotation],
		// Routes without a hostname get theirs below this domain.
		contract.IngressDomainEnv: options.IngressDomain,
		release.MirrorsEnv:        mirrors,
		contract.FeatureSetEnv:    options.FeatureSet,
	}
	// The default is not written: that it came must not restart the operators of all clusters.
	if options.EtcdBackupMaxCount > 0 && options.EtcdBackupMaxCount != contract.DefaultBackupMaxCount {
		optional[contract.BackupMaxCountEnv] = strconv.Itoa(options.EtcdBackupMaxCount)
	}
	if settings.User != nil {
		optional[contract.SecurityContextUIDEnv] = strconv.FormatInt(*settings.User, 10)
	}
	for _, name := range []string{contract.CertificateScaleEnv, contract.CertificateValidityEnv, contract.CertificateRenewalEnv, contract.IngressDomainEnv, contract.SecurityContextUIDEnv, contract.MetricsSetEnv, release.MirrorsEnv, contract.FeatureSetEnv, contract.BackupMaxCountEnv} {
		if optional[name] != "" {
			env = append(env, corev1.EnvVar{Name: name, Value: optional[name]})
		}
	}
	return env
}
