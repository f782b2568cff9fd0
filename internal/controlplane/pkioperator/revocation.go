package pkioperator

import (
	"bytes"
	"context"
	"crypto/sha256"
	"fmt"
	"math/big"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/hypershift-on-azure/hypershift/internal/pki"
)

// Conditions of a request for revocation, in the order of its steps.
const (
	signerClassValid  = "SignerClassValid"
	rootsRegenerated  = "RootCertificatesRegenerated"
	newTrusted        = "NewCertificatesTrusted"
	leavesRegenerated = "LeafCertificatesRegenerated"
	previousRevoked   = "PreviousCertificatesRevoked"
)

const (
	reasonAsExpected = "AsExpected"
	reasonWaiting    = "WaitingForAvailable"
	reasonTimeout    = "RevocationVerificationTimeout"

	// askAgain is how often API servers are asked, and patience how long that may take before it is called a timeout.
	askAgain = 10 * time.Second
	patience = 10 * time.Minute
)

// revocation is a CertificateRevocationRequest: all certificates of a signer are to be trusted no more.
type revocation struct {
	metav1.ObjectMeta `json:"metadata"`
	Spec              struct {
		SignerClass string `json:"signerClass"`
	} `json:"spec"`
	Status struct {
		RevocationTimestamp *metav1.Time                 `json:"revocationTimestamp,omitempty"`
		PreviousSigner      *corev1.LocalObjectReference `json:"previousSigner,omitempty"`
		Conditions          []metav1.Condition           `json:"conditions,omitempty"`
	} `json:"status"`
}

func readRevocation(obj *unstructured.Unstructured) (*revocation, error) {
	request := &revocation{}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(obj.Object, request); err != nil {
		return nil, fmt.Errorf("read %s %s: %w", revocationKind.Kind, obj.GetName(), err)
	}
	return request, nil
}

func (r *revocation) is(kind string) bool {
	return apimeta.IsStatusConditionTrue(r.Status.Conditions, kind)
}

func (r *revocation) set(kind string, ok bool, reason, message string) {
	status := metav1.ConditionFalse
	if ok {
		status = metav1.ConditionTrue
	}
	apimeta.SetStatusCondition(&r.Status.Conditions, metav1.Condition{Type: kind, Status: status, Reason: reason, Message: message, ObservedGeneration: r.Generation})
}

// copyName is the Secret that keeps the signer of before: what it has signed is tried until nobody accepts it.
func copyName(request string) string {
	sum := sha256.Sum224([]byte(request))
	return new(big.Int).SetBytes(sum[:]).Text(36)
}

// revocations takes the steps of requests for revocation.
type revocations struct {
	*keeper
	// servers asks every API server of the hosted cluster whether it accepts a client certificate.
	servers func(ctx context.Context, certificate, key []byte) (accepted, refused int, err error)
}

// Reconcile takes as many steps as it can and tells how far it is.
func (r *revocations) Reconcile(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
	obj := &unstructured.Unstructured{}
	obj.SetGroupVersionKind(revocationKind)
	if err := r.client.Get(ctx, request.NamespacedName, obj); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	one, err := readRevocation(obj)
	if err != nil || one.is(previousRevoked) {
		return ctrl.Result{}, err
	}
	wait, stepErr := r.advance(ctx, one, obj)
	if err := r.save(ctx, obj, one); err != nil {
		return ctrl.Result{}, err
	}
	return ctrl.Result{RequeueAfter: wait}, stepErr
}

func (r *revocations) save(ctx context.Context, obj *unstructured.Unstructured, one *revocation) error {
	status, err := runtime.DefaultUnstructuredConverter.ToUnstructured(&one.Status)
	if err != nil {
		return fmt.Errorf("render the status of %s %s: %w", revocationKind.Kind, obj.GetName(), err)
	}
	before := obj.DeepCopy()
	obj.Object["status"] = status
	if err := r.client.Status().Patch(ctx, obj, client.MergeFrom(before)); err != nil {
		return fmt.Errorf("write the status of %s %s: %w", revocationKind.Kind, obj.GetName(), err)
	}
	return nil
}

// advance goes on from where the request is; wait is when to look again, zero when it is done or a change of the object calls.
func (r *revocations) advance(ctx context.Context, one *revocation, obj *unstructured.Unstructured) (wait time.Duration, err error) {
	c, known := classOfRevocation(one.Spec.SignerClass)
	if !known {
		one.set(signerClassValid, false, "SignerClassUnknown", fmt.Sprintf("spec.signerClass is %q; use %s or %s", one.Spec.SignerClass, customer.signerClass(), sre.signerClass()))
		return 0, nil
	}
	one.set(signerClassValid, true, reasonAsExpected, "")
	if one.Status.RevocationTimestamp == nil {
		// It is on record before anything is made anew.
		now := metav1.NewTime(r.now().Truncate(time.Second))
		one.Status.RevocationTimestamp, one.Status.PreviousSigner = &now, &corev1.LocalObjectReference{Name: copyName(one.Name)}
		one.set(rootsRegenerated, false, "RootCertificatesStale", "the signer is the one of before")
		return time.Millisecond, nil
	}
	signer, previous, err := r.replace(ctx, c, one, obj)
	if err != nil {
		return askAgain, err
	}
	one.set(rootsRegenerated, true, reasonAsExpected, "")
	if !one.is(newTrusted) {
		return r.untilTrusted(ctx, c, one, signer)
	}
	if err := r.Keep(ctx); err != nil {
		one.set(leavesRegenerated, false, "LeafCertificatesStale", err.Error())
		return askAgain, err
	}
	one.set(leavesRegenerated, true, reasonAsExpected, "")
	if err := r.forget(ctx, signer); err != nil {
		return askAgain, err
	}
	return r.untilRevoked(ctx, c, one, signer, previous)
}

