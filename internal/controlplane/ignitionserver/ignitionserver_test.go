package ignitionserver

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	hyperv1 "github.com/hypershift-on-azure/hypershift/api/v1beta1"
	"github.com/hypershift-on-azure/hypershift/internal/component"
)

func TestDisabledByAnnotation(t *testing.T) {
	hcp := &hyperv1.HostedControlPlane{ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{}}}
	ctx := &component.Context{HCP: hcp}
	if !Component().Enabled(ctx) {
		t.Error("it is off without the annotation")
	}
	hcp.Annotations[hyperv1.DisableIgnitionServerAnnotation] = ""
	if Component().Enabled(ctx) {
		t.Error("the annotation does not switch it off")
	}
}
