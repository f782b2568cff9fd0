package release

import (
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/remote"

	"github.com/hypershift-on-azure/hypershift/internal/release/signature"
)

func pemOf(t *testing.T, kind string, der []byte, err error) []byte {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der})
}

// keyPair is a signer with its public key in PEM.
func keyPair(t *testing.T) (*signature.Signer, []byte) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	private, err := x509.MarshalPKCS8PrivateKey(key)
	signer, err := signature.ParseSigner(pemOf(t, "PRIVATE KEY", private, err), nil)
	if err != nil {
		t.Fatal(err)
	}
	public, err := x509.MarshalPKIXPublicKey(key.Public())
	return signer, pemOf(t, "PUBLIC KEY", public, err)
}

const digestA, digestB = "sha256:aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", "sha256:bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb"

// payloadNaming is a payload whose image for etcd is this.
func payloadNaming(t *testing.T, etcd string) v1.Image {
	t.Helper()
	return imageOf(t, map[string]string{referencesFile: `{"kind":"ImageStream","metadata":{"name":"4.21.0"},"spec":{"tags":[
{"name":"etcd","from":{"kind":"DockerImage","name":"` + etcd + `"}}]}}`})
}

// TestOnlySignedReleases: with keys, a payload is read only where one of them signed this digest, by which it has to be named, as have
// its images.
func TestOnlySignedReleases(t *testing.T) {
	good, public := keyPair(t)
	second, secondPublic := keyPair(t)
	stranger, _ := keyPair(t)
	const fixed, movable = "quay.io/x@" + digestA, "quay.io/x:latest"

	for title, test := range map[string]struct {
		etcd string
		sign func(t *testing.T, image name.Digest) v1.Image
		tag  bool
		want Reason
		says string
	}{
		"signed":              {etcd: fixed, sign: by(good)},
		"signed by the other": {etcd: fixed, sign: by(second)},
		"signed by two":       {etcd: fixed, sign: by(stranger, good)},
		"unsigned":            {etcd: fixed, want: ReasonUnsigned, says: "it has no signature"},
		"no statement": {etcd: fixed, sign: func(*testing.T, name.Digest) v1.Image { return empty.Image },
			want: ReasonUnsigned, says: "it has no signature"},
		"signed by a stranger": {etcd: fixed, sign: by(stranger), want: ReasonUnsigned, says: "by a key that is trusted"},
		"the signature of another image": {etcd: fixed, want: ReasonUnsigned, says: "for this image",
			sign: func(t *testing.T, image name.Digest) v1.Image { return by(good)(t, image.Context().Digest(digestB)) }},
		"a signature under another statement": {etcd: fixed, want: ReasonUnsigned, says: "for this image", sign: swapped(good)},
		"signed and named by tag":             {etcd: fixed, sign: by(good), tag: true, want: ReasonMovable, says: "today it leads to"},
		"signed and leads to a tag":           {etcd: movable, sign: by(good), want: ReasonMovable, says: movable},
	} {
		t.Run(title, func(t *testing.T) {
			image := payloadNaming(t, test.etcd)
			tagged, access := push(t, image)
			hash, err := image.Digest()
			if err != nil {
				t.Fatal(err)
			}
			at := parse(t, tagged).Context().Digest(hash.String())
			if test.sign != nil {
				if err := remote.Write(signature.Tag(at), test.sign(t, at), authenticated(t, access)...); err != nil {
					t.Fatal(err)
				}
			}
			keys, err := signature.ParseKeys(append(secondPublic, public...))
			if err != nil {
				t.Fatal(err)
			}
			reference := at.String()
			if test.tag {
				reference = tagged
			}
			found, err := Reader{Signers: keys}.Lookup(t.Context(), reference, access)
			if test.want == "" {
				if err != nil || found.Version != "4.21.0" {
					t.Fatalf("%+v, %v", found, err)
				}
				return
			}
			if err == nil || reasonOf(t, err) != test.want || !strings.Contains(err.Error(), test.says) {
				t.Errorf("%v; want %s and %q", err, test.want, test.says)
			}
			if _, err := (Reader{}).Lookup(t.Context(), reference, access); err != nil {
				t.Errorf("without keys: %v", err)
			}
		})
	}
}

func by(signers ...*signature.Signer) func(*testing.T, name.Digest) v1.Image {
	return func(t *testing.T, image name.Digest) v1.Image {
		var signatures v1.Image
		for _, s := range signers {
			var err error
			if signatures, err = s.Sign(image, signatures); err != nil {
				t.Fatal(err)
			}
		}
		return signatures
	}
}

// swapped puts the annotation of a signature for another image on the statement for this one.
func swapped(signer *signature.Signer) func(*testing.T, name.Digest) v1.Image {
	return func(t *testing.T, image name.Digest) v1.Image {
		own, other := by(signer)(t, image), by(signer)(t, image.Context().Digest(digestB))
		layers, err := own.Layers()
		if err != nil {
			t.Fatal(err)
		}
		manifest, err := other.Manifest()
		if err != nil {
			t.Fatal(err)
		}
		made, err := mutate.Append(empty.Image, mutate.Addendum{Layer: layers[0], Annotations: manifest.Layers[0].Annotations})
		if err != nil {
			t.Fatal(err)
		}
		return made
	}
}

// TestSignaturesAreReadAsTheImage: a registry that is away is no proof of anything, and credentials that read the image read its signatures.
func TestSignaturesAreReadAsTheImage(t *testing.T) {
	_, public := keyPair(t)
	keys, err := signature.ParseKeys(public)
	if err != nil {
		t.Fatal(err)
	}
	failure := signed(t.Context(), "registry.invalid/release@"+digestA, digestA, keys, nil)
	if failure == nil || !failure.Transient() || errors.Is(failure, signature.ErrNone) {
		t.Errorf("an unreachable registry: %v", failure)
	}
	if _, err := signature.ParseKeys(pemOf(t, "PUBLIC KEY", ed25519.PublicKey("short"), nil)); err == nil {
		t.Error("a broken key is taken")
	}
}
