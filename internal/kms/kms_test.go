package kms

import (
	"bytes"
	"context"
	"errors"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	kmsapi "k8s.io/kms/apis/v2"
)

// mirror is a vault that turns bytes round.
type mirror struct {
	broken error
	asked  int
}

func (m *mirror) Encrypt(_ context.Context, in []byte) ([]byte, error) {
	m.asked++
	out := bytes.Clone(in)
	for i := range out {
		out[i] ^= 0xff
	}
	return out, m.broken
}

func (m *mirror) Decrypt(ctx context.Context, in []byte) ([]byte, error) { return m.Encrypt(ctx, in) }

// Over the real socket, as the API server does it.
func TestProvider(t *testing.T) {
	vault := &mirror{}
	socket := filepath.Join(t.TempDir(), "kms.socket")
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() {
		ended <- serve(ctx, Options{ListenAddr: "unix://" + socket, HealthPath: "/healthz"}, vault, "https://keeper/keys/etcd/1")
	}()
	conn, err := grpc.NewClient("unix://"+socket, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	client := kmsapi.NewKeyManagementServiceClient(conn)
	limited, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	status, err := client.Status(limited, &kmsapi.StatusRequest{}, grpc.WaitForReady(true))
	if err != nil || status.Healthz != "ok" || status.Version != "v2" {
		t.Fatalf("status %+v, %v", status, err)
	}
	sealed, err := client.Encrypt(limited, &kmsapi.EncryptRequest{Plaintext: []byte("a key"), Uid: "1"})
	if err != nil || sealed.KeyId != status.KeyId || bytes.Equal(sealed.Ciphertext, []byte("a key")) {
		t.Fatalf("sealed %+v, %v", sealed, err)
	}
	request := &kmsapi.DecryptRequest{Ciphertext: sealed.Ciphertext, KeyId: sealed.KeyId, Annotations: sealed.Annotations, Uid: "2"}
	if plain, err := client.Decrypt(limited, request); err != nil || string(plain.Plaintext) != "a key" {
		t.Errorf("opened %+v, %v", plain, err)
	}
	asked := vault.asked
	request.KeyId = "another"
	if _, err := client.Decrypt(limited, request); err == nil || vault.asked != asked {
		t.Errorf("what another key sealed is sent to the vault: %v", err)
	}
	vault.broken = errors.New("the role is gone")
	if status, err = client.Status(limited, &kmsapi.StatusRequest{}); err != nil || !strings.Contains(status.Healthz, "the role is gone") {
		t.Errorf("status of a vault that refuses: %+v, %v", status, err)
	}
	stop()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

func TestKeyIDsDiffer(t *testing.T) {
	c := newCalls(prometheus.NewRegistry(), logr.Discard(), 1)
	if newProvider(&mirror{}, "https://keeper/keys/etcd/1", c).keyID == newProvider(&mirror{}, "https://keeper/keys/etcd/2", c).keyID {
		t.Error("two versions of a key are one to the API server: it would never use the new one")
	}
}
