// Package router serves the Routes of a management cluster that has no router of its own: it tells Routes that they are admitted, and
// passes the TLS connections for their host names through to the pods behind their Services. It ends no TLS and reads nothing but the
// name that a client asks for.
package router

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	discoveryv1 "k8s.io/api/discovery/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// Kind of what is served.
var Kind = schema.GroupVersionKind{Group: "route.openshift.io", Version: "v1", Kind: "Route"}

const (
	// name of this router in the status of Routes.
	name = "default"
	// hostedLabel marks Routes that a router of a hosted cluster serves.
	hostedLabel  = "hypershift.openshift.io/hosted-control-plane"
	fieldManager = "hypershift-router"
)

// Admitter keeps the table of host names, and the status of Routes.
type Admitter struct {
	client.Client
	// Domain is the ingress domain: of the router's own name and of Routes without one.
	Domain string
	Table  *Table
}

// SetupWithManager registers the controller. Every replica serves and admits: what one has written, the others find there.
func (a *Admitter) SetupWithManager(mgr ctrl.Manager) error {
	route := &unstructured.Unstructured{}
	route.SetGroupVersionKind(Kind)
	// EndpointSlices are read when somebody connects; asking here starts their cache, so that it is full when the router is ready.
	if _, err := mgr.GetCache().GetInformer(context.Background(), &discoveryv1.EndpointSlice{}); err != nil {
		return fmt.Errorf("watch endpoints: %w", err)
	}
	err := ctrl.NewControllerManagedBy(mgr).
		Named("router").
		For(route).
		Watches(route, handler.EnqueueRequestsFromMapFunc(a.rivals)).
		Complete(a)
	if err != nil {
		return fmt.Errorf("set the router up: %w", err)
	}
	return nil
}

// rivals are the other Routes of the same host name: one of them may get it, or lose it, now.
func (a *Admitter) rivals(_ context.Context, obj client.Object) []reconcile.Request {
	route, ok := obj.(*unstructured.Unstructured)
	if !ok {
		return nil
	}
	var requests []reconcile.Request
	for _, key := range a.Table.claimants(hostOf(route, a.Domain)) {
		if key != client.ObjectKeyFromObject(obj) {
			requests = append(requests, reconcile.Request{NamespacedName: key})
		}
	}
	return requests
}

// Reconcile takes one Route into the table, or out of it, and writes its status.
func (a *Admitter) Reconcile(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
	route := &unstructured.Unstructured{}
	route.SetGroupVersionKind(Kind)
	err := a.Get(ctx, request.NamespacedName, route)
	if apierrors.IsNotFound(err) {
		a.Table.remove(request.NamespacedName)
		return ctrl.Result{}, nil
	}
	if err != nil {
		return ctrl.Result{}, fmt.Errorf("read Route %s: %w", request, err)
	}
	if _, hosted := route.GetLabels()[hostedLabel]; hosted || !route.GetDeletionTimestamp().IsZero() {
		a.Table.remove(request.NamespacedName)
		return ctrl.Result{}, nil
	}
	host := hostOf(route, a.Domain)
	problem := unserved(route)
	if problem == nil && !a.Table.set(request.NamespacedName, host, targetOf(route)) {
		problem = &refusal{"HostAlreadyClaimed", "an older Route has the host name " + host}
	}
	if problem != nil && problem.reason != "HostAlreadyClaimed" {
		a.Table.remove(request.NamespacedName)
	}
	return ctrl.Result{}, a.writeStatus(ctx, route, host, problem)
}

// refusal is why a Route is not served.
type refusal struct{ reason, message string }

// unserved finds what this router cannot do.
func unserved(route *unstructured.Unstructured) *refusal {
	termination, _, _ := unstructured.NestedString(route.Object, "spec", "tls", "termination")
	if termination != "passthrough" {
		return &refusal{"UnsupportedTermination", fmt.Sprintf("this router ends no TLS: spec.tls.termination is %q, want \"passthrough\"", termination)}
	}
	if kind, _, _ := unstructured.NestedString(route.Object, "spec", "to", "kind"); kind != "" && kind != "Service" {
		return &refusal{"UnsupportedTarget", fmt.Sprintf("spec.to.kind is %q, want \"Service\"", kind)}
	}
	return nil
}

func (a *Admitter) writeStatus(ctx context.Context, route *unstructured.Unstructured, host string, problem *refusal) error {
	want := map[string]any{"type": "Admitted", "status": "True"}
	if problem != nil {
		want = map[string]any{"type": "Admitted", "status": "False", "reason": problem.reason, "message": problem.message}
	}
	if current(route, host, want) {
		return nil
	}
	want["lastTransitionTime"] = time.Now().UTC().Format(time.RFC3339)
	patch, err := json.Marshal(map[string]any{"status": map[string]any{"ingress": []any{map[string]any{
		"host": host, "routerName": name, "routerCanonicalHostname": "router-" + name + "." + a.Domain,
		"wildcardPolicy": "None", "conditions": []any{want},
	}}}})
	if err != nil {
		return err
	}
	target := route.DeepCopy()
	if err := a.Status().Patch(ctx, target, client.RawPatch(types.MergePatchType, patch), client.FieldOwner(fieldManager)); err != nil {
		return client.IgnoreNotFound(fmt.Errorf("write the status of Route %s/%s: %w", route.GetNamespace(), route.GetName(), err))
	}
	return nil
}

// current tells whether the status says so already.
func current(route *unstructured.Unstructured, host string, want map[string]any) bool {
	ingresses, _, _ := unstructured.NestedSlice(route.Object, "status", "ingress")
	if len(ingresses) != 1 {
		return false
	}
	ingress, _ := ingresses[0].(map[string]any)
	conditions, _ := ingress["conditions"].([]any)
	if ingress["host"] != host || ingress["routerName"] != name || len(conditions) != 1 {
		return false
	}
	condition, _ := conditions[0].(map[string]any)
	for _, key := range []string{"type", "status", "reason", "message"} {
		if condition[key] != want[key] {
			return false
		}
	}
	return true
}

// hostOf is the Route's host name, or the one that it gets below the domain.
func hostOf(route *unstructured.Unstructured, domain string) string {
	if host, _, _ := unstructured.NestedString(route.Object, "spec", "host"); host != "" {
		return strings.ToLower(host)
	}
	label := route.GetName() + "-" + route.GetNamespace()
	if len(label) > 63 {
		// DNS takes no more; the sum keeps it one of a kind.
		sum := sha256.Sum256([]byte(label))
		label = label[:54] + "-" + hex.EncodeToString(sum[:4])
	}
	return strings.ToLower(label) + "." + domain
}

// targetOf is where the Route's connections go.
func targetOf(route *unstructured.Unstructured) Target {
	service, _, _ := unstructured.NestedString(route.Object, "spec", "to", "name")
	port, _, _ := unstructured.NestedFieldNoCopy(route.Object, "spec", "port", "targetPort")
	t := Target{Namespace: route.GetNamespace(), Service: service, created: route.GetCreationTimestamp().Time}
	if port != nil {
		t.Port = fmt.Sprint(port)
	}
	return t
}
