package pkioperator

import (
	"context"
	"fmt"
	"maps"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hypershift-on-azure/hypershift/api/v1beta1"
	"github.com/hypershift-on-azure/hypershift/internal/component"
	"github.com/hypershift-on-azure/hypershift/internal/contract"
	"github.com/hypershift-on-azure/hypershift/internal/pki"
)

// keeper keeps the authorities of all classes, the certificates of their administrators, and the bundles of what is trusted.
type keeper struct {
	client    client.Client
	namespace string
	// name of the hosted control plane, which owns what is made.
	name string
	// day of certificates.
	day time.Duration
	now func() time.Time
}

// Keep makes what is missing or due.
func (k *keeper) Keep(ctx context.Context) error {
	secrets, err := k.read(ctx)
	if err != nil {
		return err
	}
	authorities, leaves := lives(k.day)
	var all []pki.Authority
	for _, c := range classes {
		all = append(all, c.authority())
	}
	made, err := pki.EnsureAuthorities(data(secrets), all, authorities, k.now())
	if err != nil {
		return fmt.Errorf("make the signers: %w", err)
	}
	if err := k.write(ctx, secrets, made); err != nil {
		return err
	}
	held, err := k.held(ctx)
	if err != nil {
		return err
	}
	var clients []pki.Leaf
	for _, c := range classes {
		if held[c] {
			continue
		}
		l, err := c.client(data(secrets))
		if err != nil {
			return err
		}
		clients = append(clients, l)
	}
	made, err = pki.EnsureLeavesOf(data(secrets), all, clients, leaves, k.now())
	if err != nil {
		return fmt.Errorf("make the administrators' certificates: %w", err)
	}
	if err := k.write(ctx, secrets, made); err != nil {
		return err
	}
	return k.bundles(ctx, data(secrets))
}

// read finds the Secrets of the namespace that this program has made, by name.
func (k *keeper) read(ctx context.Context) (map[string]*corev1.Secret, error) {
	secrets := map[string]*corev1.Secret{}
	for _, c := range classes {
		for _, name := range []string{c.authority().Secret, string(c) + "-system-admin-client-cert-key"} {
			secret := &corev1.Secret{}
			err := k.client.Get(ctx, client.ObjectKey{Namespace: k.namespace, Name: name}, secret)
			if client.IgnoreNotFound(err) != nil {
				return nil, fmt.Errorf("read Secret %s: %w", name, err)
			}
			if err == nil {
				secrets[name] = secret
			}
		}
	}
	return secrets, nil
}

func data(secrets map[string]*corev1.Secret) pki.Secrets {
	out := pki.Secrets{}
	for name, secret := range secrets {
		out[name] = secret.Data
	}
	return out
}

// write creates Secrets, or updates them at the version that was read.
func (k *keeper) write(ctx context.Context, live map[string]*corev1.Secret, changed pki.Secrets) error {
	for _, name := range changed.Names() {
		secret, known := live[name]
		if !known {
			secret = &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: k.namespace, Name: name}, Type: corev1.SecretTypeTLS}
			if err := k.own(ctx, secret); err != nil {
				return err
			}
		}
		secret.Data = changed[name]
		err := error(nil)
		if known {
			err = k.client.Update(ctx, secret)
		} else {
			err = k.client.Create(ctx, secret)
		}
		if err != nil {
			return fmt.Errorf("write Secret %s: %w", name, err)
		}
		live[name] = secret
	}
	return nil
}

// own makes the hosted control plane the owner of an object.
func (k *keeper) own(ctx context.Context, obj client.Object) error {
	hcp := &hyperv1.HostedControlPlane{}
	if err := k.client.Get(ctx, client.ObjectKey{Namespace: k.namespace, Name: k.name}, hcp); err != nil {
		return fmt.Errorf("read HostedControlPlane %s: %w", k.name, err)
	}
	component.Own(hcp, obj)
	return nil
}

// held are the classes whose administrators keep their certificates for now: not every API server trusts the new authority yet.
func (k *keeper) held(ctx context.Context) (map[class]bool, error) {
	list := &unstructured.UnstructuredList{}
	list.SetGroupVersionKind(revocationKind)
	if err := k.client.List(ctx, list, client.InNamespace(k.namespace)); err != nil {
		return nil, fmt.Errorf("list the requests for revocation: %w", err)
	}
	held := map[class]bool{}
	for i := range list.Items {
		request, err := readRevocation(&list.Items[i])
		if err != nil {
			return nil, err
		}
		if c, known := classOfRevocation(request.Spec.SignerClass); known && request.is(rootsRegenerated) && !request.is(newTrusted) {
			held[c] = true
		}
	}
	return held, nil
}

// bundles writes what is trusted: of each class, and of all.
func (k *keeper) bundles(ctx context.Context, secrets pki.Secrets) error {
	var all []byte
	for _, c := range classes {
		trusted := c.authority().Trusted(secrets[c.authority().Secret])
		all = append(all, trusted...)
		if err := k.bundle(ctx, c.bundle(), trusted); err != nil {
			return err
		}
	}
	return k.bundle(ctx, contract.TotalClientCA, all)
}

func (k *keeper) bundle(ctx context.Context, name string, text []byte) error {
	wanted := map[string]string{contract.ClientCABundleKey: string(text)}
	live := &corev1.ConfigMap{}
	err := k.client.Get(ctx, client.ObjectKey{Namespace: k.namespace, Name: name}, live)
	switch {
	case client.IgnoreNotFound(err) != nil:
		return fmt.Errorf("read ConfigMap %s: %w", name, err)
	case err != nil:
		live = &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: k.namespace, Name: name}, Data: wanted}
		if err := k.own(ctx, live); err != nil {
			return err
		}
		if err := k.client.Create(ctx, live); err != nil {
			return fmt.Errorf("create ConfigMap %s: %w", name, err)
		}
	case !maps.Equal(live.Data, wanted):
		live.Data = wanted
		if err := k.client.Update(ctx, live); err != nil {
			return fmt.Errorf("update ConfigMap %s: %w", name, err)
		}
	}
	return nil
}
