package change

import (
	"context"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	utilversion "k8s.io/apimachinery/pkg/util/version"

	hyperv1 "github.com/hypershift-on-azure/hypershift/api/v1beta1"
	"github.com/hypershift-on-azure/hypershift/internal/cli/imagecheck"
	"github.com/hypershift-on-azure/hypershift/internal/cli/management"
	"github.com/hypershift-on-azure/hypershift/internal/release"
)

// payloadSuffixes are what follows the version in the tag of a payload.
var payloadSuffixes = []string{"", "-multi", "-x86_64", "-aarch64"}

// completeVersions offers, for --to, the versions to which the named target may move. A registry or management cluster that does not answer
// offers none.
func (u *upgrade) completeVersions(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	const none = cobra.ShellCompDirectiveNoFileComp
	if len(args) != 1 {
		return nil, none
	}
	c, err := management.NewClient(u.kubeconfig)
	if err != nil {
		return nil, none
	}
	u.name, u.client = args[0], c
	ctx, cancel := context.WithTimeout(cmd.Context(), 2*management.CompletionLimit)
	defer cancel()
	versions, err := u.versions(ctx, release.Reader{})
	if err != nil { // who types is told nothing in the middle of a word
		return nil, none
	}
	return versions, none | cobra.ShellCompDirectiveKeepOrder
}

// versions are those of the payloads beside the present one that would be allowed and are newer, the newest first.
func (u *upgrade) versions(ctx context.Context, in release.Reader) ([]string, error) {
	obj := u.object()
	if err := u.read(ctx, obj); err != nil {
		return nil, err
	}
	hc, present, err := u.clusterOf(ctx, obj)
	if err != nil {
		return nil, err
	}
	access, err := imagecheck.AccessOf(ctx, u.client, hc)
	if err != nil {
		return nil, err
	}
	tags, err := in.Tags(ctx, present, access)
	if err != nil {
		return nil, err
	}
	policy, err := u.policy(ctx, obj, hc)
	if err != nil {
		return nil, err
	}
	found := u.newer(tags, policy, hc)
	slices.SortFunc(found, func(a, b *utilversion.Version) int {
		switch {
		case b.LessThan(a):
			return -1
		case a.LessThan(b):
			return 1
		}
		return 0
	})
	var names []string
	for _, v := range found {
		names = append(names, v.String())
	}
	return slices.Compact(names), nil
}

// newer are the versions among a repository's tags that may follow the present one.
func (u *upgrade) newer(tags []string, policy release.Policy, hc *hyperv1.HostedCluster) []*utilversion.Version {
	var found []*utilversion.Version
	for _, tag := range tags {
		for _, suffix := range payloadSuffixes[1:] {
			tag = strings.TrimSuffix(tag, suffix)
		}
		v, err := policy.Check(tag)
		if err != nil || policy.Current != nil && !policy.Current.LessThan(v) || u.pool && imagecheck.CheckSkew("the payload", tag, hc) != nil {
			continue
		}
		found = append(found, v)
	}
	return found
}
