package component

import (
	"testing"

	"github.com/hypershift-on-azure/hypershift/internal/release"
)

// A component exists with payloads of its kind; two of one name take turns.
func TestNamedChoosesByTheKindOfPayload(t *testing.T) {
	all := []Component{
		{Name: "both"},
		{Name: "router", Kind: release.KindKubernetes, ImageKeys: []string{"ours"}},
		{Name: "router", Kind: release.KindOpenShift, ImageKeys: []string{"theirs"}},
		{Name: "alone", Kind: release.KindOpenShift},
	}
	for _, c := range []struct {
		name   string
		kind   release.Kind
		image  string
		exists bool
	}{
		{"both", release.KindKubernetes, "", true}, {"both", release.KindOpenShift, "", true}, {"both", "", "", true},
		{"router", release.KindKubernetes, "ours", true}, {"router", release.KindOpenShift, "theirs", true}, {"router", "", "ours", false},
		{"alone", release.KindOpenShift, "", true}, {"alone", release.KindKubernetes, "", false},
	} {
		got, found := Named(all, c.name, c.kind)
		if !found || got.Name != c.name || c.image != "" && got.ImageKeys[0] != c.image {
			t.Errorf("%s with %q: %+v", c.name, c.kind, got)
		}
		if exists := got.exists(&Context{Payload: c.kind}); exists != c.exists {
			t.Errorf("%s with %q exists: %t", c.name, c.kind, exists)
		}
	}
	if _, found := Named(all, "nobody", release.KindOpenShift); found {
		t.Error("a component that nobody registered is found")
	}
}
