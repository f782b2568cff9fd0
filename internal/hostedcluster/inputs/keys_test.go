package inputs

import (
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/pem"
	"strings"
	"testing"

	"github.com/hypershift-on-azure/hypershift/internal/contract"
)

func TestSigningKeyData(t *testing.T) {
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	pkcs8, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	private := pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: pkcs8})
	data, err := signingKeyData(map[string][]byte{"key": private, "old-key.pub": []byte("OLD")})
	if err != nil {
		t.Fatal(err)
	}
	block, rest := pem.Decode(data[contract.SigningPublicKey])
	if block == nil || strings.TrimSpace(string(rest)) != "OLD" {
		t.Fatalf("public keys %s", data[contract.SigningPublicKey])
	}
	public, err := x509.ParsePKIXPublicKey(block.Bytes)
	if err != nil || !key.PublicKey.Equal(public) {
		t.Errorf("public key does not belong to the private one: %v", err)
	}
	for _, bad := range []string{"", "no pem", "-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n"} {
		if _, err := signingKeyData(map[string][]byte{"key": []byte(bad)}); err == nil {
			t.Errorf("accepted %q", bad)
		}
	}
}
