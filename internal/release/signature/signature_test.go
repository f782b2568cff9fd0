package signature_test

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/static"
	"github.com/google/go-containerregistry/pkg/v1/types"
	"github.com/sigstore/sigstore/pkg/cryptoutils"

	"github.com/hypershift-on-azure/hypershift/internal/release/signature"
)

const digest = "sha256:aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"

func subject(t testing.TB) (name.Digest, v1.Hash) {
	t.Helper()
	at, err := name.NewDigest("registry.example.com/team/release@" + digest)
	if err != nil {
		t.Fatal(err)
	}
	hash, err := v1.NewHash(digest)
	if err != nil {
		t.Fatal(err)
	}
	return at, hash
}

func elliptical(t testing.TB) *ecdsa.PrivateKey {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

func encoded(t testing.TB, kind string, der []byte, err error) []byte {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der})
}

func public(t testing.TB, key any) []byte {
	t.Helper()
	der, err := x509.MarshalPKIXPublicKey(key)
	return encoded(t, "PUBLIC KEY", der, err)
}

func keysOf(t testing.TB, text []byte) *signature.Keys {
	t.Helper()
	keys, err := signature.ParseKeys(text)
	if err != nil {
		t.Fatal(err)
	}
	return keys
}

// TestKinds: keys as openssl and cosign write them.
func TestKinds(t *testing.T) {
	at, hash := subject(t)
	small, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	_, edwards, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	curve := elliptical(t)
	pkcs8 := func(key any) []byte {
		der, err := x509.MarshalPKCS8PrivateKey(key)
		return encoded(t, "PRIVATE KEY", der, err)
	}
	ecDER, err := x509.MarshalECPrivateKey(curve)
	ec := encoded(t, "EC PRIVATE KEY", ecDER, err)
	sealed, sealedPublic, err := cryptoutils.GeneratePEMEncodedECDSAKeyPair(elliptic.P256(), cryptoutils.StaticPasswordFunc([]byte("opensesame")))
	if err != nil {
		t.Fatal(err)
	}
	for title, test := range map[string]struct{ private, public []byte }{
		"RSA":           {pkcs8(small), public(t, small.Public())},
		"Ed25519":       {pkcs8(edwards), public(t, edwards.Public())},
		"ECDSA":         {pkcs8(curve), public(t, curve.Public())},
		"EC of openssl": {ec, public(t, curve.Public())},
		"encrypted":     {sealed, sealedPublic},
	} {
		signer, err := signature.ParseSigner(test.private, []byte("opensesame"))
		if err != nil {
			t.Errorf("%s: %v", title, err)
			continue
		}
		made, err := signer.Sign(at, nil)
		if err != nil {
			t.Errorf("%s: %v", title, err)
			continue
		}
		if err := keysOf(t, test.public).Verify(hash, made); err != nil {
			t.Errorf("%s: %v", title, err)
		}
		if again, err := signer.Sign(at, made); err != nil || again != made {
			t.Errorf("%s: signed twice: %v", title, err)
		}
	}
	if _, err := signature.ParseSigner(sealed, []byte("wrong")); err == nil {
		t.Error("an encrypted key opens with any password")
	}
	for title, text := range map[string][]byte{
		"nothing": nil, "text": []byte("hello"), "a private key": pkcs8(curve), "a second one that is none": append(public(t, curve.Public()), "rest"...),
	} {
		if _, err := signature.ParseKeys(text); err == nil {
			t.Errorf("%s is taken for public keys", title)
		}
	}
}

// TestOpenSSLVerifies: what is made is what others verify, from the layer and its annotation alone.
func TestOpenSSLVerifies(t *testing.T) {
	openssl, err := exec.LookPath("openssl")
	if err != nil {
		t.Skip("there is no openssl")
	}
	at, _ := subject(t)
	key := elliptical(t)
	der, err := x509.MarshalPKCS8PrivateKey(key)
	signer, err := signature.ParseSigner(encoded(t, "PRIVATE KEY", der, err), nil)
	if err != nil {
		t.Fatal(err)
	}
	made, err := signer.Sign(at, nil)
	if err != nil {
		t.Fatal(err)
	}
	manifest, err := made.Manifest()
	if err != nil {
		t.Fatal(err)
	}
	if manifest.MediaType != types.OCIManifestSchema1 || manifest.Config.MediaType != types.OCIConfigJSON ||
		manifest.Layers[0].MediaType != "application/vnd.dev.cosign.simplesigning.v1+json" {
		t.Errorf("%+v", manifest)
	}
	if tag := signature.Tag(at).String(); tag != "registry.example.com/team/release:sha256-aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa.sig" {
		t.Errorf("it lies under %s", tag)
	}
	layers, err := made.Layers()
	if err != nil {
		t.Fatal(err)
	}
	stream, err := layers[0].Compressed()
	if err != nil {
		t.Fatal(err)
	}
	statement, err := io.ReadAll(stream)
	if err != nil {
		t.Fatal(err)
	}
	var said struct {
		Critical struct {
			Identity struct {
				Reference string `json:"docker-reference"`
			}
			Image struct {
				Digest string `json:"docker-manifest-digest"`
			}
			Type string
		}
	}
	if err := json.Unmarshal(statement, &said); err != nil || said.Critical.Image.Digest != digest || said.Critical.Identity.Reference != "registry.example.com/team/release" ||
		said.Critical.Type != "cosign container image signature" {
		t.Errorf("%s, %v", statement, err)
	}
	signed, err := base64.StdEncoding.DecodeString(manifest.Layers[0].Annotations["dev.cosignproject.cosign/signature"])
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	file := func(name string, content []byte) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, content, 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	verify := func(statement string) error {
		return exec.CommandContext(t.Context(), openssl, "dgst", "-sha256", "-verify", file("pub", public(t, key.Public())), "-signature", file("sig", signed), statement).Run()
	}
	if err := verify(file("statement", statement)); err != nil {
		t.Error(err)
	}
	if verify(file("statement", append(statement, ' '))) == nil {
		t.Error("openssl takes any statement")
	}
}

