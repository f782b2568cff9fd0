package restoration

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	coordinationv1 "k8s.io/api/coordination/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/hypershift-on-azure/hypershift/internal/kube"
)

// ForgetLeaders deletes the leases in a hosted cluster that pods of the named components held when the backup was made: nobody renews them,
// and who wants to lead waits two minutes for each. None of these components may run. Leases of what runs on workers stay.
func ForgetLeaders(ctx context.Context, guest client.Client, components []string) error {
	leases := &coordinationv1.LeaseList{}
	if err := guest.List(ctx, leases); err != nil {
		return fmt.Errorf("list the leases of the hosted cluster: %w", err)
	}
	var errs []error
	for i := range leases.Items {
		holder := ptr.Deref(leases.Items[i].Spec.HolderIdentity, "")
		if slices.ContainsFunc(components, func(name string) bool { return strings.HasPrefix(holder, name+"-") }) {
			errs = append(errs, kube.DeleteIfExists(ctx, guest, &leases.Items[i]))
		}
	}
	return errors.Join(errs...)
}
