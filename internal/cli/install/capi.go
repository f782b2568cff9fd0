package install

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/hypershift-on-azure/hypershift/internal/cli/management"
	"github.com/hypershift-on-azure/hypershift/internal/install"
	"github.com/hypershift-on-azure/hypershift/internal/kube"
)

var clusterAPIKind = schema.GroupVersionKind{Group: "operator.openshift.io", Version: "v1alpha1", Kind: "ClusterAPI"}

// claimCRDs tells a platform that installs Cluster API itself which definitions are ours from now on, and waits until it agrees:
// else two owners would change them back and forth.
func (i *installer) claimCRDs(ctx context.Context, crds []*apiextensionsv1.CustomResourceDefinition) error {
	served, err := i.served(clusterAPIKind.GroupKind())
	if err != nil || !served {
		return err
	}
	var names []any
	for _, crd := range crds {
		if strings.HasSuffix(crd.Name, ".cluster.x-k8s.io") {
			names = append(names, crd.Name)
		}
	}
	claim := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{"unmanagedCustomResourceDefinitions": names}}}
	claim.SetGroupVersionKind(clusterAPIKind)
	claim.SetName("cluster")
	if err := kube.ApplyAlways(ctx, i.client, install.FieldManager, claim); err != nil {
		return err
	}
	i.applied("applied", claim)
	err = management.Within(ctx, 2*time.Second, i.patience, func(ctx context.Context) (bool, error) {
		live := claim.DeepCopy()
		if err := i.client.Get(ctx, client.ObjectKeyFromObject(claim), live); err != nil {
			return false, fmt.Errorf("cannot read ClusterAPI %q: %w", claim.GetName(), err)
		}
		return agreed(live), nil
	})
	if errors.Is(err, management.ErrTimeUp) {
		return fmt.Errorf("the platform's Cluster API operator did not hand its definitions over within %s; see `kubectl describe clusterapi cluster`", i.patience)
	}
	return err
}

// agreed tells whether the platform acted on what was applied.
func agreed(live *unstructured.Unstructured) bool {
	observed, _, _ := unstructured.NestedInt64(live.Object, "status", "observedRevisionGeneration")
	current, _, _ := unstructured.NestedString(live.Object, "status", "currentRevision")
	desired, _, _ := unstructured.NestedString(live.Object, "status", "desiredRevision")
	return observed >= live.GetGeneration() && current != "" && current == desired
}
