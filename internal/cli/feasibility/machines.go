package feasibility

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/hypershift-on-azure/hypershift/internal/azure"
	"github.com/hypershift-on-azure/hypershift/internal/azure/failure"
	"github.com/hypershift-on-azure/hypershift/internal/preflight"
	"github.com/hypershift-on-azure/hypershift/internal/provision/infra"
)

// allCores is the quota of the cores of every size together.
const allCores = "cores"

// machines are the size, in region and zones and with its disks, and the quotas of its cores.
func (e *examination) machines(ctx context.Context) []preflight.Check {
	name := "machine size " + e.Machines.Size
	offers, err := e.s.Offers(ctx, e.Infra.Location)
	if err != nil {
		return unanswered(name, err)
	}
	offer, found := offers[strings.ToLower(e.Machines.Size)]
	if !found {
		return one(preflight.Verdict(name, preflight.Fail, false, e.Infra.Location+" has no such size", "choose one that `az vm list-skus --location "+e.Infra.Location+" --resource-type virtualMachines` prints, by --instance-type"))
	}
	checks := one(e.judgeSize(name, offer))
	return append(checks, e.quotas(ctx, offer)...)
}

// judgeSize holds a size against what the machines are to be.
func (e *examination) judgeSize(name string, offer azure.Offer) preflight.Check {
	m, wrong := e.Machines, []string{}
	demand := func(ok bool, format string, args ...any) {
		if !ok {
			wrong = append(wrong, fmt.Sprintf(format, args...))
		}
	}
	demand(offer.Refused == "", "%s does not give it to this subscription (%s)", e.Infra.Location, offer.Refused)
	demand(offer.Arch == m.Arch, "it is %s, and --arch is %s", offer.Arch, m.Arch)
	for _, zone := range m.Zones {
		demand(slices.Contains(offer.Zones, zone), "zone %s does not have it; zones %s do", zone, strings.Join(offer.Zones, ", "))
	}
	demand(m.Generation == "" || slices.Contains(offer.Generations, m.Generation), "it boots images of generation %s, and the image is %s", strings.Join(offer.Generations, ", "), m.Generation)
	demand(!m.PremiumDisks || offer.PremiumDisks, "it takes no premium disks")
	demand(!m.EphemeralDisk || offer.EphemeralDisk, "it has no room for an ephemeral OS disk")
	demand(!m.EncryptionAtHost || offer.EncryptionAtHost, "its host does not encrypt")
	detail := fmt.Sprintf("%d cores, %d MiB, %s", offer.VCPUs, offer.MemoryMiB, offer.Arch)
	if len(wrong) > 0 {
		detail = strings.Join(wrong, "; ")
	}
	return preflight.Verdict(name, preflight.Fail, len(wrong) == 0, detail, "choose another --instance-type, --availability-zone, --location or disk; `az vm list-skus --location "+e.Infra.Location+" --size "+strings.TrimPrefix(offer.Name, "Standard_")+" --all` shows the restrictions")
}

// quotas are the cores of the size's family and those of all families.
func (e *examination) quotas(ctx context.Context, offer azure.Offer) []preflight.Check {
	usages, err := e.s.Usages(ctx, infra.MachinesNamespace, e.Infra.Location)
	if err != nil {
		return unanswered("quota of cores", err)
	}
	return []preflight.Check{e.quota("quota of "+offer.Family, usages[strings.ToLower(offer.Family)], offer.VCPUs), e.quota("quota of all cores", usages[allCores], offer.VCPUs)}
}

func (e *examination) quota(name string, u azure.Usage, cores int64) preflight.Check {
	if u.Text == "" {
		return preflight.Skipped(name, "Azure names no such quota in "+e.Infra.Location, "look at `az vm list-usage --location "+e.Infra.Location+"`")
	}
	needed, surge, left := int64(e.Machines.Count)*cores, int64(e.Machines.Pools)*cores, u.Limit-u.Used
	detail := fmt.Sprintf("%d of %d %s are left; the machines need %d", left, u.Limit, u.Text, needed)
	remedy := "free some, choose another size or --location, or ask for more: `az quota`, or a support request for " + u.Text
	if needed > left {
		return preflight.Verdict(name, preflight.Fail, false, detail, remedy)
	}
	return preflight.Verdict(name, preflight.Warn, needed == 0 || needed+surge <= left, detail+fmt.Sprintf(", and %d more while they are upgraded", surge), remedy)
}

