// Package encryption is the encryption of Secrets in etcd: which key writes and which only reads, how a change of the key goes on, and
// what the API server is told about it.
package encryption

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"hash/fnv"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"

	hyperv1 "github.com/hypershift-on-azure/hypershift/api/v1beta1"
)

// Providers of keys that this project knows.
const (
	AESCBC hyperv1.SecretEncryptionProvider = "AESCBC"
	Azure  hyperv1.SecretEncryptionProvider = "Azure"
)

// KeySize of AES-CBC, in bytes.
const KeySize = 32

// managedHSM is the vault type that the name of a provider tells apart.
const managedHSM = "ManagedHSM"

// identityFingerprint stands in the history for Secrets that were not encrypted before.
const identityFingerprint = "identity"

// Key identifies a key.
type Key = hyperv1.SecretEncryptionKeyStatus

// Material reads the content of the Secret of an AES-CBC key; false when there is none.
type Material func(secret string) ([]byte, bool)

// Wanted is the key that the specification asks for. The error names the Secret that is missing or malformed.
func Wanted(spec *hyperv1.SecretEncryptionSpec, material Material) (*Key, error) {
	switch {
	case spec.Type == hyperv1.AESCBC && spec.AESCBC != nil:
		return localKey("activeKey", spec.AESCBC.ActiveKey, material)
	case spec.Type == hyperv1.KMS && spec.KMS != nil && spec.KMS.Azure != nil:
		return &Key{Provider: Azure, Azure: spec.KMS.Azure.ActiveKey.DeepCopy()}, nil
	}
	return nil, fmt.Errorf("spec.secretEncryption: type %q names no key; set aescbc.activeKey, or kms.azure.activeKey", spec.Type)
}

// Backup is the earlier key of the specification, which counts only until the status tracks keys; nil without one.
func Backup(spec *hyperv1.SecretEncryptionSpec, material Material) (*Key, error) {
	switch {
	case spec.Type == hyperv1.AESCBC && spec.AESCBC != nil && spec.AESCBC.BackupKey != nil:
		return localKey("backupKey", *spec.AESCBC.BackupKey, material)
	case spec.Type == hyperv1.KMS && spec.KMS != nil && spec.KMS.Azure != nil && spec.KMS.Azure.BackupKey != nil:
		return &Key{Provider: Azure, Azure: spec.KMS.Azure.BackupKey.DeepCopy()}, nil
	}
	return nil, nil
}

func localKey(field string, ref corev1.LocalObjectReference, material Material) (*Key, error) {
	key, found := material(ref.Name)
	switch {
	case !found:
		return nil, fmt.Errorf("spec.secretEncryption.aescbc.%s: Secret %q has no key %q in the control-plane namespace; create it with %d random bytes",
			field, ref.Name, hyperv1.AESCBCKeySecretKey, KeySize)
	case len(key) != KeySize:
		return nil, fmt.Errorf("spec.secretEncryption.aescbc.%s: key %q of Secret %q holds %d bytes, an encryption key has %d; replace it by %d random bytes",
			field, hyperv1.AESCBCKeySecretKey, ref.Name, len(key), KeySize, KeySize)
	}
	return &Key{Provider: AESCBC, AESCBC: &hyperv1.AESCBCKeyStatus{Secret: ref, DataHash: dataHash(key)}}, nil
}

func dataHash(key []byte) string {
	sum := sha256.Sum256(key)
	return hex.EncodeToString(sum[:])
}

// Same tells whether two keys are one. An AES-CBC key is its content: under another Secret it stays the same key.
func Same(a, b *Key) bool {
	if a == nil || b == nil {
		return a == b
	}
	if a.AESCBC != nil && b.AESCBC != nil {
		return a.AESCBC.DataHash == b.AESCBC.DataHash
	}
	return equality.Semantic.DeepEqual(a, b)
}

// Fingerprint identifies a key in the history.
func Fingerprint(key *Key) string {
	switch {
	case key == nil:
		return identityFingerprint
	case key.AESCBC != nil:
		return key.AESCBC.DataHash
	}
	return dataHash(azureIdentity(key.Azure, ""))
}

// azureIdentity is the compact form whose hash names a provider; its members keep their order, empty ones are left out.
func azureIdentity(key *hyperv1.AzureKMSKey, vaultType string) []byte {
	if vaultType != managedHSM {
		vaultType = ""
	}
	encoded, _ := json.Marshal(struct { // strings only: it cannot fail
		Vault   string `json:"keyVaultName,omitempty"`
		Name    string `json:"keyName,omitempty"`
		Version string `json:"keyVersion,omitempty"`
		Type    string `json:"keyVaultType,omitempty"`
	}{key.KeyVaultName, key.KeyName, key.KeyVersion, vaultType})
	return encoded
}

// azureProviderName is what ciphertext in etcd carries: it must never change for a key.
func azureProviderName(key *hyperv1.AzureKMSKey, vaultType string) string {
	h := fnv.New32a()
	_, _ = h.Write(azureIdentity(key, vaultType))
	return fmt.Sprintf("azure-%08x", h.Sum32())
}

// localKeyName is the name of an AES-CBC key in the API server's configuration, which ciphertext in etcd carries. It is FNV-1, not FNV-1a.
func localKeyName(key []byte) string {
	h := fnv.New32()
	_, _ = h.Write(key)
	return fmt.Sprintf("key-%d", h.Sum32())
}
