package change

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	utilversion "k8s.io/apimachinery/pkg/util/version"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hypershift-on-azure/hypershift/api/v1beta1"
	"github.com/hypershift-on-azure/hypershift/internal/cli/command"
	"github.com/hypershift-on-azure/hypershift/internal/cli/imagecheck"
	"github.com/hypershift-on-azure/hypershift/internal/cli/machines"
	"github.com/hypershift-on-azure/hypershift/internal/cli/management"
	"github.com/hypershift-on-azure/hypershift/internal/kube"
	"github.com/hypershift-on-azure/hypershift/internal/release"
	"github.com/hypershift-on-azure/hypershift/internal/survey"
)

// upgrade are the flags of upgrade.
type upgrade struct {
	target
	to, image string
	releases  release.Provider // nil reads registries
}

// NewUpgradeCommand is upgrade.
func NewUpgradeCommand() *cobra.Command {
	return command.Parent("upgrade", "Move a hosted cluster or a node pool to another release",
		newUpgradeCommand("cluster", "Move a hosted cluster to another release; its node pools follow one by one, each when you say so", false),
		newUpgradeCommand("nodepool", "Move a node pool to another release: its machines are replaced", true))
}

func newUpgradeCommand(use, short string, pool bool) *cobra.Command {
	u := &upgrade{target: target{pool: pool}}
	u.judge = u.checkWish
	cmd := u.waits(u.changes(u.verb(use, short, "  hypershift upgrade "+use+" demo --to 4.22.1 --dry-run\n  hypershift upgrade "+use+" demo --release-image quay.io/org/release:4.22.1 --wait", func(cmd *cobra.Command) error {
		return u.run(cmd.Context(), cmd.OutOrStdout())
	})), "the release is rolled out")
	cmd.Long = short + `.
--to finds the payload of a version beside the present one: in the same repository, under the tag VERSION, or with the architecture at its end.
What the operator would refuse is refused here, before anything is written: a payload that cannot run, a minor version back, a version out of
the supported range, a cluster that says it is not upgradeable, nodes that would be more than three minor versions behind their control plane,
or before it.`
	cmd.Flags().StringVar(&u.to, "to", "", "version to move to, such as 4.22.1")
	_ = cmd.RegisterFlagCompletionFunc("to", u.completeVersions)
	cmd.Flags().StringVar(&u.image, "release-image", "", "release payload to move to")
	cmd.MarkFlagsMutuallyExclusive("to", "release-image")
	cmd.MarkFlagsOneRequired("to", "release-image")
	return cmd
}

func (u *upgrade) run(ctx context.Context, out io.Writer) error {
	if err := u.checkWish(); err != nil {
		return err
	}
	obj := u.object()
	if err := u.read(ctx, obj); err != nil {
		return err
	}
	hc, present, err := u.clusterOf(ctx, obj)
	if err != nil {
		return err
	}
	wanted, image, err := u.find(ctx, hc, present)
	if err != nil {
		return err
	}
	if err := u.allowed(ctx, obj, hc, wanted, image); err != nil {
		return err
	}
	if err := u.path(ctx, out, obj, hc, wanted, image); err != nil {
		return err
	}
	if image != present {
		if err := u.patch(ctx, obj, map[string]any{"release": map[string]any{"image": image}}); err != nil {
			return err
		}
	}
	if !u.wait || u.dryRun {
		return nil
	}
	return u.until(ctx, "the release", false, func(_ context.Context, obj client.Object) (string, bool, error) { return upgraded(obj, image) })
}

// checkWish refuses what is no release, and says which version was meant where that is plain.
func (u *upgrade) checkWish() error {
	if u.to == "" {
		return machines.CheckImage("--release-image", u.image)
	}
	exact, err := utilversion.ParseSemantic(u.to)
	if err == nil && exact.String() == u.to {
		return nil
	}
	meant := ""
	switch loose, looseErr := utilversion.ParseGeneric(u.to); {
	case err == nil:
		meant = "; did you mean " + exact.String() + "?"
	case looseErr == nil && len(loose.Components()) == 2:
		meant = "; did you mean " + loose.String() + ".0?"
	}
	return fmt.Errorf("--to %q is not a version such as 4.22.1%s", u.to, meant)
}

// clusterOf is the hosted cluster, and the release image that the target has now.
func (u *upgrade) clusterOf(ctx context.Context, obj client.Object) (*hyperv1.HostedCluster, string, error) {
	if hc, ok := obj.(*hyperv1.HostedCluster); ok {
		return hc, hc.Spec.Release.Image, nil
	}
	np := obj.(*hyperv1.NodePool)
	hc := &hyperv1.HostedCluster{}
	if err := u.client.Get(ctx, client.ObjectKey{Namespace: np.Namespace, Name: np.Spec.ClusterName}, hc); err != nil {
		return nil, "", management.Unread("HostedCluster", np.Namespace, np.Spec.ClusterName, err)
	}
	return hc, np.Spec.Release.Image, nil
}

