package status

import (
	"context"
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hypershift-on-azure/hypershift/api/v1beta1"
	"github.com/hypershift-on-azure/hypershift/internal/hostedcluster/cluster"
	"github.com/hypershift-on-azure/hypershift/internal/kube"
)

// ExportAccess brings what the user logs in with to his namespace: he may not be allowed to read the control plane's. hcp is nil before
// there is a control plane.
func ExportAccess(ctx context.Context, c *cluster.Cluster, hcp *hyperv1.HostedControlPlane) error {
	if hcp == nil {
		return nil
	}
	status := hcp.Status
	return errors.Join(
		exportKubeconfig(ctx, c, status.KubeConfig, &c.Hosted.Status.KubeConfig, c.Name+"-admin-kubeconfig"),
		exportKubeconfig(ctx, c, status.CustomKubeconfig, &c.Hosted.Status.CustomKubeconfig, c.Name+"-custom-admin-kubeconfig"),
		exportPassword(ctx, c, status.KubeadminPassword),
	)
}

func exportKubeconfig(ctx context.Context, c *cluster.Cluster, source *hyperv1.KubeconfigSecretRef, published **corev1.LocalObjectReference, name string) error {
	if source == nil {
		*published = nil
		return withdraw(ctx, c, name)
	}
	return export(ctx, c, source.Name, source.Key, published, name, hyperv1.KubeconfigKey)
}

func exportPassword(ctx context.Context, c *cluster.Cluster, source *corev1.LocalObjectReference) error {
	name := c.Name + "-kubeadmin-password"
	if source == nil {
		c.Hosted.Status.KubeadminPassword = nil
		return withdraw(ctx, c, name)
	}
	return export(ctx, c, source.Name, hyperv1.KubeadminPasswordKey, &c.Hosted.Status.KubeadminPassword, name, hyperv1.KubeadminPasswordKey)
}

// withdraw deletes what was exported once and has no source any more.
func withdraw(ctx context.Context, c *cluster.Cluster, name string) error {
	stale := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: c.Hosted.Namespace}}
	if err := c.Client.Get(ctx, client.ObjectKeyFromObject(stale), stale); err != nil || !metav1.IsControlledBy(stale, c.Hosted) {
		return client.IgnoreNotFound(err)
	}
	return kube.DeleteIfExists(ctx, c.Client, stale)
}

func export(ctx context.Context, c *cluster.Cluster, source, sourceKey string, published **corev1.LocalObjectReference, name, key string) error {
	secret := &corev1.Secret{}
	err := c.Client.Get(ctx, client.ObjectKey{Namespace: c.Namespace, Name: source}, secret)
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("read Secret %s/%s: %w", c.Namespace, source, err)
	}
	if err := c.Apply(ctx, &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: c.Hosted.Namespace, OwnerReferences: []metav1.OwnerReference{{
			APIVersion: hyperv1.GroupVersion.String(), Kind: "HostedCluster", Name: c.Hosted.Name, UID: c.Hosted.UID, Controller: ptr.To(true),
		}}},
		Type: corev1.SecretTypeOpaque,
		Data: map[string][]byte{key: secret.Data[sourceKey]},
	}); err != nil {
		return err
	}
	*published = &corev1.LocalObjectReference{Name: name}
	return nil
}
