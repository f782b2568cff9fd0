// Package router serves the Routes of a management cluster that has no router of its own: it tells Routes that they are admitted, and
// passes the TLS connections for their host names through to the pods behind their Services. It ends no TLS and reads nothing but the
// name that a client asks for.
package router

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	discoveryv1 "k8s.io/api/discovery/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"

	"github.com/hypershift-on-azure/hypershift/internal/contract"

	hyperv1 "github.com/hypershift-on-azure/hypershift/api/v1beta1"
)

// Kind of what is served.
var Kind = schema.GroupVersionKind{Group: "route.openshift.io", Version: "v1", Kind: "Route"}

const (
	// name of this router in the status of Routes.
	name = "default"
	// hostedLabel marks Routes that a router of a hosted cluster serves.
	hostedLabel  = hyperv1.HostedControlPlaneLabel
	fieldManager = contract.OperatorRouter
)

// Admitter keeps the table of host names, and the status of Routes.
type Admitter struct {
	client.Client
	// Domain is the ingress domain: of the router's own name and of Routes without one.
	Domain string
	Table  *Table

	mu     sync.Mutex
	filled bool
}

// SetupWithManager registers the controller. Every replica serves and admits: what one has written, the others find there.
func (a *Admitter) SetupWithManager(ctx context.Context, mgr ctrl.Manager) error {
	// EndpointSlices are read when somebody connects; asking here starts their cache with the manager.
	if _, err := mgr.GetCache().GetInformer(ctx, &discoveryv1.EndpointSlice{}); err != nil {
		return fmt.Errorf("watch endpoints: %w", err)
	}
	err := ctrl.NewControllerManagedBy(mgr).
		Named("router").
		For(newRoute()).
		WithOptions(controller.Options{NeedLeaderElection: ptr.To(false)}).
		Complete(a)
	if err != nil {
		return fmt.Errorf("set the router up: %w", err)
	}
	return nil
}

func newRoute() *unstructured.Unstructured {
	route := &unstructured.Unstructured{}
	route.SetGroupVersionKind(Kind)
	return route
}

// Fill takes all Routes into the table at once, the first time: one by one, a younger claim would be admitted until the older came.
func (a *Admitter) Fill(ctx context.Context) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.filled {
		return nil
	}
	routes := &unstructured.UnstructuredList{}
	routes.SetGroupVersionKind(Kind.GroupVersion().WithKind(Kind.Kind + "List"))
	if err := a.List(ctx, routes); err != nil {
		return fmt.Errorf("list the Routes: %w", err)
	}
	for i := range routes.Items {
		a.claim(&routes.Items[i])
	}
	a.filled = true
	return nil
}

// Reconcile takes one Route into the table, or out of it, and writes its status and that of those that have or lose a host name by it.
func (a *Admitter) Reconcile(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
	if err := a.Fill(ctx); err != nil {
		return ctrl.Result{}, err
	}
	route, err := a.read(ctx, request.NamespacedName)
	if err != nil {
		return ctrl.Result{}, err
	}
	var rivals []types.NamespacedName
	if route == nil {
		rivals = a.Table.remove(request.NamespacedName)
	} else {
		rivals = a.claim(route)
		err = a.report(ctx, route)
	}
	errs := []error{err}
	for _, key := range rivals {
		rival, err := a.read(ctx, key)
		if err == nil && rival != nil {
			err = a.report(ctx, rival)
		}
		errs = append(errs, err)
	}
	return ctrl.Result{}, errors.Join(errs...)
}

// read returns nil for a Route that is not there.
func (a *Admitter) read(ctx context.Context, key types.NamespacedName) (*unstructured.Unstructured, error) {
	route := newRoute()
	err := a.Get(ctx, key, route)
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read Route %s: %w", key, err)
	}
	return route, nil
}

// claim makes the table say what the Route says, and returns the other Routes of the host names that this touches.
func (a *Admitter) claim(route *unstructured.Unstructured) []types.NamespacedName {
	key := client.ObjectKeyFromObject(route)
	if hosted(route) || !route.GetDeletionTimestamp().IsZero() || unserved(route) != nil {
		return a.Table.remove(key)
	}
	return a.Table.set(key, hostOf(route, a.Domain), targetOf(route))
}

func hosted(route *unstructured.Unstructured) bool {
	_, hosted := route.GetLabels()[hostedLabel]
	return hosted
}

// report writes the status of a Route that is ours to serve.
func (a *Admitter) report(ctx context.Context, route *unstructured.Unstructured) error {
	if hosted(route) || !route.GetDeletionTimestamp().IsZero() {
		return nil
	}
	host := hostOf(route, a.Domain)
	problem := unserved(route)
	if problem == nil && !a.Table.has(client.ObjectKeyFromObject(route), host) {
		problem = &refusal{"HostAlreadyClaimed", "an older Route has the host name " + host}
	}
	return a.writeStatus(ctx, route, host, problem)
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
	err = a.Status().Patch(ctx, target, client.RawPatch(types.MergePatchType, patch), client.FieldOwner(fieldManager))
	if client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("write the status of Route %s/%s: %w", route.GetNamespace(), route.GetName(), err)
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
		// A DNS label has at most 63 characters; the checksum keeps it unique.
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
