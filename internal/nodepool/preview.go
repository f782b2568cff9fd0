package nodepool

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hypershift-on-azure/hypershift/api/v1beta1"
)

// osImageStream tells that the choice of an operating system, a technology preview, is not acted on. The API's types have no such
// member, so the object is read as it is stored; where the definitions have no previews there is nothing to read.
func (r *Reconciler) osImageStream(ctx context.Context, p *pass) error {
	if !r.techPreview {
		p.remove(hyperv1.NodePoolOSImageStreamSupported)
		return nil
	}
	stored := &unstructured.Unstructured{}
	stored.SetGroupVersionKind(hyperv1.GroupVersion.WithKind("NodePool"))
	err := r.live.Get(ctx, client.ObjectKeyFromObject(p.np), stored)
	if apierrors.IsNotFound(err) {
		return p.stop()
	}
	if err != nil {
		return fmt.Errorf("read spec.osImageStream: %w", err)
	}
	name, found, err := unstructured.NestedString(stored.Object, "spec", "osImageStream", "name")
	if err != nil || !found {
		p.remove(hyperv1.NodePoolOSImageStreamSupported)
		return nil
	}
	p.set(hyperv1.NodePoolOSImageStreamSupported, corev1.ConditionFalse, hyperv1.OSImageStreamIgnoredReason, fmt.Sprintf(
		"spec.osImageStream.name is %s, which this operator does not act on: the nodes run the default operating system of the release image", name))
	return nil
}
