// Package kubeclient is how the sandbox's programs talk to the management cluster.
package kubeclient

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/clientcmd"
)

// FieldOwner is who has written what the sandbox writes.
const FieldOwner = "hypershift-sandbox"

// New talks to the management cluster.
func New(kubeconfig string) (dynamic.Interface, error) {
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return nil, err
	}
	// The shell's proxy settings are for Azure.
	config.Proxy = nil
	config.QPS, config.Burst = 200, 400
	return dynamic.NewForConfig(config)
}

// Handler calls set for what is there and gone for what is not any more.
func Handler(set, gone func(*unstructured.Unstructured)) cache.ResourceEventHandlerFuncs {
	return cache.ResourceEventHandlerFuncs{
		AddFunc:    func(o any) { set(o.(*unstructured.Unstructured)) },
		UpdateFunc: func(_, o any) { set(o.(*unstructured.Unstructured)) },
		DeleteFunc: func(o any) {
			if tombstone, ok := o.(cache.DeletedFinalStateUnknown); ok {
				o = tombstone.Obj
			}
			if object, ok := o.(*unstructured.Unstructured); ok && gone != nil {
				gone(object)
			}
		},
	}
}
