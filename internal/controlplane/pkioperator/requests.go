package pkioperator

import (
	"context"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	certificatesv1 "k8s.io/api/certificates/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Kinds of group certificates.hypershift.openshift.io.
var (
	groupVersion   = schema.GroupVersion{Group: "certificates.hypershift.openshift.io", Version: "v1alpha1"}
	approvalKind   = groupVersion.WithKind("CertificateSigningRequestApproval")
	revocationKind = groupVersion.WithKind("CertificateRevocationRequest")
)

// requests approves and signs the certificate signing requests of the management cluster that ask for access to one hosted cluster.
type requests struct {
	client    client.Client
	namespace string
	now       func() time.Time
}

// Reconcile approves a request that has an approval of its name, and signs an approved one.
func (r *requests) Reconcile(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
	csr := &certificatesv1.CertificateSigningRequest{}
	if err := r.client.Get(ctx, request.NamespacedName, csr); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	c, ours := classOfSigner(r.namespace, csr.Spec.SignerName)
	if !ours || len(csr.Status.Certificate) > 0 || is(csr, certificatesv1.CertificateDenied) || is(csr, certificatesv1.CertificateFailed) {
		return ctrl.Result{}, nil
	}
	if !is(csr, certificatesv1.CertificateApproved) {
		return ctrl.Result{}, r.approve(ctx, csr)
	}
	return r.sign(ctx, c, csr)
}

func is(csr *certificatesv1.CertificateSigningRequest, kind certificatesv1.RequestConditionType) bool {
	return slices.ContainsFunc(csr.Status.Conditions, func(c certificatesv1.CertificateSigningRequestCondition) bool { return c.Type == kind })
}

func (r *requests) tell(csr *certificatesv1.CertificateSigningRequest, kind certificatesv1.RequestConditionType, reason, message string) {
	now := metav1.NewTime(r.now())
	csr.Status.Conditions = append(csr.Status.Conditions, certificatesv1.CertificateSigningRequestCondition{
		Type: kind, Status: corev1.ConditionTrue, Reason: reason, Message: message, LastUpdateTime: now, LastTransitionTime: now})
}

// approve looks for the approval: who may make one in the control-plane namespace may give access.
func (r *requests) approve(ctx context.Context, csr *certificatesv1.CertificateSigningRequest) error {
	approval := &unstructured.Unstructured{}
	approval.SetGroupVersionKind(approvalKind)
	err := r.client.Get(ctx, client.ObjectKey{Namespace: r.namespace, Name: csr.Name}, approval)
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("read the approval of request %s: %w", csr.Name, err)
	}
	r.tell(csr, certificatesv1.CertificateApproved, "ApprovalPresent", fmt.Sprintf("there is %s %s/%s", approvalKind.Kind, r.namespace, csr.Name))
	if err := r.client.SubResource("approval").Update(ctx, csr); err != nil {
		return fmt.Errorf("approve request %s: %w", csr.Name, err)
	}
	return nil
}

func (r *requests) sign(ctx context.Context, c class, csr *certificatesv1.CertificateSigningRequest) (ctrl.Result, error) {
	before := csr.DeepCopy()
	parsed, err := validate(c, csr.Spec)
	if err != nil {
		r.tell(csr, certificatesv1.CertificateFailed, "SignerValidationFailure", err.Error())
	} else {
		signer := &corev1.Secret{}
		err := r.client.Get(ctx, client.ObjectKey{Namespace: r.namespace, Name: c.authority().Secret}, signer)
		if apierrors.IsNotFound(err) {
			return ctrl.Result{RequeueAfter: askAgain}, nil
		}
		if err != nil {
			return ctrl.Result{}, fmt.Errorf("read the signer of request %s: %w", csr.Name, err)
		}
		if csr.Status.Certificate, err = c.authority().SignRequest(signer.Data, parsed, lifeOf(csr.Spec), r.now()); err != nil {
			return ctrl.Result{}, fmt.Errorf("sign request %s: %w", csr.Name, err)
		}
	}
	if err := r.client.Status().Patch(ctx, csr, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})); err != nil {
		return ctrl.Result{}, fmt.Errorf("answer request %s: %w", csr.Name, err)
	}
	return ctrl.Result{}, nil
}

// lifeOf is as long as asked for, within limits.
func lifeOf(spec certificatesv1.CertificateSigningRequestSpec) time.Duration {
	if spec.ExpirationSeconds == nil {
		return longestLife
	}
	return min(max(time.Duration(*spec.ExpirationSeconds)*time.Second, shortestLife), longestLife)
}

var allowedUsages = []certificatesv1.KeyUsage{certificatesv1.UsageClientAuth, certificatesv1.UsageDigitalSignature, certificatesv1.UsageKeyEncipherment}

// validate reads a request and says why a signer of the class does not sign it.
func validate(c class, spec certificatesv1.CertificateSigningRequestSpec) (*x509.CertificateRequest, error) {
	block, rest := pem.Decode(spec.Request)
	if block == nil || block.Type != "CERTIFICATE REQUEST" || len(strings.TrimSpace(string(rest))) > 0 {
		return nil, errors.New("spec.request is not one PEM block of type CERTIFICATE REQUEST")
	}
	request, err := x509.ParseCertificateRequest(block.Bytes)
	if err != nil {
		return nil, fmt.Errorf("spec.request cannot be read: %w", err)
	}
	if err := request.CheckSignature(); err != nil {
		return nil, fmt.Errorf("spec.request is not signed with its own key: %w", err)
	}
	if !slices.ContainsFunc(c.names(), func(prefix string) bool { return strings.HasPrefix(request.Subject.CommonName, prefix) }) {
		return nil, fmt.Errorf("the common name %q does not begin with %q; use one that does", request.Subject.CommonName, c.names()[0])
	}
	if len(request.DNSNames)+len(request.EmailAddresses)+len(request.IPAddresses)+len(request.URIs) > 0 {
		return nil, errors.New("the request has subject alternative names; a client's certificate has none")
	}
	if !slices.Contains(spec.Usages, certificatesv1.UsageClientAuth) {
		return nil, fmt.Errorf("spec.usages lacks %q", certificatesv1.UsageClientAuth)
	}
	for _, usage := range spec.Usages {
		if !slices.Contains(allowedUsages, usage) {
			return nil, fmt.Errorf("spec.usages has %q; only %v are signed", usage, allowedUsages)
		}
	}
	return request, nil
}
