package controlplane

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hypershift-on-azure/hypershift/api/v1beta1"
	"github.com/hypershift-on-azure/hypershift/internal/component"
	"github.com/hypershift-on-azure/hypershift/internal/controlplane/apiserver"
	"github.com/hypershift-on-azure/hypershift/internal/pki"
)

// writers is how many objects a pass writes at a time.
const writers = 8

// readSecrets lists what the namespace has.
func (p *pass) readSecrets(ctx context.Context) error {
	list := &corev1.SecretList{}
	if err := p.Client.List(ctx, list, client.InNamespace(p.hcp.Namespace)); err != nil {
		return fmt.Errorf("list Secrets: %w", err)
	}
	p.live, p.secrets = map[string]*corev1.Secret{}, pki.Secrets{}
	for i := range list.Items {
		s := &list.Items[i]
		p.live[s.Name], p.secrets[s.Name] = s, s.Data
		p.inputs.Put(s)
	}
	return nil
}

// scope selects certificates by what is waiting for them.
type scope func(pki.Leaf) bool

func forEtcd(l pki.Leaf) bool { return l.Signer == pki.EtcdSigner || l.Signer == pki.EtcdMetricsSigner }

func forAPIServer(l pki.Leaf) bool {
	return forEtcd(l) || slices.Contains(apiserver.Certificates, l.Secret)
}

func forAll(pki.Leaf) bool { return true }

// certify makes what is missing or outdated of the scope's certificates and what they are signed by. Authorities are written first:
// a pass that reads an old cache fails on its first write, and changes nothing.
func (p *pass) certify(ctx context.Context, wanted scope) error {
	if err := p.makeAuthorities(ctx, wanted); err != nil {
		return err
	}
	if err := p.makeLeaves(ctx, wanted); err != nil {
		return err
	}
	return p.applyTrust(ctx)
}

// untilRenewal is the time until the first certificate has to be made anew, at most so long.
func (p *pass) untilRenewal(most time.Duration) time.Duration {
	leaves, err := p.leaves()
	if err != nil || !p.certifies() {
		return most
	}
	now := p.Now()
	if next := pki.NextChange(p.secrets, leaves, p.certificatePolicy(), now); !next.IsZero() {
		return max(min(most, next.Sub(now)), behindPeriod)
	}
	return most
}

// certificatePolicy is that of the process, with what the user asks for on the control plane.
func (p *pass) certificatePolicy() pki.Policy {
	policy := p.Certificates
	// A malformed date is told by condition ValidHostedControlPlaneConfiguration.
	if before, err := replaceBefore(p.hcp); err == nil {
		policy.ReplaceBefore = before
	}
	return policy
}

// replaceBefore reads the date before which an authority must have been made to be replaced; zero without the annotation.
func replaceBefore(hcp *hyperv1.HostedControlPlane) (time.Time, error) {
	text := hcp.Annotations[hyperv1.RotateAuthoritiesAnnotation]
	if text == "" {
		return time.Time{}, nil
	}
	before, err := time.Parse(time.RFC3339, text)
	if err != nil {
		return time.Time{}, fmt.Errorf("annotation %s=%q is not a date such as 2026-01-31T12:00:00Z; no authority is replaced",
			hyperv1.RotateAuthoritiesAnnotation, text)
	}
	return before, nil
}

func (p *pass) certifies() bool {
	_, off := p.hcp.Annotations[hyperv1.DisablePKIReconciliationAnnotation]
	return !off
}

func (p *pass) makeAuthorities(ctx context.Context, wanted scope) error {
	if !p.certifies() {
		return nil
	}
	authorities := slices.DeleteFunc(pki.Authorities(), func(a pki.Authority) bool { return !wanted(pki.Leaf{Signer: a.Secret}) })
	changed, err := pki.EnsureAuthorities(p.secrets, authorities, p.certificatePolicy(), p.Now())
	if err != nil {
		return err
	}
	return p.writeSecrets(ctx, changed)
}

func (p *pass) makeLeaves(ctx context.Context, wanted scope) error {
	if !p.certifies() {
		return nil
	}
	leaves, err := p.leaves()
	if err != nil {
		return err
	}
	leaves = slices.DeleteFunc(leaves, func(l pki.Leaf) bool { return !wanted(l) })
	changed, err := pki.EnsureLeaves(p.secrets, leaves, p.Certificates, p.Now())
	if err != nil {
		return err
	}
	return p.writeSecrets(ctx, changed)
}

func (p *pass) leaves() ([]pki.Leaf, error) {
	names, err := p.names()
	if err != nil {
		return nil, err
	}
	return pki.Leaves(names)
}

