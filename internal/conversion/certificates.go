package conversion

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"sync/atomic"
	"time"

	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/hypershift-on-azure/hypershift/internal/contract"
	"github.com/hypershift-on-azure/hypershift/internal/conversion/wire"
	"github.com/hypershift-on-azure/hypershift/internal/pki"
)

const (
	fieldManager = "hypershift-operator-conversion"
	// recheck is how often certificates are looked at without an event; they are renewed thirty days before they end.
	recheck = 12 * time.Hour
)

// Certificates keeps the webhook's certificates, and tells the API server by the definitions whom to trust. Replicas do it side by
// side: a write that another one was faster with is a conflict, and is looked at again.
type Certificates struct {
	client.Client
	Namespace string
	Now       func() time.Time
	Policy    pki.Policy

	// serving is shared by the bootstrap and the controller.
	serving *atomic.Pointer[tls.Certificate]
}

var errNoCertificate = errors.New("the webhook's certificate is not there yet")

// GetCertificate is the webhook server's side: a renewed certificate serves from the next connection on.
func (c *Certificates) GetCertificate(*tls.ClientHelloInfo) (*tls.Certificate, error) {
	if certificate := c.serving.Load(); certificate != nil {
		return certificate, nil
	}
	return nil, errNoCertificate
}

// Ready is a readiness check: a replica that shows no certificate must get no conversions.
func (c *Certificates) Ready(*http.Request) error {
	_, err := c.GetCertificate(nil)
	return err
}

// Reconcile makes what is missing or about to end, in the order in which nobody meets a certificate he does not trust:
//
//  1. the authority; a new one joins the bundle of the former ones;
//  2. the bundle in every definition that is converted here;
//  3. the serving certificate, signed by the authority.
func (c *Certificates) Reconcile(ctx context.Context, _ ctrl.Request) (ctrl.Result, error) {
	authority, err := c.ensureAuthority(ctx)
	if err != nil {
		return ctrl.Result{}, err
	}
	if err := c.inject(ctx, authority[contract.CABundleKey]); err != nil {
		return ctrl.Result{}, err
	}
	serving, err := c.ensureServing(ctx, authority)
	if err != nil {
		return ctrl.Result{}, err
	}
	pair, err := tls.X509KeyPair(serving[corev1.TLSCertKey], serving[corev1.TLSPrivateKeyKey])
	if err != nil {
		return ctrl.Result{}, fmt.Errorf("load the certificate of Secret %s/%s: %w", c.Namespace, contract.ConversionCertificate, err)
	}
	c.serving.Store(&pair)
	return ctrl.Result{RequeueAfter: recheck}, nil
}

func (c *Certificates) ensureAuthority(ctx context.Context) (map[string][]byte, error) {
	secret, err := c.read(ctx, contract.ConversionCA, corev1.SecretTypeOpaque)
	if err != nil {
		return nil, err
	}
	changed, err := pki.EnsureAuthorities(pki.Secrets{contract.ConversionCA: secret.Data}, []pki.Authority{authority}, c.Policy, c.Now())
	if err != nil {
		return nil, err
	}
	data, isNew := changed[contract.ConversionCA]
	if !isNew {
		data = maps.Clone(secret.Data)
	}
	data[contract.CABundleKey] = join(c.Now(), data[corev1.TLSCertKey], secret.Data[contract.CABundleKey])
	if !isNew && bytes.Equal(data[contract.CABundleKey], secret.Data[contract.CABundleKey]) {
		return data, nil
	}
	secret.Data = data
	return data, c.write(ctx, secret)
}

