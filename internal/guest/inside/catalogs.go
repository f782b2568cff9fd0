package inside

import (
	"context"
	"fmt"

	configv1 "github.com/openshift/api/config/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hypershift-on-azure/hypershift/api/v1beta1"
	"github.com/hypershift-on-azure/hypershift/internal/release/catalog"
)

// CatalogsInGuest tells whether catalogs of operators are pods of the guest, and not of the control plane.
func CatalogsInGuest(hcp *hyperv1.HostedControlPlane) bool {
	return hcp.Spec.OLMCatalogPlacement == hyperv1.GuestOLMCatalogPlacement
}

// catalogs reads which there are. Images that cannot be told leave out those catalogs and nothing else.
func (r *Reader) catalogs(ctx context.Context, facts *Facts) error {
	hub := &configv1.OperatorHub{}
	err := r.Live.Get(ctx, client.ObjectKey{Name: "cluster"}, hub)
	if err != nil && !apierrors.IsNotFound(err) && !apimeta.IsNoMatchError(err) {
		return fmt.Errorf("read the OperatorHub of the guest: %w", err)
	}
	facts.NoDefaultCatalogs = hub.Spec.DisableAllDefaultSources
	if CatalogsInGuest(facts.HCP) {
		facts.CatalogImages, facts.LeftOut = catalog.InGuest(facts.HCP, facts.Version)
	}
	return nil
}