// addresses are the public ones that the cluster takes: one for its machines, one for its applications and one for its API.
func (e *examination) addresses(ctx context.Context) []preflight.Check {
	const name, needed = "quota of public addresses", 3
	usages, err := e.s.Usages(ctx, "Microsoft.Network", e.Infra.Location)
	if err != nil {
		return unanswered(name, err)
	}
	u, found := usages["publicipaddresses"]
	if !found {
		return one(preflight.Skipped(name, "Azure names no such quota in "+e.Infra.Location, "look at `az network list-usages --location "+e.Infra.Location+"`"))
	}
	return one(preflight.Verdict(name, preflight.Fail, u.Limit-u.Used >= needed, fmt.Sprintf("%d of %d are left; a hosted cluster takes up to %d", u.Limit-u.Used, u.Limit, needed), "free some, or ask for more"))
}

// image is the one that the machines boot: that the region has it for their architecture and generation, and that its terms are accepted.
func (e *examination) image(ctx context.Context) []preflight.Check {
	const name, terms = "machine image", "marketplace terms"
	var i Image
	if e.Machines.Image != nil {
		i = e.Machines.Image(ctx)
	}
	if i.Publisher == "" {
		return one(preflight.Skipped(name, "no image is named", "give --release-image, or the four --marketplace flags"))
	}
	urn := strings.Join([]string{i.Publisher, i.Offer, i.SKU, i.Version}, ":")
	found, err := e.s.MarketplaceImage(ctx, e.Infra.Location, i.Publisher, i.Offer, i.SKU, i.Version)
	switch {
	case failure.IsNotFound(err):
		return one(preflight.Verdict(name, preflight.Fail, false, e.Infra.Location+" has no image "+urn, "correct the --marketplace flags: `az vm image list --all --location "+e.Infra.Location+" --publisher "+i.Publisher+"` prints what there is"))
	case err != nil:
		return unanswered(name, err)
	}
	checks := one(e.judgeImage(name, urn, found, i.Plan))
	if !found.Plan {
		return append(checks, preflight.Verdict(terms, preflight.Fail, true, "the image has no purchase plan", ""))
	}
	accepted, err := e.s.TermsAccepted(ctx, i.Publisher, i.Offer, i.SKU)
	if err != nil {
		return append(checks, unanswered(terms, err)...)
	}
	return append(checks, preflight.Verdict(terms, preflight.Fail, accepted, map[bool]string{true: "accepted", false: "nobody has accepted those of " + urn + " in this subscription"}[accepted],
		fmt.Sprintf("read and accept them: `az vm image terms accept --publisher %s --offer %s --plan %s --subscription %s`", i.Publisher, i.Offer, i.SKU, e.s.SubscriptionID)))
}

func (e *examination) judgeImage(name, urn string, found azure.Image, plan bool) preflight.Check {
	m := e.Machines
	switch {
	case found.Arch != "" && found.Arch != m.Arch:
		return preflight.Verdict(name, preflight.Fail, false, fmt.Sprintf("%s is for %s, and --arch is %s", urn, found.Arch, m.Arch), "name an image for "+m.Arch+", or another --arch")
	case m.Generation != "" && found.Generation != "" && found.Generation != m.Generation:
		return preflight.Verdict(name, preflight.Fail, false, fmt.Sprintf("%s is of generation %s, and --image-generation asks for %s", urn, found.Generation, m.Generation), "name another image, or another --image-generation")
	case found.Plan != plan:
		return preflight.Verdict(name, preflight.Fail, false, fmt.Sprintf("%s has a purchase plan: %t; --marketplace-purchase-plan says %t", urn, found.Plan, plan), fmt.Sprintf("give --marketplace-purchase-plan=%t", found.Plan))
	}
	return preflight.Verdict(name, preflight.Fail, true, urn+", version "+found.Version, "")
}
