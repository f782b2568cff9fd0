// Package supportedversions publishes which minor versions and which kinds of payload this operator runs.
package supportedversions

import (
	"context"
	"encoding/json"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	hyperv1 "github.com/hypershift-on-azure/hypershift/api/v1beta1"
	"github.com/hypershift-on-azure/hypershift/internal/contract"
	"github.com/hypershift-on-azure/hypershift/internal/hostedcluster/cluster"
	"github.com/hypershift-on-azure/hypershift/internal/kube"
	"github.com/hypershift-on-azure/hypershift/internal/release"
)

const (
	name = contract.SupportedVersions
	// kindsKey of the ConfigMap has {"kinds": [...]}, the kinds of payload that run.
	kindsKey = contract.PayloadKindsKey
)

// Publisher publishes which minor versions and which kinds of payload this operator runs: the command line chooses its default release by it. What
// somebody else writes into the ConfigMap does not stay.
type Publisher struct {
	Client    client.Client
	Namespace string
	Commit    string
}

// SetupWithManager registers the controller.
func (p *Publisher) SetupWithManager(mgr ctrl.Manager) error {
	request := reconcile.Request{NamespacedName: types.NamespacedName{Namespace: p.Namespace, Name: name}}
	ours := predicate.NewPredicateFuncs(func(obj client.Object) bool { return client.ObjectKeyFromObject(obj) == request.NamespacedName })
	// No event tells of an object that is not there.
	start := make(chan event.GenericEvent, 1)
	start <- event.GenericEvent{Object: &corev1.ConfigMap{}}
	first := handler.EnqueueRequestsFromMapFunc(func(context.Context, client.Object) []reconcile.Request { return []reconcile.Request{request} })
	err := ctrl.NewControllerManagedBy(mgr).
		Named(name).
		For(&corev1.ConfigMap{}, builder.WithPredicates(ours)).
		WatchesRawSource(source.Channel(start, first)).
		Complete(p)
	if err != nil {
		return fmt.Errorf("set the controller of the supported versions up: %w", err)
	}
	return nil
}

// Reconcile writes the ConfigMap where it differs.
func (p *Publisher) Reconcile(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
	list, err := json.Marshal(map[string][]string{"versions": release.SupportedMinors()})
	if err != nil {
		return ctrl.Result{}, fmt.Errorf("encode the supported versions: %w", err)
	}
	kinds, err := json.Marshal(map[string][]release.Kind{"kinds": release.RunnableKinds()})
	if err != nil {
		return ctrl.Result{}, fmt.Errorf("encode the kinds of payload: %w", err)
	}
	data := map[string]string{name: string(list), kindsKey: string(kinds), contract.ServerVersionKey: p.Commit}
	live := &corev1.ConfigMap{}
	if err := p.Client.Get(ctx, request.NamespacedName, live); client.IgnoreNotFound(err) != nil {
		return ctrl.Result{}, fmt.Errorf("read ConfigMap %s: %w", request, err)
	}
	same := live.Labels[hyperv1.SupportedVersionsLabel] == "true"
	for key, value := range data {
		same = same && live.Data[key] == value
	}
	if same {
		return ctrl.Result{}, nil
	}
	return ctrl.Result{}, kube.ApplyAlways(ctx, p.Client, cluster.FieldManager, &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{
			Name: request.Name, Namespace: request.Namespace, Labels: map[string]string{hyperv1.SupportedVersionsLabel: "true"},
		},
		Data: data,
	})
}
