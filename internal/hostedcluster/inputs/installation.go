package inputs

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/hypershift-on-azure/hypershift/internal/contract"
	"github.com/hypershift-on-azure/hypershift/internal/hostedcluster/cluster"
	"github.com/hypershift-on-azure/hypershift/internal/monitor"
)

// managedTrust has the certificate authorities that the management cluster trusts, where it fills it in.
const managedTrust = contract.ManagedTrust

// InstallationCopies are ConfigMaps of the operator's namespace that control-plane namespaces have copies of, if they hold anything.
var InstallationCopies = []string{managedTrust, monitor.SREConfigMap}

// CopyInstallation copies what the installation says for every control plane. The operator's namespace is
// empty where there is none to copy from.
func CopyInstallation(ctx context.Context, c *cluster.Cluster, operatorNamespace string) error {
	if operatorNamespace == "" {
		return nil
	}
	for _, name := range InstallationCopies {
		source := &corev1.ConfigMap{}
		err := c.Client.Get(ctx, client.ObjectKey{Namespace: operatorNamespace, Name: name}, source)
		if client.IgnoreNotFound(err) != nil {
			return fmt.Errorf("read ConfigMap %s/%s: %w", operatorNamespace, name, err)
		}
		if len(source.Data) == 0 {
			err = c.Remove(ctx, &corev1.ConfigMap{}, name)
		} else {
			err = c.Apply(ctx, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: c.Namespace, Name: name}, Data: source.Data})
		}
		if err != nil {
			return err
		}
	}
	return nil
}
