package ingressdns

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	hyperv1 "github.com/hypershift-on-azure/hypershift/api/v1beta1"
	"github.com/hypershift-on-azure/hypershift/internal/azure"
	"github.com/hypershift-on-azure/hypershift/internal/component"
	"github.com/hypershift-on-azure/hypershift/internal/contract"
	"github.com/hypershift-on-azure/hypershift/internal/guest/plane"
	"github.com/hypershift-on-azure/hypershift/internal/kube"
)

const (
	// Finalizer holds the control plane until its records are gone: nobody else knows which they are.
	Finalizer = "hypershift.openshift.io/ingress-records"
	// StateConfigMap remembers, in the control-plane namespace, what was written.
	StateConfigMap = "ingress-records"

	// retryPeriod is when what a person has to mend is tried again; assertPeriod when records are written again although nothing changed.
	retryPeriod  = time.Minute
	assertPeriod = time.Hour
)

// reconciler keeps the records of the default router:
//  1. a control plane that is being deleted: delete them, let it go
//  2. read the addresses of the router's Service; without one, what was written stays
//  3. write each record that does not lead there, or was written long ago, and remember what Azure answered
//  4. report in condition IngressDNSReady
type reconciler struct {
	guest, management client.Client
	// live reads what is not worth a watch.
	live      client.Reader
	namespace string
	sets      func(*hyperv1.HostedControlPlane) (recordSets, error)
	now       func() time.Time

	// asserted is when this process wrote a record; states what it wrote, also while that cannot be stored.
	asserted map[string]time.Time
	states   map[string]state
}

func (r *reconciler) Reconcile(ctx context.Context, _ reconcile.Request) (ctrl.Result, error) {
	hcp, err := r.controlPlane(ctx)
	if hcp == nil {
		return ctrl.Result{}, err
	}
	if err := r.recall(ctx); err != nil {
		return ctrl.Result{}, err
	}
	if !hcp.DeletionTimestamp.IsZero() {
		return r.release(ctx, hcp)
	}
	condition, again, err := r.publish(ctx, hcp)
	if err != nil {
		return ctrl.Result{}, err
	}
	condition.Type, condition.ObservedGeneration = hyperv1.IngressDNSReady, hcp.Generation
	if err := plane.SetCondition(ctx, r.management, hcp, condition); err != nil {
		return ctrl.Result{}, err
	}
	return ctrl.Result{RequeueAfter: again}, nil
}

func (r *reconciler) controlPlane(ctx context.Context) (*hyperv1.HostedControlPlane, error) {
	list := &hyperv1.HostedControlPlaneList{}
	if err := r.management.List(ctx, list, client.InNamespace(r.namespace)); err != nil {
		return nil, fmt.Errorf("list hosted control planes: %w", err)
	}
	if len(list.Items) == 0 {
		return nil, nil
	}
	return &list.Items[0], nil
}

// publish returns an error only for what the management cluster answers; what Azure says is the condition.
func (r *reconciler) publish(ctx context.Context, hcp *hyperv1.HostedControlPlane) (metav1.Condition, time.Duration, error) {
	no := func(status metav1.ConditionStatus, reason, message string) metav1.Condition {
		return metav1.Condition{Status: status, Reason: reason, Message: message}
	}
	ingress, err := component.DefaultIngress(hcp)
	if err != nil {
		return no(metav1.ConditionFalse, hyperv1.IngressRecordFailedReason, err.Error()), 0, nil
	}
	if ingress.Unmanaged || ingress.Scope == component.IngressPrivate {
		return no(metav1.ConditionUnknown, hyperv1.IngressRecordUnmanagedReason, "the record of the applications' domain is not managed"), 0, r.eraseAll(ctx, hcp)
	}
	addresses, err := r.addresses(ctx)
	if err != nil {
		return metav1.Condition{}, 0, err
	}
	if len(addresses) == 0 {
		return no(metav1.ConditionFalse, hyperv1.WaitingForIngressAddressReason,
			"Service "+contract.RouterNamespace+"/"+component.RouterName+" of the hosted cluster has no address yet"), 0, nil
	}
	records, err := recordsOf(hcp)
	if err == nil {
		err = r.ensure(ctx, hcp, records, addresses)
	}
	var local *storeError
	if errors.As(err, &local) {
		return metav1.Condition{}, 0, err
	}
	if err != nil {
		ctrl.LoggerFrom(ctx).Info("the records of the applications' domain are not as they should be", "reason", err.Error())
		return no(metav1.ConditionFalse, hyperv1.IngressRecordFailedReason, err.Error()), retryPeriod, nil
	}
	return no(metav1.ConditionTrue, hyperv1.AsExpectedReason, ""), assertPeriod, nil
}

func (r *reconciler) addresses(ctx context.Context) ([]string, error) {
	service := &corev1.Service{}
	err := r.guest.Get(ctx, client.ObjectKey{Namespace: contract.RouterNamespace, Name: component.RouterName}, service)
	if client.IgnoreNotFound(err) != nil {
		return nil, fmt.Errorf("read the Service of the default router: %w", err)
	}
	var out []string
	for _, ingress := range service.Status.LoadBalancer.Ingress {
		if ip, err := netip.ParseAddr(ingress.IP); err == nil && ip.Is4() {
			out = append(out, ip.String())
		}
	}
	slices.Sort(out)
	return slices.Compact(out), nil
}