// TestBounds: what a registry serves as signatures is not read without end.
func TestBounds(t *testing.T) {
	_, hash := subject(t)
	keys := keysOf(t, public(t, elliptical(t).Public()))
	add := mutate.Addendum{Layer: static.NewLayer(bytes.Repeat([]byte("x"), 1<<20), "application/vnd.dev.cosign.simplesigning.v1+json"),
		Annotations: map[string]string{"dev.cosignproject.cosign/signature": "c2ln"}}
	large, err := mutate.Append(empty.Image, add)
	if err != nil {
		t.Fatal(err)
	}
	if err := keys.Verify(hash, large); !errors.Is(err, signature.ErrUntrusted) {
		t.Errorf("a large statement: %v", err)
	}
	many := make([]mutate.Addendum, 100)
	for i := range many {
		many[i] = mutate.Addendum{Layer: static.NewLayer([]byte{byte(i)}, "application/vnd.dev.cosign.simplesigning.v1+json")}
	}
	flood, err := mutate.Append(empty.Image, many...)
	if err != nil {
		t.Fatal(err)
	}
	if err := keys.Verify(hash, flood); !errors.Is(err, signature.ErrUntrusted) {
		t.Errorf("many statements: %v", err)
	}
	if err := keys.Verify(hash, empty.Image); !errors.Is(err, signature.ErrNone) {
		t.Errorf("none: %v", err)
	}
}

// served is an image as a registry serves it.
type served struct {
	v1.Image
	manifest, statement []byte
}

func (s served) Manifest() (*v1.Manifest, error) {
	return v1.ParseManifest(bytes.NewReader(s.manifest))
}

func (s served) LayerByDigest(v1.Hash) (v1.Layer, error) {
	return static.NewLayer(s.statement, "application/vnd.dev.cosign.simplesigning.v1+json"), nil
}

// FuzzSignatures: whatever a registry serves as signatures, nothing but the signer's own statement of this image is taken.
func FuzzSignatures(f *testing.F) {
	at, hash := subject(f)
	key := elliptical(f)
	der, err := x509.MarshalPKCS8PrivateKey(key)
	signer, err := signature.ParseSigner(encoded(f, "PRIVATE KEY", der, err), nil)
	if err != nil {
		f.Fatal(err)
	}
	other, err := signer.Sign(at.Context().Digest("sha256:bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb"), nil)
	if err != nil {
		f.Fatal(err)
	}
	manifest, err := other.RawManifest()
	if err != nil {
		f.Fatal(err)
	}
	layers, err := other.Layers()
	if err != nil {
		f.Fatal(err)
	}
	stream, err := layers[0].Compressed()
	if err != nil {
		f.Fatal(err)
	}
	statement, err := io.ReadAll(stream)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(manifest, statement)
	f.Add(manifest, []byte(`{"critical":{"type":"cosign container image signature","image":{"docker-manifest-digest":"`+digest+`"}}}`))
	f.Add([]byte(`{"layers":[{"annotations":{"dev.cosignproject.cosign/signature":"AA=="},"size":-1}]}`), []byte(`null`))
	f.Add([]byte(`null`), []byte(``))
	keys := keysOf(f, public(f, key.Public()))
	f.Fuzz(func(t *testing.T, manifest, statement []byte) {
		if err := keys.Verify(hash, served{empty.Image, manifest, statement}); err == nil {
			t.Errorf("taken for signed: %s, %s", manifest, statement)
		}
	})
}

// FuzzKeys: a file of keys is taken whole or not at all.
func FuzzKeys(f *testing.F) {
	f.Add(public(f, elliptical(f).Public()))
	f.Add([]byte("-----BEGIN PUBLIC KEY-----\nAAAA\n-----END PUBLIC KEY-----\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		keys, err := signature.ParseKeys(text)
		if (keys == nil) == (err == nil) {
			t.Errorf("%v, %v", keys, err)
		}
	})
}
