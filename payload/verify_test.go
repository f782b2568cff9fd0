package payload

import (
	"strings"
	"testing"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/types"

	"github.com/hypershift-on-azure/hypershift/images"
	"github.com/hypershift-on-azure/hypershift/images/imagestest"
)

func needed(*Facts) []string { return []string{"etcd", "hyperkube", "pod"} }

// judged publishes a payload after a change, and returns what Verify finds.
func judged(t *testing.T, change func(*Payload), after func(*imagestest.Registry, *Published)) []Finding {
	t.Helper()
	r := imagestest.New(t, imagestest.Basic, true)
	store := testStore(t)
	p := testPayload(t, store, "amd64", "arm64")
	if change != nil {
		change(p)
	}
	out, err := p.Publish(t.Context(), testClient(t, r), store, At(r.Host+"/a", p.Version), nil)
	if err != nil {
		t.Fatal(err)
	}
	if after != nil {
		after(r, out)
	}
	ref, err := name.ParseReference(out.ReleaseImage)
	if err != nil {
		t.Fatal(err)
	}
	// Another client: what the one that pushed remembers does not count.
	_, findings, err := Verify(t.Context(), testClient(t, r), ref, needed)
	if err != nil {
		t.Fatal(err)
	}
	return findings
}

func TestWholePayloadHasNoFindings(t *testing.T) {
	if findings := judged(t, nil, nil); len(findings) > 0 {
		t.Errorf("findings %v", findings)
	}
}

// relabelled is an index that says arm64 of images that are all for amd64.
func relabelled(t *testing.T, a images.Artifact) images.Artifact {
	t.Helper()
	index := a.Image.(v1.ImageIndex)
	manifest, err := index.IndexManifest()
	if err != nil {
		t.Fatal(err)
	}
	img, err := index.Image(manifest.Manifests[0].Digest)
	if err != nil {
		t.Fatal(err)
	}
	wrong := mutate.IndexMediaType(empty.Index, types.OCIImageIndex)
	for _, arch := range []string{"amd64", "arm64"} {
		wrong = mutate.AppendManifests(wrong, mutate.IndexAddendum{Add: img, Descriptor: v1.Descriptor{Platform: &v1.Platform{OS: "linux", Architecture: arch}}})
	}
	return images.Artifact{Name: a.Name, Image: wrong}
}

// TestFindings: each fault is found, under its key.
func TestFindings(t *testing.T) {
	digest := func(spec string) string { return spec[strings.Index(spec, "sha256:"):] }
	for what, tc := range map[string]struct {
		change    func(*Payload)
		after     func(*imagestest.Registry, *Published)
		key, want string
	}{
		"missing key": {change: func(p *Payload) { delete(p.Components, "etcd") }, key: "etcd", want: "needs one"},
		"missing image": {after: func(r *imagestest.Registry, out *Published) { r.Lose(digest(out.Components["etcd"])) },
			key: "etcd", want: "no such image"},
		"missing architecture": {change: func(p *Payload) {
			index := p.Components["pod"].Image.(v1.ImageIndex)
			manifest, err := index.IndexManifest()
			if err != nil {
				t.Fatal(err)
			}
			img, err := index.Image(manifest.Manifests[0].Digest)
			if err != nil {
				t.Fatal(err)
			}
			p.Components["pod"] = images.Artifact{Name: "pod", Image: img}
		}, key: "pod", want: "no image for arm64"},
		"wrong architecture": {change: func(p *Payload) { p.Components["pod"] = relabelled(t, p.Components["pod"]) },
			key: "pod", want: "it is an image for linux/amd64"},
		"missing child": {after: func(r *imagestest.Registry, out *Published) {
			a := get(t, testClient(t, r), out.Components["hyperkube"])
			manifest, err := a.Image.(v1.ImageIndex).IndexManifest()
			if err != nil {
				t.Fatal(err)
			}
			r.Lose(manifest.Manifests[1].Digest.String())
		}, key: "hyperkube", want: "for arm64"},
		"missing layer": {after: func(r *imagestest.Registry, out *Published) {
			img, _, err := firstImage(get(t, testClient(t, r), out.Components["hyperkube"]))
			if err != nil {
				t.Fatal(err)
			}
			manifest, err := img.Manifest()
			if err != nil {
				t.Fatal(err)
			}
			r.Lose(manifest.Layers[1].Digest.String())
		}, key: "hyperkube", want: "is not there"},
		"no machine image": {change: func(p *Payload) { p.BootImages = "data: {stream: '{}'}\n" }, want: "Marketplace image for machines of arm64"},
		"no Kubernetes":    {change: func(p *Payload) { p.Kubernetes = "" }, want: "which Kubernetes"},
	} {
		t.Run(what, func(t *testing.T) {
			found := false
			findings := judged(t, tc.change, tc.after)
			for _, f := range findings {
				found = found || f.Key == tc.key && strings.Contains(f.Problem, tc.want)
			}
			if !found {
				t.Errorf("findings %v, want %s with %q", findings, tc.key, tc.want)
			}
		})
	}
}

// A component that is named by a tag may become another image.
func TestTagIsAFinding(t *testing.T) {
	problems := componentProblems(t.Context(), nil, "registry.example.com/etcd:v1", []string{"amd64"})
	if len(problems) != 1 || !strings.Contains(problems[0], "by digest") {
		t.Errorf("problems %v", problems)
	}
}
