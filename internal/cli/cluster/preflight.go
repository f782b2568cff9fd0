package cluster

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"

	"github.com/spf13/cobra"
	"golang.org/x/sync/errgroup"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hypershift-on-azure/hypershift/api/v1beta1"
	"github.com/hypershift-on-azure/hypershift/internal/cli/azureflags"
	"github.com/hypershift-on-azure/hypershift/internal/cli/checklist"
	"github.com/hypershift-on-azure/hypershift/internal/cli/cluster/releasestream"
	"github.com/hypershift-on-azure/hypershift/internal/cli/feasibility"
	"github.com/hypershift-on-azure/hypershift/internal/cli/management"
	"github.com/hypershift-on-azure/hypershift/internal/cli/printing"
	"github.com/hypershift-on-azure/hypershift/internal/cli/progress"
	"github.com/hypershift-on-azure/hypershift/internal/contract"
	"github.com/hypershift-on-azure/hypershift/internal/infraid"
	"github.com/hypershift-on-azure/hypershift/internal/preflight"
	"github.com/hypershift-on-azure/hypershift/internal/release"
)

// look is a look before anything is made, at what create cluster azure would be given.
type look struct {
	creation
	typed    typed
	list     checklist.Flags
	resolver string
}

// resolverVariable names the DNS server where the system's sees another world.
const resolverVariable = contract.DNSResolverEnv

func (l *look) add(cmd *cobra.Command) {
	l.cmd, l.streams, l.record = cmd, releasestream.New(), &azureflags.HandoffFile{}
	l.typed.Flags.Add(cmd)
	l.list.Add(cmd)
	l.record.AddRead(cmd)
	cmd.Flags().StringVar(&l.resolver, "dns-resolver", os.Getenv(resolverVariable), "HOST:PORT of the DNS server to ask; the system's when empty; $"+resolverVariable+" is the default")
}

// PreflightCommands are preflight azure and preflight cluster.
func PreflightCommands() []*cobra.Command {
	return []*cobra.Command{NewPreflightAzureCommand(feasibility.Look), NewPreflightClusterCommand(feasibility.Look, release.Reader{})}
}

// NewPreflightAzureCommand is preflight azure.
func NewPreflightAzureCommand(at Looker) *cobra.Command {
	l := &look{creation: creation{look: at}}
	cmd := &cobra.Command{
		Use:   "azure",
		Short: "Look at the subscription: credentials, rights, quotas, sizes, terms, DNS, issuer and identities",
		Long: `Looks whether a hosted cluster can be made in a subscription, and writes nothing. The flags are those of create cluster azure; what is not
given is not looked at, and said (skip). Exit status 1 when a check fails, also when one warns with --strict.`,
		Example: `  hypershift preflight azure --azure-creds azure-credentials.json --location eastus --node-pool-replicas 3
  hypershift preflight azure --azure-creds azure-credentials.json --name demo --base-domain example.com --instance-type Standard_D8s_v5 \
    --availability-zones 1,2,3 --node-pool-replicas 2 --oidc-issuer-url https://ACCOUNT.blob.core.windows.net/demo \
    --sa-token-issuer-private-key-path serviceaccount-signer.private --workload-identities-file workload-identities.json -o json`,
		Args: cobra.NoArgs,
	}
	l.add(cmd)
	l.typed.addAllPlacement(cmd)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error { return l.run(cmd.Context(), validatePlacement, l.atAzure) }
	return cmd
}

