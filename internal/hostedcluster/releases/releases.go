// Package releases decides which payload a hosted cluster may run, and which images its operators come from.
package releases

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/version"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hypershift-on-azure/hypershift/api/v1beta1"
	"github.com/hypershift-on-azure/hypershift/internal/hostedcluster/cluster"
	"github.com/hypershift-on-azure/hypershift/internal/kube"
	"github.com/hypershift-on-azure/hypershift/internal/release"
	"github.com/hypershift-on-azure/hypershift/internal/steps"
)

// recheckRelease is how soon a payload that was found wrong is looked at again: an image may be pushed without any event here.
const recheckRelease = time.Minute

// askAgain is how soon the answer of a registry is looked for that is slow.
const askAgain = 2 * time.Second

// firstWithOperator is the minor version of 4 from which on this operator's own image may run a control plane whose payload has none.
const firstWithOperator = 9

// Options of all hosted clusters.
type Options struct {
	Releases release.Provider
	// Labels reads what the images of control-plane operators tell about themselves.
	Labels release.Labeler
	// Mirrors of image repositories that the management cluster knows; nil means none.
	Mirrors *Mirrors
	// OperatorImage is this operator's own image: it runs a control plane whose payload has no `hypershift` image.
	OperatorImage string
	// ControlPlaneOperatorImage, when set, replaces the payload's image for every cluster.
	ControlPlaneOperatorImage string
	// ClusterAPIImage and AzureProviderImage, when set, replace the payload's images for every cluster.
	ClusterAPIImage, AzureProviderImage string
}

// Found is what the look at a release brought.
type Found struct {
	// Release is the payload of the control plane; nil when it cannot be used.
	Release *release.Release
	// MissingImages: the payload lacks images, and ValidReleaseInfo says which.
	MissingImages bool
	// Mirrors are those of the management cluster, as release.FormatMirrors writes them.
	Mirrors string
	// access is how images are read that the kubelet pulls as they are named: with the mirrors of the management cluster.
	access release.Access
}

// Lookup reads the payload of the control plane, and that of the data plane where it is another one, and reports on them in
// ValidReleaseImage. What is wrong with a payload stops everything that would change the cluster; what was found until then is returned
// with the error.
func (o Options) Lookup(ctx context.Context, c *cluster.Cluster) (Found, error) {
	one := &look{Options: o, Cluster: c}
	err := one.run(ctx)
	return one.found, err
}

// look is one look at a release.
type look struct {
	Options
	*cluster.Cluster
	found Found
}

func (l *look) run(ctx context.Context) error {
	access, err := l.access(ctx)
	if apierrors.IsNotFound(err) {
		return l.reject(hyperv1.SecretNotFoundReason, err)
	}
	if err != nil {
		return err
	}
	if l.found.access, err = l.withKnownMirrors(ctx, access); err != nil {
		return err
	}
	dataPlane, err := l.usable(ctx, l.Hosted.Spec.Release.Image, access)
	if err != nil {
		return err
	}
	controlPlane := dataPlane
	if image := cluster.ControlPlaneImage(l.Hosted); image != l.Hosted.Spec.Release.Image {
		if controlPlane, err = l.usable(ctx, image, access); err != nil {
			return err
		}
	}
	if err := l.sameKind(ctx, access, controlPlane, dataPlane); err != nil {
		return err
	}
	l.found.Release = controlPlane
	l.Hosted.Status.PayloadArch = dataPlane.Architecture
	l.Conditions().True(hyperv1.ValidReleaseImage, hyperv1.AsExpectedReason, "Release "+controlPlane.Version+" can be used.")
	return nil
}

func (l *look) reject(reason string, err error) error {
	l.Conditions().False(hyperv1.ValidReleaseImage, reason, err.Error())
	return &steps.Waiting{For: "a release that can be used: " + err.Error(), After: recheckRelease}
}

// usable reads a payload and checks it.
func (l *look) usable(ctx context.Context, image string, access release.Access) (*release.Release, error) {
	found, err := l.Releases.Lookup(ctx, image, access)
	var unread *release.Error
	switch {
	case release.Pending(err):
		return nil, &steps.Waiting{For: err.Error(), After: askAgain}
	case errors.As(err, &unread) && unread.Reason == release.ReasonArchNotFound:
		return nil, l.reject(hyperv1.PayloadArchNotFoundReason, err)
	case errors.As(err, &unread) && !unread.Transient():
		return nil, l.reject(hyperv1.InvalidImageReason, err)
	case err != nil:
		// Unreachable now: the back-off of errors asks again sooner than a payload that is wrong.
		l.Conditions().False(hyperv1.ValidReleaseImage, hyperv1.InvalidImageReason, err.Error())
		return nil, err
	}
	if err := l.allowed(ctx, image, found); err != nil {
		return nil, l.reject(hyperv1.InvalidImageReason, err)
	}
	return found, nil
}

func (l *look) access(ctx context.Context) (release.Access, error) {
	secret, err := readSecret(ctx, l.Cluster, l.Hosted.Spec.PullSecret.Name)
	if err != nil {
		return release.Access{}, fmt.Errorf("spec.pullSecret: %w", err)
	}
	before := kube.Find(l.Hosted.Status.Conditions, hyperv1.ValidReleaseImage)
	access := release.Access{
		Tenant:     l.Hosted.Namespace,
		PullSecret: secret.Data[hyperv1.PullSecretKey],
		Mirrors:    release.ContentSources(l.Hosted.Spec.ImageContentSources),
		Recheck:    before != nil && before.Status == metav1.ConditionFalse,
	}
	if l.Hosted.Spec.AdditionalTrustBundle == nil {
		return access, nil
	}
	bundle, err := readConfigMap(ctx, l.Cluster, l.Hosted.Spec.AdditionalTrustBundle.Name)
	if err != nil {
		return release.Access{}, fmt.Errorf("spec.additionalTrustBundle: %w", err)
	}
	access.TrustBundle = []byte(bundle.Data[hyperv1.TrustBundleKey])
	return access, nil
}

