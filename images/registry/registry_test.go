package registry

import (
	"encoding/base64"
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"

	"github.com/hypershift-on-azure/hypershift/images"
	"github.com/hypershift-on-azure/hypershift/images/imagestest"
)

// sample is an image for two architectures with its bills of materials.
func sample(t *testing.T) images.Artifact {
	t.Helper()
	store := &images.Store{Dir: t.TempDir(), Compress: true, Bills: true}
	a, err := store.Artifact("sample:v1", []string{"amd64", "arm64"}, func(arch string) (images.Spec, error) {
		return images.Spec{Name: "sample", Version: "v1", Layers: [][]images.File{images.Base, {{Path: "bin/x", Text: arch}}}}, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func tag(t *testing.T, r *imagestest.Registry) name.Reference {
	t.Helper()
	ref, err := name.NewTag(r.Host + "/team/sample:v1")
	if err != nil {
		t.Fatal(err)
	}
	return ref
}

func login() map[string]string {
	return map[string]string{"auth": base64.StdEncoding.EncodeToString([]byte(imagestest.User + ":" + imagestest.Password))}
}

// helper makes a credential helper that answers for every registry, and a Docker configuration that names it.
func helper(t *testing.T, r *imagestest.Registry) string {
	t.Helper()
	dir := t.TempDir()
	script := "#!/bin/sh\ncat >/dev/null\necho '{\"ServerURL\":\"x\",\"Username\":\"" + imagestest.User + "\",\"Secret\":\"" + imagestest.Password + "\"}'\n"
	if err := os.WriteFile(filepath.Join(dir, "docker-credential-test"), []byte(script), 0o700); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", dir+":"+os.Getenv("PATH"))
	file := filepath.Join(dir, "config.json")
	if err := os.WriteFile(file, []byte(`{"credHelpers":{"`+r.Host+`":"test"}}`), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// TestLogins pushes with every kind of login and reads back what was pushed.
func TestLogins(t *testing.T) {
	for what, tc := range map[string]struct {
		kind    imagestest.Kind
		options func(*testing.T, *imagestest.Registry) Options
	}{
		"user and password": {imagestest.Basic, func(*testing.T, *imagestest.Registry) Options {
			return Options{User: imagestest.User, Password: imagestest.Password}
		}},
		"file": {imagestest.Basic, func(t *testing.T, r *imagestest.Registry) Options {
			return Options{AuthFile: r.DockerConfig(t, login())}
		}},
		"credential helper": {imagestest.Basic, func(t *testing.T, r *imagestest.Registry) Options { return Options{AuthFile: helper(t, r)} }},
		"DOCKER_CONFIG": {imagestest.Basic, func(t *testing.T, r *imagestest.Registry) Options {
			t.Setenv("DOCKER_CONFIG", filepath.Dir(r.DockerConfig(t, login())))
			return Options{}
		}},
		"az acr login": {imagestest.Azure, func(t *testing.T, r *imagestest.Registry) Options {
			return Options{AuthFile: r.DockerConfig(t, map[string]string{
				"auth":          base64.StdEncoding.EncodeToString([]byte("00000000-0000-0000-0000-000000000000:")),
				"identitytoken": imagestest.RefreshToken})}
		}},
		"Azure, service principal": {imagestest.Azure, func(t *testing.T, r *imagestest.Registry) Options {
			return Options{AuthFile: r.DockerConfig(t, login())}
		}},
	} {
		t.Run(what, func(t *testing.T) {
			t.Setenv("HOME", t.TempDir())
			r := imagestest.New(t, tc.kind, true)
			o := tc.options(t, r)
			o.CAFile, o.Direct = r.CA, true
			client, err := New(o)
			if err != nil {
				t.Fatal(err)
			}
			ref := tag(t, r)
			if err := client.CheckWrite(ref.Context()); err != nil {
				t.Fatal(err)
			}
			pushed := sample(t)
			if err := client.Push(t.Context(), ref, pushed); err != nil {
				t.Fatal(err)
			}
			read, err := client.Artifact(t.Context(), ref)
			if err != nil {
				t.Fatal(err)
			}
			if len(read.Attached) != 2 {
				t.Errorf("%d bills of materials, want one for each architecture", len(read.Attached))
			}
			if tc.kind == imagestest.Azure && r.Tokens.Load() == 0 {
				t.Error("no token was asked for")
			}
		})
	}
}

// TestReferrers: a bill is found by its subject where the registry has the referrers API, and where it has only tags.
func TestReferrers(t *testing.T) {
	for _, api := range []bool{true, false} {
		r := imagestest.New(t, imagestest.Basic, api)
		client, err := New(Options{User: imagestest.User, Password: imagestest.Password, CAFile: r.CA, Direct: true})
		if err != nil {
			t.Fatal(err)
		}
		ref, pushed := tag(t, r), sample(t)
		if err := client.Push(t.Context(), ref, pushed); err != nil {
			t.Fatal(err)
		}
		before := r.Writes.Load()
		if err := client.Push(t.Context(), ref, pushed); err != nil || r.Writes.Load() != before {
			t.Errorf("pushing again made %d writes: %v", r.Writes.Load()-before, err)
		}
		index, err := pushed.Image.(v1.ImageIndex).IndexManifest()
		if err != nil {
			t.Fatal(err)
		}
		for i, child := range index.Manifests {
			found, err := client.attached(t.Context(), ref.Context().Digest(child.Digest.String()))
			if err != nil {
				t.Fatal(err)
			}
			if len(found) != 1 {
				t.Fatalf("referrers API %t: %d bills for %s, want one", api, len(found), child.Platform)
			}
			want, err := pushed.Attached[i].Digest()
			if err != nil {
				t.Fatal(err)
			}
			if got, err := found[0].Digest(); err != nil || got != want {
				t.Errorf("referrers API %t: bill %s of %s, want %s", api, got, child.Platform, want)
			}
		}
	}
}

// TestRefusals: what goes wrong is said with what to do about it, and without a secret.
func TestRefusals(t *testing.T) {
	t.Setenv("HOME", t.TempDir())
	r := imagestest.New(t, imagestest.Basic, true)
	broken := filepath.Join(t.TempDir(), "broken.json")
	if err := os.WriteFile(broken, []byte(`{"auths": "hunter2`), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := New(Options{AuthFile: broken}); err == nil || strings.Contains(err.Error(), "hunter2") || !strings.Contains(err.Error(), broken) {
		t.Errorf("a broken file: %v", err)
	}
	if _, err := New(Options{CAFile: broken}); err == nil || !strings.Contains(err.Error(), "no certificate") {
		t.Errorf("a file without certificates: %v", err)
	}
	for what, tc := range map[string]struct {
		options Options
		want    string
	}{
		"wrong password": {Options{User: imagestest.User, Password: "hunter2", CAFile: r.CA}, "--auth-file"},
		"no login":       {Options{CAFile: r.CA}, "--auth-file"},
		"no authority":   {Options{User: imagestest.User, Password: imagestest.Password}, "--ca-file"},
	} {
		tc.options.Direct = true
		client, err := New(tc.options)
		if err != nil {
			t.Fatal(err)
		}
		for do, err := range map[string]error{"push": client.Push(t.Context(), tag(t, r), sample(t)), "check": client.CheckWrite(tag(t, r).Context())} {
			if err == nil || !strings.Contains(err.Error(), tc.want) || strings.Contains(err.Error(), "hunter2") {
				t.Errorf("%s, %s: %v, want a word of %s", what, do, err, tc.want)
			}
		}
	}
	client, err := New(Options{User: imagestest.User, Password: imagestest.Password, CAFile: r.CA, Direct: true})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := client.Get(t.Context(), tag(t, r)); !errors.Is(err, ErrNotFound) {
		t.Errorf("an image that is not there: %v", err)
	}
	if r.Writes.Load() > 1 { // the begin of an upload that a check makes
		t.Errorf("%d writes", r.Writes.Load())
	}
}

// TestProxy: a proxy of the environment is used, and a direct client has none. The environment is read once in a process, so that
// the function that reads it is looked at.
func TestProxy(t *testing.T) {
	for direct, want := range map[bool]bool{false: true, true: false} {
		sender, err := Options{Direct: direct}.transport()
		if err != nil {
			t.Fatal(err)
		}
		if got := sender.(*http.Transport).Proxy != nil; got != want {
			t.Errorf("direct %t: asks for a proxy: %t", direct, got)
		}
	}
}
