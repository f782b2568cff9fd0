package release

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"log"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/registry"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/static"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

// rawLayer is a layer with exactly these bytes.
func rawLayer(content []byte) v1.Layer { return static.NewLayer(content, types.DockerLayer) }

func zipped(t testing.TB, content []byte) []byte {
	t.Helper()
	var out bytes.Buffer
	writer := gzip.NewWriter(&out)
	if _, err := writer.Write(content); err != nil {
		t.Fatal(err)
	}
	if err := writer.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func tarred(t testing.TB, headers ...tar.Header) []byte {
	t.Helper()
	var out bytes.Buffer
	archive := tar.NewWriter(&out)
	for i := range headers {
		content := headers[i].Uname // carries the content
		headers[i].Uname, headers[i].Mode = "", 0o644
		if headers[i].Typeflag == 0 {
			headers[i].Typeflag, headers[i].Size = tar.TypeReg, int64(len(content))
		}
		if err := archive.WriteHeader(&headers[i]); err != nil {
			t.Fatal(err)
		}
		if headers[i].Typeflag != tar.TypeReg {
			continue
		}
		if _, err := archive.Write([]byte(content)); err != nil {
			t.Fatal(err)
		}
	}
	if err := archive.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// over puts a layer on top of a good payload.
func over(t *testing.T, layer v1.Layer) v1.Image {
	t.Helper()
	image, err := mutate.Append(imageOf(t, map[string]string{referencesFile: references}), mutate.Addendum{Layer: layer})
	if err != nil {
		t.Fatal(err)
	}
	return image
}

// TestMalformedPayloads reads images that nobody can use, and some that only look so.
func TestMalformedPayloads(t *testing.T) {
	good := tar.Header{Name: referencesFile, Uname: references}
	noise := zipped(t, tarred(t, good, tar.Header{Name: "noise", Uname: strings.Repeat("0123456789abcdef", 1<<12)}))
	cases := map[string]struct {
		image v1.Image
		want  Reason
	}{
		"not JSON":           {imageOf(t, map[string]string{referencesFile: "{"}), ReasonNotAPayload},
		"another kind":       {imageOf(t, map[string]string{referencesFile: `{"kind":"Image"}`}), ReasonNotAPayload},
		"no version":         {imageOf(t, map[string]string{referencesFile: `{"kind":"ImageStream"}`}), ReasonNotAPayload},
		"no images":          {imageOf(t, map[string]string{referencesFile: `{"kind":"ImageStream","metadata":{"name":"4.21.0"}}`}), ReasonNotAPayload},
		"a huge file":        {imageOf(t, map[string]string{referencesFile: strings.Repeat(" ", maxFileBytes) + references}), ReasonNotAPayload},
		"broken boot images": {imageOf(t, map[string]string{referencesFile: references, bootImagesFile: "data: {stream: '{'}"}), ReasonNotAPayload},
		"broken streams":     {imageOf(t, map[string]string{referencesFile: references, bootImagesFile: "data: {streams: '[]'}"}), ReasonNotAPayload},
		"not an archive":     {over(t, rawLayer(zipped(t, []byte(strings.Repeat("not a tar archive", 100))))), ReasonNotAPayload},
		"a cut archive":      {over(t, rawLayer(zipped(t, tarred(t, good)[:700]))), ReasonNotAPayload},
		"a cut layer":        {over(t, rawLayer(noise[:len(noise)-100])), ReasonNotAPayload},
		"a link":             {over(t, rawLayer(zipped(t, tarred(t, tar.Header{Name: referencesFile, Typeflag: tar.TypeSymlink, Linkname: "/etc/passwd"})))), ReasonNotAPayload},
		"a path upwards":     {over(t, rawLayer(zipped(t, tarred(t, tar.Header{Name: "../../etc/passwd", Uname: "x"})))), ""},
		"not compressed":     {over(t, rawLayer(tarred(t, good, tar.Header{Name: "other", Uname: "x"}))), ""},
		"a later entry wins": {over(t, rawLayer(zipped(t, tarred(t, tar.Header{Name: referencesFile, Uname: "{"}, good)))), ""},
		"no architecture":    {withArchitecture(t, ""), ReasonArchNotFound},
		"an unknown one":     {withArchitecture(t, "riscv64"), ReasonArchNotFound},
		"a layer elsewhere":  {foreign(t), ReasonNotAPayload},
		"a gigantic layer":   {declared(t, func(m *v1.Manifest) { m.Layers[0].Size = maxUnpackedBytes + 1 }), ReasonNotAPayload},
		"a gigantic config":  {declared(t, func(m *v1.Manifest) { m.Config.Size = maxAnswerBytes + 1 }), ReasonNotAPayload},
		"a shorter layer":    {declared(t, func(m *v1.Manifest) { m.Layers[0].Size += 5 }), ReasonUnreachable},
		"very many layers":   {declared(t, func(m *v1.Manifest) { m.Layers = slices.Repeat(m.Layers, maxLayers+1) }), ReasonNotAPayload},
	}
	for title, c := range cases {
		t.Run(title, func(t *testing.T) {
			reference, access := push(t, c.image)
			_, err := Reader{}.Lookup(t.Context(), reference, access)
			expect(t, err, c.want)
		})
	}
}

func expect(t *testing.T, err error, want Reason) {
	t.Helper()
	var typed *Error
	if want == "" && err == nil || errors.As(err, &typed) && typed.Reason == want {
		return
	}
	t.Errorf("got %v, want reason %q", err, want)
}

func withArchitecture(t *testing.T, architecture string) v1.Image {
	t.Helper()
	image := imageOf(t, map[string]string{referencesFile: references})
	config, err := image.ConfigFile()
	if err != nil {
		t.Fatal(err)
	}
	config = config.DeepCopy()
	config.Architecture = architecture
	if image, err = mutate.ConfigFile(image, config); err != nil {
		t.Fatal(err)
	}
	return image
}

// foreign has a layer that the manifest places at an address of its own.
func foreign(t *testing.T) v1.Image {
	t.Helper()
	image, err := mutate.Append(imageOf(t, map[string]string{referencesFile: references}), mutate.Addendum{
		Layer: rawLayer(zipped(t, tarred(t))), URLs: []string{"http://169.254.169.254/metadata"}, MediaType: types.DockerForeignLayer,
	})
	if err != nil {
		t.Fatal(err)
	}
	return image
}

// lying is a payload whose manifest was changed.
type lying struct {
	v1.Image
	manifest []byte
}

func (l lying) RawManifest() ([]byte, error) { return l.manifest, nil }

func (l lying) Digest() (v1.Hash, error) {
	hash, _, err := v1.SHA256(bytes.NewReader(l.manifest))
	return hash, err
}

func declared(t *testing.T, change func(*v1.Manifest)) v1.Image {
	t.Helper()
	image := imageOf(t, map[string]string{referencesFile: references})
	manifest, err := image.Manifest()
	if err != nil {
		t.Fatal(err)
	}
	manifest = manifest.DeepCopy()
	change(manifest)
	return lying{image, marshal(t, manifest)}
}

// TestUnpackingIsBounded gives a walk less room than a layer needs.
func TestUnpackingIsBounded(t *testing.T) {
	bomb := zipped(t, tarred(t, tar.Header{Name: "zeros", Uname: strings.Repeat("\x00", 8<<20)}))
	image, err := mutate.AppendLayers(empty.Image, rawLayer(bomb), rawLayer(bomb))
	if err != nil {
		t.Fatal(err)
	}
	e := &extraction{open: map[string]bool{referencesFile: true}, found: map[string][]byte{}}
	never := func() bool { return false }
	if err := eachLayer(image, 20<<20, never, e.archive); err != nil {
		t.Fatal(err)
	}
	if err := eachLayer(image, 10<<20, never, e.archive); !errors.Is(err, errUnusable) {
		t.Errorf("two layers of 8 MiB are unpacked into 10: %v", err)
	}
}

// TestAnswersAreBounded asks a registry whose manifest has no end.
func TestAnswersAreBounded(t *testing.T) {
	host := serve(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", string(types.DockerManifestSchema2))
		for range 2 * maxAnswerBytes >> 16 {
			if _, err := w.Write(make([]byte, 1<<16)); err != nil {
				return
			}
		}
	})
	_, err := Reader{}.Lookup(t.Context(), host+"/ocp/release:1", Access{})
	expect(t, err, ReasonNotAPayload)
}

// TestRedirectedLayers: a registry may send its clients elsewhere for layers, which are as large as they are.
func TestRedirectedLayers(t *testing.T) {
	large := make([]byte, maxAnswerBytes+1<<20)
	if _, err := rand.Read(large); err != nil {
		t.Fatal(err)
	}
	store := registry.New(registry.Logger(log.New(io.Discard, "", 0)))
	host := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if digest, blob := strings.CutPrefix(r.URL.Path, "/v2/ocp/release/blobs/"); blob && r.Method == http.MethodGet && strings.HasPrefix(digest, "sha256:") {
			http.Redirect(w, r, "/elsewhere/"+digest, http.StatusTemporaryRedirect)
			return
		}
		if digest, moved := strings.CutPrefix(r.URL.Path, "/elsewhere/"); moved {
			r.URL.Path = "/v2/ocp/release/blobs/" + digest
		}
		store.ServeHTTP(w, r)
	})
	reference, err := name.ParseReference(host + "/ocp/release:large")
	if err != nil {
		t.Fatal(err)
	}
	if err := remote.Write(reference, imageOf(t, map[string]string{referencesFile: references, "manifests/large": string(large)})); err != nil {
		t.Fatal(err)
	}
	got, err := Reader{}.Lookup(t.Context(), reference.String(), Access{})
	if err != nil || got.Version != "4.21.0" {
		t.Errorf("%+v, %v", got, err)
	}
}

