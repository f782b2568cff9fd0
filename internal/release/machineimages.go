package release

// flatcar are the images of Flatcar's stable channel in the Azure Marketplace that have no purchase plan, by architecture and Hyper-V
// generation: https://www.flatcar.org/docs/latest/installing/cloud/azure/. Nobody publishes one of arm64 for generation 1.
var flatcar = map[string]struct{ gen1, gen2 *MarketplaceImage }{
	"amd64": {
		gen1: &MarketplaceImage{Publisher: "kinvolk", Offer: "flatcar-container-linux-corevm-amd64", SKU: "stable", Version: "latest"},
		gen2: &MarketplaceImage{Publisher: "kinvolk", Offer: "flatcar-container-linux-corevm-amd64", SKU: "stable-gen2", Version: "latest"},
	},
	"arm64": {
		gen2: &MarketplaceImage{Publisher: "kinvolk", Offer: "flatcar-container-linux-corevm", SKU: "stable", Version: "latest"},
	},
}

// MachineImage is the image of the Azure Marketplace from which machines boot when their node pool names none: what the payload's stream
// metadata names for the architecture (amd64, arm64) and the Hyper-V generation, else Flatcar's when the payload leaves the operating
// system to the image. Nil when there is none.
func (r *Release) MachineImage(arch string, gen1 bool) *MarketplaceImage {
	for _, stream := range []string{r.OSStream(), ""} {
		if named := r.Stream(stream).AzureMarketplace(arch, gen1); named != nil {
			return named
		}
	}
	if r.Kind() == KindOpenShift {
		return nil
	}
	if gen1 {
		return flatcar[arch].gen1
	}
	return flatcar[arch].gen2
}

// rhel9 is the operating system stream of all machines; no API chooses another one yet.
const rhel9 = "rhel-9"

// OSStream is the stream of operating systems from which machines of the payload are: payloads of OpenShift have several from 5.0 on, and
// the choice between them is a technology preview that is not acted on. Empty: the payload's only one.
func (r *Release) OSStream() string {
	if several, err := AtLeast(r.Version, 5, 0); err != nil || !several || r.Kind() != KindOpenShift {
		return ""
	}
	return rhel9
}
