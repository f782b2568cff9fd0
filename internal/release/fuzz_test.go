package release

import (
	"strings"
	"testing"
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
