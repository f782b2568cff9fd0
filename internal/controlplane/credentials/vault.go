// Package credentials tries what a control plane signs in to Azure with, as its programs do: who is refused writes it into a log at most.
package credentials

import (
	"context"
	"fmt"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"

	hyperv1 "github.com/hypershift-on-azure/hypershift/api/v1beta1"
	"github.com/hypershift-on-azure/hypershift/internal/azure/failure"
	"github.com/hypershift-on-azure/hypershift/internal/azure/vault"
	"github.com/hypershift-on-azure/hypershift/internal/controlplane/apiserver"
	"github.com/hypershift-on-azure/hypershift/internal/kube"
)

const (
	// RetryPeriod is how soon who refuses is asked again.
	RetryPeriod = 10 * time.Second
	// vaultPeriod is that of sign-ins, whose passes ask the vault, too; those in between do not.
	vaultPeriod   = signInPeriod
	vaultTimeout  = 8 * time.Second
	assertionLife = 10 * time.Minute
)

// Vault encrypts with a key of a key vault.
type Vault interface {
	Encrypt(ctx context.Context, plain []byte) ([]byte, error)
}

// Assertion makes the federated token that an identity signs in with.
type Assertion func(context.Context) (string, error)

// OpenVault is how production reaches a key.
func OpenVault(key vault.Key, assertion Assertion) (Vault, error) {
	return vault.WithAssertion(key, nil, assertion)
}

// Vaults asks vaults whether they encrypt, and remembers what they answered. The zero value is ready.
type Vaults struct {
	mu   sync.Mutex
	last map[types.UID]vaultCheck
}

type vaultCheck struct {
	key vault.Key
	at  time.Time
	err error
}

func (v *Vaults) get(id types.UID) vaultCheck {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.last[id]
}

func (v *Vaults) put(id types.UID, check vaultCheck) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.last == nil {
		v.last = map[types.UID]vaultCheck{}
	}
	v.last[id] = check
}

// activeVaultKey is the key vault key that is to encrypt, with the identity that may use it; false when there is none.
func activeVaultKey(hcp *hyperv1.HostedControlPlane) (vault.Key, bool) {
	encryption := hcp.Spec.SecretEncryption
	if encryption == nil || encryption.Type != hyperv1.KMS || encryption.KMS == nil || encryption.KMS.Azure == nil || hcp.Spec.Platform.Azure == nil {
		return vault.Key{}, false
	}
	kms, platform := encryption.KMS.Azure, hcp.Spec.Platform.Azure
	key := vault.Key{Vault: kms.ActiveKey.KeyVaultName, Name: kms.ActiveKey.KeyName, Version: kms.ActiveKey.KeyVersion,
		ManagedHSM: kms.KeyVaultType == "ManagedHSM", Cloud: platform.Cloud, TenantID: platform.TenantID}
	if kms.WorkloadIdentity != nil {
		key.ClientID = string(kms.WorkloadIdentity.ClientID)
	}
	return key, true
}

// Check encrypts something as the provider beside the API server will. Its token is signed here: the API server does not serve while
// its provider cannot reach the vault, and a person must be told why. When open is nil, nothing is checked.
func (v *Vaults) Check(ctx context.Context, hcp *hyperv1.HostedControlPlane, signer Signer, open func(vault.Key, Assertion) (Vault, error)) {
	key, configured := activeVaultKey(hcp)
	if !configured || key.ClientID == "" || len(signer.Key) == 0 || open == nil {
		return
	}
	last := v.get(hcp.UID)
	period := vaultPeriod
	if last.err != nil {
		period = RetryPeriod
	}
	if last.key == key && signer.Now().Sub(last.at) < period {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, vaultTimeout)
	defer cancel()
	vault, err := open(key, signer.assertion(apiserver.KMSAccount))
	if err == nil {
		_, err = vault.Encrypt(ctx, []byte("hypershift"))
	}
	v.put(hcp.UID, vaultCheck{key, signer.Now(), err})
}

// Failed tells whether the vault of a control plane refused when it was last asked.
func (v *Vaults) Failed(id types.UID) bool { return v.get(id).err != nil }

// Tell repeats in a condition what the vault answered last.
func (v *Vaults) Tell(hcp *hyperv1.HostedControlPlane, set kube.ConditionSetter) {
	unknown := func(message string) { set.Unknown(hyperv1.ValidAzureKMSConfig, hyperv1.StatusUnknownReason, message) }
	key, configured := activeVaultKey(hcp)
	last := v.get(hcp.UID)
	switch {
	case !configured:
		unknown("Azure KMS is not configured")
	case key.ClientID == "":
		unknown("the key vault is reached with a managed identity, which this operator cannot sign in with")
	case last.key != key:
		unknown("the key vault has not been asked yet")
	case last.err == nil:
		set.True(hyperv1.ValidAzureKMSConfig, hyperv1.AsExpectedReason, "")
	case failure.IsSignIn(last.err):
		set.False(hyperv1.ValidAzureKMSConfig, hyperv1.InvalidAzureCredentialsReason, fmt.Sprintf("identity %s cannot sign in: %v", key.ClientID, last.err))
	default:
		set.False(hyperv1.ValidAzureKMSConfig, hyperv1.AzureErrorReason, last.err.Error())
	}
}
