package compute

import (
	"net/http"
	"strings"

	"github.com/hypershift-on-azure/hypershift/sandbox/azure/arm/provider"
	"github.com/hypershift-on-azure/hypershift/sandbox/azure/wire"
)

// The marketplace has any image one asks for: what a machine boots is the hypervisor's business. Lists show these.
var catalogue = []struct{ publisher, offer, sku string }{
	{"azureopenshift", "aro4", "aro_421"},
	{"azureopenshift", "aro4", "421-v2"},
	{"Canonical", "ubuntu-24_04-lts", "server"},
	{"Debian", "debian-12", "12-gen2"},
}

const imageVersion = "421.0.20260101"

// imageList lists publishers, offers, SKUs or versions, whichever the path ends with.
func imageList(c *provider.Call) (*provider.Reply, error) {
	publisher, offer := provider.SegmentAfter(c.Path.Raw, "publishers"), provider.SegmentAfter(c.Path.Raw, "offers")
	at := provider.SegmentAfter(c.Path.Raw, "locations")
	seen := map[string]bool{}
	out := []any{}
	add := func(name string) {
		if !seen[name] {
			seen[name] = true
			out = append(out, wire.Doc{"id": c.Path.Raw + "/" + name, "name": name, "location": at})
		}
	}
	for _, e := range catalogue {
		switch strings.ToLower(c.Path.Name()) {
		case "publishers":
			add(e.publisher)
		case "offers":
			if strings.EqualFold(e.publisher, publisher) {
				add(e.offer)
			}
		case "skus":
			if strings.EqualFold(e.publisher, publisher) && strings.EqualFold(e.offer, offer) {
				add(e.sku)
			}
		default:
			add(imageVersion)
		}
	}
	return provider.Answer(http.StatusOK, out), nil
}

func showImage(c *provider.Call) (*provider.Reply, error) {
	name := c.Path.Name()
	if strings.EqualFold(name, "latest") {
		name = imageVersion
	}
	return provider.Answer(http.StatusOK, wire.Doc{"id": c.Path.Up() + "/" + name, "name": name, "location": provider.SegmentAfter(c.Path.Raw, "locations"),
		"properties": wire.Doc{"osDiskImage": wire.Doc{"operatingSystem": "Linux", "sizeInGb": 16}, "dataDiskImages": []any{}, "hyperVGeneration": "V2", "architecture": "x64"}}), nil
}
