package release_test

import (
	"errors"
	"slices"
	"testing"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/remote"

	"github.com/hypershift-on-azure/hypershift/internal/release"
	"github.com/hypershift-on-azure/hypershift/internal/release/releasetest"
)

func TestArchitectures(t *testing.T) {
	registry := releasetest.New(t)
	single := registry.Push(t, "single", releasetest.Payload{Version: "4.21.0", Architecture: "arm64"}.Build(t))
	got, err := release.Reader{}.Architectures(t.Context(), single, release.Access{})
	if err != nil || !slices.Equal(got, []string{"arm64"}) {
		t.Errorf("one image: %v, %v", got, err)
	}
	addendum := func(os, arch string) mutate.IndexAddendum {
		return mutate.IndexAddendum{Add: releasetest.Payload{Version: "4.21.0", Architecture: arch}.Build(t), Descriptor: v1.Descriptor{Platform: &v1.Platform{OS: os, Architecture: arch}}}
	}
	list, err := name.ParseReference(registry.Reference("list"))
	if err != nil {
		t.Fatal(err)
	}
	index := mutate.AppendManifests(empty.Index, addendum("linux", "amd64"), addendum("linux", "arm64"), addendum("windows", "s390x"))
	if err := remote.WriteIndex(list, index); err != nil {
		t.Fatal(err)
	}
	got, err = release.Reader{}.Architectures(t.Context(), list.String(), release.Access{})
	if err != nil || !slices.Equal(got, []string{"amd64", "arm64"}) {
		t.Errorf("a list: %v, %v", got, err)
	}
	var failure *release.Error
	_, err = release.Reader{}.Architectures(t.Context(), registry.Reference("none"), release.Access{})
	if !errors.As(err, &failure) || failure.Reason != release.ReasonNotFound {
		t.Errorf("no image: %v", err)
	}
}
