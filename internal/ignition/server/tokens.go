package server

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"time"

	"github.com/google/uuid"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	hyperv1 "github.com/hypershift-on-azure/hypershift/api/v1beta1"
	"github.com/hypershift-on-azure/hypershift/internal/ignition"
	"github.com/hypershift-on-azure/hypershift/internal/ignition/payloadrender"
	"github.com/hypershift-on-azure/hypershift/internal/release"
)

// tokenLifetime bounds how long a token opens a payload; it is replaced at half of it and stays valid for the other half.
const tokenLifetime = 11 * time.Hour

// problemPeriod is how long a payload that cannot be built waits for another look: a registry tells nobody when it has the image.
const problemPeriod = time.Minute

const payloadGeneratedMessage = "Payload generated successfully"

// errCloudConfigPending: the control-plane-operator has not written the nodes' cloud configuration yet.
var errCloudConfigPending = errors.New("the ConfigMap azure-cloud-config is not there yet")

// invalidError marks what only the user can mend.
type invalidError struct{ cause error }

func (e *invalidError) Error() string { return e.cause.Error() }
func (e *invalidError) Unwrap() error { return e.cause }

// tokenReconciler turns token secrets into entries of the store:
//  1. an expired secret is deleted
//  2. a token in the second half of its life is replaced, the old one keeps working
//  3. the payload is built from the secret and the data of the control-plane namespace
//  4. the outcome is written to the secret, where the node pool's conditions read it
type tokenReconciler struct {
	client    client.Client
	namespace string
	releases  release.Provider
	store     *store
	metrics   *metrics
	now       func() time.Time
	watches   *watches
	// renderers make a configuration, by the kind of the pool's payload.
	renderers map[release.Kind]renderer
}

// renderer makes the configuration of one kind of payload.
type renderer struct {
	render func(context.Context, *gathered) ([]byte, error)
	// offers: the daemon that changes nodes in place is given the configuration, and does not fetch it.
	offers bool
}

func (r *tokenReconciler) Reconcile(ctx context.Context, req reconcile.Request) (ctrl.Result, error) {
	if !r.watches.follows(req.Name) { // nobody would tell that it goes, and it may not be read
		r.store.remove(req.Name)
		return ctrl.Result{}, nil
	}
	secret := &corev1.Secret{}
	err := r.client.Get(ctx, req.NamespacedName, secret)
	if apierrors.IsNotFound(err) {
		r.store.remove(req.Name)
		return ctrl.Result{}, nil
	}
	if err != nil {
		return ctrl.Result{}, fmt.Errorf("read the token secret %s: %w", req.Name, err)
	}
	if !isToken(secret) {
		return ctrl.Result{}, nil
	}
	remaining, expires := r.expiry(secret)
	if !secret.DeletionTimestamp.IsZero() || (expires && remaining <= 0) {
		r.store.remove(secret.Name)
		return ctrl.Result{}, client.IgnoreNotFound(r.client.Delete(ctx, secret))
	}
	again := remaining
	if !expires {
		if again = r.untilRotation(secret); again <= 0 {
			return ctrl.Result{}, r.rotate(ctx, secret)
		}
	}
	return r.serve(ctx, secret, again)
}

// serve builds and reports, and looks again after that long, or sooner when there is a problem.
func (r *tokenReconciler) serve(ctx context.Context, secret *corev1.Secret, again time.Duration) (ctrl.Result, error) {
	buildErr := r.build(ctx, secret)
	if err := r.report(ctx, secret, buildErr); err != nil {
		return ctrl.Result{}, err
	}
	var invalid *invalidError
	if buildErr != nil && !errors.As(buildErr, &invalid) && !errors.Is(buildErr, errCloudConfigPending) {
		return ctrl.Result{}, buildErr
	}
	if buildErr != nil {
		again = min(again, problemPeriod)
	}
	return ctrl.Result{RequeueAfter: again}, nil
}

func isToken(obj client.Object) bool {
	return obj.GetAnnotations()[hyperv1.IgnitionConfigAnnotation] == "true"
}

// expiry reads the time after which the secret goes; one that does not parse has passed.
func (r *tokenReconciler) expiry(secret *corev1.Secret) (time.Duration, bool) {
	text, present := secret.Annotations[hyperv1.IgnitionTokenExpirationTimestampAnnotation]
	if !present {
		return 0, false
	}
	at, err := time.Parse(time.RFC3339, text)
	if err != nil {
		return 0, true
	}
	return at.Sub(r.now()), true
}

