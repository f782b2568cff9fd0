// Package signature makes and judges signatures of images as cosign keeps them: beside the image, under the tag sha256-DIGEST.sig, lies
// an image whose layers are statements of the form "simple signing", each with its signature in an annotation.
package signature

import (
	"bytes"
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rsa"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/static"
	"github.com/google/go-containerregistry/pkg/v1/types"
	"github.com/sigstore/sigstore/pkg/cryptoutils"
	"github.com/sigstore/sigstore/pkg/signature"
	"github.com/sigstore/sigstore/pkg/signature/payload"
)

const (
	statementType = types.MediaType("application/vnd.dev.cosign.simplesigning.v1+json")
	annotation    = "dev.cosignproject.cosign/signature"

	// A statement is a few hundred bytes, and an image has a signature for each of a few keys.
	maxStatementBytes = 64 << 10
	maxStatements     = 64
)

var (
	// ErrNone is an image without a signature.
	ErrNone = errors.New("it has no signature")
	// ErrUntrusted is an image whose signatures are all of other keys, or for other images.
	ErrUntrusted = errors.New("none of its signatures is for this image and by a key that is trusted")
)

// Tag is where the signatures of an image lie.
func Tag(image name.Digest) name.Tag {
	return image.Context().Tag(strings.Replace(image.DigestStr(), ":", "-", 1) + ".sig")
}

// Keys are public keys, of which one must have signed.
type Keys struct{ verifiers []signature.Verifier }

// strong refuses keys that are too weak, or of a kind that signs nothing here.
func strong(key crypto.PublicKey) error {
	switch k := key.(type) {
	case ed25519.PublicKey:
		return nil
	case *ecdsa.PublicKey:
		if k.Curve == elliptic.P256() || k.Curve == elliptic.P384() || k.Curve == elliptic.P521() {
			return nil
		}
		return fmt.Errorf("its curve is %s: use P-256, P-384 or P-521", k.Curve.Params().Name)
	case *rsa.PublicKey:
		if bits := k.N.BitLen(); bits < leastBits {
			return fmt.Errorf("it has %d bits: use RSA of at least %d", bits, leastBits)
		}
		return nil
	default:
		return fmt.Errorf("it is a %T: use ECDSA, RSA or Ed25519", key)
	}
}

// leastBits of an RSA key.
const leastBits = 2048

// ParseKeys reads public keys in PEM: of ECDSA, RSA or Ed25519, one after the other.
func ParseKeys(text []byte) (*Keys, error) {
	keys := &Keys{}
	for i, block := range bytes.SplitAfter(text, []byte("-----END PUBLIC KEY-----")) {
		if len(bytes.TrimSpace(block)) == 0 {
			continue
		}
		public, err := cryptoutils.UnmarshalPEMToPublicKey(bytes.TrimSpace(block))
		if err != nil {
			return nil, fmt.Errorf("key %d is no public key in PEM (BEGIN PUBLIC KEY): %w", i+1, err)
		}
		if err := strong(public); err != nil {
			return nil, fmt.Errorf("key %d cannot be used: %w", i+1, err)
		}
		verifier, err := signature.LoadVerifier(public, crypto.SHA256)
		if err != nil {
			return nil, fmt.Errorf("key %d cannot be used: %w", i+1, err)
		}
		keys.verifiers = append(keys.verifiers, verifier)
	}
	if len(keys.verifiers) == 0 {
		return nil, errors.New("there is no public key in PEM (BEGIN PUBLIC KEY)")
	}
	return keys, nil
}

