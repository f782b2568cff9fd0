package minter

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
)

func TestMint(t *testing.T) {
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	guest := fake.NewClientset()
	guest.PrependReactor("create", "serviceaccounts", func(action clienttesting.Action) (bool, runtime.Object, error) {
		if action.GetSubresource() != "token" {
			return false, nil, nil
		}
		if _, err := guest.Tracker().Get(corev1.SchemeGroupVersion.WithResource("serviceaccounts"), "kube-system", "azure-cloud-provider"); err != nil {
			return true, nil, apierrors.NewNotFound(corev1.Resource("serviceaccounts"), "azure-cloud-provider")
		}
		return true, &authenticationv1.TokenRequest{Status: authenticationv1.TokenRequestStatus{
			Token: "secret", ExpirationTimestamp: metav1.NewTime(now.Add(time.Hour))}}, nil
	})
	m := &minter{
		Options: Options{Namespace: "kube-system", ServiceAccount: "azure-cloud-provider", Audience: "openshift", TokenFile: filepath.Join(t.TempDir(), "token")},
		dial:    func(string) (kubernetes.Interface, error) { return guest, nil },
		now:     func() time.Time { return now },
	}
	renew, err := m.mint(context.Background())
	if err != nil || renew != 48*time.Minute {
		t.Fatalf("renew in %v, %v", renew, err)
	}
	info, err := os.Stat(m.TokenFile)
	if err != nil || info.Mode().Perm() != 0o640 {
		t.Errorf("token file %v, %v", info, err)
	}
	if err := Run(context.Background(), Options{Check: true, TokenFile: m.TokenFile}); err != nil {
		t.Error(err)
	}
	if err := Run(context.Background(), Options{Check: true, TokenFile: m.TokenFile + "x"}); err == nil {
		t.Error("the check passes without a token")
	}
}

func TestRetriesUntilTheServerAnswers(t *testing.T) {
	ctx, cancel := context.WithTimeout(context.Background(), 300*time.Millisecond)
	defer cancel()
	calls := 0
	m := &minter{dial: func(string) (kubernetes.Interface, error) { calls++; return nil, errors.New("refused") }, now: time.Now}
	if _, err := m.mintWithRetry(ctx); !errors.Is(err, context.DeadlineExceeded) || calls < 2 {
		t.Errorf("%v after %d calls", err, calls)
	}
}
