package cli

import (
	"errors"
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/runtime"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hypershift-on-azure/hypershift/api/v1beta1"
)

// errNotInstalled is what a management cluster without our kinds answers.
var errNotInstalled = errors.New("the management cluster does not know HostedCluster; install the operator first: `hypershift install`")

// restConfig finds the management cluster: the flag, then $KUBECONFIG, then inside a pod, then the home default.
func restConfig(kubeconfig string) (*rest.Config, error) {
	rules := clientcmd.NewDefaultClientConfigLoadingRules()
	rules.ExplicitPath = kubeconfig
	config, err := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules, nil).ClientConfig()
	if clientcmd.IsEmptyConfig(err) {
		return nil, fmt.Errorf("cannot find the management cluster: no kubeconfig in %s; set KUBECONFIG", strings.Join(rules.GetLoadingPrecedence(), ", "))
	}
	if err != nil {
		return nil, fmt.Errorf("cannot find the management cluster: %w", err)
	}
	config.QPS, config.Burst = 100, 100
	return config, nil
}

// kubeconfigAtHand tells whether anything says where the management cluster is.
func kubeconfigAtHand() bool {
	_, err := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(clientcmd.NewDefaultClientConfigLoadingRules(), nil).ClientConfig()
	return !clientcmd.IsEmptyConfig(err)
}

// newKubeClient connects to the management cluster and knows our kinds.
func newKubeClient(kubeconfig string) (client.Client, error) {
	config, err := restConfig(kubeconfig)
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
