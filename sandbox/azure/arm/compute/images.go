package compute

import (
	"net/http"
	"slices"
	"strings"

	"github.com/hypershift-on-azure/hypershift/sandbox/azure/arm/provider"
	"github.com/hypershift-on-azure/hypershift/sandbox/azure/wire"
)

// image is a marketplace image: what the hypervisor boots for it is its own business.
type image struct {
	publisher, offer, sku string

	gen1, arm64 bool
	plan        bool // bought: its terms are accepted first, and a machine says the plan
	sizeGiB     int
	versions    []string // ascending
}

// Versions of the images.
var (
	flatcarVersions   = []string{"4230.2.2", "4593.2.1"}
	openshiftVersions = []string{"421.0.20260101", "421.0.20260115", "421.1.20260101"}
	ubuntuVersions    = []string{"24.04.202601150"}
	debianVersions    = []string{"0.20260112.2355"}
)

// catalogue is what the marketplace of each region has. Flatcar's offers: https://www.flatcar.org/docs/latest/installing/cloud/azure/.
var catalogue = []image{
	{publisher: "azureopenshift", offer: "aro4", sku: "aro_421", gen1: true, sizeGiB: 16, versions: openshiftVersions},
	{publisher: "azureopenshift", offer: "aro4", sku: "421-v2", sizeGiB: 16, versions: openshiftVersions},
	{publisher: "azureopenshift", offer: "aro4", sku: "421-arm", arm64: true, sizeGiB: 16, versions: openshiftVersions},
	{publisher: "Canonical", offer: "ubuntu-24_04-lts", sku: "server", sizeGiB: 30, versions: ubuntuVersions},
	{publisher: "Canonical", offer: "ubuntu-24_04-lts", sku: "server-gen1", gen1: true, sizeGiB: 30, versions: ubuntuVersions},
	{publisher: "Canonical", offer: "ubuntu-24_04-lts", sku: "server-arm64", arm64: true, sizeGiB: 30, versions: ubuntuVersions},
	{publisher: "Debian", offer: "debian-12", sku: "12", gen1: true, sizeGiB: 30, versions: debianVersions},
	{publisher: "Debian", offer: "debian-12", sku: "12-gen2", sizeGiB: 30, versions: debianVersions},
	{publisher: "Debian", offer: "debian-12", sku: "12-arm64", arm64: true, sizeGiB: 30, versions: debianVersions},
	{publisher: "kinvolk", offer: "flatcar-container-linux-corevm-amd64", sku: "stable", gen1: true, sizeGiB: 30, versions: flatcarVersions},
	{publisher: "kinvolk", offer: "flatcar-container-linux-corevm-amd64", sku: "stable-gen2", sizeGiB: 30, versions: flatcarVersions},
	{publisher: "kinvolk", offer: "flatcar-container-linux-corevm", sku: "stable", arm64: true, sizeGiB: 30, versions: flatcarVersions},
	{publisher: "kinvolk", offer: "flatcar-container-linux-free", sku: "stable", gen1: true, plan: true, sizeGiB: 30, versions: flatcarVersions},
	{publisher: "kinvolk", offer: "flatcar-container-linux-free", sku: "stable-gen2", plan: true, sizeGiB: 30, versions: flatcarVersions},
}

func (i *image) generation() string {
	if i.gen1 {
		return "V1"
	}
	return "V2"
}

func (i *image) architecture() string { return architecture(i.arm64) }

// architecture is as images and sizes spell it, but for the case.
func architecture(arm64 bool) string {
	if arm64 {
		return "Arm64"
	}
	return "x64"
}

// version finds one of the image's versions; latest is the newest. It is "" when there is none.
func (i *image) version(name string) string {
	if strings.EqualFold(name, "latest") {
		return i.versions[len(i.versions)-1]
	}
	if slices.Contains(i.versions, name) {
		return name
	}
	return ""
}

// findImage looks up an image, nil when the marketplace has none.
func findImage(publisher, offer, sku string) *image {
	for i := range catalogue {
		if e := &catalogue[i]; strings.EqualFold(e.publisher, publisher) && strings.EqualFold(e.offer, offer) && strings.EqualFold(e.sku, sku) {
			return e
		}
	}
	return nil
}

// imageNames are the publishers, offers, SKUs or versions that a path lists, whichever it ends with.
func imageNames(raw string) []string {
	at := func(what string) string { return provider.SegmentAfter(raw, what) }
	var out []string
	for _, e := range catalogue {
		inPublisher := strings.EqualFold(e.publisher, at("publishers"))
		inOffer := inPublisher && strings.EqualFold(e.offer, at("offers"))
		switch last := strings.ToLower(provider.LastSegment(raw)); {
		case last == "publishers":
			out = append(out, e.publisher)
		case last == "offers" && inPublisher:
			out = append(out, e.offer)
		case last == "skus" && inOffer:
			out = append(out, e.sku)
		case last == "versions" && inOffer && strings.EqualFold(e.sku, at("skus")):
			out = append(out, e.versions...)
		}
	}
	return slices.Compact(out)
}

func imageList(c *provider.Call) (*provider.Reply, error) {
	names := imageNames(c.Path.Raw)
	if len(names) == 0 {
		return nil, provider.Failf(http.StatusNotFound, "NotFound", "Artifact: %s was not found.", artifact(c.Path.Raw))
	}
	out := []any{}
	for _, name := range names {
		out = append(out, wire.Doc{"id": c.Path.Raw + "/" + name, "name": name, "location": provider.SegmentAfter(c.Path.Raw, "locations")})
	}
	return provider.Answer(http.StatusOK, out), nil
}

// artifact is the path of an image, or of a part of the marketplace, in the words of its refusals.
func artifact(raw string) string {
	_, after, _ := strings.Cut(strings.ToLower(raw), "/artifacttypes/")
	return after
}

func showImage(c *provider.Call) (*provider.Reply, error) {
	at := func(what string) string { return provider.SegmentAfter(c.Path.Raw, what) }
	e := findImage(at("publishers"), at("offers"), at("skus"))
	if e == nil || e.version(c.Path.Name()) == "" {
		return nil, provider.Failf(http.StatusNotFound, "NotFound", "Artifact: %s was not found.", artifact(c.Path.Raw))
	}
	version := e.version(c.Path.Name())
	props := wire.Doc{"osDiskImage": wire.Doc{"operatingSystem": "Linux"}, "dataDiskImages": []any{},
		"hyperVGeneration": e.generation(), "architecture": e.architecture()}
	if e.plan {
		props["plan"] = wire.Doc{"publisher": e.publisher, "product": e.offer, "name": e.sku}
	}
	return provider.Answer(http.StatusOK, wire.Doc{"id": c.Path.Up() + "/" + version, "name": version, "location": at("locations"), "properties": props}), nil
}
