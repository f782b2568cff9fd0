package release_test

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/remote"

	"github.com/hypershift-on-azure/hypershift/internal/release"
	"github.com/hypershift-on-azure/hypershift/internal/release/releasetest"
)

func TestDescribe(t *testing.T) {
	registry := releasetest.New(t)
	single := registry.Push(t, "single", releasetest.Payload{Version: "4.21.0", Architecture: "arm64"}.Build(t))
	got, err := release.Reader{}.Describe(t.Context(), single, release.Access{})
	if err != nil || !slices.Equal(got.Architectures, []string{"arm64"}) {
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
	got, err = release.Reader{}.Describe(t.Context(), list.String(), release.Access{})
	digest, digestErr := index.Digest()
	if err != nil || digestErr != nil || got.Digest != digest.String() || !slices.Equal(got.Architectures, []string{"amd64", "arm64"}) {
		t.Errorf("a list: %v, %v", got, err)
	}
	var failure *release.Error
	_, err = release.Reader{}.Describe(t.Context(), registry.Reference("none"), release.Access{})
	if !errors.As(err, &failure) || failure.Reason != release.ReasonNotFound {
		t.Errorf("no image: %v", err)
	}
}

// person has credentials of his own for every registry.
type person struct{}

func (person) Resolve(authn.Resource) (authn.Authenticator, error) {
	return authn.FromConfig(authn.AuthConfig{Username: "person", Password: "x"}), nil
}

// The person's own credentials are used where the pull secret has none for the registry, and only by a reader that is given them.
func TestKeychain(t *testing.T) {
	asked := ""
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked, _, _ = r.BasicAuth()
		w.Header().Set("WWW-Authenticate", "Basic")
		w.WriteHeader(http.StatusUnauthorized)
	}))
	defer server.Close()
	host := strings.TrimPrefix(server.URL, "http://")
	for _, c := range []struct {
		secret string
		reader release.Reader
		want   string
	}{
		{`{"auths":{"` + host + `":{"username":"pull","password":"x"}}}`, release.Reader{Keychain: person{}}, "pull"},
		{`{"auths":{"other.example.com":{"username":"pull","password":"x"}}}`, release.Reader{Keychain: person{}}, "person"},
		{"", release.Reader{Keychain: person{}}, "person"},
		{"", release.Reader{}, ""},
	} {
		_, err := c.reader.Describe(t.Context(), host+"/a/b:1", release.Access{PullSecret: []byte(c.secret)})
		var failure *release.Error
		if !errors.As(err, &failure) || failure.Reason != release.ReasonUnauthorized || asked != c.want {
			t.Errorf("%s: asked as %q, want %q: %v", c.secret, asked, c.want, err)
		}
	}
}
