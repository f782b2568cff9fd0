package registryflags

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/spf13/cobra"

	"github.com/hypershift-on-azure/hypershift/images"
	"github.com/hypershift-on-azure/hypershift/images/registry"
	"github.com/hypershift-on-azure/hypershift/internal/cli/flagfile"
	"github.com/hypershift-on-azure/hypershift/internal/release/signature"
)

// passwordVariable has the password of an encrypted private key, under the name that cosign reads it from.
const passwordVariable = "COSIGN_PASSWORD"

// Signing is the flag that names a private key, which signs what is published.
type Signing struct {
	flag, path string
	signer     *signature.Signer
}

// Add adds the flag.
func (s *Signing) Add(cmd *cobra.Command, flag, signs string) {
	s.flag = "--" + flag
	cmd.Flags().StringVar(&s.path, flag, "", "PEM file with the private key that signs "+signs+", as openssl and 'cosign generate-key-pair' write it; $"+passwordVariable+" has the password of an encrypted one")
}

// Open reads the key, if the flag is given.
func (s *Signing) Open() error {
	if s.path == "" {
		return nil
	}
	text, err := flagfile.Read(s.flag, s.path)
	if err != nil {
		return err
	}
	if s.signer, err = signature.ParseSigner(text, []byte(os.Getenv(passwordVariable))); err != nil {
		return fmt.Errorf("the file of %s, %s, cannot sign: %w", s.flag, s.path, err)
	}
	return nil
}

// Given tells whether there is a key.
func (s *Signing) Given() bool { return s.signer != nil }

// Sign adds the key's signature to those of an image in a registry, and says where they lie. One that is there is not made again.
func (s *Signing) Sign(ctx context.Context, client *registry.Client, image name.Digest) (name.Tag, error) {
	at := signature.Tag(image)
	former, err := Signatures(ctx, client, image)
	if errors.Is(err, registry.ErrNotFound) {
		former, err = nil, nil
	}
	if err != nil {
		return at, err
	}
	made, err := s.signer.Sign(image, former)
	if err != nil {
		return at, fmt.Errorf("cannot sign %s with the key of %s: %w", image, s.flag, err)
	}
	return at, client.Push(ctx, at, images.Artifact{Name: at.String(), Image: made})
}

// Signatures are those of an image in a registry; an image without any is registry.ErrNotFound.
func Signatures(ctx context.Context, client *registry.Client, image name.Digest) (v1.Image, error) {
	found, err := client.Get(ctx, signature.Tag(image))
	if err != nil {
		return nil, err
	}
	return found.Image()
}

// CheckSigned looks for a signature of the image by one of the public keys of a flag's file.
func CheckSigned(ctx context.Context, client *registry.Client, image name.Digest, keys *signature.Keys) error {
	digest, err := v1.NewHash(image.DigestStr())
	if err != nil {
		return err
	}
	there, err := Signatures(ctx, client, image)
	if errors.Is(err, registry.ErrNotFound) {
		err = signature.ErrNone
	} else if err == nil {
		err = keys.Verify(digest, there)
	}
	if err != nil {
		return fmt.Errorf("%s is not signed by a key of the file (%s): %w", image, signature.Tag(image), err)
	}
	return nil
}
