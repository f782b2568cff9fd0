package verify

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/hypershift-on-azure/hypershift/internal/pki/signing"
	"github.com/hypershift-on-azure/hypershift/internal/provision/issuer"
)

// auditKeys fails for a published key that is not on record: the holder of its private half can sign in as every identity of the
// cluster.
func (v *verification) auditKeys(ctx context.Context) Check {
	const area, name = "issuer", "no other key"
	expected, err := v.expectedKeys()
	if err == nil && len(expected) == 0 {
		return Check{Area: area, Name: name, Status: Skip, Detail: "neither the hand-off nor a private key tells which keys are ours", Remedy: give(issuer.FieldSigner)}
	}
	var set *signing.KeySet
	if err == nil {
		set, err = issuer.PublishedKeys(ctx, v.s, v.h.Issuer.URL)
	}
	if err != nil {
		return verdict(area, name, "", err, "run `hypershift create oidc-issuer azure` again")
	}
	others := slices.DeleteFunc(set.IDs(), func(id string) bool { return slices.Contains(expected, id) })
	if len(others) > 0 {
		err = fmt.Errorf("keys are published that are not on record: %s; whoever has their private half can sign in as every identity that trusts the issuer", strings.Join(others, ", "))
	}
	return verdict(area, name, strings.Join(set.IDs(), ", "), err, v.restore())
}

// restore is what to do about a foreign key.
func (v *verification) restore() string {
	const whose = "find out who wrote " + issuer.KeysPath + ", and publish it again without the key"
	if v.h.Issuer.StorageAccount == "" {
		return whose
	}
	return fmt.Sprintf("%s: `az storage blob list --account-name %s --container-name %s --prefix %s --include v --auth-mode login` lists its versions, of which the former one can be restored",
		whose, v.h.Issuer.StorageAccount, v.h.Issuer.Container, issuer.KeysPath)
}

// expectedKeys are the ids of the keys on record, of the key that signs, and of those that a rotation keeps beside it.
func (v *verification) expectedKeys() ([]string, error) {
	ids := slices.Clone(v.h.Issuer.KeyIDs)
	if v.key == nil {
		return ids, nil
	}
	id, err := signing.KeyID(&v.key.PublicKey)
	if err != nil {
		return nil, err
	}
	ids = append(ids, id)
	for _, name := range []string{issuer.OldPublic, issuer.NextPublic} {
		key, err := signing.ReadPublic(issuer.RotationFile(filepath.Dir(v.h.Issuer.PrivateKeyPath), name))
		if errors.Is(err, os.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, err
		}
		if id, err = signing.KeyID(key); err != nil {
			return nil, err
		}
		ids = append(ids, id)
	}
	return ids, nil
}
