package configuration

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/hypershift-on-azure/hypershift/internal/contract"
	"github.com/hypershift-on-azure/hypershift/internal/guest/inside"
	"github.com/hypershift-on-azure/hypershift/internal/release/catalog"
)

// CatalogKind is a catalog of operators, as the Operator Lifecycle Manager knows it.
var CatalogKind = schema.GroupVersionKind{Group: "operators.coreos.com", Version: "v1alpha1", Kind: "CatalogSource"}

// catalogs are the default ones, unless the guest's OperatorHub says that there are none: beside the control plane, or pods of the guest.
func catalogs(facts *inside.Facts) []*unstructured.Unstructured {
	if facts.NoDefaultCatalogs {
		return nil
	}
	var out []*unstructured.Unstructured
	for _, of := range catalog.Of(facts.HCP, facts.Version) {
		spec := map[string]any{
			"sourceType": "grpc", "displayName": of.DisplayName, "publisher": "Red Hat", "priority": int64(of.Priority),
			"grpcPodConfig":  map[string]any{"securityContextConfig": "restricted"},
			"updateStrategy": map[string]any{"registryPoll": map[string]any{"interval": "10m"}},
		}
		if !inside.CatalogsInGuest(facts.HCP) {
			spec["address"] = of.Name + ":50051"
		} else if spec["image"] = facts.CatalogImages[of.Name]; spec["image"] == "" {
			continue
		}
		source := object(CatalogKind, contract.MarketplaceNamespace, of.Name, map[string]any{"spec": spec})
		source.SetAnnotations(map[string]string{contract.ManagementWorkload: `{"effect": "PreferredDuringScheduling"}`})
		out = append(out, source)
	}
	return out
}
