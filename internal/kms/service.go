// Package kms is the provider beside an API server that wraps its keys with a key of an Azure Key Vault: version 2 of Kubernetes' KMS
// interface. The API server makes a key of its own when it starts, has that wrapped here, and derives the keys of all objects from it:
// the vault is asked once per start of an API server and wrapped key, and by the status checks in between.
package kms

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"

	"k8s.io/kms/pkg/service"
)

// Vault wraps and unwraps with one version of a key: azure.Vault in production.
type Vault interface {
	Encrypt(ctx context.Context, plain []byte) ([]byte, error)
	Decrypt(ctx context.Context, sealed []byte) ([]byte, error)
}

const (
	apiVersion = "v2"
	healthy    = "ok"
	// algorithmAnnotation is stored with every ciphertext, so that another algorithm can be told from this one.
	algorithmAnnotation = "algorithm.azure.akv.io"
	algorithm           = "RSA-OAEP-256"
	// probe is what a status check wraps.
	probe = "hypershift"
)

// provider serves the interface for one key.
type provider struct {
	vault Vault
	keyID string
	calls *calls
}

// newProvider names the key towards the API server by the hash of its address: it must change when the key does, and nothing else.
func newProvider(vault Vault, address string, calls *calls) *provider {
	sum := sha256.Sum256([]byte(address))
	return &provider{vault: vault, keyID: hex.EncodeToString(sum[:]), calls: calls}
}

// Status asks the vault in both directions: a role that was taken away shows here, before an API server that starts needs it.
func (p *provider) Status(ctx context.Context) (*service.StatusResponse, error) {
	response := &service.StatusResponse{Version: apiVersion, Healthz: healthy, KeyID: p.keyID}
	if err := p.roundTrip(ctx); err != nil {
		response.Healthz = err.Error()
	}
	return response, nil
}

func (p *provider) roundTrip(ctx context.Context) error {
	sealed, err := p.calls.observe("encrypt", func() ([]byte, error) { return p.vault.Encrypt(ctx, []byte(probe)) })
	if err != nil {
		return err
	}
	plain, err := p.calls.observe("decrypt", func() ([]byte, error) { return p.vault.Decrypt(ctx, sealed) })
	if err != nil {
		return err
	}
	if !bytes.Equal(plain, []byte(probe)) {
		return errors.New("the key vault does not return what it was given")
	}
	return nil
}

// Encrypt wraps a key of the API server.
func (p *provider) Encrypt(ctx context.Context, _ string, plain []byte) (*service.EncryptResponse, error) {
	sealed, err := p.calls.observe("encrypt", func() ([]byte, error) { return p.vault.Encrypt(ctx, plain) })
	if err != nil {
		return nil, err
	}
	return &service.EncryptResponse{Ciphertext: sealed, KeyID: p.keyID, Annotations: map[string][]byte{algorithmAnnotation: []byte(algorithm)}}, nil
}

// Decrypt unwraps what was wrapped with this key; what another key wrapped is refused here, without asking the vault.
func (p *provider) Decrypt(ctx context.Context, _ string, request *service.DecryptRequest) ([]byte, error) {
	if request.KeyID != p.keyID {
		return nil, fmt.Errorf("this was encrypted with key %s, the provider has %s: keep the former key as long as something needs it", request.KeyID, p.keyID)
	}
	if got := string(request.Annotations[algorithmAnnotation]); got != algorithm {
		return nil, fmt.Errorf("this was encrypted with algorithm %q, the provider knows %s", got, algorithm)
	}
	return p.calls.observe("decrypt", func() ([]byte, error) { return p.vault.Decrypt(ctx, request.Ciphertext) })
}
