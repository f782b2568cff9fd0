package release

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
)

func FuzzParseReferences(f *testing.F) {
	f.Add([]byte(references))
	f.Add([]byte(`{"kind":"ImageStream","metadata":{"name":"1"},"spec":{"tags":[{"name":"a","from":null}]}}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		release, err := parseReferences(data)
		if (release == nil) == (err == nil) {
			t.Fatalf("release %v with error %v", release, err)
		}
		if err == nil && (release.Version == "" || len(release.Images) == 0) {
			t.Fatalf("accepted an unusable release: %+v", release)
		}
	})
}

func FuzzParseBootImages(f *testing.F) {
	f.Add([]byte(bootImages))
	f.Add([]byte("data: {streams: '{\"rhel-9\": null}', stream: '{}'}"))
	f.Add([]byte("data: &a {stream: *a}"))
	f.Fuzz(func(t *testing.T, data []byte) {
		release := &Release{}
		if parseBootImages(data, release) != nil {
			return
		}
		for _, name := range []string{"", "rhel-9", "rhel-10"} {
			for _, arch := range []string{"amd64", "arm64", "s390x"} {
				release.Stream(name).AzureMarketplace(arch, false)
				release.Stream(name).AzureMarketplace(arch, true)
			}
		}
	})
}

func FuzzParsePullSecret(f *testing.F) {
	f.Add([]byte(`{"auths":{"quay.io":{"auth":"dTpw"}}}`))
	f.Add([]byte(`{"auths":{"https://index.docker.io/v1/":{"username":"u","password":"p","identitytoken":"t"}}}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		chain, err := parsePullSecret(data)
		if (chain == nil) == (err == nil) {
			t.Fatalf("keychain %v with error %v", chain != nil, err)
		}
		for host := range chain {
			if _, err := chain.Resolve(target(host)); err != nil {
				t.Fatalf("%q: %v", host, err)
			}
		}
	})
}

// target is a repository as the registry library asks for credentials.
type target string

func (t target) String() string      { return string(t) }
func (t target) RegistryStr() string { return strings.SplitN(string(t), "/", 2)[0] }

func FuzzParseMirrors(f *testing.F) {
	f.Add("quay.io/a=mirror.example.com/a,quay.io/a=other.example.com", "quay.io/a/b:1")
	f.Add("quay.io=x", "quay.io@sha256:1")
	f.Fuzz(func(t *testing.T, text, image string) {
		mirrors, err := ParseMirrors(text)
		if err != nil {
			return
		}
		again, err := ParseMirrors(FormatMirrors(mirrors))
		if err != nil || FormatMirrors(again) != FormatMirrors(mirrors) {
			t.Fatalf("%q becomes %q, %v", FormatMirrors(mirrors), FormatMirrors(again), err)
		}
		repository, suffix := repositoryOf(image)
		if repository+suffix != image {
			t.Fatalf("%q is split into %q and %q", image, repository, suffix)
		}
		for _, found := range MirrorsOf(image, mirrors) {
			if !strings.HasSuffix(found, suffix) {
				t.Fatalf("%q loses %q", found, suffix)
			}
		}
	})
}

// served is an image as a registry serves it.
type served struct {
	v1.Image
	manifest, config []byte
}

func (s served) RawManifest() ([]byte, error)   { return s.manifest, nil }
func (s served) RawConfigFile() ([]byte, error) { return s.config, nil }
func (s served) Manifest() (*v1.Manifest, error) {
	return v1.ParseManifest(bytes.NewReader(s.manifest))
}
func (s served) ConfigFile() (*v1.ConfigFile, error) {
	return v1.ParseConfigFile(bytes.NewReader(s.config))
}

// FuzzImageConfig: of whatever a registry calls the configuration of an image, only a known architecture is taken.
func FuzzImageConfig(f *testing.F) {
	manifest := []byte(`{"schemaVersion":2,"config":{"mediaType":"application/vnd.oci.image.config.v1+json","size":2,"digest":"sha256:44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a"}}`)
	f.Add(manifest, []byte(`{"architecture":"amd64","config":{"Labels":{"io.openshift.release":"4.21.0"}}}`))
	f.Add(manifest, []byte(`null`))
	f.Add([]byte(`null`), []byte(`{"architecture":"ARM64","config":{"Labels":null}}`))
	f.Add([]byte(`{"config":{"size":-1,"urls":["http://169.254.169.254/"]}}`), []byte(`{"architecture":"amd64"}`))
	f.Fuzz(func(t *testing.T, manifest, config []byte) {
		image := served{empty.Image, manifest, config}
		architecture, err := architectureOf(image)
		if err == nil && !slices.Contains([]string{ArchAMD64, ArchARM64, ArchPPC64LE, ArchS390X}, architecture) {
			t.Errorf("architecture %q", architecture)
		}
		if read, err := boundedConfig(image); err == nil && read == nil {
			t.Error("neither a configuration nor an error")
		}
	})
}

// FuzzParseLabels: what is taken for labels is text of the form that is asked for.
func FuzzParseLabels(f *testing.F) {
	f.Add("a=b,c=d")
	f.Add(" a = b=c ,")
	f.Add("=")
	f.Fuzz(func(t *testing.T, text string) {
		labels, err := ParseLabels(text)
		if err != nil {
			return
		}
		for key := range labels {
			if key == "" || strings.ContainsAny(key, "=,") {
				t.Errorf("%q is read as %q", text, labels)
			}
		}
	})
}