func (c *Certificates) ensureServing(ctx context.Context, authorityData map[string][]byte) (map[string][]byte, error) {
	secret, err := c.read(ctx, contract.ConversionCertificate, corev1.SecretTypeTLS)
	if err != nil {
		return nil, err
	}
	have := pki.Secrets{contract.ConversionCA: authorityData, contract.ConversionCertificate: secret.Data}
	host := wire.ServiceName + "." + c.Namespace + ".svc"
	leaf := pki.Leaf{
		Secret: contract.ConversionCertificate, Signer: contract.ConversionCA, CN: host, Hosts: []string{host, host + ".cluster.local"},
		Usages: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	changed, err := pki.EnsureLeavesOf(have, []pki.Authority{authority}, []pki.Leaf{leaf}, c.Policy, c.Now())
	if err != nil {
		return nil, err
	}
	data, isNew := changed[contract.ConversionCertificate]
	if !isNew {
		return secret.Data, nil
	}
	secret.Data = data
	return data, c.write(ctx, secret)
}

var authority = pki.Authority{
	Secret: contract.ConversionCA, CN: "hypershift-webhook-signer", OU: "hypershift", CertKey: corev1.TLSCertKey, KeyKey: corev1.TLSPrivateKeyKey,
}

// read returns an empty Secret where there is none.
func (c *Certificates) read(ctx context.Context, name string, kind corev1.SecretType) (*corev1.Secret, error) {
	secret := &corev1.Secret{}
	err := c.Get(ctx, client.ObjectKey{Namespace: c.Namespace, Name: name}, secret)
	if apierrors.IsNotFound(err) {
		return &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: c.Namespace, Name: name}, Type: kind}, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read Secret %s/%s: %w", c.Namespace, name, err)
	}
	return secret.DeepCopy(), nil
}

// write refuses to overwrite what another replica wrote meanwhile: the version it read goes along.
func (c *Certificates) write(ctx context.Context, secret *corev1.Secret) error {
	var err error
	if secret.ResourceVersion == "" {
		err = c.Create(ctx, secret, client.FieldOwner(fieldManager))
	} else {
		err = c.Update(ctx, secret, client.FieldOwner(fieldManager))
	}
	if err != nil {
		return fmt.Errorf("write Secret %s/%s: %w", secret.Namespace, secret.Name, err)
	}
	return nil
}

// join is every certificate of the bundles that has not ended, once.
func join(now time.Time, bundles ...[]byte) []byte {
	var out []byte
	for _, bundle := range bundles {
		for block, rest := pem.Decode(bundle); block != nil; block, rest = pem.Decode(rest) {
			text := pem.EncodeToMemory(block)
			certificate, err := x509.ParseCertificate(block.Bytes)
			if err == nil && !certificate.NotAfter.Before(now) && !bytes.Contains(out, text) {
				out = append(out, text...)
			}
		}
	}
	return out
}

// inject gives the authorities to the definitions that are converted here and lack one. What a definition trusts already it goes on
// trusting until its end: the Secret read here may be older than the authority that another replica serves by already.
func (c *Certificates) inject(ctx context.Context, authorities []byte) error {
	crds := &apiextensionsv1.CustomResourceDefinitionList{}
	if err := c.List(ctx, crds, client.MatchingLabels{wire.InstalledLabel: wire.InstalledValue}); err != nil {
		return fmt.Errorf("list the definitions that this operator converts: %w", err)
	}
	var errs []error
	for i := range crds.Items {
		crd := &crds.Items[i]
		if !c.converts(crd) {
			continue
		}
		live := crd.Spec.Conversion.Webhook.ClientConfig.CABundle
		if bytes.Equal(join(c.Now(), live, authorities), live) {
			continue
		}
		if err := c.trust(ctx, crd, join(c.Now(), authorities, live)); client.IgnoreNotFound(err) != nil {
			errs = append(errs, fmt.Errorf("give definition %s the authority of its webhook: %w", crd.Name, err))
		}
	}
	return errors.Join(errs...)
}

// trust refuses, too, to overwrite what another replica wrote meanwhile.
func (c *Certificates) trust(ctx context.Context, crd *apiextensionsv1.CustomResourceDefinition, authorities []byte) error {
	patch, err := json.Marshal(map[string]any{
		"metadata": map[string]any{"resourceVersion": crd.ResourceVersion},
		"spec":     map[string]any{"conversion": map[string]any{"webhook": map[string]any{"clientConfig": map[string]any{"caBundle": authorities}}}},
	})
	if err != nil {
		return err
	}
	target := &apiextensionsv1.CustomResourceDefinition{ObjectMeta: metav1.ObjectMeta{Name: crd.Name}}
	return c.Patch(ctx, target, client.RawPatch(types.MergePatchType, patch), client.FieldOwner(fieldManager))
}

func (c *Certificates) converts(crd *apiextensionsv1.CustomResourceDefinition) bool {
	if crd.Spec.Conversion == nil || crd.Spec.Conversion.Webhook == nil || crd.Spec.Conversion.Webhook.ClientConfig == nil {
		return false
	}
	service := crd.Spec.Conversion.Webhook.ClientConfig.Service
	return service != nil && service.Namespace == c.Namespace && service.Name == wire.ServiceName
}
