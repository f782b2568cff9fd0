package credentials

import (
	"context"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	hyperv1 "github.com/hypershift-on-azure/hypershift/api/v1beta1"
	"github.com/hypershift-on-azure/hypershift/internal/azure"
	"github.com/hypershift-on-azure/hypershift/internal/azure/failure"
	"github.com/hypershift-on-azure/hypershift/internal/controlplane/planetest"
	"github.com/hypershift-on-azure/hypershift/internal/kube"
)

// TestIdentitiesAreTried: what Entra says about an identity that brings the machines stands in a condition. That nobody answers is no word
// of Entra's.
func TestIdentitiesAreTried(t *testing.T) {
	private, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	key := pem.EncodeToMemory(&pem.Block{Type: "RSA PRIVATE KEY", Bytes: x509.MarshalPKCS1PrivateKey(private)})
	hcp := planetest.Plane()
	const machines = "99999999-2222-4333-8444-555555555555"
	hcp.Spec.Platform.Azure.AzureAuthenticationConfig.WorkloadIdentities.NodePoolManagement.ClientID = machines
	now, tried, answer := time.Now(), atomic.Int64{}, error(nil)
	signer, signIns := Signer{Key: key, Now: func() time.Time { return now }}, &SignIns{}
	signIn := func(ctx context.Context, as azure.Federation, assertion Assertion) error {
		tried.Add(1)
		if _, err := assertion(ctx); err != nil || as.ClientID != machines {
			return err
		}
		return answer
	}
	look := func() *metav1.Condition {
		signIns.Check(t.Context(), hcp, nil, signer, signIn)
		signIns.Tell(hcp, nil, kube.Conditions(&hcp.Status.Conditions, 1))
		return kube.Find(hcp.Status.Conditions, hyperv1.PlatformCredentialsFound)
	}
	if left := signIns.Left(now, time.Hour); left != time.Hour {
		t.Errorf("before the first time they are due in %s", left)
	}
	answer = errors.New("no network")
	if c := look(); c != nil {
		t.Errorf("before Entra answers: %+v", c)
	}
	now, answer = now.Add(signInRetry), nil
	if c := look(); c == nil || c.Status != metav1.ConditionTrue || c.Reason != hyperv1.AsExpectedReason {
		t.Errorf("identities that sign in: %+v", c)
	}
	before := tried.Load()
	if look(); tried.Load() != before {
		t.Error("tried at every pass")
	}
	if left := signIns.Left(now.Add(time.Second), time.Hour); left != signInPeriod-time.Second {
		t.Errorf("a second later they are due in %s", left)
	}
	now, answer = now.Add(signInPeriod), &failure.Error{Code: "AADSTS700213", Op: "sign in as", Resource: machines, Cause: "no federated credential has the token's subject"}
	c := look()
	if c.Status != metav1.ConditionFalse || c.Reason != hyperv1.InvalidAzureCredentialsReason || !strings.Contains(c.Message, "AADSTS700213") ||
		!strings.Contains(c.Message, "nodePoolManagement") || strings.Contains(c.Message, "cloudProvider") {
		t.Errorf("without its federated credential: %+v", c)
	}
	now, answer = now.Add(signInRetry), errors.New("no network")
	if c := look(); c.Status != metav1.ConditionFalse || !strings.Contains(c.Message, "AADSTS700213") {
		t.Errorf("nobody answers: %+v", c)
	}
	now, answer = now.Add(signInRetry), nil
	if c := look(); c.Status != metav1.ConditionTrue {
		t.Errorf("recovered: %+v", c)
	}
}
