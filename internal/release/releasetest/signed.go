package releasetest

import (
	"crypto/elliptic"
	"testing"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/sigstore/sigstore/pkg/cryptoutils"

	"github.com/hypershift-on-azure/hypershift/internal/release/signature"
)

// KeyPair makes a private and a public key in PEM.
func KeyPair(t testing.TB) (private, public []byte) {
	t.Helper()
	private, public, err := cryptoutils.GeneratePEMEncodedECDSAKeyPair(elliptic.P256(), cryptoutils.SkipPassword)
	if err != nil {
		t.Fatal(err)
	}
	return private, public
}

// Signer makes a key and gives it with what trusts it.
func Signer(t testing.TB) (*signature.Signer, *signature.Keys) {
	t.Helper()
	private, public := KeyPair(t)
	signer, err := signature.ParseSigner(private, nil)
	if err != nil {
		t.Fatal(err)
	}
	keys, err := signature.ParseKeys(public)
	if err != nil {
		t.Fatal(err)
	}
	return signer, keys
}

// ByDigest is the reference by digest of what a reference leads to.
func (r *Registry) ByDigest(t testing.TB, reference string) string {
	t.Helper()
	parsed, err := name.ParseReference(reference)
	if err != nil {
		t.Fatal(err)
	}
	head, err := remote.Head(parsed)
	if err != nil {
		t.Fatal(err)
	}
	return parsed.Context().Digest(head.Digest.String()).String()
}

// Sign adds a signature to those of an image that is named by digest.
func (r *Registry) Sign(t testing.TB, image string, signer *signature.Signer) {
	t.Helper()
	digest, err := name.NewDigest(image)
	if err != nil {
		t.Fatal(err)
	}
	var former v1.Image
	if there, err := remote.Image(signature.Tag(digest)); err == nil {
		former = there
	}
	made, err := signer.Sign(digest, former)
	if err != nil {
		t.Fatal(err)
	}
	r.PushAs(t, signature.Tag(digest).String(), made)
}
