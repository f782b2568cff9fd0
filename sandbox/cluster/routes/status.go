package routes

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/dynamic/dynamicinformer"
	"k8s.io/client-go/tools/cache"

	"github.com/hypershift-on-azure/hypershift/sandbox/cluster/kubeclient"
	"github.com/hypershift-on-azure/hypershift/sandbox/cluster/names"
)

const (
	routerName  = "default"
	injectLabel = "config.openshift.io/inject-trusted-cabundle"
	bundleKey   = "ca-bundle.crt"
)

// admit gives a route its host name and writes what the router made of it,
// unless that is there already.
func admit(ctx context.Context, k dynamic.Interface, route *unstructured.Unstructured, host string, admitted bool) error {
	routes := k.Resource(routesResource).Namespace(route.GetNamespace())
	if specHost, _, _ := unstructured.NestedString(route.Object, "spec", "host"); specHost == "" {
		// The status follows when the change comes back.
		_, err := routes.Patch(ctx, route.GetName(), types.MergePatchType, mustJSON(object{"spec": object{"host": host}}), metav1.PatchOptions{FieldManager: kubeclient.FieldOwner})
		return err
	}
	status, reason := "True", ""
	if !admitted {
		status, reason = "False", "HostAlreadyClaimed"
	}
	if isAdmitted(route, host, status) {
		return nil
	}
	condition := object{"type": "Admitted", "status": status, "lastTransitionTime": time.Now().UTC().Format(time.RFC3339)}
	if reason != "" {
		condition["reason"], condition["message"] = reason, "another route has this host name"
	}
	ingress := object{
		"host": host, "routerName": routerName, "routerCanonicalHostname": "router-" + routerName + "." + names.AppsDomain,
		"wildcardPolicy": "None", "conditions": []any{condition},
	}
	patch := mustJSON(object{"status": object{"ingress": []any{ingress}}})
	_, err := routes.Patch(ctx, route.GetName(), types.MergePatchType, patch, metav1.PatchOptions{FieldManager: kubeclient.FieldOwner}, "status")
	return err
}

// isAdmitted tells whether the route's status says so.
func isAdmitted(route *unstructured.Unstructured, host, status string) bool {
	list, _, _ := unstructured.NestedSlice(route.Object, "status", "ingress")
	for _, entry := range list {
		ingress, ok := entry.(object)
		if !ok || ingress["routerName"] != routerName || ingress["host"] != host {
			continue
		}
		conditions, _, _ := unstructured.NestedSlice(ingress, "conditions")
		for _, c := range conditions {
			if condition, ok := c.(object); ok && condition["type"] == "Admitted" && condition["status"] == status {
				return true
			}
		}
	}
	return false
}

// startInjector fills the ConfigMaps that ask for the trusted bundle.
func startInjector(ctx context.Context, bundleFile string, k dynamic.Interface) (cache.InformerSynced, error) {
	bundle, err := os.ReadFile(bundleFile)
	if err != nil {
		return nil, err
	}
	selector := func(options *metav1.ListOptions) { options.LabelSelector = injectLabel + "=true" }
	factory := dynamicinformer.NewFilteredDynamicSharedInformerFactory(k, 0, "", selector)
	informer := factory.ForResource(configMapsResource).Informer()
	inject := func(o *unstructured.Unstructured) {
		if present, _, _ := unstructured.NestedString(o.Object, "data", bundleKey); present == string(bundle) {
			return
		}
		patch := mustJSON(object{"data": object{bundleKey: string(bundle)}})
		_, err := k.Resource(configMapsResource).Namespace(o.GetNamespace()).Patch(ctx, o.GetName(), types.MergePatchType, patch, metav1.PatchOptions{FieldManager: kubeclient.FieldOwner})
		if err != nil {
			slog.Error("trusted bundle", "configmap", o.GetNamespace()+"/"+o.GetName(), "error", err)
		}
	}
	registration, err := informer.AddEventHandler(kubeclient.Handler(inject, nil))
	if err != nil {
		return nil, err
	}
	factory.Start(ctx.Done())
	return registration.HasSynced, nil
}

func mustJSON(value any) []byte {
	text, err := json.Marshal(value)
	if err != nil { // maps of strings only
		panic(fmt.Sprintf("marshal %T: %v", value, err))
	}
	return text
}

type object = map[string]any