// NewPreflightClusterCommand is preflight cluster, with what looks at Azure and into release payloads.
func NewPreflightClusterCommand(at Looker, releases release.Provider) *cobra.Command {
	l := &look{creation: creation{look: at, releases: releases}}
	cmd := &cobra.Command{
		Use:   "cluster",
		Short: "Look at everything that a hosted cluster needs: Azure, the management cluster, the release",
		Long: `Looks at all that create cluster azure would need, and writes nothing: what preflight azure and preflight management look at, the release with
the pull secret, and the ranges of addresses. Type the flags of create cluster azure. Exit status 1 when a check fails, also when one warns
with --strict.`,
		Example: `  hypershift preflight cluster --from demo.yaml --azure-creds azure-credentials.json --pull-secret pull-secret.json --base-domain example.com \
    --release-image quay.io/openshift-release-dev/ocp-release:4.21.0-x86_64 --node-pool-replicas 2 --assign-service-principal-roles
  hypershift preflight cluster --file cluster.yaml -o json`,
		Args: cobra.NoArgs,
	}
	l.add(cmd)
	// The checks ask for it in its place: the name and the pull secret come first.
	delete(cmd.Flag("azure-creds").Annotations, cobra.BashCompOneRequiredFlag)
	l.typed.addCluster(cmd)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error { return l.run(cmd.Context(), l.validateAll, l.everywhere) }
	return cmd
}

func (l *look) run(ctx context.Context, judge func(typed) (validated, error), at func(context.Context, resolved) ([]preflight.Check, error)) error {
	if err := printing.CheckFormat(l.list.Output); err != nil {
		return err
	}
	l.say = progress.Line(l.cmd)
	if err := l.fill(l.typed.file); err != nil {
		return err
	}
	t, err := l.complete(l.typed)
	if err != nil {
		return err
	}
	ctx, cancel := t.bounded(ctx)
	defer cancel()
	v, err := judge(t)
	if err != nil {
		return err
	}
	r := resolved{typed: v.typed, location: v.typed.Location, cluster: v.cluster, infra: v.infra}
	if r.session, err = t.Session(); err != nil {
		return err
	}
	checks, err := at(ctx, r)
	if err != nil {
		return err
	}
	return l.list.Print(l.cmd.OutOrStdout(), checks)
}

// validateAll refuses what create cluster azure refuses before it asks anybody.
func (l *look) validateAll(t typed) (validated, error) {
	v, err := validate(t)
	if err != nil {
		return v, err
	}
	if err := l.checkSupported(v.typed, v.cluster); err != nil || t.infraJSON != "" {
		return v, err
	}
	o := v.infra
	o.InfraID = cmp.Or(o.InfraID, infraid.New(v.cluster.Name))
	return v, o.Validate()
}

// validatePlacement is validate for what Azure alone is asked: nothing has to be given.
func validatePlacement(t typed) (validated, error) {
	t.cluster.Namespace = management.ClustersNamespace // it is not asked for
	v := validated{typed: t, cluster: t.cluster, infra: t.infra}
	if err := errors.Join(t.machines.Validate(), t.validateZones(), t.validateNames(), t.validateRanges()); err != nil {
		return v, err
	}
	err := errors.Join(v.loadRanges(), v.loadIdentities())
	v.place()
	return v, err
}

func (l *look) atAzure(ctx context.Context, r resolved) ([]preflight.Check, error) {
	o, err := r.feasibility()
	if err != nil {
		return nil, err
	}
	o.Resolver = l.resolver
	return l.look(ctx, r.session, o)
}

// everywhere looks at Azure, the management cluster and the release at once.
func (l *look) everywhere(ctx context.Context, r resolved) ([]preflight.Check, error) {
	o, err := r.feasibility()
	if err != nil {
		return nil, err
	}
	if r.client, err = management.NewClient(r.typed.kubeconfig); err != nil {
		return nil, err
	}
	o.Resolver = l.resolver
	read := make(chan *release.Release, 1)
	o.Machines.Image = func(ctx context.Context) feasibility.Image {
		select {
		case found := <-read:
			return feasibility.ImageOf(r.typed.machines.NodePool, found)
		case <-ctx.Done():
			return feasibility.Image{}
		}
	}
	var inAzure, there, payload []preflight.Check
	all, ctx := errgroup.WithContext(ctx)
	all.Go(func() (err error) {
		inAzure, err = l.look(ctx, r.session, o)
		return err
	})
	all.Go(func() (err error) {
		there, err = l.atManagement(ctx, r)
		return err
	})
	all.Go(func() error {
		var found *release.Release
		payload, found = l.atRelease(ctx, r)
		read <- found
		return ctx.Err()
	})
	err = all.Wait()
	return slices.Concat(inAzure, there, payload), err
}

