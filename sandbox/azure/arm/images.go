package arm

import (
	"net/http"
	"strings"
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
func (c *call) imageList() (*reply, error) {
	publisher, offer := segmentAfter(c.path.Raw, "publishers"), segmentAfter(c.path.Raw, "offers")
	at := segmentAfter(c.path.Raw, "locations")
	seen := map[string]bool{}
	out := []any{}
	add := func(name string) {
		if !seen[name] {
			seen[name] = true
			out = append(out, Doc{"id": c.path.Raw + "/" + name, "name": name, "location": at})
		}
	}
	for _, e := range catalogue {
		switch strings.ToLower(c.path.Name()) {
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
	return answer(http.StatusOK, out), nil
}

func (c *call) imageVersion() (*reply, error) {
	name := c.path.Name()
	if strings.EqualFold(name, "latest") {
		name = imageVersion
	}
	return answer(http.StatusOK, Doc{"id": c.path.Up() + "/" + name, "name": name, "location": segmentAfter(c.path.Raw, "locations"),
		"properties": Doc{"osDiskImage": Doc{"operatingSystem": "Linux", "sizeInGb": 16}, "dataDiskImages": []any{}, "hyperVGeneration": "V2", "architecture": "x64"}}), nil
}
