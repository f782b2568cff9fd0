package release

// StreamMetadata is the part of CoreOS stream metadata that concerns Azure.
type StreamMetadata struct {
	Stream        string                        `json:"stream"`
	Architectures map[string]StreamArchitecture `json:"architectures"`
}

// StreamArchitecture is keyed by the machine name: x86_64, aarch64.
type StreamArchitecture struct {
	Extensions StreamExtensions `json:"rhel-coreos-extensions"`
}

// StreamExtensions holds what Red Hat adds to the CoreOS format.
type StreamExtensions struct {
	Marketplace struct {
		Azure struct {
			NoPurchasePlan struct {
				HyperVGen1 *MarketplaceImage `json:"hyperVGen1"`
				HyperVGen2 *MarketplaceImage `json:"hyperVGen2"`
			} `json:"no-purchase-plan"`
		} `json:"azure"`
	} `json:"marketplace"`
}

// MarketplaceImage identifies an image in the Azure Marketplace.
type MarketplaceImage struct {
	Publisher string `json:"publisher"`
	Offer     string `json:"offer"`
	SKU       string `json:"sku"`
	Version   string `json:"version"`
}

// machineNames maps NodePool architectures to those of stream metadata.
var machineNames = map[string]string{"amd64": "x86_64", "arm64": "aarch64"}

// AzureMarketplace returns the marketplace image for a NodePool architecture (amd64, arm64) and Hyper-V generation, or nil.
func (s *StreamMetadata) AzureMarketplace(arch string, gen1 bool) *MarketplaceImage {
	if s == nil {
		return nil
	}
	plans := s.Architectures[machineNames[arch]].Extensions.Marketplace.Azure.NoPurchasePlan
	if gen1 {
		return plans.HyperVGen1
	}
	return plans.HyperVGen2
}
