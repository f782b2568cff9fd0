// Package feasibility looks whether a hosted cluster can be made in a subscription, before anything is: credentials, rights, quotas, sizes,
// terms, names, DNS, issuer and identities. It writes nothing.
package feasibility

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"golang.org/x/sync/errgroup"

	"github.com/hypershift-on-azure/hypershift/internal/azure"
	"github.com/hypershift-on-azure/hypershift/internal/manifest"
	"github.com/hypershift-on-azure/hypershift/internal/preflight"
	"github.com/hypershift-on-azure/hypershift/internal/provision/handoff"
	"github.com/hypershift-on-azure/hypershift/internal/provision/identity"
	"github.com/hypershift-on-azure/hypershift/internal/provision/infra"
	"github.com/hypershift-on-azure/hypershift/internal/release"
)

// Options are what the hosted cluster will ask of Azure. What is empty is not looked at, and said.
type Options struct {
	Infra infra.Options
	// Output is infrastructure that is there already; nil where it is to be made.
	Output *infra.Output
	// Machines are those of all node pools.
	Machines Machines
	// IssuerURL and SigningKeyPath are the issuer's.
	IssuerURL, SigningKeyPath string
	Identities                *identity.WorkloadIdentities
	// ExternalDNSDomain is where the endpoints are published, "" when they have none.
	ExternalDNSDomain string
	// Resolver is the HOST:PORT of the DNS server to ask; "" is the system's.
	Resolver string
}

// Machines of a hosted cluster, which are all alike.
type Machines struct {
	// Size such as Standard_D4s_v5, Arch amd64 or arm64.
	Size, Arch string
	// Zones of the node pools; empty where Azure may choose.
	Zones []string
	// Subnet of the node pools; "" is the cluster's.
	Subnet string
	// Count of all pools together, Pools that are upgraded at the same time, each by one machine more.
	Count, Pools int
	// Generation of the image: V1 or V2.
	Generation string
	// Image tells the image of the marketplace, the zero value where none is known; it may wait for a registry. Nil knows none.
	Image func(context.Context) Image
	// What the disks are to be.
	PremiumDisks, EphemeralDisk, EncryptionAtHost bool
}

// Image is an image of the marketplace with what the user says of its plan.
type Image struct {
	Publisher, Offer, SKU, Version string
	// Plan: the machines will name the purchase plan.
	Plan bool
}

// OfPool is what that many node pools of one kind ask of Azure; zones are theirs, none where the pool names its own.
func OfPool(pool manifest.NodePool, pools int, zones []string) Machines {
	m := Machines{
		Size: cmp.Or(pool.InstanceType, manifest.DefaultInstanceType(pool.Arch)), Arch: pool.Arch, Zones: zones, Subnet: pool.SubnetID, Pools: pools,
		PremiumDisks: strings.HasPrefix(pool.DiskStorageType, "Premium"), EphemeralDisk: pool.EphemeralDisk, EncryptionAtHost: pool.EncryptionAtHost == "Enabled",
	}
	if pool.AvailabilityZone != "" && len(m.Zones) == 0 {
		m.Zones = []string{pool.AvailabilityZone}
	}
	m.Count = pools * int(max(pool.Replicas, 0))
	if m.Generation = "V2"; pool.Image.Generation == "Gen1" {
		m.Generation = "V1"
	}
	return m
}

// ImageOf is the image of the marketplace that a pool names, else that of its payload; the zero value where neither is known.
func ImageOf(pool manifest.NodePool, payload *release.Release) Image {
	i := pool.Image
	if i.Publisher == "" && i.ID == "" && payload != nil {
		if named := payload.MachineImage(pool.Arch, i.Generation == "Gen1"); named != nil {
			return Image{Publisher: named.Publisher, Offer: named.Offer, SKU: named.SKU, Version: named.Version}
		}
	}
	return Image{Publisher: i.Publisher, Offer: i.Offer, SKU: i.SKU, Version: i.Version, Plan: i.Plan}
}