// TestListsWithoutAnImage reads lists that lead nowhere, and old manifests.
func TestListsWithoutAnImage(t *testing.T) {
	image := imageOf(t, map[string]string{referencesFile: references})
	for title, platform := range map[string]*v1.Platform{"windows": {OS: "windows", Architecture: "amd64"}, "unknown": {OS: "linux", Architecture: "riscv64"}, "none": nil} {
		t.Run(title, func(t *testing.T) {
			reference, access := push(t, image)
			index := mutate.AppendManifests(empty.Index, mutate.IndexAddendum{Add: image, Descriptor: v1.Descriptor{Platform: platform}})
			if err := remote.WriteIndex(parse(t, reference), index, authenticated(t, access)...); err != nil {
				t.Fatal(err)
			}
			_, err := Reader{}.Lookup(t.Context(), reference, access)
			expect(t, err, ReasonArchNotFound)
		})
	}
	for title, answer := range map[string]struct{ mediaType, body string }{
		"schema 1":       {string(types.DockerManifestSchema1Signed), "{}"},
		"not a manifest": {string(types.OCIManifestSchema1), "<html>"},
	} {
		t.Run(title, func(t *testing.T) {
			host := serve(t, func(w http.ResponseWriter, r *http.Request) {
				w.Header().Set("Content-Type", answer.mediaType)
				fmt.Fprint(w, answer.body)
			})
			_, err := Reader{}.Lookup(t.Context(), host+"/ocp/release:1", Access{})
			expect(t, err, ReasonNotAPayload)
		})
	}
}

// TestCutTransfer breaks the connection in the middle of a layer: that may pass.
func TestCutTransfer(t *testing.T) {
	reference, access := push(t, imageOf(t, map[string]string{referencesFile: references}))
	client, err := Reader{}.client(access)
	if err != nil {
		t.Fatal(err)
	}
	options := []remote.Option{remote.WithAuthFromKeychain(client.keychain), remote.WithTransport(cutting{client.guarded})}
	_, failure := Reader{}.read(t.Context(), reference, options)
	if failure == nil || failure.Reason != ReasonUnreachable {
		t.Errorf("got %v", failure)
	}
}

type cutting struct{ http.RoundTripper }

func (c cutting) RoundTrip(request *http.Request) (*http.Response, error) {
	response, err := c.RoundTripper.RoundTrip(request)
	if err == nil && strings.Contains(request.URL.Path, "/blobs/") {
		response.Body = bounded{Reader: io.MultiReader(io.LimitReader(response.Body, 50), broken{}), Closer: response.Body}
	}
	return response, err
}

type broken struct{}

func (broken) Read([]byte) (int, error) { return 0, io.ErrUnexpectedEOF }