// find reads the payload that is wanted. One that cannot be read from here is left to the operator, when its image was given.
func (u *upgrade) find(ctx context.Context, hc *hyperv1.HostedCluster, present string) (*release.Release, string, error) {
	access, err := imagecheck.AccessOf(ctx, u.client, hc)
	if err != nil {
		return nil, "", fmt.Errorf("cannot read payloads as the operator does: %w", err)
	}
	payload := imagecheck.Payload{Flag: "--release-image", Image: u.image, Access: access, Releases: u.releases}
	if u.image != "" {
		found, err := payload.Check(ctx, u.say)
		return found, u.image, err
	}
	payload.Flag = "--to"
	var tried []string
	for _, image := range beside(present, u.to) {
		payload.Image = image
		found, err := payload.Check(ctx, func(string, ...any) {})
		switch {
		case err != nil:
			return nil, "", err
		case found != nil && found.Version == u.to:
			return found, image, nil
		}
		tried = append(tried, image)
	}
	return nil, "", fmt.Errorf("--to %s: there is no payload of this version at %s that this machine can read; give it with --release-image", u.to, strings.Join(tried, ", "))
}

// beside are the images that may be another version of a payload: in its repository, by the tags that payloads have.
func beside(image, version string) []string {
	repository, _, _ := strings.Cut(image, "@")
	if colon := strings.LastIndexByte(repository, ':'); colon > strings.LastIndexByte(repository, '/') {
		repository = repository[:colon]
	}
	var images []string
	for _, suffix := range payloadSuffixes {
		images = append(images, repository+":"+version+suffix)
	}
	return images
}

// allowed refuses what the operator would not roll out. wanted is nil where the payload cannot be read from here.
func (u *upgrade) allowed(ctx context.Context, obj client.Object, hc *hyperv1.HostedCluster, wanted *release.Release, image string) error {
	if obj.GetDeletionTimestamp() != nil {
		return fmt.Errorf("%s is being deleted", u)
	}
	if wanted == nil {
		return nil
	}
	policy, err := u.policy(ctx, obj, hc)
	if err != nil {
		return err
	}
	target, err := policy.Check(wanted.Version)
	if err != nil {
		return fmt.Errorf("%s: %w", u, err)
	}
	if u.pool {
		return imagecheck.CheckSkew("the payload", wanted.Version, hc)
	}
	return errors.Join(upgradeable(hc, policy.Current, target, image), u.leavesNobodyBehind(ctx, hc, target))
}

// policy is what the operator allows of the versions that the target may move to.
func (u *upgrade) policy(ctx context.Context, obj client.Object, hc *hyperv1.HostedCluster) (release.Policy, error) {
	_, any := hc.Annotations[hyperv1.SkipReleaseImageValidation]
	policy := release.Policy{AnyVersion: any}
	if running := runningVersion(obj); running != "" {
		current, err := utilversion.ParseSemantic(running)
		if err != nil {
			return policy, fmt.Errorf("%s runs version %q, which is none: %w", u, running, err)
		}
		policy.Current = current
	}
	if u.pool {
		return policy, nil
	}
	policy.Network = hc.Spec.Networking.NetworkType
	var err error
	if policy.Begun, err = release.Begun(ctx, u.client, hc); apierrors.IsForbidden(err) { // the operator may, and refuses it
		err = nil
	}
	return policy, err
}

// runningVersion is empty while no version is complete.
func runningVersion(obj client.Object) string {
	if np, ok := obj.(*hyperv1.NodePool); ok {
		return np.Status.Version
	}
	return release.Completed(obj.(*hyperv1.HostedCluster))
}

// upgradeable refuses another minor version while the cluster says that it may not go there, unless its annotation names the image.
func upgradeable(hc *hyperv1.HostedCluster, current, wanted *utilversion.Version, image string) error {
	c := kube.Find(hc.Status.Conditions, hyperv1.ClusterVersionUpgradeable)
	sameMinor := current == nil || release.Minor(current) == release.Minor(wanted)
	if c == nil || c.Status != "False" || sameMinor || hc.Annotations[hyperv1.ForceUpgradeToAnnotation] == image {
		return nil
	}
	return fmt.Errorf("HostedCluster %s/%s says that it is not upgradeable to another minor version: %s; mend that, or annotate it with %s=%s", hc.Namespace, hc.Name, c.Message, hyperv1.ForceUpgradeToAnnotation, image)
}

