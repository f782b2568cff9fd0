package netpol

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic/dynamicinformer"
	"k8s.io/client-go/tools/cache"

	"github.com/hypershift-on-azure/hypershift/sandbox/cluster/kubeclient"
	"github.com/hypershift-on-azure/hypershift/sandbox/cluster/names"
	"github.com/hypershift-on-azure/hypershift/sandbox/nftable"
)

var (
	namespacesResource = schema.GroupVersionResource{Version: "v1", Resource: "namespaces"}
	podsResource       = schema.GroupVersionResource{Version: "v1", Resource: "pods"}
	policiesResource   = schema.GroupVersionResource{Group: "networking.k8s.io", Version: "v1", Resource: "networkpolicies"}
)

// router is the management cluster's, which is no pod but has an address of its own towards pods. On OpenShift it is one of this namespace.
var router = Pod{Namespace: "openshift-ingress", IP: names.RouterIP}

const (
	policyBurst = 20 * time.Millisecond // changes come in bursts
	policyRetry = time.Second
)

// Run enforces the NetworkPolicies of the management cluster. A pod is isolated a moment after it got its address;
// the rules stay in force while this process does not run.
func Run(ctx context.Context, kubeconfig string) error {
	k, err := kubeclient.New(kubeconfig)
	if err != nil {
		return err
	}
	factory := dynamicinformer.NewDynamicSharedInformerFactory(k, 0)
	changed := make(chan struct{}, 1)
	notify := func(*unstructured.Unstructured) {
		select {
		case changed <- struct{}{}:
		default:
		}
	}
	listers := map[schema.GroupVersionResource]cache.GenericLister{}
	for _, resource := range []schema.GroupVersionResource{namespacesResource, podsResource, policiesResource} {
		informer := factory.ForResource(resource)
		if _, err := informer.Informer().AddEventHandler(kubeclient.Handler(notify, notify)); err != nil {
			return err
		}
		listers[resource] = informer.Lister()
	}
	factory.Start(ctx.Done())
	factory.WaitForCacheSync(ctx.Done())
	return enforce(ctx, changed, func() (*nftable.Table, error) {
		state, err := policyState(listers)
		if err != nil {
			return nil, err
		}
		return state.Rules()
	})
}

// enforce loads the rules whenever they differ from those that are loaded.
func enforce(ctx context.Context, changed <-chan struct{}, rules func() (*nftable.Table, error)) error {
	var loader nftable.Loader
	for {
		table, err := rules()
		if err == nil {
			err = loader.Replace(ctx, table)
		}
		retry := (<-chan time.Time)(nil)
		if err != nil {
			slog.Error("network policies", "error", err)
			retry = time.After(policyRetry)
		}
		select {
		case <-ctx.Done():
			return nil
		case <-retry:
		case <-changed:
			time.Sleep(policyBurst)
		}
	}
}

// policyState reads what the rules are made of, in an order that does not change by itself.
func policyState(listers map[schema.GroupVersionResource]cache.GenericLister) (State, error) {
	state := State{Namespaces: map[string]labels.Set{}}
	objects := map[schema.GroupVersionResource][]*unstructured.Unstructured{}
	for resource, lister := range listers {
		list, err := lister.List(labels.Everything())
		if err != nil {
			return state, err
		}
		for _, o := range list {
			objects[resource] = append(objects[resource], o.(*unstructured.Unstructured))
		}
		slices.SortFunc(objects[resource], func(a, b *unstructured.Unstructured) int {
			return strings.Compare(a.GetNamespace()+"/"+a.GetName(), b.GetNamespace()+"/"+b.GetName())
		})
	}
	for _, o := range objects[namespacesResource] {
		state.Namespaces[o.GetName()] = o.GetLabels()
	}
	for _, o := range objects[podsResource] {
		var pod corev1.Pod
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(o.Object, &pod); err != nil {
			return state, fmt.Errorf("pod %s/%s: %w", o.GetNamespace(), o.GetName(), err)
		}
		if p, ok := policyPod(pod); ok {
			state.Pods = append(state.Pods, p)
		}
	}
	state.Pods = append(state.Pods, router)
	for _, o := range objects[policiesResource] {
		var policy networkingv1.NetworkPolicy
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(o.Object, &policy); err != nil {
			return state, fmt.Errorf("NetworkPolicy %s/%s: %w", o.GetNamespace(), o.GetName(), err)
		}
		state.Policies = append(state.Policies, policy)
	}
	return state, nil
}

// policyPod is false for pods without an address of their own; that of a pod that is done may be another's already.
func policyPod(pod corev1.Pod) (Pod, bool) {
	done := pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed
	if pod.Spec.HostNetwork || done || pod.Status.PodIP == "" {
		return Pod{}, false
	}
	p := Pod{Namespace: pod.Namespace, Labels: pod.Labels, IP: pod.Status.PodIP}
	for _, container := range pod.Spec.Containers {
		p.Ports = append(p.Ports, container.Ports...)
	}
	return p, true
}
