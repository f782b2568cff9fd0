package credentials

import (
	"context"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"net/http"
	"testing"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azidentity"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	hyperv1 "github.com/hypershift-on-azure/hypershift/api/v1beta1"
	"github.com/hypershift-on-azure/hypershift/internal/azure/vault"
	"github.com/hypershift-on-azure/hypershift/internal/controlplane/planetest"
	"github.com/hypershift-on-azure/hypershift/internal/kube"
)

// answering is a vault whose answers are given; it signs in first.
type answering struct {
	assertion Assertion
	err       error
	asked     *int
}

func (a answering) Encrypt(ctx context.Context, _ []byte) ([]byte, error) {
	*a.asked++
	if _, err := a.assertion(ctx); err != nil {
		return nil, err
	}
	return nil, a.err
}

func TestVaultIsAskedAndReported(t *testing.T) {
	private, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	key := pem.EncodeToMemory(&pem.Block{Type: "RSA PRIVATE KEY", Bytes: x509.MarshalPKCS1PrivateKey(private)})
	hcp := planetest.Plane()
	now, asked, answer := time.Now(), 0, error(nil)
	signer := Signer{Key: key, Now: func() time.Time { return now }}
	open := func(_ vault.Key, assertion Assertion) (Vault, error) {
		return answering{assertion, answer, &asked}, nil
	}
	vaults := &Vaults{}
	check := func(what string, status metav1.ConditionStatus, reason string, calls int) {
		t.Helper()
		vaults.Check(t.Context(), hcp, signer, open)
		vaults.Tell(hcp, kube.Conditions(&hcp.Status.Conditions, 1))
		got := kube.Find(hcp.Status.Conditions, hyperv1.ValidAzureKMSConfig)
		if got.Status != status || got.Reason != reason || asked != calls {
			t.Fatalf("%s: %s %s (%s) after %d calls, want %s %s after %d", what, got.Status, got.Reason, got.Message, asked, status, reason, calls)
		}
	}
	check("no KMS", metav1.ConditionUnknown, hyperv1.StatusUnknownReason, 0)
	hcp.Spec.SecretEncryption = &hyperv1.SecretEncryptionSpec{Type: hyperv1.KMS, KMS: &hyperv1.KMSSpec{Provider: "Azure", Azure: &hyperv1.AzureKMSSpec{
		ActiveKey:        hyperv1.AzureKMSKey{KeyVaultName: "keeper", KeyName: "etcd", KeyVersion: "1"},
		WorkloadIdentity: &hyperv1.WorkloadIdentity{ClientID: "11111111-2222-4333-8444-555555555555"}}}}
	check("a vault that answers", metav1.ConditionTrue, hyperv1.AsExpectedReason, 1)
	now = now.Add(time.Second)
	check("not asked at every pass", metav1.ConditionTrue, hyperv1.AsExpectedReason, 1)
	now, answer = now.Add(vaultPeriod), &azcore.ResponseError{StatusCode: http.StatusForbidden, ErrorCode: "Forbidden"}
	check("a role that is gone", metav1.ConditionFalse, hyperv1.AzureErrorReason, 2)
	now, answer = now.Add(RetryPeriod), &azidentity.AuthenticationFailedError{}
	check("an identity that is gone", metav1.ConditionFalse, hyperv1.InvalidAzureCredentialsReason, 3)
	hcp.Spec.SecretEncryption.KMS.Azure.ActiveKey.KeyVersion, answer = "2", errors.New("no network")
	check("another key is asked at once", metav1.ConditionFalse, hyperv1.AzureErrorReason, 4)
	now, answer = now.Add(RetryPeriod), nil
	check("recovered", metav1.ConditionTrue, hyperv1.AsExpectedReason, 5)
}
