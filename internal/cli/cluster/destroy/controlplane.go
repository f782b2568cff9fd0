package destroy

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hypershift-on-azure/hypershift/api/v1beta1"
	"github.com/hypershift-on-azure/hypershift/internal/tenancy"
)

// controlPlaneNamespace is the namespace of the control plane of the HostedCluster with this key, nil when there is none. One that has the
// name and is somebody else's is a refusal: nothing in it may be read, changed or deleted for this HostedCluster.
func controlPlaneNamespace(ctx context.Context, c client.Reader, key client.ObjectKey) (*corev1.Namespace, error) {
	tenant := tenancy.Tenant{Namespace: key.Namespace, Name: key.Name}
	hc := &hyperv1.HostedCluster{}
	switch err := c.Get(ctx, key, hc); {
	case err == nil:
		tenant = tenancy.Of(hc)
	case !apierrors.IsNotFound(err) && !meta.IsNoMatchError(err):
		return nil, fmt.Errorf("cannot read HostedCluster %s: %w", key, err)
	}
	return tenancy.Read(ctx, c, nil, tenant)
}
