package ignition

import (
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/hypershift-on-azure/hypershift/internal/controlplane/imagetest"
	"github.com/hypershift-on-azure/hypershift/internal/controlplane/table"
)

// TestImages: the images of which a node is told have their rows, and no other image has one of a node's.
func TestImages(t *testing.T) {
	rows, err := table.ImageUses()
	if err != nil {
		t.Fatal(err)
	}
	all, tabled := map[string]bool{}, map[string]bool{}
	for _, row := range rows {
		all[row.Key] = true
		if strings.HasPrefix(row.User, "node/") {
			tabled[row.Key] = true
		}
	}
	in := input()
	in.Images = imagetest.Payload(table.GuestRelease, slices.Collect(maps.Keys(all))...)
	text := payloadImages(in)
	config, err := plainNode(in, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range config.Storage.Files {
		if f.Path == "/etc/containerd/config.toml" && strings.Contains(*f.Contents.Source, imagePod) {
			text += in.Images[imagePod]
		}
	}
	told := map[string]bool{}
	for _, match := range regexp.MustCompile(`@sha256:([a-z-]+)`).FindAllStringSubmatch(text, -1) {
		told[match[1]] = true
	}
	if !maps.Equal(told, tabled) {
		t.Errorf("nodes are told of %v, images-nodes.yaml has %v", slices.Sorted(maps.Keys(told)), slices.Sorted(maps.Keys(tabled)))
	}
}
