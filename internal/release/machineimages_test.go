package release

import "testing"

func TestMachineImage(t *testing.T) {
	named := &StreamMetadata{Architectures: map[string]StreamArchitecture{"x86_64": {}}}
	own := named.Architectures["x86_64"]
	own.Extensions.Marketplace.Azure.NoPurchasePlan.HyperVGen2 = &MarketplaceImage{Publisher: "theirs", Offer: "o", SKU: "s", Version: "1.2.3"}
	named.Architectures["x86_64"] = own
	plain := map[string]string{"hyperkube": "x"}
	openshift := map[string]string{"hyperkube": "x", "machine-config-operator": "y"}
	for name, test := range map[string]struct {
		release Release
		arch    string
		gen1    bool
		want    string // publisher/offer/sku
	}{
		"the payload's own":             {release: Release{StreamMetadata: named, Images: plain}, arch: "amd64", want: "theirs/o/s"},
		"OpenShift's own":               {release: Release{StreamMetadata: named, Images: openshift}, arch: "amd64", want: "theirs/o/s"},
		"plain, no metadata":            {release: Release{Images: plain}, arch: "amd64", want: "kinvolk/flatcar-container-linux-corevm-amd64/stable-gen2"},
		"plain, generation 1":           {release: Release{Images: plain}, arch: "amd64", gen1: true, want: "kinvolk/flatcar-container-linux-corevm-amd64/stable"},
		"plain, arm64":                  {release: Release{Images: plain}, arch: "arm64", want: "kinvolk/flatcar-container-linux-corevm/stable"},
		"plain, arm64, generation 1":    {release: Release{Images: plain}, arch: "arm64", gen1: true},
		"plain, not in its metadata":    {release: Release{StreamMetadata: named, Images: plain}, arch: "arm64", want: "kinvolk/flatcar-container-linux-corevm/stable"},
		"OpenShift, no metadata":        {release: Release{Images: openshift}, arch: "amd64"},
		"OpenShift, other architecture": {release: Release{StreamMetadata: named, Images: openshift}, arch: "arm64"},
		"unknown architecture":          {release: Release{Images: plain}, arch: "s390x"},
	} {
		t.Run(name, func(t *testing.T) {
			got := ""
			if image := test.release.MachineImage(test.arch, test.gen1); image != nil {
				got = image.Publisher + "/" + image.Offer + "/" + image.SKU
			}
			if got != test.want {
				t.Errorf("%q, want %q", got, test.want)
			}
		})
	}
}

// TestOSStream: machines of OpenShift payloads from 5.0 on boot from images of the stream that they are configured for, where the payload has such.
func TestOSStream(t *testing.T) {
	stream := func(sku string) *StreamMetadata {
		arch := StreamArchitecture{}
		arch.Extensions.Marketplace.Azure.NoPurchasePlan.HyperVGen2 = &MarketplaceImage{SKU: sku}
		return &StreamMetadata{Architectures: map[string]StreamArchitecture{"x86_64": arch}}
	}
	openShift := map[string]string{"machine-config-operator": "x"}
	for _, test := range []struct {
		version string
		images  map[string]string
		streams map[string]*StreamMetadata
		stream  string
		sku     string
	}{
		{"4.21.0", openShift, map[string]*StreamMetadata{"rhel-9": stream("nine")}, "", "default"},
		{"5.0.0", openShift, map[string]*StreamMetadata{"rhel-9": stream("nine"), "rhel-10": stream("ten")}, "rhel-9", "nine"},
		{"5.0.0", openShift, nil, "rhel-9", "default"},
		{"5.0.0", nil, nil, "", "default"},
	} {
		r := &Release{Version: test.version, Images: test.images, StreamMetadata: stream("default"), Streams: test.streams}
		if got := r.OSStream(); got != test.stream {
			t.Errorf("%s: stream %q, want %q", test.version, got, test.stream)
		}
		if got := r.MachineImage("amd64", false); got == nil || got.SKU != test.sku {
			t.Errorf("%s: image %+v, want %s", test.version, got, test.sku)
		}
	}
}
