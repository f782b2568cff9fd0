package management

import (
	"context"
	"fmt"
	"io"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/client-go/discovery"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/hypershift-on-azure/hypershift/internal/kube"
)

// Logs are what the management cluster has of programs' words. The clients of every other kind, which a client set has too, would make this
// program a fifth larger.
type Logs struct{ pods corev1client.PodsGetter }

// Connect reaches the management cluster, for objects and for logs.
func Connect(kubeconfig string) (client.Client, Logs, error) {
	c, err := NewClient(kubeconfig)
	if err != nil {
		return nil, Logs{}, err
	}
	config, err := RestConfig(kubeconfig)
	if err != nil {
		return nil, Logs{}, err
	}
	pods, err := corev1client.NewForConfig(config)
	if err != nil {
		return nil, Logs{}, fmt.Errorf("cannot connect to the management cluster %s: %w", config.Host, err)
	}
	return c, Logs{pods}, nil
}

// Open streams the log of one container.
func (l Logs) Open(ctx context.Context, namespace, pod string, options *corev1.PodLogOptions) (io.ReadCloser, error) {
	return l.pods.Pods(namespace).GetLogs(pod, options).Stream(ctx)
}

// Tail reads at most so many lines and bytes of each log.
func (l Logs) Tail(lines, bytes int64) kube.Tail {
	return kube.LogTail(l.pods, lines, bytes)
}

// NewDiscovery asks the management cluster for its kinds.
func NewDiscovery(kubeconfig string) (discovery.DiscoveryInterface, error) {
	config, err := RestConfig(kubeconfig)
	if err != nil {
		return nil, err
	}
	asked, err := discovery.NewDiscoveryClientForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("cannot connect to the management cluster %s: %w", config.Host, err)
	}
	return asked, nil
}

// Unread is the error of an object that cannot be read.
func Unread(kind, namespace, name string, err error) error {
	if meta.IsNoMatchError(err) {
		return ErrNotInstalled
	}
	return fmt.Errorf("cannot read %s %s/%s: %w", kind, namespace, name, err)
}
