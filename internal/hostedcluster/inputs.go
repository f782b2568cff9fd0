package hostedcluster

import (
	"bytes"
	"context"
	"crypto/rsa"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hypershift-on-azure/hypershift/api/v1beta1"
	"github.com/hypershift-on-azure/hypershift/internal/component"
)

// Names and keys of the copies in the control-plane namespace.
const (
	sshKeySecret         = "ssh-key"
	signingKeySecret     = "sa-signing-key"
	userCABundle         = "user-ca-bundle"
	auditWebhookKey      = "webhook-kubeconfig"
	signingPrivateKey    = "service-account.key"
	signingPublicKey     = "service-account.pub"
	dockerConfigJSONType = corev1.SecretTypeDockerConfigJson
)

// copyInputs brings the user's Secrets and ConfigMaps to the control plane. One that is missing stops only its own copy.
func (p *pass) copyInputs(ctx context.Context) error {
	spec := p.hc.Spec
	problems := []error{p.copyPullSecret(ctx)}
	if spec.SSHKey.Name != "" {
		problems = append(problems, p.copySecret(ctx, spec.SSHKey.Name, sshKeySecret, hyperv1.SSHPublicKeyKey))
	} else {
		problems = append(problems, p.deleteIn(ctx, &corev1.Secret{}, sshKeySecret))
	}
	if spec.AuditWebhook != nil && spec.AuditWebhook.Name != "" {
		problems = append(problems, p.copySecret(ctx, spec.AuditWebhook.Name, spec.AuditWebhook.Name, auditWebhookKey))
	}
	if encryption := spec.SecretEncryption; encryption != nil && encryption.AESCBC != nil {
		name := encryption.AESCBC.ActiveKey.Name
		problems = append(problems, p.copySecret(ctx, name, name, hyperv1.AESCBCKeySecretKey))
		if backup := encryption.AESCBC.BackupKey; backup != nil && backup.Name != "" {
			problems = append(problems, p.copySecret(ctx, backup.Name, backup.Name, hyperv1.AESCBCKeySecretKey))
		}
	}
	problems = append(problems, p.copyTrustBundle(ctx), p.copySigningKey(ctx))
	return errors.Join(problems...)
}

func (p *pass) copyPullSecret(ctx context.Context) error {
	return p.applySecret(ctx, component.PullSecret, dockerConfigJSONType, map[string][]byte{hyperv1.PullSecretKey: p.pullSecret})
}

// copySecret copies one key.
func (p *pass) copySecret(ctx context.Context, from, to, key string) error {
	source, err := p.readSecret(ctx, from)
	if err != nil {
		return err
	}
	value, ok := source.Data[key]
	if !ok {
		return fmt.Errorf("Secret %s/%s has no key %s; add it", p.hc.Namespace, from, key)
	}
	return p.applySecret(ctx, to, corev1.SecretTypeOpaque, map[string][]byte{key: value})
}

func (p *pass) copyTrustBundle(ctx context.Context) error {
	if p.hc.Spec.AdditionalTrustBundle == nil {
		return p.deleteIn(ctx, &corev1.ConfigMap{}, userCABundle)
	}
	source, err := p.readConfigMap(ctx, p.hc.Spec.AdditionalTrustBundle.Name)
	if err != nil {
		return err
	}
	bundle, ok := source.Data[hyperv1.TrustBundleKey]
	if !ok {
		return fmt.Errorf("ConfigMap %s/%s has no key %s; add it", p.hc.Namespace, source.Name, hyperv1.TrustBundleKey)
	}
	return p.apply(ctx, &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Name: userCABundle, Namespace: p.namespace},
		Data:       map[string]string{hyperv1.TrustBundleKey: bundle},
	})
}

// copySigningKey translates the user's key into the pair the API server wants. Without one the control plane makes its own.
func (p *pass) copySigningKey(ctx context.Context) error {
	if p.hc.Spec.ServiceAccountSigningKey == nil {
		return nil
	}
	source, err := p.readSecret(ctx, p.hc.Spec.ServiceAccountSigningKey.Name)
	if err != nil {
		return err
	}
	data, err := signingKeyData(source.Data)
	if err != nil {
		return fmt.Errorf("Secret %s/%s: %w", p.hc.Namespace, source.Name, err)
	}
	return p.applySecret(ctx, signingKeySecret, corev1.SecretTypeOpaque, data)
}

// signingKeyData derives the public key and appends the old ones, by which tokens signed before a change of the key stay valid.
func signingKeyData(source map[string][]byte) (map[string][]byte, error) {
	private := source[hyperv1.ServiceAccountSigningKey]
	block, _ := pem.Decode(private)
	if block == nil {
		return nil, fmt.Errorf("key %s holds no PEM block", hyperv1.ServiceAccountSigningKey)
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
	return map[string][]byte{signingPrivateKey: private, signingPublicKey: public}, nil
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

func (p *pass) applySecret(ctx context.Context, name string, kind corev1.SecretType, data map[string][]byte) error {
	return p.apply(ctx, &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: p.namespace}, Type: kind, Data: data,
	})
}

// adoptSecrets makes Secrets that were created for this cluster go away with it. Secrets of the user's are never touched.
func (p *pass) adoptSecrets(ctx context.Context) error {
	made := &corev1.SecretList{}
	if err := p.List(ctx, made, client.InNamespace(p.hc.Namespace), client.MatchingLabels{
		hyperv1.DeleteWithClusterLabel: "true", hyperv1.AutoInfraLabel: p.infraID,
	}); err != nil {
		return fmt.Errorf("list Secrets of infrastructure %s: %w", p.infraID, err)
	}
	owner := metav1.OwnerReference{
		APIVersion: hyperv1.GroupVersion.String(), Kind: "HostedCluster", Name: p.hc.Name, UID: p.hc.UID,
	}
	var problems []error
	for i := range made.Items {
		secret := &made.Items[i]
		if metav1.IsControlledBy(secret, p.hc) || ownedBy(secret, owner) {
			continue
		}
		before := secret.DeepCopy()
		secret.OwnerReferences = append(secret.OwnerReferences, owner)
		if err := p.Patch(ctx, secret, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})); err != nil {
			problems = append(problems, fmt.Errorf("own Secret %s: %w", secret.Name, err))
		}
	}
	return errors.Join(problems...)
}

func ownedBy(obj client.Object, owner metav1.OwnerReference) bool {
	for _, reference := range obj.GetOwnerReferences() {
		if reference.UID == owner.UID {
			return true
		}
	}
	return false
}
