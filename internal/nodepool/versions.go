package nodepool

import (
	"context"
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	utilversion "k8s.io/apimachinery/pkg/util/version"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hypershift-on-azure/hypershift/api/v1beta1"
	"github.com/hypershift-on-azure/hypershift/internal/release"
	"github.com/hypershift-on-azure/hypershift/internal/steps"
)

// slowRegistry is how soon the answer of a registry is looked for that takes its time.
const slowRegistry = 2 * time.Second

// maxSkew is how many minor versions nodes may be behind the control plane.
const maxSkew = 3

func (r *Reconciler) releaseImage(ctx context.Context, p *pass) error {
	err := r.lookupRelease(ctx, p)
	if release.Pending(err) {
		return &steps.Waiting{For: err.Error(), After: slowRegistry}
	}
	if err == nil {
		err = p.validTarget()
	}
	if err != nil {
		p.set(hyperv1.NodePoolValidReleaseImage, corev1.ConditionFalse, hyperv1.ValidationFailedReason, "Failed to get release image: "+err.Error())
		return err
	}
	p.set(hyperv1.NodePoolValidReleaseImage, corev1.ConditionTrue, hyperv1.AsExpectedReason, "Using release image: "+p.np.Spec.Release.Image)
	return nil
}

func (r *Reconciler) lookupRelease(ctx context.Context, p *pass) error {
	secret := &corev1.Secret{}
	if err := r.client.Get(ctx, client.ObjectKey{Namespace: p.hc.Namespace, Name: p.hc.Spec.PullSecret.Name}, secret); err != nil {
		return fmt.Errorf("read pull secret %q: %w", p.hc.Spec.PullSecret.Name, err)
	}
	p.access = release.Access{
		Tenant:     p.hc.Namespace,
		PullSecret: secret.Data[hyperv1.PullSecretKey],
		Mirrors:    release.ContentSources(p.hc.Spec.ImageContentSources),
		Recheck:    p.condition(hyperv1.NodePoolValidReleaseImage).Status == corev1.ConditionFalse,
	}
	if bundle := p.hc.Spec.AdditionalTrustBundle; bundle != nil {
		config := &corev1.ConfigMap{}
		err := r.client.Get(ctx, client.ObjectKey{Namespace: p.hc.Namespace, Name: bundle.Name}, config)
		if err != nil && !apierrors.IsNotFound(err) {
			return fmt.Errorf("read trust bundle %q: %w", bundle.Name, err)
		}
		p.access.TrustBundle = []byte(config.Data[hyperv1.TrustBundleKey])
	}
	found, err := r.releases.Lookup(ctx, p.np.Spec.Release.Image, p.access)
	if err != nil {
		return err
	}
	p.release = found
	return nil
}

// validTarget refuses what no rollout may do: an unreadable or unsupported version, and a step back over a minor version.
func (p *pass) validTarget() error {
	_, skip := p.hc.Annotations[hyperv1.SkipReleaseImageValidation]
	policy := release.Policy{AnyVersion: skip}
	if current := p.np.Status.Version; current != "" {
		running, err := utilversion.ParseSemantic(current)
		if err != nil {
			return fmt.Errorf("current version %q is not a version: %w", current, err)
		}
		policy.Current = running
	}
	_, err := policy.Check(p.release.Version)
	return err
}

func (r *Reconciler) versionSkew(_ context.Context, p *pass) error {
	const condition = hyperv1.NodePoolSupportedVersionSkew
	status, reason, message := skew(release.Completed(p.hc), p.release.Version)
	p.set(condition, status, reason, message)
	return nil
}

func skew(cluster, pool string) (corev1.ConditionStatus, string, string) {
	if cluster == "" {
		return corev1.ConditionUnknown, hyperv1.ValidationFailedReason, "the HostedCluster does not report a version yet"
	}
	control, err := utilversion.ParseSemantic(cluster)
	if err != nil {
		return corev1.ConditionUnknown, hyperv1.ValidationFailedReason, fmt.Sprintf("version %q of the HostedCluster: %v", cluster, err)
	}
	nodes, err := utilversion.ParseSemantic(pool)
	if err != nil {
		return corev1.ConditionUnknown, hyperv1.ValidationFailedReason, fmt.Sprintf("version %q of the node pool: %v", pool, err)
	}
	behind := release.Minor(control) - release.Minor(nodes)
	switch {
	case behind < 0 || (behind == 0 && inOneLine(control).LessThan(inOneLine(nodes))):
		return corev1.ConditionFalse, hyperv1.UnsupportedSkewReason, fmt.Sprintf(
			"NodePool version %s is newer than the HostedCluster version %s; upgrade the HostedCluster first, or set spec.release.image to a release that is not newer", pool, cluster)
	case behind > maxSkew:
		return corev1.ConditionFalse, hyperv1.UnsupportedSkewReason, fmt.Sprintf(
			"NodePool version %s is more than %d minor versions behind the HostedCluster version %s; set spec.release.image to a newer release", pool, maxSkew, cluster)
	}
	return corev1.ConditionTrue, hyperv1.AsExpectedReason, messageValidVersion
}

// inOneLine gives versions of one release line the same beginning: 5.0 goes on where 4.23 is.
func inOneLine(version *utilversion.Version) *utilversion.Version {
	return version.WithMajor(0).WithMinor(0)
}

func (p *pass) arch() string {
	if p.np.Spec.Arch == "" {
		return "amd64"
	}
	return p.np.Spec.Arch
}

func archFits(payload, arch string) bool {
	return payload == "" || payload == release.ArchMulti || strings.EqualFold(payload, arch)
}
