package issuer

import (
	"context"
	"crypto/rsa"
	"path/filepath"

	"github.com/hypershift-on-azure/hypershift/internal/pki/signing"
	"github.com/hypershift-on-azure/hypershift/internal/stack"
	"github.com/hypershift-on-azure/hypershift/internal/wholefile"
)

// SigningKey is the key whose public half is published. A pair that has to be made is made beside the work in Azure, for its primes
// take about a second to find.
type SigningKey struct {
	issuer Issuer
	key    *rsa.PublicKey // nil until it is made
}

// SigningKey reads the key, so that one that does not fit is refused before anything is made.
func (o Options) SigningKey(issuer Issuer) (*SigningKey, error) {
	read := o.ownSigner
	if o.PrivateKey == "" {
		read = func() (*rsa.PrivateKey, error) { return signing.ReadPair(issuer.PrivateKeyPath, issuer.PublicKeyPath) }
	}
	key, err := read()
	k := &SigningKey{issuer: issuer}
	if key != nil {
		k.key = &key.PublicKey
	}
	return k, err
}

// AsIs is the key as it is now, whatever becomes of it.
func (k *SigningKey) AsIs() *SigningKey { return &SigningKey{issuer: k.issuer, key: k.key} }

const keyNode = "key"

// The public keys that a rotation keeps beside the pair while it is under way.
const (
	OldPublic  = "old.public"
	NextPublic = "next.public"
)

// RotationFile is a file of a rotation, in the folder of the pair.
func RotationFile(folder, name string) string {
	return filepath.Join(folder, "serviceaccount-signer."+name)
}

// KeyID is the id of the key that signs, read from its file.
func (i Issuer) KeyID() (string, error) {
	key, err := signing.ReadPrivate(i.PrivateKeyPath)
	if err != nil {
		return "", err
	}
	return signing.KeyID(&key.PublicKey)
}

func (k *SigningKey) node() *stack.Node {
	return &stack.Node{ID: keyNode, Kind: "signing key", Name: k.issuer.PrivateKeyPath,
		Observe: func(context.Context) (stack.State, error) {
			switch {
			case k.key == nil:
				return stack.Missing, nil
			case k.issuer.PublicKeyPath != "" && !wholefile.Exists(k.issuer.PublicKeyPath):
				return stack.Drifted, nil
			}
			return stack.Current, nil
		},
		Apply: func(context.Context) error {
			key, err := signing.EnsurePair(k.issuer.PrivateKeyPath, k.issuer.PublicKeyPath)
			if err == nil {
				k.key = &key.PublicKey
			}
			return err
		}}
}
