package hostedcluster

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
	"github.com/hypershift-on-azure/hypershift/internal/kube"
)

// exportAccess brings what the user logs in with to his namespace: he may not be allowed to read the control plane's.
func (p *pass) exportAccess(ctx context.Context) error {
	if p.hcp == nil {
		return nil
	}
	status := p.hcp.Status
	return errors.Join(
		p.exportKubeconfig(ctx, status.KubeConfig, &p.hc.Status.KubeConfig, p.cluster+"-admin-kubeconfig"),
		p.exportKubeconfig(ctx, status.CustomKubeconfig, &p.hc.Status.CustomKubeconfig, p.cluster+"-custom-admin-kubeconfig"),
		p.exportPassword(ctx, status.KubeadminPassword),
	)
}

func (p *pass) exportKubeconfig(ctx context.Context, source *hyperv1.KubeconfigSecretRef, published **corev1.LocalObjectReference, name string) error {
	if source == nil {
		*published = nil
		return p.withdraw(ctx, name)
	}
	return p.export(ctx, source.Name, source.Key, published, name, hyperv1.KubeconfigKey)
}

func (p *pass) exportPassword(ctx context.Context, source *corev1.LocalObjectReference) error {
	name := p.cluster + "-kubeadmin-password"
	if source == nil {
		p.hc.Status.KubeadminPassword = nil
		return p.withdraw(ctx, name)
	}
	return p.export(ctx, source.Name, hyperv1.KubeadminPasswordKey, &p.hc.Status.KubeadminPassword, name, hyperv1.KubeadminPasswordKey)
}

// withdraw deletes what was exported once and has no source any more.
func (p *pass) withdraw(ctx context.Context, name string) error {
	stale := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: p.hc.Namespace}}
	if err := p.Get(ctx, client.ObjectKeyFromObject(stale), stale); err != nil || !metav1.IsControlledBy(stale, p.hc) {
		return client.IgnoreNotFound(err)
	}
	return kube.DeleteIfExists(ctx, p.Client, stale)
}

func (p *pass) export(ctx context.Context, source, sourceKey string, published **corev1.LocalObjectReference, name, key string) error {
	secret := &corev1.Secret{}
	err := p.Get(ctx, client.ObjectKey{Namespace: p.namespace, Name: source}, secret)
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("read Secret %s/%s: %w", p.namespace, source, err)
	}
	if err := p.apply(ctx, &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: p.hc.Namespace, OwnerReferences: []metav1.OwnerReference{{
			APIVersion: hyperv1.GroupVersion.String(), Kind: "HostedCluster", Name: p.hc.Name, UID: p.hc.UID, Controller: ptr.To(true),
		}}},
		Type: corev1.SecretTypeOpaque,
		Data: map[string][]byte{key: secret.Data[sourceKey]},
	}); err != nil {
		return err
	}
	*published = &corev1.LocalObjectReference{Name: name}
	return nil
}
