package component

import (
	"slices"
	"testing"
)

func TestSince(t *testing.T) {
	for version, known := range map[string][]string{"4.18.30": nil, "4.22.9": nil, "4.23.0-ec.1": {"a"}, "5.0.0": {"a"}, "5.1.0": {"a"}, "": {"a"}} {
		ctx := &Context{Version: version}
		if got := ctx.Since(5, 0, "a"); !slices.Equal(got, known) {
			t.Errorf("programs of %q are told %v, want %v", version, got, known)
		}
	}
}
