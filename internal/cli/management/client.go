// Package management reaches the management cluster: its clients, how long to wait for it, and what the operator there says of itself.
package management

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	utilnet "k8s.io/apimachinery/pkg/util/net"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hypershift-on-azure/hypershift/api/v1beta1"
)

// FieldManager owns what create cluster and create nodepool apply.
const FieldManager = "hypershift-cli"

// IsTransient tells whether the same question may be answered a moment later.
func IsTransient(err error) bool {
	return utilnet.IsConnectionRefused(err) || utilnet.IsConnectionReset(err) || utilnet.IsTimeout(err) || apierrors.IsServerTimeout(err) || apierrors.IsTimeout(err) || apierrors.IsTooManyRequests(err) ||
		apierrors.IsInternalError(err) || apierrors.IsServiceUnavailable(err)
}

// ErrNotInstalled is what a management cluster without our kinds answers.
var ErrNotInstalled = errors.New("the management cluster does not know HostedCluster; install the operator first: `hypershift install`")

// RestConfig finds the management cluster: the flag, then $KUBECONFIG, then inside a pod, then the home default.
func RestConfig(kubeconfig string) (*rest.Config, error) { return restConfig(kubeconfig, "") }

// restConfig takes the current context where none is named.
func restConfig(kubeconfig, context string) (*rest.Config, error) {
	rules := clientcmd.NewDefaultClientConfigLoadingRules()
	rules.ExplicitPath = kubeconfig
	config, err := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules, &clientcmd.ConfigOverrides{CurrentContext: context}).ClientConfig()
	if clientcmd.IsEmptyConfig(err) {
		return nil, fmt.Errorf("cannot find the management cluster: no kubeconfig in %s; set KUBECONFIG", strings.Join(rules.GetLoadingPrecedence(), ", "))
	}
	if err != nil {
		return nil, fmt.Errorf("cannot find the management cluster: %w", err)
	}
	config.QPS, config.Burst = 100, 100
	return config, nil
}

// KubeconfigAtHand tells whether anything says where the management cluster is.
func KubeconfigAtHand() bool {
	_, err := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(clientcmd.NewDefaultClientConfigLoadingRules(), nil).ClientConfig()
	return !clientcmd.IsEmptyConfig(err)
}

// Way is how another process finds the same management cluster: the value of $KUBECONFIG, and the context. Both are empty inside a pod.
func Way(kubeconfig string) (files, context string, err error) {
	rules := clientcmd.NewDefaultClientConfigLoadingRules()
	rules.ExplicitPath = kubeconfig
	config, err := rules.Load()
	if err != nil {
		return "", "", fmt.Errorf("cannot find the management cluster: %w", err)
	}
	if config.CurrentContext == "" {
		return "", "", nil
	}
	var paths []string
	for _, path := range rules.GetLoadingPrecedence() {
		if path == "" {
			continue
		}
		whole, err := filepath.Abs(path)
		if err != nil {
			return "", "", fmt.Errorf("where kubeconfig %s is: %w", path, err)
		}
		paths = append(paths, whole)
	}
	return strings.Join(paths, string(filepath.ListSeparator)), config.CurrentContext, nil
}

// NewClient connects to the management cluster and knows our kinds.
func NewClient(kubeconfig string) (client.Client, error) { return NewClientOf(kubeconfig, "") }

// NewClientOf is NewClient for a context of the kubeconfig; for the current one where that is empty.
func NewClientOf(kubeconfig, context string) (client.Client, error) {
	config, err := restConfig(kubeconfig, context)
	if err != nil {
		return nil, err
	}
	scheme := runtime.NewScheme()
	utilruntime.Must(clientgoscheme.AddToScheme(scheme))
	utilruntime.Must(hyperv1.AddToScheme(scheme))
	c, err := client.New(config, client.Options{Scheme: scheme})
	if err != nil {
		return nil, fmt.Errorf("cannot connect to the management cluster %s: %w", config.Host, err)
	}
	return c, nil
}