// atManagement looks at the management cluster, the name of the cluster there, and its ranges.
func (l *look) atManagement(ctx context.Context, r resolved) ([]preflight.Check, error) {
	const name, ranges = "name of the hosted cluster", "ranges of the management cluster"
	checks, err := preflight.Management(ctx, r.client, preflight.Needs{Namespace: r.cluster.Namespace, Operator: management.OperatorNamespace,
		StorageClass: r.cluster.EtcdStorageClass, HighlyAvailable: r.cluster.ControlPlaneAvailability == hyperv1.HighlyAvailable})
	if err != nil {
		return nil, err
	}
	if r.typed.versionCheck {
		const build = "build of the operator"
		if err := management.CheckServerVersion(ctx, r.client); err != nil {
			checks = append(checks, preflight.OfError(build, preflight.Fail, err, "use the program of the operator's build, or install this one's"))
		} else {
			checks = append(checks, preflight.Verdict(build, preflight.Fail, true, "is that of this program", ""))
		}
	}
	found, err := l.findCluster(ctx, r.client, r.cluster, r.infra.InfraID)
	key := client.ObjectKeyFromObject(r.cluster.HostedCluster()).String()
	switch {
	case err != nil:
		checks = append(checks, preflight.OfError(name, preflight.Fail, err, "choose another --name or --namespace"))
	case found != nil:
		checks = append(checks, preflight.Verdict(name, preflight.Warn, false, "HostedCluster "+key+" is there, and is this one", "`hypershift status` says how it is; create makes only what is missing"))
	default:
		checks = append(checks, preflight.Verdict(name, preflight.Fail, true, key+" is free", ""))
	}
	theirs, err := managementRanges(ctx, r.client)
	if err != nil {
		return append(checks, preflight.Skipped(ranges, err.Error(), "have somebody look who may read the management cluster's nodes and network")), nil
	}
	if err := checkOverlaps(r.infra.Ranges, theirs); err != nil {
		return append(checks, preflight.OfError(ranges, preflight.Fail, err, "choose another --cluster-cidr or --service-cidr")), nil
	}
	return append(checks, preflight.Verdict(ranges, preflight.Fail, true, "none overlaps those of pods and Services", "")), nil
}

// atRelease looks at the payload; that of a stream is found first.
func (l *look) atRelease(ctx context.Context, r resolved) ([]preflight.Check, *release.Release) {
	minors, minorsErr := management.OperatorMinors(ctx, r.client)
	image := r.cluster.ReleaseImage
	if stream := r.typed.releaseStream; stream != "" {
		if minorsErr != nil {
			return []preflight.Check{preflight.OfError("release stream "+stream, preflight.Fail, minorsErr, "install the operator first")}, nil
		}
		var err error
		if image, err = l.streams.Resolve(ctx, stream, minors); err != nil {
			return []preflight.Check{preflight.OfError("release stream "+stream, preflight.Fail, err, "name another --release-stream, or a --release-image")}, nil
		}
	}
	checks, found := preflight.Release(ctx, preflight.Payload{Image: image, Access: accessOf(r.cluster), Releases: l.releases, Minors: minors, MinorsErr: minorsErr, Arch: r.typed.machines.Arch})
	if found != nil {
		checks = append(checks, l.atPrograms(r, found))
	}
	return checks, found
}

// atPrograms looks whether the payload has programs for what is asked for.
func (l *look) atPrograms(r resolved, payload *release.Release) preflight.Check {
	const programs = "programs of the release"
	if err := l.checkPayload(r.typed, r.cluster, payload); err != nil {
		return preflight.OfError(programs, preflight.Fail, err, "leave the flags out, or name a payload of OpenShift")
	}
	return preflight.Verdict(programs, preflight.Fail, true, "there is one for all that is asked for", "")
}

// bounded is the context with the bound of --timeout.
func (t typed) bounded(ctx context.Context) (context.Context, context.CancelFunc) {
	if t.timeout <= 0 {
		return ctx, func() {}
	}
	return context.WithTimeoutCause(ctx, t.timeout, fmt.Errorf("--timeout of %s is over", t.timeout))
}
