package publish

import (
	"context"
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hypershift-on-azure/hypershift/api/v1beta1"
)

// routerName of the cluster's own router in the status of its Routes.
const routerName = "router"

// Admit writes into the Routes of the cluster's own router where they are served, as soon as its load balancer has an address:
// ExternalDNS publishes that address under their host names. An entry of another router stays, behind ours, because ExternalDNS takes
// the first.
func Admit(ctx context.Context, c client.Client, hcp *hyperv1.HostedControlPlane, now time.Time) error {
	plan := PlanOf(hcp)
	routes := routesOf(hcp, plan)
	if r, ok := routeOf(hcp, plan, login); ok {
		routes = append(routes, r)
	}
	routes = append(routes, metricsRoute(hcp, plan))
	for _, r := range routes {
		if r.router == "" {
			continue
		}
		s, _, err := readService(ctx, c, hcp.Namespace, r.router)
		if err != nil {
			return err
		}
		obj, _, err := getRoute(ctx, c, hcp.Namespace, r.name)
		if err != nil {
			return err
		}
		if s == nil || obj == nil || addressOf(s) == "" {
			continue
		}
		if err := admit(ctx, c, obj, r.host, addressOf(s), now); err != nil {
			return err
		}
	}
	return nil
}

func admit(ctx context.Context, c client.Client, obj *unstructured.Unstructured, host, address string, now time.Time) error {
	entry, first := ownIngress(obj)
	if first && entry["host"] == host && entry["routerCanonicalHostname"] == address {
		return nil
	}
	others, _, err := unstructured.NestedSlice(obj.Object, "status", "ingress")
	if err != nil {
		return fmt.Errorf("the status of Route %s is malformed: %w", obj.GetName(), err)
	}
	others = slices.DeleteFunc(others, isOwn)
	ours := map[string]any{
		"host": host, "routerName": routerName, "routerCanonicalHostname": address, "wildcardPolicy": "None",
		"conditions": []any{map[string]any{"type": "Admitted", "status": "True", "lastTransitionTime": now.UTC().Format(time.RFC3339)}},
	}
	before := obj.DeepCopy()
	if err := unstructured.SetNestedSlice(obj.Object, append([]any{ours}, others...), "status", "ingress"); err != nil {
		return fmt.Errorf("admit Route %s: %w", obj.GetName(), err)
	}
	// Locked on the version: another router may write its entry meanwhile.
	patch := client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})
	if err := c.Status().Patch(ctx, obj, patch); err != nil {
		return fmt.Errorf("admit Route %s: %w", obj.GetName(), err)
	}
	return nil
}

// ownIngress finds the own router's entry; first tells whether it is the one that ExternalDNS takes.
func ownIngress(obj *unstructured.Unstructured) (entry map[string]any, first bool) {
	ingresses, _, _ := unstructured.NestedSlice(obj.Object, "status", "ingress")
	i := slices.IndexFunc(ingresses, isOwn)
	if i < 0 {
		return nil, false
	}
	return ingresses[i].(map[string]any), i == 0
}

func isOwn(entry any) bool {
	ingress, ok := entry.(map[string]any)
	return ok && ingress["routerName"] == routerName
}
