// Package kubeclient is how the sandbox's programs talk to the management cluster.
package kubeclient

import (
	"net/http"
	"net/url"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/clientcmd"
)

// FieldOwner is who has written what the sandbox writes.
const FieldOwner = "hypershift-sandbox"

// Config reaches the management cluster itself, whatever proxy the environment names: that is for Azure, or for the outside.
func Config(kubeconfig string) (*rest.Config, error) {
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return nil, err
	}
	config.Proxy = func(*http.Request) (*url.URL, error) { return nil, nil } // without a function it would be the environment's
	return config, nil
}

// New talks to the management cluster.
func New(kubeconfig string) (dynamic.Interface, error) {
	config, err := Config(kubeconfig)
	if err != nil {
		return nil, err
	}
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
