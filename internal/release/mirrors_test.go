package release

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-containerregistry/pkg/registry"
	"github.com/google/go-containerregistry/pkg/v1/remote"

	hyperv1 "github.com/hypershift-on-azure/hypershift/api/v1beta1"
)

// serve runs a registry's API on a loopback address and returns its host.
func serve(t *testing.T, handle http.HandlerFunc) string {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/v2/" {
			return
		}
		handle(w, r)
	}))
	t.Cleanup(server.Close)
	return strings.TrimPrefix(server.URL, "http://")
}

func marshal(t *testing.T, value any) []byte {
	t.Helper()
	raw, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

func TestMirrored(t *testing.T) {
	mirrors := []Mirror{
		{Source: "quay.io", Mirrors: []string{"all.example.com"}},
		{Source: "quay.io/ocp/", Mirrors: []string{"a.example.com/x", "b.example.com:5000"}},
		{Source: "quay.io/ocp", Mirrors: []string{"c.example.com/y/"}},
		{Source: "", Mirrors: []string{"never"}},
	}
	for image, want := range map[string]string{
		"quay.io/ocp/release:4.21.0":         "a.example.com/x/release:4.21.0 b.example.com:5000/release:4.21.0 c.example.com/y/release:4.21.0",
		"quay.io/ocp@sha256:0":               "a.example.com/x@sha256:0 b.example.com:5000@sha256:0 c.example.com/y@sha256:0",
		"quay.io/ocp:1@sha256:0":             "a.example.com/x:1@sha256:0 b.example.com:5000:1@sha256:0 c.example.com/y:1@sha256:0",
		"quay.io/ocp-other/release":          "all.example.com/ocp-other/release",
		"quay.io:443/ocp/release:1":          "",
		"registry.example.com/quay.io/ocp:1": "",
	} {
		if got := strings.Join(MirrorsOf(image, mirrors), " "); got != want {
			t.Errorf("%s: %s, want %s", image, got, want)
		}
	}
}

func TestParsing(t *testing.T) {
	mirrors, err := ParseMirrors("a=b, a=c,d/e=f")
	if err != nil || FormatMirrors(mirrors) != "a=b,a=c,d/e=f" || len(mirrors) != 2 {
		t.Errorf("mirrors %+v, %v", mirrors, err)
	}
	for _, wrong := range []string{"a", "=b", "a=", "a=b,c"} {
		if _, err := ParseMirrors(wrong); err == nil {
			t.Errorf("mirrors %q are accepted", wrong)
		}
		if _, err := ParseImages(wrong); err == nil {
			t.Errorf("images %q are accepted", wrong)
		}
	}
	if _, err := ParseOverrides("a=b,a=c"); err == nil {
		t.Error("an override has two destinations")
	}
	images, err := ParseImages("etcd=quay.io/x:1,pod=y")
	if err != nil || images["etcd"] != "quay.io/x:1" || images["pod"] != "y" {
		t.Errorf("images %v, %v", images, err)
	}
	sources := ContentSources([]hyperv1.ImageContentSource{{Source: "a", Mirrors: []string{"b", "c"}}})
	if FormatMirrors(sources) != "a=b,a=c" {
		t.Errorf("content sources %+v", sources)
	}
}

// TestLookupByMirror reads a payload whose source is one that refuses, and whose mirrors are of all kinds.
func TestLookupByMirror(t *testing.T) {
	store := registry.New(registry.Logger(log.New(io.Discard, "", 0)))
	var asked []string
	good := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodGet && strings.Contains(r.URL.Path, "/manifests/") {
			asked = append(asked, "mirror")
		}
		store.ServeHTTP(w, r)
	})
	if err := remote.Write(parse(t, good+"/copy/release:1"), imageOf(t, map[string]string{referencesFile: references})); err != nil {
		t.Fatal(err)
	}
	refuse := func(status int) string {
		return serve(t, func(w http.ResponseWriter, r *http.Request) {
			asked = append(asked, http.StatusText(status))
			w.WriteHeader(status)
		})
	}
	source, empty := refuse(http.StatusForbidden), refuse(http.StatusNotFound)
	gone := "127.0.0.1:1"
	for title, c := range map[string]struct {
		mirrors []string
		asked   string
		want    Reason
	}{
		"the mirror first":   {[]string{good + "/copy"}, "mirror", ""},
		"the second mirror":  {[]string{empty, good + "/copy"}, "Not Found,mirror", ""},
		"an absent mirror":   {[]string{gone, good + "/copy"}, "mirror", ""},
		"the source last":    {[]string{empty}, "Not Found,Forbidden", ReasonUnauthorized},
		"one may come back":  {[]string{gone, empty}, "Not Found,Forbidden", ReasonUnreachable},
		"no mirrors":         {nil, "Forbidden", ReasonUnauthorized},
		"an unreadable name": {[]string{"NOT A NAME"}, "Forbidden", ReasonUnauthorized},
	} {
		t.Run(title, func(t *testing.T) {
			asked = nil
			got, err := Reader{}.Lookup(t.Context(), source+"/ocp/release:1", Access{Mirrors: []Mirror{{Source: source + "/ocp", Mirrors: c.mirrors}}})
			expect(t, err, c.want)
			if err == nil && got.Image != source+"/ocp/release:1" {
				t.Errorf("the release is called %s", got.Image)
			}
			if got := strings.Join(slices.Compact(asked), ","); got != c.asked {
				t.Errorf("asked %s, want %s", got, c.asked)
			}
		})
	}
}

