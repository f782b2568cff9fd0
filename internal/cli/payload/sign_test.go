package payload

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-containerregistry/pkg/name"

	"github.com/hypershift-on-azure/hypershift/images/imagestest"
	"github.com/hypershift-on-azure/hypershift/images/registry"
	"github.com/hypershift-on-azure/hypershift/internal/cli/registryflags"
	"github.com/hypershift-on-azure/hypershift/internal/release"
	"github.com/hypershift-on-azure/hypershift/internal/release/releasetest"
	"github.com/hypershift-on-azure/hypershift/internal/release/signature"
	"github.com/hypershift-on-azure/hypershift/payload"
)

// keyFiles are the files of a key pair, and what trusts it.
func keyFiles(t *testing.T) (private, public string, keys *signature.Keys) {
	t.Helper()
	dir := t.TempDir()
	key, trusted := releasetest.KeyPair(t)
	private, public = filepath.Join(dir, "key"), filepath.Join(dir, "pub")
	for path, text := range map[string][]byte{private: key, public: trusted} {
		if err := os.WriteFile(path, text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	keys, err := signature.ParseKeys(trusted)
	if err != nil {
		t.Fatal(err)
	}
	return private, public, keys
}

// TestSignedPayload: a payload is signed as it is published or later, verify tells whose signature it has, and the operator's reader with
// the same keys takes it.
func TestSignedPayload(t *testing.T) {
	r := imagestest.New(t, imagestest.Basic, false)
	auth := r.DockerConfig(t, map[string]string{"username": imagestest.User, "password": imagestest.Password})
	reach := []string{"--ca-file", r.CA, "--auth-file", auth}
	private, public, keys := keyFiles(t)
	otherPrivate, otherPublic, otherKeys := keyFiles(t)
	publish := append([]string{"publish", "--from", layout(t, required(&payload.Facts{})...), "--to", r.Host, "--cache", t.TempDir(), "-o", "json"}, reach...)
	tag := r.Host + "/release:4.21.0"

	verify := func(key string) error {
		_, _, err := run(t, append([]string{"verify", tag, "--key", key}, reach...)...)
		return err
	}
	published := func(flags ...string) (out payload.Published) {
		t.Helper()
		text, _, err := run(t, append(publish, flags...)...)
		if err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal([]byte(text), &out); err != nil {
			t.Fatal(err)
		}
		return out
	}
	if out := published(); out.Signatures != "" || verify(public) == nil {
		t.Errorf("an unsigned payload is taken for signed: %+v", out)
	}
	planned := published("--sign-key", private, "--dry-run")
	if verify(public) == nil {
		t.Error("a dry run signs")
	}
	out := published("--sign-key", private)
	if err := verify(public); err != nil || out.Signatures != planned.Signatures ||
		out.Signatures != r.Host+"/release:"+strings.Replace(out.Digest, ":", "-", 1)+".sig" {
		t.Errorf("%v; signed %s, planned %s", err, out.Signatures, planned.Signatures)
	}
	if verify(otherPublic) == nil {
		t.Error("any key's signature is taken")
	}
	image := strings.TrimSuffix(tag, ":4.21.0") + "@" + out.Digest
	access := access(t, auth, r.CA)
	if _, err := (release.Reader{Signers: keys}).Lookup(t.Context(), image, access); err != nil {
		t.Error(err)
	}
	if _, err := (release.Reader{Signers: otherKeys}).Lookup(t.Context(), image, access); err == nil || !strings.Contains(err.Error(), "by a key that is trusted") {
		t.Errorf("the operator takes a stranger's signature: %v", err)
	}
	for range 2 {
		if text, _, err := run(t, append([]string{"sign", tag, "--key", otherPrivate}, reach...)...); err != nil || text != image+"\n" {
			t.Errorf("sign prints %q: %v", text, err)
		}
	}
	if err := verify(otherPublic); err != nil {
		t.Error(err)
	}
	if n := signatures(t, image, registry.Options{AuthFile: auth, CAFile: r.CA, Direct: true}); n != 2 || verify(public) != nil {
		t.Errorf("%d signatures of 2 keys", n)
	}
	for _, line := range [][]string{{"sign", tag, "--key", public}, {"sign", tag, "--key", "absent"}, append(publish, "--sign-key", public), {"verify", tag, "--key", private}} {
		if _, _, err := run(t, append(line, reach...)...); err == nil || !strings.Contains(err.Error(), "key") {
			t.Errorf("%s: %v", line[0], err)
		}
	}
}

// access is how the operator reaches what a file of Docker's and an authority open.
func access(t *testing.T, auth, ca string) release.Access {
	t.Helper()
	secret, err := os.ReadFile(auth)
	if err != nil {
		t.Fatal(err)
	}
	bundle, err := os.ReadFile(ca)
	if err != nil {
		t.Fatal(err)
	}
	return release.Access{PullSecret: secret, TrustBundle: bundle}
}

func signatures(t *testing.T, image string, reach registry.Options) int {
	t.Helper()
	client, err := registry.New(reach)
	if err != nil {
		t.Fatal(err)
	}
	digest, err := name.NewDigest(image)
	if err != nil {
		t.Fatal(err)
	}
	found, err := registryflags.Signatures(t.Context(), client, digest)
	if err != nil {
		t.Fatal(err)
	}
	layers, err := found.Layers()
	if err != nil {
		t.Fatal(err)
	}
	return len(layers)
}
