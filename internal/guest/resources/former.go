package resources

import (
	"context"
	"errors"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hypershift-on-azure/hypershift/api/v1beta1"
	"github.com/hypershift-on-azure/hypershift/internal/contract"
	"github.com/hypershift-on-azure/hypershift/internal/guest/inside"
	"github.com/hypershift-on-azure/hypershift/internal/kube"
	"github.com/hypershift-on-azure/hypershift/internal/release"
)

// former are Deployments that earlier releases made in the guest, whose programs run beside the control plane now: two of one would act
// against each other. Others the version operator deletes itself.
var former = map[release.Kind][]client.ObjectKey{
	release.KindOpenShift: {{Namespace: contract.DNSOperatorNamespace, Name: contract.DNSOperator}},
}

// dropFormer deletes them once the guest is of the release that has none.
func (r *reconciler) dropFormer(ctx context.Context, facts *inside.Facts) error {
	if !reached(facts.HCP) {
		return nil
	}
	var failed []error
	for _, key := range former[facts.Kind()] {
		live := &metav1.PartialObjectMetadata{}
		live.SetGroupVersionKind(appsv1.SchemeGroupVersion.WithKind("Deployment"))
		err := r.observed.Guest.Get(ctx, key, live)
		if err == nil {
			err = kube.DeleteIfExists(ctx, r.guest, live)
		}
		if client.IgnoreNotFound(err) != nil {
			failed = append(failed, fmt.Errorf("delete Deployment %s of a former release: %w", key, err))
		}
	}
	return errors.Join(failed...)
}

// reached: the newest version that the guest was to have is complete.
func reached(hcp *hyperv1.HostedControlPlane) bool {
	status := hcp.Status.VersionStatus
	return status != nil && len(status.History) > 0 && status.History[0].State == hyperv1.CompletedUpdate
}
