package hostedcluster

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	hyperv1 "github.com/hypershift-on-azure/hypershift/api/v1beta1"
	"github.com/hypershift-on-azure/hypershift/internal/monitor"
)

// managedTrust has the certificate authorities that the management cluster trusts, where it fills it in.
const managedTrust = "openshift-config-managed-trusted-ca-bundle"

// installationCopies are ConfigMaps of the operator's namespace that control-plane namespaces have copies of, if they hold anything.
var installationCopies = []string{managedTrust, monitor.SREConfigMap}

// copyInstallation copies what the installation says for every control plane.
func (p *pass) copyInstallation(ctx context.Context) error {
	if p.OperatorNamespace == "" {
		return nil
	}
	for _, name := range installationCopies {
		source := &corev1.ConfigMap{}
		err := p.Get(ctx, client.ObjectKey{Namespace: p.OperatorNamespace, Name: name}, source)
		if client.IgnoreNotFound(err) != nil {
			return fmt.Errorf("read ConfigMap %s/%s: %w", p.OperatorNamespace, name, err)
		}
		if len(source.Data) == 0 {
			err = p.deleteIn(ctx, &corev1.ConfigMap{}, name)
		} else {
			err = p.apply(ctx, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: p.namespace, Name: name}, Data: source.Data})
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (r *Reconciler) everyCluster(ctx context.Context) []reconcile.Request {
	clusters := &hyperv1.HostedClusterList{}
	// Only read, so not copied.
	if err := r.List(ctx, clusters, client.UnsafeDisableDeepCopy); err != nil {
		return nil
	}
	var requests []reconcile.Request
	for i := range clusters.Items {
		requests = append(requests, reconcile.Request{NamespacedName: types.NamespacedName{Namespace: clusters.Items[i].Namespace, Name: clusters.Items[i].Name}})
	}
	return requests
}
