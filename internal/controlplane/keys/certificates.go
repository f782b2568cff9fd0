// Package keys makes the certificates, keys and kubeconfigs of a control plane, and the bundles that follow from them.
package keys

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
	"github.com/hypershift-on-azure/hypershift/internal/clusterconfig"
	"github.com/hypershift-on-azure/hypershift/internal/component"
	"github.com/hypershift-on-azure/hypershift/internal/contract"
	"github.com/hypershift-on-azure/hypershift/internal/controlplane/apiserver"
	"github.com/hypershift-on-azure/hypershift/internal/pki"
	"github.com/hypershift-on-azure/hypershift/internal/publish"
	"github.com/hypershift-on-azure/hypershift/internal/release"
)

// Keys are the certificates, authorities and tokens' keys of one control plane: what is there, and the making of what is missing.
type Keys struct {
	component.Writer
	// Inputs learns what was read and written.
	Inputs *component.Inputs
	Policy pki.Policy
	Now    func() time.Time
	// Payload is the kind of the release's payload; empty while none has been read.
	Payload release.Kind
	// Secrets of the namespace, by name, after Read.
	Secrets pki.Secrets
	live    map[string]*corev1.Secret
	// ServesAnew tells, after Certify, that the API server's certificate took another one's place.
	ServesAnew bool
}

// Read lists the Secrets of the namespace.
func (k *Keys) Read(ctx context.Context) error {
	list := &corev1.SecretList{}
	if err := k.Client.List(ctx, list, client.InNamespace(k.HCP.Namespace)); err != nil {
		return fmt.Errorf("list Secrets: %w", err)
	}
	k.live, k.Secrets = map[string]*corev1.Secret{}, pki.Secrets{}
	for i := range list.Items {
		s := &list.Items[i]
		k.live[s.Name], k.Secrets[s.Name] = s, s.Data
		k.Inputs.Put(s)
	}
	return nil
}

// Scope selects certificates by what is waiting for them.
type Scope func(pki.Leaf) bool

// ForEtcd selects what etcd serves with and is asked with.
func ForEtcd(l pki.Leaf) bool { return l.Signer == pki.EtcdSigner || l.Signer == pki.EtcdMetricsSigner }

// ForAPIServer selects what the API server mounts, etcd's included.
func ForAPIServer(l pki.Leaf) bool {
	return ForEtcd(l) || slices.Contains(apiserver.Certificates, l.Secret)
}

// ForAll selects every certificate.
func ForAll(pki.Leaf) bool { return true }

// Certify makes what is missing or outdated of the scope's certificates and what they are signed by. Authorities are written first:
// a pass that reads an old cache fails on its first write, and changes nothing.
func (k *Keys) Certify(ctx context.Context, wanted Scope, endpoints publish.Endpoints) error {
	if err := k.MakeAuthorities(ctx, wanted); err != nil {
		return err
	}
	if err := k.makeLeaves(ctx, wanted, endpoints); err != nil {
		return err
	}
	return k.applyTrust(ctx, endpoints)
}

// UntilRenewal returns the time until the first certificate must be renewed, bounded by least and most.
func (k *Keys) UntilRenewal(least, most time.Duration, endpoints publish.Endpoints) time.Duration {
	leaves, err := k.leaves(endpoints)
	if err != nil || !certifies(k.HCP) {
		return most
	}
	now := k.Now()
	if next := pki.NextChange(k.Secrets, leaves, k.policy(), now); !next.IsZero() {
		return max(min(most, next.Sub(now)), least)
	}
	return most
}

// policy is that of the process, with what the user asks for on the control plane.
func (k *Keys) policy() pki.Policy {
	policy := k.Policy
	// A malformed date is told by condition ValidHostedControlPlaneConfiguration.
	if before, err := ReplaceBefore(k.HCP); err == nil {
		policy.ReplaceBefore = before
	}
	return policy
}