// untilRotation is what is left of the first half of the token's life; without a readable birth it is over.
func (r *tokenReconciler) untilRotation(secret *corev1.Secret) time.Duration {
	born, err := time.Parse(time.RFC3339Nano, secret.Annotations[hyperv1.IgnitionLastTokenGenerationTimeAnnotation])
	if err != nil {
		return 0
	}
	return born.Add(tokenLifetime / 2).Sub(r.now())
}

// rotate uses an update: two servers must not replace the same token, the loser's conflict brings it back to read the winner's.
func (r *tokenReconciler) rotate(ctx context.Context, secret *corev1.Secret) error {
	changed := secret.DeepCopy()
	changed.Data[ignition.TokenOldKey] = changed.Data[ignition.TokenKey]
	changed.Data[ignition.TokenKey] = []byte(uuid.NewString())
	changed.Annotations[hyperv1.IgnitionLastTokenGenerationTimeAnnotation] = r.now().UTC().Format(time.RFC3339Nano)
	err := r.client.Update(ctx, changed)
	if apierrors.IsConflict(err) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("rotate the token in %s: %w", secret.Name, err)
	}
	r.metrics.rotations.Inc()
	return nil
}

func (r *tokenReconciler) build(ctx context.Context, secret *corev1.Secret) error {
	started := r.now()
	tokens := []string{string(secret.Data[ignition.TokenKey]), string(secret.Data[ignition.TokenOldKey])}
	payload, offered, err := r.payload(ctx, secret)
	var invalid *invalidError
	switch {
	case errors.As(err, &invalid):
		r.store.remove(secret.Name)
		return err
	case err != nil:
		// What was served until now is better than nothing for a machine that boots meanwhile.
		r.store.rekey(secret.Name, tokens...)
		return err
	}
	r.store.set(entry{secret: secret.Name, nodePool: secret.Annotations[hyperv1.NodePoolAnnotation], payload: payload, offered: offered}, tokens...)
	r.metrics.generation.Observe(r.now().Sub(started).Seconds())
	return nil
}

// payload is the configuration, and whether nodes that are changed in place get it from the secret.
func (r *tokenReconciler) payload(ctx context.Context, secret *corev1.Secret) (payload []byte, offered bool, err error) {
	g, err := r.gather(ctx, secret)
	if err != nil {
		return nil, false, err
	}
	render, known := r.renderers[g.payload.Kind()]
	if !known {
		return nil, false, &invalidError{cause: fmt.Errorf("release %s is of kind %s, and the control plane of another one; use releases of one kind", g.payload.Version, g.payload.Kind())}
	}
	payload, err = render.render(ctx, g)
	return payload, render.offers, err
}

// renderPlain describes the nodes of a payload whose programs describe none.
func renderPlain(_ context.Context, g *gathered) ([]byte, error) {
	payload, err := ignition.Render(g.input)
	if err != nil {
		return nil, &invalidError{cause: err}
	}
	return payload, nil
}

// report writes the outcome; a failure that passes by itself leaves the last word as it was.
func (r *tokenReconciler) report(ctx context.Context, secret *corev1.Secret, buildErr error) error {
	var invalid *invalidError
	var reason, message string
	switch {
	case buildErr == nil:
		reason, message = hyperv1.AsExpectedReason, payloadGeneratedMessage
	case errors.Is(buildErr, errCloudConfigPending):
		reason, message = hyperv1.CloudConfigPendingReason, buildErr.Error()
	case errors.As(buildErr, &invalid), errors.Is(buildErr, payloadrender.ErrOutOfDate):
		reason, message = hyperv1.InvalidConfigReason, buildErr.Error()
	default:
		return nil
	}
	changed := secret.DeepCopy()
	changed.Data[ignition.TokenReasonKey] = []byte(reason)
	changed.Data[ignition.TokenMessageKey] = []byte(message)
	if err := r.offer(changed, buildErr); err != nil {
		return err
	}
	if maps.EqualFunc(secret.Data, changed.Data, bytes.Equal) {
		return nil
	}
	if err := r.client.Patch(ctx, changed, client.MergeFrom(secret)); err != nil {
		return fmt.Errorf("record the outcome in %s: %w", secret.Name, err)
	}
	return nil
}

// offer puts the configuration into the secret of a pool that is changed in place, from where its nodes get it.
func (r *tokenReconciler) offer(secret *corev1.Secret, buildErr error) error {
	if !inPlace(secret) {
		delete(secret.Data, ignition.TokenPayloadKey)
		return nil
	}
	served, found := r.store.get(string(secret.Data[ignition.TokenKey]))
	if buildErr != nil || !found || !served.offered {
		return nil
	}
	packed, err := ignition.Compress(string(served.payload))
	if err != nil {
		return err
	}
	secret.Data[ignition.TokenPayloadKey] = packed
	return nil
}
