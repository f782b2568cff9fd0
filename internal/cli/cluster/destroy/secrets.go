package destroy

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hypershift-on-azure/hypershift/api/v1beta1"
	"github.com/hypershift-on-azure/hypershift/internal/manifest"
)

// deleteClusterSecrets removes the Secrets that create cluster made for this infrastructure, and those that it rendered for somebody to
// apply, but the one to keep.
func deleteClusterSecrets(ctx context.Context, c client.Client, key client.ObjectKey, infraID, keep string) error {
	secrets := &metav1.PartialObjectMetadataList{}
	secrets.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("Secret"))
	if err := c.List(ctx, secrets, client.InNamespace(key.Namespace), client.HasLabels{hyperv1.AutoInfraLabel}); err != nil {
		return fmt.Errorf("cannot list the cluster's Secrets in %s: %w", key.Namespace, err)
	}
	var doomed []string
	for _, s := range secrets.Items {
		if s.Labels[hyperv1.AutoInfraLabel] == infraID && s.Name != keep {
			doomed = append(doomed, s.Name)
		}
	}
	rendered, err := renderedSecrets(ctx, c, key)
	if err != nil {
		return err
	}
	for _, name := range append(doomed, rendered...) {
		secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: key.Namespace, Name: name}}
		if err := c.Delete(ctx, secret); client.IgnoreNotFound(err) != nil {
			return fmt.Errorf("cannot delete the cluster's Secret %s: %w", client.ObjectKeyFromObject(secret), err)
		}
	}
	return nil
}

// renderedSecrets have the names and the label that create cluster --render gives, but no infrastructure id: whoever applied them did not
// have one. One that another hosted cluster names stays.
func renderedSecrets(ctx context.Context, c client.Client, key client.ObjectKey) ([]string, error) {
	clusters := &hyperv1.HostedClusterList{}
	if err := c.List(ctx, clusters, client.InNamespace(key.Namespace)); err != nil {
		return nil, fmt.Errorf("cannot list the HostedClusters in %s: %w", key.Namespace, err)
	}
	used := map[string]bool{}
	for i := range clusters.Items {
		if clusters.Items[i].Name != key.Name {
			for _, name := range secretsOf(&clusters.Items[i]) {
				used[name] = true
			}
		}
	}
	var names []string
	for _, name := range manifest.NamesOf(key.Name).All() {
		secret := &metav1.PartialObjectMetadata{}
		secret.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("Secret"))
		err := c.Get(ctx, client.ObjectKey{Namespace: key.Namespace, Name: name}, secret)
		if client.IgnoreNotFound(err) != nil {
			return nil, fmt.Errorf("cannot read Secret %s/%s: %w", key.Namespace, name, err)
		}
		if err == nil && secret.Labels[hyperv1.DeleteWithClusterLabel] == "true" && secret.Labels[hyperv1.AutoInfraLabel] == "" && !used[name] {
			names = append(names, name)
		}
	}
	return names, nil
}

// secretsOf are the Secrets that a HostedCluster names among those which create cluster makes.
func secretsOf(hc *hyperv1.HostedCluster) []string {
	names := []string{hc.Spec.PullSecret.Name, hc.Spec.SSHKey.Name}
	if key := hc.Spec.ServiceAccountSigningKey; key != nil {
		names = append(names, key.Name)
	}
	if e := hc.Spec.SecretEncryption; e != nil && e.AESCBC != nil {
		names = append(names, e.AESCBC.ActiveKey.Name)
		if e.AESCBC.BackupKey != nil {
			names = append(names, e.AESCBC.BackupKey.Name)
		}
	}
	return names
}