func TestViews(t *testing.T) {
	original := &Release{Image: "mirror/ocp:1", Images: map[string]string{"etcd": "quay.io/ocp/etcd@sha256:1", "pod": "other.io/pod:1"}}
	source := &recorder{release: original}
	chain := Overridden{
		Source:     Mirrored{Source: source, Mirrors: func(context.Context) ([]Mirror, error) { return []Mirror{{Source: "b"}}, nil }},
		Registries: []Mirror{{Source: "quay.io/ocp", Mirrors: []string{"mirror/ocp"}}},
		Images:     map[string]string{"hypershift": "mine:1"},
	}
	got, err := chain.Lookup(t.Context(), "quay.io/ocp:1", Access{Mirrors: []Mirror{{Source: "a"}}})
	if err != nil {
		t.Fatal(err)
	}
	if source.image != "mirror/ocp:1" || len(source.access.Mirrors) != 2 || source.access.Mirrors[0].Source != "a" {
		t.Errorf("asked for %s with %+v", source.image, source.access.Mirrors)
	}
	if got.Image != "quay.io/ocp:1" || got.Images["etcd"] != "mirror/ocp/etcd@sha256:1" || got.Images["pod"] != "other.io/pod:1" || got.Images["hypershift"] != "mine:1" {
		t.Errorf("the view is %+v", got)
	}
	unchanged, err := chain.Unchanged().Lookup(t.Context(), "quay.io/ocp:1", Access{})
	if err != nil || unchanged != original || source.image != "quay.io/ocp:1" || FormatMirrors(source.access.Mirrors) != "quay.io/ocp=mirror/ocp" {
		t.Errorf("hosted clusters see %+v, %v, asked for %s with %+v", unchanged, err, source.image, source.access.Mirrors)
	}
	if original.Images["etcd"] != "quay.io/ocp/etcd@sha256:1" || len(original.Images) != 2 {
		t.Errorf("the shared release was changed: %v", original.Images)
	}
	_, err = Mirrored{Source: source, Mirrors: func(context.Context) ([]Mirror, error) { return nil, errors.New("no") }}.Lookup(t.Context(), "x", Access{})
	expect(t, err, ReasonUnreachable)
}

type recorder struct {
	release *Release
	image   string
	access  Access
}

func (r *recorder) Lookup(_ context.Context, image string, access Access) (*Release, error) {
	r.image, r.access = image, access
	return r.release, nil
}