// Verify looks for a signature of the image with this digest, by one of the keys, among those that lie under its Tag. Errors are
// ErrNone, ErrUntrusted, or those of reading.
func (k *Keys) Verify(digest v1.Hash, signatures v1.Image) error {
	manifest, err := signatures.Manifest()
	if err != nil {
		return err
	}
	if len(manifest.Layers) == 0 {
		return ErrNone
	}
	if len(manifest.Layers) > maxStatements {
		return fmt.Errorf("%w: it has %d of them, and no more than %d are read", ErrUntrusted, len(manifest.Layers), maxStatements)
	}
	for _, layer := range manifest.Layers {
		signed, err := base64.StdEncoding.DecodeString(layer.Annotations[annotation])
		if err != nil || len(signed) == 0 || layer.MediaType != statementType || layer.Size > maxStatementBytes || len(layer.URLs) > 0 {
			continue
		}
		statement, err := readStatement(signatures, layer.Digest)
		if err != nil {
			return err
		}
		if k.signed(statement, signed) && isFor(statement, digest) {
			return nil
		}
	}
	return ErrUntrusted
}

// readStatement reads a layer to its end: only then is its digest verified.
func readStatement(signatures v1.Image, digest v1.Hash) ([]byte, error) {
	layer, err := signatures.LayerByDigest(digest)
	if err != nil {
		return nil, err
	}
	stream, err := layer.Compressed() // which is as it was written, since a statement is not compressed
	if err != nil {
		return nil, err
	}
	defer stream.Close()
	return io.ReadAll(io.LimitReader(stream, maxStatementBytes+1))
}

func (k *Keys) signed(statement, signed []byte) bool {
	for _, verifier := range k.verifiers {
		if verifier.VerifySignature(bytes.NewReader(signed), bytes.NewReader(statement)) == nil {
			return true
		}
	}
	return false
}

// isFor reads a statement whose signature holds. Where it says that the image lies counts for nothing: copies and mirrors are as good.
func isFor(statement []byte, digest v1.Hash) bool {
	var read payload.SimpleContainerImage
	if json.Unmarshal(statement, &read) != nil {
		return false
	}
	return read.Critical.Type == payload.CosignSignatureType && read.Critical.Image.DockerManifestDigest == digest.String()
}

// Signer is a private key.
type Signer struct{ key signature.SignerVerifier }

// ParseSigner reads a private key in PEM, as openssl and 'cosign generate-key-pair' write it. password is that of an encrypted one.
func ParseSigner(text, password []byte) (*Signer, error) {
	private, err := cryptoutils.UnmarshalPEMToPrivateKey(text, cryptoutils.StaticPasswordFunc(password))
	if err != nil {
		return nil, fmt.Errorf("it is no private key in PEM, or its password is another one: %w", err)
	}
	key, err := signature.LoadSignerVerifier(private, crypto.SHA256)
	if err != nil {
		return nil, fmt.Errorf("its kind of key cannot sign: %w", err)
	}
	return &Signer{key: key}, nil
}

// Sign makes what lies under the Tag of an image: its former signatures, nil where there are none, and one of this key. It gives the
// former ones back where this key's is among them.
func (s *Signer) Sign(image name.Digest, former v1.Image) (v1.Image, error) {
	digest, err := v1.NewHash(image.DigestStr())
	if err != nil {
		return nil, err
	}
	base := former
	if former == nil {
		base = mutate.ConfigMediaType(mutate.MediaType(empty.Image, types.OCIManifestSchema1), types.OCIConfigJSON)
	} else if err := (&Keys{[]signature.Verifier{s.key}}).Verify(digest, former); err == nil {
		return former, nil
	} else if !errors.Is(err, ErrNone) && !errors.Is(err, ErrUntrusted) {
		return nil, err
	}
	statement, err := json.Marshal(payload.Cosign{Image: image})
	if err != nil {
		return nil, err
	}
	signed, err := s.key.SignMessage(bytes.NewReader(statement))
	if err != nil {
		return nil, err
	}
	return mutate.Append(base, mutate.Addendum{
		Layer:       static.NewLayer(statement, statementType),
		Annotations: map[string]string{annotation: base64.StdEncoding.EncodeToString(signed)},
	})
}
