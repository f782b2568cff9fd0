package change

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hypershift-on-azure/hypershift/api/v1beta1"
	"github.com/hypershift-on-azure/hypershift/internal/cli/management"
	"github.com/hypershift-on-azure/hypershift/internal/manifest"
)

const (
	// keyBytes is the length of a local key.
	keyBytes = 32
	// keyDate ends the name of the Secret of a local key that took another's place.
	keyDate = "20060102150405"
)

// NewRotateEncryptionKeyCommand is rotate encryption-key.
func NewRotateEncryptionKeyCommand() *cobra.Command {
	t, version := &target{}, ""
	cmd := t.waits(t.changes(t.verb("encryption-key", "Encrypt a hosted cluster's Secrets in etcd with another key",
		"  hypershift rotate encryption-key demo --wait\n  hypershift rotate encryption-key demo --key-version 0123456789abcdef0123456789abcdef --wait", func(cmd *cobra.Command) error {
			return t.rotateKey(cmd.Context(), version, time.Now(), cmd.OutOrStdout())
		})), "everything is encrypted with the new key")
	cmd.Long = `Changes the key that encrypts Secrets in etcd. A local key is made anew, in a Secret of its own: the former Secret stays, since backups that
are older than the end of the rotation need it. Of a key in a key vault, --key-version names the version to go on with; the former
version must stay enabled until the rotation has ended.
Typed again while a rotation is under way, it begins no other, and with --wait goes on waiting for the one that there is.`
	cmd.Flags().StringVar(&version, "key-version", "", "version of the key in its key vault (required where the key is in one)")
	return cmd
}

func (t *target) rotateKey(ctx context.Context, version string, now time.Time, out io.Writer) error {
	hc := &hyperv1.HostedCluster{}
	if err := t.read(ctx, hc); err != nil {
		return err
	}
	if state, ended := keyIsInUse(hc); !ended {
		t.say("a rotation is under way: %s", state)
		return t.awaitKey(ctx, "the key that spec.secretEncryption names", out)
	}
	spec := hc.Spec.SecretEncryption
	switch {
	case spec == nil:
		return fmt.Errorf("%s encrypts no Secrets: it has no spec.secretEncryption", t)
	case spec.KMS != nil && spec.KMS.Azure != nil:
		return t.rotateVaultKey(ctx, hc, version, out)
	case spec.AESCBC == nil:
		return fmt.Errorf("%s: spec.secretEncryption names neither a local key nor one of an Azure key vault", t)
	case version != "":
		return errors.New("--key-version is for keys in a key vault, and this cluster's is a local one")
	}
	return t.rotateLocalKey(ctx, hc, now, out)
}

func (t *target) rotateVaultKey(ctx context.Context, hc *hyperv1.HostedCluster, version string, out io.Writer) error {
	active := hc.Spec.SecretEncryption.KMS.Azure.ActiveKey
	switch {
	case version == "":
		return fmt.Errorf("--key-version is required: the version of key %s in key vault %s to go on with; `az keyvault key rotate --vault-name %s --name %s` makes one",
			active.KeyName, active.KeyVaultName, active.KeyVaultName, active.KeyName)
	case strings.EqualFold(version, active.KeyVersion):
		return fmt.Errorf("--key-version %s encrypts Secrets already", version)
	}
	err := t.patch(ctx, hc, map[string]any{"secretEncryption": map[string]any{"kms": map[string]any{"azure": map[string]any{"activeKey": map[string]any{"keyVersion": version}}}}})
	if err != nil {
		return err
	}
	return t.awaitKey(ctx, fmt.Sprintf("version %s of key %s", version, active.KeyName), out)
}

func (t *target) rotateLocalKey(ctx context.Context, hc *hyperv1.HostedCluster, now time.Time, out io.Writer) error {
	fresh := make([]byte, keyBytes)
	if _, err := rand.Read(fresh); err != nil {
		return fmt.Errorf("make a key: %w", err)
	}
	secret := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: hc.Namespace, Name: manifest.NamesOf(hc.Name).EtcdEncryption + "-" + now.UTC().Format(keyDate),
			Labels: map[string]string{hyperv1.AutoInfraLabel: hc.Spec.InfraID, hyperv1.DeleteWithClusterLabel: "true"}}, // goes with the cluster
		Type: corev1.SecretTypeOpaque, Data: map[string][]byte{hyperv1.AESCBCKeySecretKey: fresh},
	}
	options := []client.CreateOption{client.FieldOwner(management.FieldManager)}
	if t.dryRun {
		options = append(options, client.DryRunAll)
	}
	if err := t.client.Create(ctx, secret, options...); err != nil {
		return fmt.Errorf("cannot create Secret %s for the new key: %w", client.ObjectKeyFromObject(secret), err)
	}
	err := t.patch(ctx, hc, map[string]any{"secretEncryption": map[string]any{"aescbc": map[string]any{"activeKey": map[string]any{"name": secret.Name}}}})
	if err != nil {
		return errors.Join(err, t.discard(ctx, secret))
	}
	return t.awaitKey(ctx, "the key in Secret "+secret.Name, out)
}

// discard removes the Secret of a key that nothing came to use.
func (t *target) discard(ctx context.Context, secret *corev1.Secret) error {
	if t.dryRun {
		return nil
	}
	if err := t.client.Delete(context.WithoutCancel(ctx), secret); err != nil {
		return fmt.Errorf("and Secret %s with the unused key stays: %w", client.ObjectKeyFromObject(secret), err)
	}
	return nil
}

// awaitKey waits for the end of a rotation when that is asked for, and says what there is.
func (t *target) awaitKey(ctx context.Context, key string, out io.Writer) error {
	words := "%s: Secrets are being encrypted with %s; `hypershift rotate encryption-key --wait` tells when it has ended\n"
	switch {
	case t.dryRun:
		words = "%s: Secrets would be encrypted with %s\n"
	case t.wait:
		err := t.until(ctx, key, false, func(_ context.Context, obj client.Object) (string, bool, error) {
			state, ended := keyIsInUse(obj.(*hyperv1.HostedCluster))
			return state, ended, nil
		})
		if err != nil {
			return err
		}
		words = "%s: Secrets are encrypted with %s\n"
	}
	_, err := fmt.Fprintf(out, words, t, key)
	return err
}

// keyIsInUse tells whether all Secrets are encrypted with the key that the spec names, and else how far that is.
func keyIsInUse(hc *hyperv1.HostedCluster) (state string, inUse bool) {
	spec, status := hc.Spec.SecretEncryption, hc.Status.SecretEncryption
	if spec == nil {
		return "", true
	}
	is, message := statusOf(hc, hyperv1.EtcdDataEncryptionUpToDate)
	switch {
	case status == nil || status.ActiveKey == nil:
		return "no key is known to be in use yet", false
	case is == string(metav1.ConditionTrue) && status.TargetKey == nil && named(spec, status.ActiveKey):
		return "", true
	case message == "":
		return "the new key has not been taken up yet", false
	}
	return message, false
}

// named tells whether a key of the status is the one that the spec names.
func named(spec *hyperv1.SecretEncryptionSpec, key *hyperv1.SecretEncryptionKeyStatus) bool {
	switch {
	case spec.AESCBC != nil && key.AESCBC != nil:
		return spec.AESCBC.ActiveKey.Name == key.AESCBC.Secret.Name
	case spec.KMS != nil && spec.KMS.Azure != nil && key.Azure != nil:
		return spec.KMS.Azure.ActiveKey == *key.Azure
	}
	return false
}
