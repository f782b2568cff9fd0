package controlplane

import (
	"context"
	"fmt"
	"maps"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hypershift-on-azure/hypershift/api/v1beta1"
	"github.com/hypershift-on-azure/hypershift/internal/component"
	"github.com/hypershift-on-azure/hypershift/internal/controlplane/apiserver"
	"github.com/hypershift-on-azure/hypershift/internal/kube"
	"github.com/hypershift-on-azure/hypershift/internal/pki"
)

// certify makes what is missing or outdated. Authorities are written before anything they sign: a pass that reads an old
// cache fails on its first write, and changes nothing.
func (p *pass) certify(ctx context.Context) error {
	list := &corev1.SecretList{}
	if err := p.Client.List(ctx, list, client.InNamespace(p.hcp.Namespace)); err != nil {
		return fmt.Errorf("list Secrets: %w", err)
	}
	live := map[string]*corev1.Secret{}
	p.secrets = pki.Secrets{}
	for i := range list.Items {
		s := &list.Items[i]
		live[s.Name], p.secrets[s.Name] = s, s.Data
		p.inputs.Put(s)
	}
	if _, off := p.hcp.Annotations[hyperv1.DisablePKIReconciliationAnnotation]; !off {
		if err := p.makeCertificates(ctx, live); err != nil {
			return err
		}
	}
	return p.applyTrust(ctx)
}

func (p *pass) makeCertificates(ctx context.Context, live map[string]*corev1.Secret) error {
	now := p.Now()
	changed, err := pki.EnsureAuthorities(p.secrets, p.Certificates, now)
	if err != nil {
		return err
	}
	if err := p.writeSecrets(ctx, live, changed); err != nil {
		return err
	}
	if err := p.makeServiceAccountKey(ctx, live); err != nil {
		return err
	}
	leaves, err := pki.Leaves(p.names())
	if err != nil {
		return err
	}
	changed, err = pki.EnsureLeaves(p.secrets, leaves, p.Certificates, now)
	if err != nil {
		return err
	}
	return p.writeSecrets(ctx, live, changed)
}

func (p *pass) names() pki.Params {
	params := pki.Params{
		Namespace: p.hcp.Namespace, Name: p.hcp.Name, AdvertiseAddress: apiserver.AdvertiseAddress(p.hcp),
		APIHost: p.endpoints.APIServer.Host, KonnectivityHost: p.endpoints.Konnectivity.Host, IgnitionHost: p.endpoints.Ignition.Host,
	}
	for _, n := range p.hcp.Spec.Networking.ServiceNetwork {
		params.ServiceCIDRs = append(params.ServiceCIDRs, string(n.CIDR))
	}
	if name := p.hcp.Spec.KubeAPIServerDNSName; name != "" {
		params.ExtraAPIHosts = []string{name}
	}
	return params
}

func (p *pass) makeServiceAccountKey(ctx context.Context, live map[string]*corev1.Secret) error {
	have := p.secrets[pki.ServiceAccountSecret]
	if p.hcp.Spec.ServiceAccountSigningKey != nil && len(have) == 0 {
		return fmt.Errorf("the copy of the user's service account signing key, Secret %s, is not there yet", pki.ServiceAccountSecret)
	}
	data, err := pki.EnsureServiceAccountKey(have)
	if err != nil || data == nil {
		return err
	}
	return p.writeSecrets(ctx, live, pki.Secrets{pki.ServiceAccountSecret: data})
}

// writeSecrets creates, or updates at the version that was read: never over what another pass wrote.
func (p *pass) writeSecrets(ctx context.Context, live map[string]*corev1.Secret, changed pki.Secrets) error {
	for _, name := range changed.Names() {
		secret, exists := live[name]
		var err error
		if exists {
			secret = secret.DeepCopy()
			secret.Data = changed[name]
			err = p.Client.Update(ctx, secret)
		} else {
			secret = &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: p.hcp.Namespace}, Data: changed[name]}
			component.Own(p.hcp, secret)
			err = p.Client.Create(ctx, secret)
		}
		if apierrors.IsConflict(err) || apierrors.IsAlreadyExists(err) {
			return errBehind
		}
		if err != nil {
			return fmt.Errorf("write Secret %s: %w", name, err)
		}
		live[name] = secret
		p.inputs.Put(secret)
	}
	maps.Copy(p.secrets, changed)
	return nil
}

// applyTrust writes the bundles and kubeconfigs that follow from the certificates.
func (p *pass) applyTrust(ctx context.Context) error {
	for name, bundle := range pki.Bundles(p.secrets, nil) {
		m := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: p.hcp.Namespace}, Data: map[string]string{"ca.crt": string(bundle)}}
		if err := p.applyInput(ctx, m); err != nil {
			return err
		}
	}
	external := ""
	if p.endpoints.APIServer.Known() {
		external = p.endpoints.APIServer.URL()
	}
	for _, config := range pki.Kubeconfigs(p.hcp.Spec.InfraID, external) {
		text, err := config.Render(p.secrets)
		if err != nil {
			return err
		}
		s := &corev1.Secret{
			ObjectMeta: metav1.ObjectMeta{Name: config.Secret, Namespace: p.hcp.Namespace},
			Data:       map[string][]byte{config.KeyName(): text},
		}
		if config.KeyName() == "value" {
			// What Cluster API looks for.
			s.Type = "cluster.x-k8s.io/secret"
			s.Labels = map[string]string{"cluster.x-k8s.io/cluster-name": p.hcp.Spec.InfraID}
		}
		if err := p.applyInput(ctx, s); err != nil {
			return err
		}
	}
	return nil
}

func (p *pass) applyInput(ctx context.Context, obj client.Object) error {
	component.Own(p.hcp, obj)
	p.inputs.Put(obj)
	return kube.Apply(ctx, p.Client, component.FieldManager, obj)
}
