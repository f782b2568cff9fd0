package hollow

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
)

// letGo finishes the deletion of the Node's pods. A kubelet would wait for their containers; a hollow machine has none.
func (m *Machine) letGo(ctx context.Context, own kubernetes.Interface) {
	end := func(obj any) {
		pod, ok := obj.(*corev1.Pod)
		if !ok || pod.DeletionTimestamp == nil {
			return
		}
		if err := own.CoreV1().Pods(pod.Namespace).Delete(ctx, pod.Name, gone(pod)); err != nil && !apierrors.IsNotFound(err) && ctx.Err() == nil {
			m.Log("pod %s/%s: %v", pod.Namespace, pod.Name, err)
		}
	}
	_, informer := cache.NewInformerWithOptions(cache.InformerOptions{
		ListerWatcher: cache.NewListWatchFromClient(own.CoreV1().RESTClient(), "pods", corev1.NamespaceAll, fields.OneTermEqualSelector("spec.nodeName", m.Name)),
		ObjectType:    &corev1.Pod{},
		Handler:       cache.ResourceEventHandlerFuncs{AddFunc: end, UpdateFunc: func(_, now any) { end(now) }},
	})
	informer.RunWithContext(ctx)
}