func (p *pass) names() (pki.Params, error) {
	apps, err := component.AppsDomain(p.hcp)
	params := pki.Params{
		Namespace: p.hcp.Namespace, Name: p.hcp.Name, AdvertiseAddress: apiserver.AdvertiseAddress(p.hcp),
		APIHost: p.endpoints.APIServer.Host, KonnectivityHost: p.endpoints.Konnectivity.Host, IgnitionHost: p.endpoints.Ignition.Host,
		AppsDomain: apps,
	}
	for _, n := range p.hcp.Spec.Networking.ServiceNetwork {
		params.ServiceCIDRs = append(params.ServiceCIDRs, string(n.CIDR))
	}
	if name := p.hcp.Spec.KubeAPIServerDNSName; name != "" {
		params.ExtraAPIHosts = []string{name}
	}
	return params, err
}

func (p *pass) makeServiceAccountKey(ctx context.Context) error {
	have := p.secrets[pki.ServiceAccountSecret]
	if p.hcp.Spec.ServiceAccountSigningKey != nil && len(have) == 0 {
		return fmt.Errorf("the copy of the user's service account signing key, Secret %s, is not there yet", pki.ServiceAccountSecret)
	}
	data, err := pki.EnsureServiceAccountKey(have)
	if err != nil || data == nil {
		return err
	}
	return p.writeSecrets(ctx, pki.Secrets{pki.ServiceAccountSecret: data})
}

// writeSecrets creates, or updates at the version that was read: never over what another pass wrote.
func (p *pass) writeSecrets(ctx context.Context, changed pki.Secrets) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(writers)
	for _, name := range changed.Names() {
		secret, exists := p.live[name]
		if exists {
			secret = secret.DeepCopy()
		} else {
			secret = &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: p.hcp.Namespace}}
			component.Own(p.hcp, secret)
		}
		secret.Data = changed[name]
		p.live[name] = secret
		group.Go(func() error { return p.writeSecret(ctx, secret, exists) })
	}
	if err := group.Wait(); err != nil {
		return err
	}
	maps.Copy(p.secrets, changed)
	return nil
}

func (p *pass) writeSecret(ctx context.Context, secret *corev1.Secret, exists bool) error {
	write := func() error { return p.Client.Create(ctx, secret) }
	if exists {
		write = func() error { return p.Client.Update(ctx, secret) }
	}
	err := write()
	if apierrors.IsConflict(err) || apierrors.IsAlreadyExists(err) {
		return errBehind
	}
	if err != nil {
		return fmt.Errorf("write Secret %s: %w", secret.Name, err)
	}
	p.inputs.Put(secret)
	return nil
}

// applyTrust writes the bundles and kubeconfigs that follow from the certificates there are.
func (p *pass) applyTrust(ctx context.Context) error {
	clientCA, err := p.userClientCA(ctx)
	if err != nil {
		return err
	}
	var objects []client.Object
	for name, bundle := range pki.Bundles(p.secrets, clientCA) {
		objects = append(objects, &corev1.ConfigMap{
			ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: p.hcp.Namespace}, Data: map[string]string{"ca.crt": string(bundle)}})
	}
	for _, config := range p.kubeconfigs() {
		if !config.Complete(p.secrets) {
			continue
		}
		text, err := config.Render(p.secrets)
		if err != nil {
			return err
		}
		objects = append(objects, p.kubeconfigSecret(config, text))
	}
	for _, obj := range objects {
		component.Own(p.hcp, obj)
		p.inputs.Put(obj)
	}
	if err := p.dropCustomKubeconfig(ctx); err != nil {
		return err
	}
	return p.applyEach(ctx, objects)
}

// applyEach applies objects that do not depend on each other.
func (p *pass) applyEach(ctx context.Context, objects []client.Object) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(writers)
	for _, obj := range objects {
		group.Go(func() error { return p.keeper.Apply(ctx, p.Client, component.FieldManager, obj) })
	}
	return group.Wait()
}

func (p *pass) kubeconfigSecret(config pki.Kubeconfig, text []byte) *corev1.Secret {
	s := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Name: config.Secret, Namespace: p.hcp.Namespace, Labels: map[string]string{hyperv1.KubeconfigScopeLabel: config.Scope()}},
		Data:       map[string][]byte{config.KeyName(): text},
	}
	if config.KeyName() == "value" {
		// What Cluster API looks for.
		s.Type = "cluster.x-k8s.io/secret"
		s.Labels["cluster.x-k8s.io/cluster-name"] = p.hcp.Spec.InfraID
	}
	return s
}
