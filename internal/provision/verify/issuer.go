package verify

import (
	"context"
	"fmt"
	"net/http"

	"github.com/hypershift-on-azure/hypershift/internal/pki/signing"
	"github.com/hypershift-on-azure/hypershift/internal/provision/issuer"
)

func (v *verification) issuerTasks() []task {
	if v.h.Issuer == nil {
		return nil
	}
	const area = "issuer"
	remedy := "run `hypershift create oidc-issuer azure` again; where public blobs are forbidden, see its " + issuer.FieldURL.String()
	return []task{
		func(ctx context.Context) []Check {
			return []Check{verdict(area, "discovery document", v.h.Issuer.URL, v.checkDiscovery(ctx), remedy)}
		},
		func(ctx context.Context) []Check {
			if v.key == nil {
				return []Check{{Area: area, Name: "published key", Status: Skip, Detail: "no private key is named", Remedy: give(issuer.FieldSigner)}}
			}
			return []Check{verdict(area, "published key", v.h.Issuer.PrivateKeyPath, v.checkKeys(ctx), remedy)}
		},
		func(ctx context.Context) []Check { return []Check{v.auditKeys(ctx)} },
	}
}

func (v *verification) read(ctx context.Context, path string) ([]byte, error) {
	address := v.h.Issuer.URL + "/" + path
	raw, status, err := v.s.ReadPublic(ctx, address)
	if err == nil && status != http.StatusOK {
		err = fmt.Errorf("%s answers %d to anyone who has not signed in", address, status)
	}
	return raw, err
}

func (v *verification) checkDiscovery(ctx context.Context) error {
	raw, err := v.read(ctx, issuer.DiscoveryPath)
	if err != nil {
		return err
	}
	document, err := issuer.ParseDiscovery(raw)
	keys := v.h.Issuer.URL + "/" + issuer.KeysPath
	switch {
	case err != nil:
	case document.Issuer != v.h.Issuer.URL:
		err = fmt.Errorf("the document's issuer is %q, not %q", document.Issuer, v.h.Issuer.URL)
	case document.JWKSURI != keys:
		err = fmt.Errorf("the document has Azure read the keys at %q, not at %q: whoever publishes them there can sign in as every identity that trusts the issuer", document.JWKSURI, keys)
	}
	return err
}

func (v *verification) checkKeys(ctx context.Context) error {
	raw, err := v.read(ctx, issuer.KeysPath)
	if err != nil {
		return err
	}
	set, err := signing.ParseKeySet(raw)
	if err == nil && !set.Has(&v.key.PublicKey) {
		err = fmt.Errorf("%d keys are published and that of %s is not among them", len(set.IDs()), v.h.Issuer.PrivateKeyPath)
	}
	return err
}