// withKnownMirrors adds the mirrors of the management cluster, which lookups of releases add themselves.
func (l *look) withKnownMirrors(ctx context.Context, access release.Access) (release.Access, error) {
	if l.Mirrors == nil {
		return access, nil
	}
	known, err := l.Mirrors.List(ctx)
	if err != nil {
		return release.Access{}, fmt.Errorf("read the management cluster's mirrors: %w", err)
	}
	l.found.Mirrors = release.FormatMirrors(known)
	access.Mirrors = append(slices.Clone(access.Mirrors), known...)
	return access, nil
}

// sameKind refuses a payload of another kind than the rest of the hosted cluster's, and than the one that it has run: the objects of one kind
// mean nothing to the programs of another. A former payload that cannot be read any more says nothing.
func (l *look) sameKind(ctx context.Context, access release.Access, controlPlane, dataPlane *release.Release) error {
	if controlPlane.Kind() != dataPlane.Kind() {
		return l.reject(hyperv1.InvalidImageReason, fmt.Errorf("release %s of spec.controlPlaneRelease is of kind %s, and release %s of spec.release of kind %s: name two of one kind",
			controlPlane.Version, controlPlane.Kind(), dataPlane.Version, dataPlane.Kind()))
	}
	run := lastRun(l.Hosted)
	if run == nil || run.Image == dataPlane.Image {
		return nil
	}
	former, err := l.Releases.Lookup(ctx, run.Image, access)
	if release.Pending(err) {
		return &steps.Waiting{For: err.Error(), After: askAgain}
	}
	if err == nil && former.Kind() != dataPlane.Kind() {
		return l.reject(hyperv1.InvalidImageReason, fmt.Errorf("release %s is of kind %s, and the hosted cluster runs %s of kind %s, which cannot become the other: make another hosted cluster",
			dataPlane.Version, dataPlane.Kind(), former.Version, former.Kind()))
	}
	return nil
}

// lastRun is the newest release that the hosted cluster has run wholly.
func lastRun(hc *hyperv1.HostedCluster) *hyperv1.UpdateHistory {
	if hc.Status.Version == nil {
		return nil
	}
	i := slices.IndexFunc(hc.Status.Version.History, func(h hyperv1.UpdateHistory) bool { return h.State == hyperv1.CompletedUpdate })
	if i < 0 {
		return nil
	}
	return &hc.Status.Version.History[i]
}

// allowed applies the version policy. A release that is the control plane's alone counts as forced: nothing compares it with
// what runs.
func (l *look) allowed(ctx context.Context, image string, found *release.Release) error {
	_, skip := l.Hosted.Annotations[hyperv1.SkipReleaseImageValidation]
	policy := release.Policy{AnyVersion: skip}
	if image == l.Hosted.Spec.Release.Image {
		var err error
		if policy.Begun, err = release.Begun(ctx, l.Client, l.Hosted); err != nil {
			return err
		}
		policy.Current, policy.Network = currentVersion(l.Hosted), l.Hosted.Spec.Networking.NetworkType
	}
	parsed, err := policy.Check(found.Version)
	if err != nil {
		return err
	}
	if found.Images[release.KeyHypershift] == "" && release.Minor(parsed) < firstWithOperator {
		return fmt.Errorf("release %s has no image %s, and this operator cannot stand in before 4.%d; choose a newer release",
			parsed, release.KeyHypershift, firstWithOperator)
	}
	missing := slices.DeleteFunc(found.Missing(release.Required(l.Hosted.Spec.Platform.Type)...), func(key string) bool { return l.substitute(l.Hosted, key) != "" })
	if len(missing) == 0 {
		return nil
	}
	problem := fmt.Errorf("release %s has no images for %s; use a complete release image", parsed, strings.Join(missing, ", "))
	l.found.MissingImages = true
	l.Conditions().False(hyperv1.ValidReleaseInfo, hyperv1.MissingReleaseImagesReason, problem.Error())
	return problem
}

// currentVersion is the newest version that was rolled out completely; nil before the first.
func currentVersion(hc *hyperv1.HostedCluster) *version.Version {
	if hc.Status.Version == nil {
		return nil
	}
	for _, entry := range hc.Status.Version.History {
		if entry.State != hyperv1.CompletedUpdate {
			continue
		}
		if parsed, err := version.ParseSemantic(entry.Version); err == nil {
			return parsed
		}
	}
	return nil
}

func readSecret(ctx context.Context, c *cluster.Cluster, name string) (*corev1.Secret, error) {
	secret := &corev1.Secret{}
	if err := c.Client.Get(ctx, client.ObjectKey{Namespace: c.Hosted.Namespace, Name: name}, secret); err != nil {
		return nil, fmt.Errorf("read Secret %s/%s: %w", c.Hosted.Namespace, name, err)
	}
	return secret, nil
}

func readConfigMap(ctx context.Context, c *cluster.Cluster, name string) (*corev1.ConfigMap, error) {
	configMap := &corev1.ConfigMap{}
	if err := c.Client.Get(ctx, client.ObjectKey{Namespace: c.Hosted.Namespace, Name: name}, configMap); err != nil {
		return nil, fmt.Errorf("read ConfigMap %s/%s: %w", c.Hosted.Namespace, name, err)
	}
	return configMap, nil
}