// Refused tells of every check that warns, and is the error of those that fail, for nothing is made then; hint says what can be done
// besides the remedies.
func Refused(checks []preflight.Check, say func(format string, args ...any), hint string) error {
	var failed []error
	for _, check := range checks {
		switch check.Status {
		case preflight.Fail:
			failed = append(failed, fmt.Errorf("%s: %s; %s", check.Name, check.Detail, check.Remedy))
		case preflight.Warn:
			say("warning: %s: %s; %s", check.Name, check.Detail, check.Remedy)
		}
	}
	if len(failed) == 0 {
		return nil
	}
	return errors.Join(append(failed, errors.New("nothing is made; "+hint))...)
}

// look is one thing to look at; a quick one is decisive and takes few calls.
type look struct {
	quick bool
	at    func(context.Context) []preflight.Check
}

// examination is what the looks share.
type examination struct {
	Options
	s *azure.Session
}

// Look looks at everything at once, after the sign-in. The error is that of an interruption alone.
func Look(ctx context.Context, s *azure.Session, o Options) ([]preflight.Check, error) {
	e := &examination{Options: o, s: s}
	signedIn := e.signIn(ctx)
	if signedIn.Status != preflight.Pass {
		return []preflight.Check{signedIn}, ctx.Err()
	}
	found, err := atOnce(ctx, e.looks())
	return append([]preflight.Check{signedIn}, found...), err
}

// Quick looks at what is decisive and cheap: what the first writes would not find out themselves, and what machines would be refused for later.
func Quick(ctx context.Context, s *azure.Session, o Options) ([]preflight.Check, error) {
	e := &examination{Options: o, s: s}
	return atOnce(ctx, slices.DeleteFunc(e.looks(), func(l look) bool { return !l.quick }))
}

// Pool looks at what a further node pool of a hosted cluster asks of Azure: size, quotas, image and subnet.
func Pool(ctx context.Context, s *azure.Session, o Options) ([]preflight.Check, error) {
	e := &examination{Options: o, s: s}
	return atOnce(ctx, []look{{at: e.machines}, {at: e.image}, {at: e.poolSubnet}})
}

func (e *examination) looks() []look {
	return []look{
		{at: e.subscription}, {at: e.region}, {at: e.providers}, {at: e.rights}, {at: e.policies},
		{quick: true, at: e.machines}, {quick: true, at: e.image}, {at: e.addresses}, {at: e.subnet}, {at: e.poolSubnet},
		{at: e.groups}, {quick: true, at: e.shadows}, {quick: true, at: e.ranges},
		{at: e.baseZone}, {at: e.externalZone},
		{at: e.identities},
	}
}

func atOnce(ctx context.Context, looks []look) ([]preflight.Check, error) {
	found := make([][]preflight.Check, len(looks))
	all, ctx := errgroup.WithContext(ctx)
	for i, l := range looks {
		all.Go(func() error {
			found[i] = l.at(ctx)
			return ctx.Err()
		})
	}
	err := all.Wait()
	return slices.Concat(found...), err
}

// one is a list of a single check.
func one(c preflight.Check) []preflight.Check { return []preflight.Check{c} }

// unanswered is a check that Azure does not answer, be it for a missing right to read.
func unanswered(name string, err error) []preflight.Check {
	c := preflight.OfError(name, preflight.Skip, err, "have somebody look who may read this")
	return one(c)
}

// handedOff is what is there already, in the form in which verify looks at it again.
func (e *examination) handedOff() *handoff.File {
	h := &handoff.File{Name: e.Infra.Name, InfraID: e.Infra.InfraID}
	if e.IssuerURL != "" {
		h.Issuer = &handoff.Issuer{URL: e.IssuerURL, PrivateKeyPath: e.SigningKeyPath}
	}
	if e.Identities != nil {
		h.Identities = &handoff.Identities{Clients: e.Identities}
	}
	if e.Output != nil {
		h.Infra = e.Output
		h.RolesDNSZoneGroup = handoff.NoDNSZoneGroup
		if zone, err := azure.ParseID(e.Output.PublicZoneID); err == nil {
			h.RolesDNSZoneGroup = zone.ResourceGroup
		}
		h.InfraID = e.Output.InfraID
	}
	return h
}
