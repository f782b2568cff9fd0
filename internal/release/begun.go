package release

import (
	"context"
	"fmt"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/util/version"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hypershift-on-azure/hypershift/api/v1beta1"
	"github.com/hypershift-on-azure/hypershift/internal/contract"
)

// Begun is the version of an upgrade that has not ended, once etcd or the API server runs it; else nil. From then on data are stored in its
// form, which an older minor version may not read: the upgrade can end, and not be taken back over a minor version.
func Begun(ctx context.Context, c client.Reader, hc *hyperv1.HostedCluster) (*version.Version, error) {
	if hc.Status.Version == nil {
		return nil, nil
	}
	namespace := contract.ControlPlaneNamespace(hc.Namespace, hc.Name)
	set, deployment := &appsv1.StatefulSet{}, &appsv1.Deployment{}
	for obj, name := range map[client.Object]string{set: contract.Etcd, deployment: contract.APIServer} {
		if err := c.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, obj); client.IgnoreNotFound(err) != nil {
			return nil, fmt.Errorf("read the release of %s: %w", name, err)
		}
	}
	running := []string{set.Spec.Template.Annotations[hyperv1.ReleaseImageAnnotation], deployment.Spec.Template.Annotations[hyperv1.ReleaseImageAnnotation]}
	for _, entry := range hc.Status.Version.History {
		if entry.State == hyperv1.CompletedUpdate {
			break
		}
		if parsed, err := version.ParseSemantic(entry.Version); err == nil && slices.Contains(running, entry.Image) {
			return parsed, nil
		}
	}
	return nil, nil
}
