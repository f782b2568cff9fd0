package component

import (
	"context"
	"errors"

	"golang.org/x/sync/errgroup"
	rbacv1 "k8s.io/api/rbac/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hypershift-on-azure/hypershift/api/v1beta1"
	"github.com/hypershift-on-azure/hypershift/internal/kube"
)

// ErrBehind means that the cache has not seen our own last write yet; the next pass does.
var ErrBehind = errors.New("the cache is behind the last write")

// AtOnce is how many objects a pass writes at a time.
const AtOnce = 8

// Writer applies objects of one hosted control plane.
type Writer struct {
	Client client.Client
	Keeper *kube.Keeper
	HCP    *hyperv1.HostedControlPlane
}

// Apply makes the hosted control plane the owner of the objects and applies them, AtOnce at a time: they must not depend on each other, but for bindings,
// which come last. The API server lets nobody bind a role that is not there.
func (w Writer) Apply(ctx context.Context, objects ...client.Object) error {
	var bindings, others []client.Object
	for _, obj := range objects {
		switch obj.(type) {
		case *rbacv1.RoleBinding, *rbacv1.ClusterRoleBinding:
			bindings = append(bindings, obj)
		default:
			others = append(others, obj)
		}
	}
	if err := w.applyAtOnce(ctx, others); err != nil {
		return err
	}
	return w.applyAtOnce(ctx, bindings)
}

func (w Writer) applyAtOnce(ctx context.Context, objects []client.Object) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(AtOnce)
	for _, obj := range objects {
		Own(w.HCP, obj)
		group.Go(func() error { return w.Keeper.Apply(ctx, w.Client, FieldManager, obj) })
	}
	return group.Wait()
}
