package inputs

import (
	"bytes"
	"context"
	"crypto/rsa"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"

	hyperv1 "github.com/hypershift-on-azure/hypershift/api/v1beta1"
	"github.com/hypershift-on-azure/hypershift/internal/contract"
	"github.com/hypershift-on-azure/hypershift/internal/hostedcluster/cluster"
)

// signingKeyData derives the public key and appends the old ones, by which tokens signed before a change of the key stay valid.
func signingKeyData(source map[string][]byte) (map[string][]byte, error) {
	private := source[hyperv1.ServiceAccountSigningKey]
	block, _ := pem.Decode(private)
	if block == nil {
		return nil, fmt.Errorf("key %s holds no PEM block; it must hold an RSA private key", hyperv1.ServiceAccountSigningKey)
	}
	key, err := parseRSA(block.Bytes)
	if err != nil {
		return nil, err
	}
	der, err := x509.MarshalPKIXPublicKey(&key.PublicKey)
	if err != nil {
		return nil, fmt.Errorf("encode the public key: %w", err)
	}
	public := pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: der})
	if old := bytes.TrimSpace(source[hyperv1.ServiceAccountOldPubKey]); len(old) > 0 {
		public = append(append(public, old...), '\n')
	}
	return map[string][]byte{contract.SigningPrivateKey: private, contract.SigningPublicKey: public}, nil
}

func parseRSA(der []byte) (*rsa.PrivateKey, error) {
	if key, err := x509.ParsePKCS1PrivateKey(der); err == nil {
		return key, nil
	}
	parsed, err := x509.ParsePKCS8PrivateKey(der)
	if err != nil {
		return nil, errors.New("the private key is neither PKCS#1 nor PKCS#8")
	}
	key, ok := parsed.(*rsa.PrivateKey)
	if !ok {
		return nil, fmt.Errorf("the private key is %T, want RSA", parsed)
	}
	return key, nil
}

// parseBundle accepts one or more certificates in PEM.
func parseBundle(bundle []byte) error {
	found := 0
	for block, rest := pem.Decode(bundle); block != nil; block, rest = pem.Decode(rest) {
		if block.Type != "CERTIFICATE" {
			return fmt.Errorf("it holds a PEM block %s; only certificates belong there", block.Type)
		}
		if _, err := x509.ParseCertificate(block.Bytes); err != nil {
			return fmt.Errorf("certificate %d: %w", found+1, err)
		}
		found++
	}
	if found == 0 {
		return errNoCertificate
	}
	return nil
}

// ensureKMSConfig writes what the encryption provider in the API server's pod needs to find the key vault.
// It names no secret: the provider logs in with a token of the hosted cluster.
func ensureKMSConfig(ctx context.Context, c *cluster.Cluster) error {
	azure := c.Hosted.Spec.Platform.Azure
	encryption := c.Hosted.Spec.SecretEncryption
	if azure == nil || encryption == nil || encryption.KMS == nil || encryption.KMS.Azure == nil {
		return c.Remove(ctx, &corev1.Secret{}, contract.KMSConfig)
	}
	config, err := json.MarshalIndent(map[string]any{
		"cloud": cluster.AzureEnvironment(azure), "tenantId": azure.TenantID, "subscriptionId": azure.SubscriptionID,
		"resourceGroup": azure.ResourceGroupName, "location": azure.Location, "loadBalancerName": c.InfraID(), "loadBalancerSku": "standard",
		"disableOutboundSNAT": true, "cloudProviderBackoff": true, "cloudProviderBackoffDuration": 6,
		"useManagedIdentityExtension": false, "useInstanceMetadata": false, "useWorkloadIdentityExtension": true,
	}, "", "  ")
	if err != nil {
		return fmt.Errorf("encode %s: %w", contract.KMSConfig, err)
	}
	return c.ApplySecret(ctx, contract.KMSConfig, corev1.SecretTypeOpaque, map[string][]byte{contract.CloudConfigKey: config})
}
