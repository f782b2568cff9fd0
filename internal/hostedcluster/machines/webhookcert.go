package machines

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/hypershift-on-azure/hypershift/internal/hostedcluster/cluster"
)

const webhookCertLifetime = 10 * 365 * 24 * time.Hour

// ensureWebhookCertificate makes the certificate without which Cluster API's managers exit. Nobody calls their webhooks, so nobody
// has to trust it, and it is never renewed.
func ensureWebhookCertificate(ctx context.Context, c *cluster.Cluster) error {
	existing := &corev1.Secret{}
	key := client.ObjectKey{Namespace: c.Namespace, Name: WebhookCertSecret}
	err := c.Client.Get(ctx, key, existing)
	if apierrors.IsNotFound(err) {
		// The cache may lag behind the pass that made it, and a second certificate would replace the mounted one.
		err = c.Live.Get(ctx, key, existing)
	}
	if err == nil {
		return nil
	}
	if !apierrors.IsNotFound(err) {
		return fmt.Errorf("read Secret %s: %w", WebhookCertSecret, err)
	}
	data, err := selfSigned("webhook."+c.Namespace+".svc", c.Now())
	if err != nil {
		return fmt.Errorf("make the webhook certificate: %w", err)
	}
	return c.ApplySecret(ctx, WebhookCertSecret, corev1.SecretTypeTLS, data)
}

func selfSigned(host string, now time.Time) (map[string][]byte, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(now.UnixNano()),
		Subject:      pkix.Name{CommonName: "capi-webhooks"},
		DNSNames:     []string{host},
		NotBefore:    now.Add(-time.Minute),
		NotAfter:     now.Add(webhookCertLifetime),
		ExtKeyUsage:  []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	cert, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		return nil, err
	}
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return nil, err
	}
	return map[string][]byte{
		corev1.TLSCertKey:       pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: cert}),
		corev1.TLSPrivateKeyKey: pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}),
	}, nil
}
