package cluster

import (
	"errors"
	"maps"
	"slices"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/hypershift-on-azure/hypershift/internal/azure"
	"github.com/hypershift-on-azure/hypershift/internal/cli/azureflags"
	"github.com/hypershift-on-azure/hypershift/internal/cli/cluster/export"
	"github.com/hypershift-on-azure/hypershift/internal/cli/clusterfile"
	"github.com/hypershift-on-azure/hypershift/internal/manifest"
	"github.com/hypershift-on-azure/hypershift/internal/provision/infra"
)

// FileFlags are the flags whose names are the members of the cluster file.
func FileFlags() *pflag.FlagSet { return NewCreateAzureCommand(nil, nil, nil).Flags() }

// ForExport is what export cluster has to know of create cluster azure.
func ForExport() export.Creation { return export.Creation{Flags: FileFlags, Remake: Remake} }

// inPlaceOfAFile stands for the path, and for the content, of a file that nobody reads.
const inPlaceOfAFile = "-"

// Remake makes in memory the HostedCluster and the node pools that create cluster azure --file makes of a file: it asks neither Azure nor a
// management cluster, and reads no file. What stands beside the file is given. The error says what the command would refuse; objects are
// there all the same.
func Remake(raw []byte, beside export.Beside) ([]client.Object, error) {
	t, refused := typedIn(raw, beside)
	v := validated{typed: t, cluster: t.cluster, infra: t.infra}
	v.infra.Identities, v.infra.Managed = beside.Identities, beside.Managed
	v.cluster.Secrets = secretsOf(beside)
	v.cluster.ImageContentSources, v.cluster.RestoreSnapshotURL = beside.ImageContentSources, beside.RestoreSnapshotURL
	for _, step := range []func() error{v.loadRanges, v.loadKMS, v.loadMetadata, v.loadSpec} {
		refused = append(refused, step())
	}
	// The cloud is of no account here: nobody is called.
	session, err := azure.NewSession(azure.Credentials{SubscriptionID: beside.SubscriptionID, TenantID: beside.TenantID}, "AzurePublicCloud")
	if err != nil {
		return nil, err
	}
	r := resolved{typed: v.typed, location: v.typed.Location, cluster: v.cluster, infra: v.infra, session: session}
	r.cluster.Identity.SubscriptionID, r.cluster.Identity.TenantID = beside.SubscriptionID, beside.TenantID
	out := infra.Expected(session, r.infra)
	out.PublicZoneID = beside.PublicZoneID
	cluster, err := r.placedIn(out)
	refused = append(refused, err)
	objects := []client.Object{cluster.HostedCluster()}
	for _, pool := range cluster.Pools() {
		objects = append(objects, pool)
	}
	return objects, errors.Join(refused...)
}

// typedIn are the flags as a file and what stands beside it set them, and what is refused of them.
func typedIn(raw []byte, beside export.Beside) (typed, []error) {
	t, cmd := &typed{flags: map[string]bool{}}, &cobra.Command{Use: "azure"}
	t.define(cmd, &azureflags.HandoffFile{})
	spec, err := clusterfile.Parse(raw)
	refused := []error{err}
	for _, name := range slices.Sorted(maps.Keys(spec)) {
		refused = append(refused, clusterfile.Set(cmd.Flags(), name, spec[name], ""))
	}
	for _, name := range beside.Files {
		refused = append(refused, cmd.Flags().Set(name, inPlaceOfAFile))
	}
	refused = append(refused, cmd.ValidateFlagGroups())
	cmd.Flags().Visit(func(f *pflag.Flag) { t.flags[f.Name] = true })
	for _, check := range t.checks() {
		refused = append(refused, check())
	}
	return *t, append(refused, t.checkTogether())
}

// secretsOf are the Secrets whose files are given.
func secretsOf(beside export.Beside) manifest.Secrets {
	var s manifest.Secrets
	for flag, into := range map[string]*[]byte{
		"pull-secret": &s.PullSecret, "ssh-key": &s.SSHPublicKey,
		"sa-token-issuer-private-key-path": &s.SigningKey, "additional-trust-bundle": &s.TrustBundle,
	} {
		if slices.Contains(beside.Files, flag) {
			*into = []byte(inPlaceOfAFile)
		}
	}
	return s
}