// replace keeps a copy of the signer, and puts another in its place once.
func (r *revocations) replace(ctx context.Context, c class, one *revocation, obj *unstructured.Unstructured) (signer, previous *corev1.Secret, err error) {
	signer, previous = &corev1.Secret{}, &corev1.Secret{}
	name := c.authority().Secret
	if err := r.client.Get(ctx, client.ObjectKey{Namespace: r.namespace, Name: name}, signer); err != nil {
		return nil, nil, fmt.Errorf("read the signer, Secret %s: %w", name, err)
	}
	err = r.client.Get(ctx, client.ObjectKey{Namespace: r.namespace, Name: one.Status.PreviousSigner.Name}, previous)
	if apierrors.IsNotFound(err) && !one.is(rootsRegenerated) {
		previous = &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: r.namespace, Name: one.Status.PreviousSigner.Name,
			OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(obj, revocationKind)}}, Type: signer.Type, Data: signer.Data}
		err = r.client.Create(ctx, previous)
	}
	if err != nil {
		return nil, nil, fmt.Errorf("keep the former signer in Secret %s: %w", one.Status.PreviousSigner.Name, err)
	}
	if !bytes.Equal(signer.Data[certKey], previous.Data[certKey]) {
		return signer, previous, nil
	}
	authorities, _ := lives(r.day)
	if signer.Data, err = c.authority().Revoked(signer.Data, authorities, r.now()); err != nil {
		return nil, nil, err
	}
	if err := r.client.Update(ctx, signer); err != nil {
		return nil, nil, fmt.Errorf("replace the signer, Secret %s: %w", name, err)
	}
	return signer, previous, nil
}

// untilTrusted waits until every API server accepts what the new signer signs.
func (r *revocations) untilTrusted(ctx context.Context, c class, one *revocation, signer *corev1.Secret) (time.Duration, error) {
	if err := r.bundlesOf(ctx); err != nil {
		return askAgain, err
	}
	accepted, refused, err := r.try(ctx, c, signer.Data)
	if err != nil || refused > 0 || accepted == 0 {
		one.set(newTrusted, false, r.waiting(one), said(err, fmt.Sprintf("%d API servers accept certificates of the new signer, %d do not yet", accepted, refused)))
		return askAgain, nil
	}
	one.set(newTrusted, true, reasonAsExpected, "")
	return time.Millisecond, nil
}

// untilRevoked waits until every API server refuses what the former signer has signed and accepts the rest.
func (r *revocations) untilRevoked(ctx context.Context, c class, one *revocation, signer, previous *corev1.Secret) (time.Duration, error) {
	stale, refused, err := r.try(ctx, c, previous.Data)
	if err != nil || stale > 0 || refused == 0 {
		one.set(previousRevoked, false, r.waiting(one), said(err, fmt.Sprintf("%d API servers still accept certificates of the former signer", stale)))
		return askAgain, nil
	}
	accepted, refused, err := r.try(ctx, c, signer.Data)
	if err != nil || refused > 0 || accepted == 0 {
		one.set(previousRevoked, false, r.waiting(one), said(err, fmt.Sprintf("%d API servers do not accept certificates of the new signer", refused)))
		return askAgain, nil
	}
	one.set(previousRevoked, true, reasonAsExpected, "")
	return 0, nil
}

func said(err error, otherwise string) string {
	if err != nil {
		return err.Error()
	}
	return otherwise
}

func (r *revocations) waiting(one *revocation) string {
	if r.now().Sub(one.Status.RevocationTimestamp.Time) > patience {
		return reasonTimeout
	}
	return reasonWaiting
}

// try asks every API server with a certificate that the signer has signed for the purpose.
func (r *revocations) try(ctx context.Context, c class, signer map[string][]byte) (accepted, refused int, err error) {
	_, leaves := lives(r.day)
	probe := pki.Leaf{Secret: "probe", Signer: c.authority().Secret, CN: c.names()[0] + "revocation", Usages: pki.ClientUsages()}
	made, err := pki.EnsureLeavesOf(pki.Secrets{c.authority().Secret: signer}, []pki.Authority{c.authority()}, []pki.Leaf{probe}, leaves, r.now())
	if err != nil {
		return 0, 0, err
	}
	return r.servers(ctx, made[probe.Secret][certKey], made[probe.Secret][keyKey])
}

// bundlesOf writes the bundles of the signers as they are now.
func (r *revocations) bundlesOf(ctx context.Context) error {
	secrets, err := r.read(ctx)
	if err != nil {
		return err
	}
	return r.bundles(ctx, data(secrets))
}

// forget takes the former signer out of what is trusted.
func (r *revocations) forget(ctx context.Context, signer *corev1.Secret) error {
	if len(signer.Data[pki.FormerKey]) > 0 {
		signer.Data = pki.Forgotten(signer.Data)
		if err := r.client.Update(ctx, signer); err != nil {
			return fmt.Errorf("forget the former signer in Secret %s: %w", signer.Name, err)
		}
	}
	return r.bundlesOf(ctx)
}
