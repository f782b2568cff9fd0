package hostedcluster

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	hyperv1 "github.com/hypershift-on-azure/hypershift/api/v1beta1"
	"github.com/hypershift-on-azure/hypershift/internal/contract"
	"github.com/hypershift-on-azure/hypershift/internal/hostedcluster/isolation"
	"github.com/hypershift-on-azure/hypershift/internal/kube"
)

var errRefused = errors.New("refused by the test")

// refusing is a client to which the API server refuses to write the NetworkPolicies of these names.
func refusing(usual client.Client, names ...string) client.Client {
	return interceptor.NewClient(usual.(client.WithWatch), interceptor.Funcs{
		Apply: func(ctx context.Context, c client.WithWatch, obj runtime.ApplyConfiguration, o ...client.ApplyOption) error {
			if policy, ok := obj.(interface{ GetName() string }); ok && slices.Contains(names, policy.GetName()) {
				return fmt.Errorf("NetworkPolicy %s: %w", policy.GetName(), errRefused)
			}
			return c.Apply(ctx, obj, o...)
		},
	})
}

func (f *fixture) policies(t *testing.T) []string {
	t.Helper()
	list := &networkingv1.NetworkPolicyList{}
	if err := f.client.List(t.Context(), list, client.InNamespace(f.namespace)); err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, policy := range list.Items {
		names = append(names, policy.Name)
	}
	slices.Sort(names)
	return names
}

// TestPoliciesOneByOne: a policy that cannot be written keeps neither another one nor another step from its work, and is told.
func TestPoliciesOneByOne(t *testing.T) {
	f := newFixture(t, "one-by-one")
	f.create(t, f.pullSecret(), f.madeSecret(), f.cluster())
	f.reconcile(t)
	all := f.policies(t)
	if len(all) != 8 {
		t.Fatalf("policies %v", all)
	}
	hc := f.get(t)
	usual := f.reconciler.Client
	for _, refused := range append(slices.Clone(all), strings.Join(all[:2], " ")) {
		if err := f.client.DeleteAllOf(t.Context(), &networkingv1.NetworkPolicy{}, client.InNamespace(f.namespace)); err != nil {
			t.Fatal(err)
		}
		f.reconciler.Client = refusing(usual, strings.Fields(refused)...)
		err := isolation.EnsurePolicies(t.Context(), f.reconciler.newPass(hc).Cluster, f.reconciler.surroundings())
		for _, name := range strings.Fields(refused) {
			if !errors.Is(err, errRefused) || !strings.Contains(err.Error(), name) {
				t.Errorf("%s refused: the error is %v", name, err)
			}
		}
		want := slices.DeleteFunc(slices.Clone(all), func(name string) bool { return slices.Contains(strings.Fields(refused), name) })
		if got := f.policies(t); !slices.Equal(got, want) {
			t.Errorf("%s refused: %v are written, want %v", refused, got, want)
		}
	}

	// A whole pass: what comes after is repaired, and the HostedCluster says what failed.
	f.reconciler.Client = refusing(usual, "kas")
	operator := f.deployment(t, contract.ControlPlaneOperator)
	if err := f.client.Delete(t.Context(), operator); err != nil {
		t.Fatal(err)
	}
	if _, err := f.reconciler.Reconcile(t.Context(), f.request); !errors.Is(err, errRefused) {
		t.Errorf("the pass ends with %v", err)
	}
	f.deployment(t, contract.ControlPlaneOperator)
	condition := kube.Find(f.get(t).Status.Conditions, hyperv1.ReconciliationSucceeded)
	if condition == nil || condition.Reason != hyperv1.ReconciliationErrorReason || !strings.Contains(condition.Message, "NetworkPolicy kas") {
		t.Errorf("ReconciliationSucceeded %+v", condition)
	}
	f.reconciler.Client = usual
	f.reconcile(t)
	if got := f.policies(t); !slices.Equal(got, all) {
		t.Errorf("once it is allowed again: %v, want %v", got, all)
	}
}

// TestPoliciesWithoutTheManagementNetworks: what names no network of the management cluster is written although those cannot be read;
// what does is left as it was, because without them it would open what it closes.
func TestPoliciesWithoutTheManagementNetworks(t *testing.T) {
	for title, hidden := range map[string]client.ObjectList{"endpointslices": &discoveryv1.EndpointSliceList{}, "nodes": &corev1.NodeList{}} {
		f := newFixture(t, "no-"+title)
		f.create(t, f.pullSecret(), f.madeSecret(), f.cluster())
		f.reconciler.Live = interceptor.NewClient(f.reconciler.Live.(client.WithWatch), interceptor.Funcs{
			List: func(ctx context.Context, c client.WithWatch, list client.ObjectList, o ...client.ListOption) error {
				if fmt.Sprintf("%T", list) == fmt.Sprintf("%T", hidden) {
					return errRefused
				}
				return c.List(ctx, list, o...)
			},
		})
		if _, err := f.reconciler.Reconcile(t.Context(), f.request); !errors.Is(err, errRefused) {
			t.Errorf("%s unreadable: the pass ends with %v", title, err)
		}
		if got := strings.Join(f.policies(t), " "); got != "kas openshift-ingress openshift-monitoring same-namespace" {
			t.Errorf("%s unreadable: %s", title, got)
		}
	}
}
