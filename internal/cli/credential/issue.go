package credential

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"time"

	certificatesv1 "k8s.io/api/certificates/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/rest"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/hypershift-on-azure/hypershift/internal/cli/management"
	"github.com/hypershift-on-azure/hypershift/internal/contract"
	"github.com/hypershift-on-azure/hypershift/internal/kube"
)

const (
	// Group is that of all short-lived certificates, and the name of what gives it its rights: no signer signs for system:masters.
	Group = "hypershift:administrators"
	// userPrefix stands before the name that a person has in the management cluster.
	userPrefix = "hypershift:"

	signedPeriod = 100 * time.Millisecond
	signedLimit  = 30 * time.Second
	callLimit    = 15 * time.Second
)

// Issue has the hosted cluster sign a certificate for a person, by the name that they have in the management cluster. admin is who approves it
// and who gives Group its rights.
func Issue(ctx context.Context, admin *rest.Config, person string, life time.Duration) (*Credential, error) {
	guest, err := connect(admin)
	if err != nil {
		return nil, err
	}
	if err := kube.ApplyAlways(ctx, guest, management.FieldManager, rights()); err != nil {
		return nil, fmt.Errorf("cannot give group %s its rights in the hosted cluster at %s: %w", Group, admin.Host, err)
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, fmt.Errorf("make a key: %w", err)
	}
	csr, err := request(key, userPrefix+person, life)
	if err != nil {
		return nil, err
	}
	if err := approve(ctx, guest, csr, person); err != nil {
		return nil, err
	}
	if err := await(ctx, guest, csr); err != nil {
		return nil, err
	}
	raw, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		return nil, fmt.Errorf("encode the key: %w", err)
	}
	return of(csr.Status.Certificate, pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: raw}))
}

// connect knows the two kinds that are needed, and asks for no list of kinds.
func connect(admin *rest.Config) (client.Client, error) {
	known, mapper := runtime.NewScheme(), meta.NewDefaultRESTMapper(nil)
	if err := errors.Join(certificatesv1.AddToScheme(known), rbacv1.AddToScheme(known)); err != nil {
		return nil, err
	}
	for _, kind := range []schema.GroupVersionKind{
		certificatesv1.SchemeGroupVersion.WithKind("CertificateSigningRequest"), rbacv1.SchemeGroupVersion.WithKind("ClusterRoleBinding"),
	} {
		mapper.Add(kind, meta.RESTScopeRoot)
	}
	config := rest.CopyConfig(admin)
	config.Timeout = callLimit
	guest, err := client.New(config, client.Options{Scheme: known, Mapper: mapper})
	if err != nil {
		return nil, fmt.Errorf("cannot connect to the hosted cluster at %s: %w", admin.Host, err)
	}
	return guest, nil
}

func rights() *rbacv1.ClusterRoleBinding {
	return &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: Group},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: contract.ClusterAdmin},
		Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.GroupKind, Name: Group}},
	}
}

func request(key *ecdsa.PrivateKey, user string, life time.Duration) (*certificatesv1.CertificateSigningRequest, error) {
	subject := pkix.Name{CommonName: user, Organization: []string{Group}}
	raw, err := x509.CreateCertificateRequest(rand.Reader, &x509.CertificateRequest{Subject: subject}, key)
	if err != nil {
		return nil, fmt.Errorf("ask for a certificate: %w", err)
	}
	return &certificatesv1.CertificateSigningRequest{
		ObjectMeta: metav1.ObjectMeta{GenerateName: "hypershift-administrator-"},
		Spec: certificatesv1.CertificateSigningRequestSpec{
			Request:           pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE REQUEST", Bytes: raw}),
			SignerName:        certificatesv1.KubeAPIServerClientSignerName,
			ExpirationSeconds: ptr.To(int32(life / time.Second)),
			Usages:            []certificatesv1.KeyUsage{certificatesv1.UsageDigitalSignature, certificatesv1.UsageClientAuth},
		},
	}, nil
}

func approve(ctx context.Context, guest client.Client, csr *certificatesv1.CertificateSigningRequest, person string) error {
	if err := guest.Create(ctx, csr); err != nil {
		return fmt.Errorf("cannot ask the hosted cluster for a certificate: %w", err)
	}
	now := metav1.Now()
	csr.Status.Conditions = append(csr.Status.Conditions, certificatesv1.CertificateSigningRequestCondition{
		Type: certificatesv1.CertificateApproved, Status: corev1.ConditionTrue, Reason: "AskedByAdministrator",
		Message: person + " of the management cluster has asked for it by hypershift", LastUpdateTime: now, LastTransitionTime: now})
	if err := guest.SubResource("approval").Update(ctx, csr); err != nil {
		return fmt.Errorf("cannot approve CertificateSigningRequest %s of the hosted cluster: %w", csr.Name, err)
	}
	return nil
}

// await reads the request until it is signed.
func await(ctx context.Context, guest client.Client, csr *certificatesv1.CertificateSigningRequest) error {
	err := wait.PollUntilContextTimeout(ctx, signedPeriod, signedLimit, true, func(ctx context.Context) (bool, error) {
		if err := guest.Get(ctx, client.ObjectKeyFromObject(csr), csr); err != nil {
			return false, err
		}
		for _, c := range csr.Status.Conditions {
			if c.Type == certificatesv1.CertificateFailed || c.Type == certificatesv1.CertificateDenied {
				return false, fmt.Errorf("%s: %s: %s", c.Type, c.Reason, c.Message)
			}
		}
		return len(csr.Status.Certificate) > 0, nil
	})
	if ctx.Err() == nil && wait.Interrupted(err) {
		return fmt.Errorf("CertificateSigningRequest %s is not signed after %s: the controller manager of the hosted cluster does not run, or is behind; `hypershift explain cluster` says why", csr.Name, signedLimit)
	}
	if err != nil {
		return fmt.Errorf("CertificateSigningRequest %s of the hosted cluster is not signed: %w", csr.Name, err)
	}
	return nil
}