// ensure writes what is not there yet. Each zone is tried, whatever happens to the other.
func (r *reconciler) ensure(ctx context.Context, hcp *hyperv1.HostedControlPlane, records []record, addresses []string) error {
	sets, err := r.sets(hcp)
	if err != nil {
		return err
	}
	var problems []error
	for _, record := range records {
		if r.states[record.id].leadsTo(addresses) && r.now().Sub(r.asserted[record.id]) < assertPeriod {
			continue
		}
		err := r.ensureOne(ctx, sets, hcp, record, addresses)
		var local *storeError
		if errors.As(err, &local) {
			return err
		}
		problems = append(problems, explain(hcp, record.id, err))
	}
	return errors.Join(problems...)
}

// ensureOne writes one record. Before Azure is asked it is on record that the answer may get lost; and who will delete the record.
func (r *reconciler) ensureOne(ctx context.Context, sets recordSets, hcp *hyperv1.HostedControlPlane, record record, addresses []string) error {
	last, known := r.states[record.id]
	if !known {
		if err := free(ctx, sets, record); err != nil {
			return err
		}
	}
	if err := kube.AddFinalizer(ctx, r.management, hcp, Finalizer); err != nil {
		return &storeError{err}
	}
	r.states[record.id] = state{ETag: last.ETag, Addresses: last.Addresses, Unsure: true}
	if err := r.remember(ctx); err != nil {
		r.states[record.id] = last
		return err
	}
	next, err := write(ctx, sets, record, hcp.Spec.InfraID, addresses, last)
	if r.states[record.id] = next; next.ETag == "" && !next.Unsure {
		delete(r.states, record.id)
	}
	if err == nil {
		r.asserted[record.id] = r.now()
	}
	return errors.Join(err, r.remember(ctx))
}

// explain adds who was refused and what that identity needs.
func explain(hcp *hyperv1.HostedControlPlane, id string, err error) error {
	if err == nil || errors.Is(err, errForeign) {
		return err
	}
	return fmt.Errorf("write %s as the ingress identity %s, which needs the role Azure Red Hat OpenShift Cluster Ingress Operator on the zone's resource group: %w",
		id, clientID(hcp), err)
}

// release deletes what was written; with that the control plane may go.
func (r *reconciler) release(ctx context.Context, hcp *hyperv1.HostedControlPlane) (ctrl.Result, error) {
	if !controllerutil.ContainsFinalizer(hcp, Finalizer) {
		return ctrl.Result{}, nil
	}
	if err := r.eraseAll(ctx, hcp); err != nil {
		return ctrl.Result{}, err
	}
	return ctrl.Result{}, kube.RemoveFinalizer(ctx, r.management, hcp, Finalizer)
}

func (r *reconciler) eraseAll(ctx context.Context, hcp *hyperv1.HostedControlPlane) error {
	for _, id := range slices.Sorted(maps.Keys(r.states)) {
		sets, err := r.sets(hcp)
		if err != nil {
			return err
		}
		if err := erase(ctx, sets, id, r.states[id]); err != nil {
			return explain(hcp, id, err)
		}
		delete(r.states, id)
	}
	return r.remember(ctx)
}

// storeError is a failure of the management cluster.
type storeError struct{ error }

func (e *storeError) Unwrap() error { return e.error }

const stateKey = "records.json"

// recall reads, once, what a former process wrote.
func (r *reconciler) recall(ctx context.Context) error {
	if r.states != nil {
		return nil
	}
	stored, err := r.stored(ctx)
	if err != nil {
		return err
	}
	states := map[string]state{}
	if text := stored.Data[stateKey]; text != "" {
		if err := json.Unmarshal([]byte(text), &states); err != nil {
			return fmt.Errorf("read ConfigMap %s: %w", StateConfigMap, err)
		}
	}
	r.states = states
	return nil
}

func (r *reconciler) stored(ctx context.Context) (*corev1.ConfigMap, error) {
	stored := &corev1.ConfigMap{}
	if err := r.live.Get(ctx, client.ObjectKey{Namespace: r.namespace, Name: StateConfigMap}, stored); err != nil {
		return nil, &storeError{fmt.Errorf("read ConfigMap %s: %w", StateConfigMap, err)}
	}
	return stored, nil
}

func (r *reconciler) remember(ctx context.Context) error {
	text, err := json.Marshal(r.states)
	if err != nil {
		return fmt.Errorf("encode the records: %w", err)
	}
	stored, err := r.stored(ctx)
	if err != nil || stored.Data[stateKey] == string(text) {
		return err
	}
	patch, err := json.Marshal(map[string]any{"data": map[string]string{stateKey: string(text)}})
	if err != nil {
		return fmt.Errorf("encode the records: %w", err)
	}
	if err := r.management.Patch(ctx, stored, client.RawPatch("application/merge-patch+json", patch)); err != nil {
		return &storeError{fmt.Errorf("store ConfigMap %s: %w", StateConfigMap, err)}
	}
	return nil
}

func clientID(hcp *hyperv1.HostedControlPlane) string {
	return string(hcp.Spec.Platform.Azure.AzureAuthenticationConfig.WorkloadIdentities.Ingress.ClientID)
}

// sessionFor signs in as the ingress identity with the token that the token minter keeps.
func sessionFor(tokenFile string) func(*hyperv1.HostedControlPlane) (recordSets, error) {
	var session *azure.Session
	return func(hcp *hyperv1.HostedControlPlane) (recordSets, error) {
		if session != nil {
			return session, nil
		}
		platform := hcp.Spec.Platform.Azure
		base, err := azure.NewSession(azure.Credentials{SubscriptionID: platform.SubscriptionID, TenantID: platform.TenantID}, platform.Cloud)
		if err != nil {
			return nil, err
		}
		if session, err = base.As(clientID(hcp), readToken(tokenFile)); err != nil {
			return nil, err
		}
		return session, nil
	}
}
