package change

import (
	"bytes"
	"context"
	"errors"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	hyperv1 "github.com/hypershift-on-azure/hypershift/api/v1beta1"
	"github.com/hypershift-on-azure/hypershift/internal/clusterapi"
	"github.com/hypershift-on-azure/hypershift/internal/survey/surveytest"
)

func TestScale(t *testing.T) {
	scaling := surveytest.Pool("demo", "scaling", 2, func(np *hyperv1.NodePool) {
		np.Spec.AutoScaling = &hyperv1.NodePoolAutoScaling{Min: 1, Max: 5}
	})
	c := surveytest.Client(append(objects(), scaling)...).Build()
	to := of(t, c, true, "demo")
	var out bytes.Buffer
	refuses(t, "scale", to.scale(t.Context(), 4, &out), "")
	refuses(t, "again", to.scale(t.Context(), 4, &out), "")
	if *pool(t, c, "demo").Spec.Replicas != 4 ||
		out.String() != "NodePool clusters/demo: 2 nodes become 4\nNodePool clusters/demo: 4 nodes stay 4\n" {
		t.Errorf("%d, %s", *pool(t, c, "demo").Spec.Replicas, out.String())
	}
	refuses(t, "negative", to.scale(t.Context(), -1, &out), "--replicas -1")
	refuses(t, "scaling", of(t, c, true, "scaling").scale(t.Context(), 4, &out), "scales itself, from 1 to 5")
	to.wait = true
	to.timeout = time.Millisecond
	const late = "7 nodes has not come after 1ms (2 of 7 nodes are available; there are 0 machines)"
	refuses(t, "--wait --timeout", to.scale(t.Context(), 7, &out), late)
}

// TestScaleWaits: for machines that are there, stay, and are nodes that are ready; and for those to be gone that are too many.
func TestScaleWaits(t *testing.T) {
	ready := func(name string) *unstructured.Unstructured {
		return surveytest.NodeOf(surveytest.Machine("demo", name, "NodeReady True"), name)
	}
	deleting := ready("b")
	deleting.SetDeletionTimestamp(&metav1.Time{Time: surveytest.Now})
	deleting.SetFinalizers([]string{"machine.cluster.x-k8s.io"})
	lost := surveytest.NodeOf(surveytest.Machine("demo", "b", "NodeReady False"), "b")
	booting := surveytest.Machine("demo", "b", "InfrastructureReady True")
	old, elsewhere := surveytest.Machine("old", "b", "NodeReady True"), ready("b")
	elsewhere.SetNamespace("clusters-other")
	forbidden := apierrors.NewForbidden(schema.GroupResource{Group: clusterapi.Group, Resource: "machines"}, "", nil)
	unanswered := apierrors.NewServiceUnavailable("nobody answers")
	two, alone := "(2 of 2 nodes are available; ", "there is 1 machine)"
	for _, tc := range []struct {
		title     string
		available int32
		machines  []client.Object
		list      error
		refusal   string
	}{
		{"two of two", 2, []client.Object{ready("a"), ready("b")}, nil, ""},
		{"the pool does not know yet", 1, []client.Object{ready("a"), ready("b")}, nil, "(1 of 2 nodes are available)"},
		{"one has not come", 2, []client.Object{ready("a")}, nil, two + alone},
		{"one is not ready", 2, []client.Object{ready("a"), booting}, nil, two + "machine b: Booting)"},
		{"one lost its node", 2, []client.Object{ready("a"), lost}, nil, "; machine b: Joined)"},
		{"one too many", 2, []client.Object{ready("a"), ready("b"), ready("c")}, nil, two + "there are 3 machines)"},
		{"one is being deleted", 2, []client.Object{ready("a"), deleting, ready("c")}, nil, two + "there are 3 machines; machine b: Deleting)"},
		{"one is another pool's", 2, []client.Object{ready("a"), old}, nil, alone},
		{"one is another cluster's", 2, []client.Object{ready("a"), elsewhere}, nil, alone},
		{"who may not read machines trusts the pool", 2, nil, forbidden, ""},
		{"no answer is no end", 2, nil, unanswered, "2 nodes has not come after"},
		{"a wrong answer is one", 2, nil, errors.New("broken"), "broken"},
	} {
		t.Run(tc.title, func(t *testing.T) {
			all := append(objects(), tc.machines...)
			all[1].(*hyperv1.NodePool).Status.Replicas = tc.available
			list := func(ctx context.Context, c client.WithWatch, list client.ObjectList, opts ...client.ListOption) error {
				if _, machines := list.(*unstructured.UnstructuredList); machines && tc.list != nil {
					return tc.list
				}
				return c.List(ctx, list, opts...)
			}
			c := surveytest.Client(all...).WithInterceptorFuncs(interceptor.Funcs{List: list}).Build()
			to := of(t, c, true, "demo")
			to.wait, to.timeout = true, 50*time.Millisecond
			var out bytes.Buffer
			refuses(t, tc.title, to.scale(t.Context(), 2, &out), tc.refusal)
		})
	}
}