// ReplaceBefore reads the date before which an authority must have been made to be replaced; zero without the annotation.
func ReplaceBefore(hcp *hyperv1.HostedControlPlane) (time.Time, error) {
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

// certifies tells whether the user has left the certificates to this operator.
func certifies(hcp *hyperv1.HostedControlPlane) bool {
	_, off := hcp.Annotations[hyperv1.DisablePKIReconciliationAnnotation]
	return !off
}

// MakeAuthorities makes what is missing or outdated of the authorities that sign the scope's certificates.
func (k *Keys) MakeAuthorities(ctx context.Context, wanted Scope) error {
	if !certifies(k.HCP) {
		return nil
	}
	authorities := slices.DeleteFunc(pki.Authorities(), func(a pki.Authority) bool {
		return !wanted(pki.Leaf{Signer: a.Secret}) || a.Kind != "" && a.Kind != k.Payload || a.Forwarding && !clusterconfig.ForwardsMetrics(k.HCP)
	})
	changed, err := pki.EnsureAuthorities(k.Secrets, authorities, k.policy(), k.Now())
	if err != nil {
		return err
	}
	return k.writeSecrets(ctx, changed)
}

func (k *Keys) makeLeaves(ctx context.Context, wanted Scope, endpoints publish.Endpoints) error {
	if !certifies(k.HCP) {
		return nil
	}
	leaves, err := k.leaves(endpoints)
	if err != nil {
		return err
	}
	leaves = slices.DeleteFunc(leaves, func(l pki.Leaf) bool { return !wanted(l) })
	_, served := k.Secrets[pki.APIServing]
	changed, err := pki.EnsureLeaves(k.Secrets, leaves, k.Policy, k.Now())
	if err != nil {
		return err
	}
	if err := k.writeSecrets(ctx, changed); err != nil {
		return err
	}
	_, replaced := changed[pki.APIServing]
	k.ServesAnew = k.ServesAnew || served && replaced
	return nil
}

func (k *Keys) leaves(endpoints publish.Endpoints) ([]pki.Leaf, error) {
	names, err := namesOf(k.HCP, k.Payload, endpoints)
	if err != nil {
		return nil, err
	}
	leaves, err := pki.Leaves(names)
	if names.APIHost == "" && len(k.Secrets[pki.APIServing]) > 0 {
		// The API server starts before its address is known. A certificate that has the address does not lose it.
		leaves = slices.DeleteFunc(leaves, func(l pki.Leaf) bool { return l.Secret == pki.APIServing })
	}
	return leaves, err
}

// namesOf are the names that certificates are for.
func namesOf(hcp *hyperv1.HostedControlPlane, payload release.Kind, endpoints publish.Endpoints) (pki.Params, error) {
	apps, err := component.AppsDomain(hcp)
	params := pki.Params{
		Namespace: hcp.Namespace, Name: hcp.Name, AdvertiseAddress: apiserver.AdvertiseAddress(hcp),
		APIHost: endpoints.APIServer.Host, KonnectivityHost: endpoints.Konnectivity.Host, IgnitionHost: endpoints.Ignition.Host,
		OAuthHost: endpoints.OAuth.Host, Forwarding: clusterconfig.ForwardsMetrics(hcp), MetricsHost: endpoints.Metrics.Host, AppsDomain: apps, Payload: payload,
	}
	for _, n := range hcp.Spec.Networking.ServiceNetwork {
		params.ServiceCIDRs = append(params.ServiceCIDRs, string(n.CIDR))
	}
	if name := hcp.Spec.KubeAPIServerDNSName; name != "" {
		params.ExtraAPIHosts = []string{name}
	}
	return params, err
}

// MakeServiceAccountKey makes the key that signs tokens of service accounts, unless there is one or the user brings it.
func (k *Keys) MakeServiceAccountKey(ctx context.Context) error {
	have := k.Secrets[pki.ServiceAccountSecret]
	if k.HCP.Spec.ServiceAccountSigningKey != nil && len(have) == 0 {
		return fmt.Errorf("the copy of the user's service account signing key, Secret %s, is not there yet", pki.ServiceAccountSecret)
	}
	data, err := pki.EnsureServiceAccountKey(have)
	if err != nil || data == nil {
		return err
	}
	return k.writeSecrets(ctx, pki.Secrets{pki.ServiceAccountSecret: data})
}

// writeSecrets creates, or updates at the version that was read: never over what another pass wrote.
func (k *Keys) writeSecrets(ctx context.Context, changed pki.Secrets) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(component.AtOnce)
	for _, name := range changed.Names() {
		secret, exists := k.live[name]
		if exists {
			secret = secret.DeepCopy()
		} else {
			secret = &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: k.HCP.Namespace}}
			component.Own(k.HCP, secret)
		}
		secret.Data = changed[name]
		k.live[name] = secret
		group.Go(func() error { return k.writeSecret(ctx, secret, exists) })
	}
	if err := group.Wait(); err != nil {
		return err
	}
	maps.Copy(k.Secrets, changed)
	return nil
}