// leavesNobodyBehind refuses a version for which a node pool is too old.
func (u *upgrade) leavesNobodyBehind(ctx context.Context, hc *hyperv1.HostedCluster, wanted *utilversion.Version) error {
	pools, err := u.pools(ctx, hc)
	if err != nil {
		return err
	}
	var errs []error
	for _, np := range pools {
		version, err := utilversion.ParseSemantic(np.Status.Version)
		if err != nil {
			continue // it has no nodes yet
		}
		if behind := release.Minor(wanted) - release.Minor(version); behind > imagecheck.MaxSkew {
			errs = append(errs, fmt.Errorf("NodePool %s runs %s, which would be %d minor versions behind %s, and %d are allowed; first: `hypershift upgrade nodepool %s --namespace %s`",
				np.Name, version, behind, wanted, imagecheck.MaxSkew, np.Name, np.Namespace))
		}
	}
	return errors.Join(errs...)
}

func (u *upgrade) pools(ctx context.Context, hc *hyperv1.HostedCluster) ([]hyperv1.NodePool, error) {
	list := &hyperv1.NodePoolList{}
	if err := u.client.List(ctx, list, client.InNamespace(hc.Namespace)); err != nil {
		return nil, fmt.Errorf("cannot list the NodePools of HostedCluster %s/%s: %w", hc.Namespace, hc.Name, err)
	}
	var pools []hyperv1.NodePool
	for _, np := range list.Items {
		if np.Spec.ClusterName == hc.Name {
			pools = append(pools, np)
		}
	}
	return pools, nil
}

// path shows where it goes, and what is to be typed then.
func (u *upgrade) path(ctx context.Context, out io.Writer, obj client.Object, hc *hyperv1.HostedCluster, wanted *release.Release, image string) error {
	version := "the version of the image"
	if wanted != nil {
		version = wanted.Version
	}
	from := runningVersion(obj)
	if from == "" {
		from = "no version yet"
	}
	would := map[bool]string{true: " (nothing is changed: --dry-run)"}[u.dryRun]
	fmt.Fprintf(out, "%s: %s → %s, %s%s\n", &u.target, from, version, image, would)
	if u.pool {
		return nil
	}
	pools, err := u.pools(ctx, hc)
	if err != nil {
		return err
	}
	for _, np := range pools {
		if np.Spec.Release.Image != image {
			fmt.Fprintf(out, "NodePool %s stays at %s; then: hypershift upgrade nodepool %s --namespace %s --release-image %s\n", np.Name, orNone(np.Status.Version), np.Name, np.Namespace, image)
		}
	}
	return nil
}

func orNone(version string) string {
	if version == "" {
		return "no version yet"
	}
	return version
}

// upgraded tells whether the release that is wanted is rolled out. image is what it has to be; empty means whatever the spec says.
func upgraded(obj client.Object, image string) (string, bool, error) {
	if np, ok := obj.(*hyperv1.NodePool); ok {
		return poolUpgraded(np)
	}
	hc := obj.(*hyperv1.HostedCluster)
	if image == "" {
		image = hc.Spec.Release.Image
	}
	if valid := kube.Find(hc.Status.Conditions, hyperv1.ValidReleaseImage); valid == nil || valid.ObservedGeneration < hc.Generation {
		return notLookedAt, false, nil
	}
	if is, message := statusOf(hc, hyperv1.ValidReleaseImage); is == "False" {
		return "", false, fmt.Errorf("HostedCluster %s/%s cannot use the release image: %s", hc.Namespace, hc.Name, message)
	}
	v := hc.Status.Version
	if v == nil || len(v.History) == 0 || v.History[0].Image != image {
		_, message := statusOf(hc, hyperv1.HostedClusterProgressing)
		return "the rollout has not begun: " + message, false, nil
	}
	if v.History[0].State != hyperv1.CompletedUpdate {
		_, message := statusOf(hc, hyperv1.HostedClusterProgressing)
		return fmt.Sprintf("version %s is being rolled out: %s", v.History[0].Version, message), false, nil
	}
	return fmt.Sprintf("version %s is rolled out", v.History[0].Version), true, nil
}

// notLookedAt is the state of what the operator has not seen since it was changed.
const notLookedAt = "the operator has not looked at the release image yet"

func poolUpgraded(np *hyperv1.NodePool) (string, bool, error) {
	for _, condition := range []string{hyperv1.NodePoolValidReleaseImage, hyperv1.NodePoolUpdatingVersion} {
		if c := survey.PoolCondition(np, condition); c == nil || c.ObservedGeneration < np.Generation {
			return notLookedAt, false, nil
		}
	}
	if is, message := statusOf(np, hyperv1.NodePoolValidReleaseImage); is == "False" {
		return "", false, fmt.Errorf("NodePool %s/%s cannot use the release image: %s", np.Namespace, np.Name, message)
	}
	for _, condition := range []string{hyperv1.NodePoolUpdatingVersion, hyperv1.NodePoolUpdatingConfig, hyperv1.NodePoolUpdatingPlatformMachineTemplate} {
		if is, message := statusOf(np, condition); is == "True" {
			return fmt.Sprintf("%d nodes are available; %s", np.Status.Replicas, message), false, nil
		}
	}
	return stateOf(np), enough(np), nil
}
