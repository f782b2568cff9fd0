package management

import (
	"context"
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/client-go/discovery"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hypershift-on-azure/hypershift/api/v1beta1"
)

// hostedTimeout bounds each call to a hosted cluster.
const hostedTimeout = 30 * time.Second

// AdminKubeconfig is the administrator's kubeconfig of a hosted cluster.
func AdminKubeconfig(ctx context.Context, c client.Reader, hc *hyperv1.HostedCluster) ([]byte, error) {
	if hc.Status.KubeConfig == nil {
		return nil, fmt.Errorf("HostedCluster %s/%s doesn't report a kubeconfig yet: its API server is not up; see `kubectl -n %s get hostedcluster %s`",
			hc.Namespace, hc.Name, hc.Namespace, hc.Name)
	}
	secret := &corev1.Secret{}
	key := client.ObjectKey{Namespace: hc.Namespace, Name: hc.Status.KubeConfig.Name}
	if err := c.Get(ctx, key, secret); err != nil {
		return nil, fmt.Errorf("cannot read Secret %s with the kubeconfig: %w", key, err)
	}
	raw := secret.Data[hyperv1.KubeconfigKey]
	if len(raw) == 0 {
		return nil, fmt.Errorf("key %s of Secret %s is empty", hyperv1.KubeconfigKey, key)
	}
	return raw, nil
}

// HostedConfig is how a kubeconfig of a Secret is used by this program. Whoever may write the Secret could name a program or a file of the
// person's machine in it: such a one is refused.
func HostedConfig(kubeconfig []byte) (*rest.Config, error) {
	conf, err := clientcmd.Load(kubeconfig)
	if err != nil {
		return nil, fmt.Errorf("the kubeconfig is malformed: %w", err)
	}
	current := conf.Contexts[conf.CurrentContext]
	if current == nil || conf.Clusters[current.Cluster] == nil || conf.AuthInfos[current.AuthInfo] == nil {
		return nil, errors.New("the kubeconfig's current context names no cluster and user")
	}
	user, cluster := conf.AuthInfos[current.AuthInfo], conf.Clusters[current.Cluster]
	if user.Exec != nil || user.AuthProvider != nil {
		return nil, errors.New("the kubeconfig names a program to run on this machine, which one of a hosted cluster never does; look who has written it")
	}
	for what, path := range map[string]string{"client-certificate": user.ClientCertificate, "client-key": user.ClientKey, "tokenFile": user.TokenFile, "certificate-authority": cluster.CertificateAuthority} {
		if path != "" {
			return nil, fmt.Errorf("the kubeconfig names a file of this machine by %s, which one of a hosted cluster never does; look who has written it", what)
		}
	}
	return clientcmd.NewDefaultClientConfig(*conf, nil).ClientConfig()
}

// Hosted reaches a hosted cluster, for objects, logs and kinds.
type Hosted struct {
	Client    client.Client
	Logs      Logs
	Discovery discovery.DiscoveryInterface
}

// ConnectHosted connects by a kubeconfig of a Secret.
func ConnectHosted(kubeconfig []byte) (*Hosted, error) {
	config, err := HostedConfig(kubeconfig)
	if err != nil {
		return nil, err
	}
	config.QPS, config.Burst, config.Timeout = 100, 100, hostedTimeout
	known := runtime.NewScheme()
	utilruntime.Must(clientgoscheme.AddToScheme(known))
	c, objects := client.New(config, client.Options{Scheme: known})
	pods, logs := corev1client.NewForConfig(config)
	asked, kinds := discovery.NewDiscoveryClientForConfig(config)
	if err := errors.Join(objects, logs, kinds); err != nil {
		return nil, fmt.Errorf("cannot connect to the hosted cluster at %s: %w", config.Host, err)
	}
	return &Hosted{Client: c, Logs: Logs{pods}, Discovery: asked}, nil
}