func (k *Keys) writeSecret(ctx context.Context, secret *corev1.Secret, exists bool) error {
	write := func() error { return k.Client.Create(ctx, secret) }
	if exists {
		write = func() error { return k.Client.Update(ctx, secret) }
	}
	err := write()
	if apierrors.IsConflict(err) || apierrors.IsAlreadyExists(err) {
		return component.ErrBehind
	}
	if err != nil {
		return fmt.Errorf("write Secret %s: %w", secret.Name, err)
	}
	k.Inputs.Put(secret)
	return nil
}

// applyTrust writes the bundles and kubeconfigs that follow from the certificates there are.
func (k *Keys) applyTrust(ctx context.Context, endpoints publish.Endpoints) error {
	clientCA, err := clientCAs(ctx, k.Client, k.HCP)
	if err != nil {
		return err
	}
	ingress, err := k.ingressAuthority(ctx)
	if err != nil {
		return err
	}
	var objects []client.Object
	for name, bundle := range pki.Bundles(k.Secrets, map[string][]byte{contract.ClientCA: clientCA, contract.RootCA: ingress}) {
		objects = append(objects, &corev1.ConfigMap{
			ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: k.HCP.Namespace}, Data: map[string]string{contract.CAKey: string(bundle)}})
	}
	for _, config := range kubeconfigsOf(k.HCP, endpoints, k.Secrets) {
		if !config.Complete(k.Secrets) {
			continue
		}
		text, err := config.Render(k.Secrets)
		if err != nil {
			return err
		}
		objects = append(objects, kubeconfigSecret(k.HCP, config, text))
	}
	for _, obj := range objects {
		k.Inputs.Put(obj)
	}
	if err := k.dropCustomKubeconfig(ctx); err != nil {
		return err
	}
	return k.Apply(ctx, objects...)
}

// ingressAuthority is what signs the certificate of the guest's default router, whose pages programs of the control plane ask; empty before the
// config operator has seen it there, and with payloads whose router has one of the control plane.
func (k *Keys) ingressAuthority(ctx context.Context) ([]byte, error) {
	seen := &corev1.ConfigMap{}
	err := k.Client.Get(ctx, client.ObjectKey{Namespace: k.HCP.Namespace, Name: contract.ObservedIngressAuthority}, seen)
	if client.IgnoreNotFound(err) != nil {
		return nil, fmt.Errorf("read ConfigMap %s: %w", contract.ObservedIngressAuthority, err)
	}
	return []byte(seen.Data[contract.CAKey]), nil
}

// SigningKey is the private key of tokens of service accounts, PEM; empty before it is made.
func (k *Keys) SigningKey() []byte {
	return k.Secrets[pki.ServiceAccountSecret][contract.SigningPrivateKey]
}
