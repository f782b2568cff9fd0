package destroy

import (
	"context"
	"maps"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta/testrestmapper"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	hyperv1 "github.com/hypershift-on-azure/hypershift/api/v1beta1"
	"github.com/hypershift-on-azure/hypershift/internal/cli/clitest"
	"github.com/hypershift-on-azure/hypershift/internal/cli/cluster/inventory"
	"github.com/hypershift-on-azure/hypershift/internal/provision/infra"
)

// hostile is a management cluster with the HostedCluster that is destroyed, which nothing lets go, and a control-plane namespace with
// everything in it held, whose owner the annotations name.
func hostile(namespace, name, controlPlane string, owner map[string]string) client.Client {
	held := []string{"example.com/held"}
	hc := clitest.HostedCluster(name, false)
	hc.Namespace, hc.UID, hc.Finalizers, hc.Spec.InfraID = namespace, types.UID("uid-of-"+name), held, name+"-abcde"
	home := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: controlPlane, UID: "uid-of-namespace", Annotations: maps.Clone(owner)}}
	plane := &hyperv1.HostedControlPlane{ObjectMeta: metav1.ObjectMeta{Namespace: controlPlane, Name: "plane", Finalizers: held}}
	scheme := runtime.NewScheme()
	_ = clientgoscheme.AddToScheme(scheme)
	_ = hyperv1.AddToScheme(scheme)
	return fake.NewClientBuilder().WithScheme(scheme).WithRESTMapper(testrestmapper.TestOnlyStaticRESTMapper(scheme)).WithObjects(hc, home, plane).Build()
}

func ownedBy(reference, uid string) map[string]string {
	return map[string]string{hyperv1.HostedClusterAnnotation: reference, hyperv1.HostedClusterUIDAnnotation: uid}
}

// A user with rights in one namespace chooses the name of his HostedCluster so that its control-plane namespace is another tenant's. An
// administrator's --force then touches neither the namespace nor what is in it, nor the infrastructure, and says whose fault it is.
func TestForceLeavesAnotherTenantsControlPlane(t *testing.T) {
	for why, tc := range map[string]struct{ namespace, name, controlPlane, reference, uid string }{
		"another tenant's":             {"acme", "dev-prod", "acme-dev-prod", "acme-dev/prod", "uid-of-prod"},
		"another of the same dots":     {"clusters", "a.b", "clusters-a-b", "clusters/a-b", "uid-of-a-b"},
		"a former one of that name":    {"clusters", "demo", "clusters-demo", "clusters/demo", "uid-of-former"},
		"nobody's, made by hand":       {"clusters", "demo", "clusters-demo", "", ""},
		"of the same UID, yet not his": {"acme", "dev-prod", "acme-dev-prod", "acme-dev/prod", "uid-of-dev-prod"},
	} {
		t.Run(why, func(t *testing.T) {
			ctx, c := context.Background(), hostile(tc.namespace, tc.name, tc.controlPlane, ownedBy(tc.reference, tc.uid))
			asked, err := destroyCluster(t, c, nil, "--namespace", tc.namespace, "--name", tc.name, "--cluster-grace-period", "1ms", "--force")
			if err == nil || !strings.Contains(err.Error(), "not this cluster's") || !strings.Contains(err.Error(), tc.controlPlane) {
				t.Errorf("error %v", err)
			}
			if asked != nil {
				t.Errorf("the infrastructure goes: %+v", asked)
			}
			home := &corev1.Namespace{}
			if err := c.Get(ctx, client.ObjectKey{Name: tc.controlPlane}, home); err != nil || !home.DeletionTimestamp.IsZero() {
				t.Errorf("the namespace is touched: %v, %v", home.DeletionTimestamp, err)
			}
			plane := &hyperv1.HostedControlPlane{}
			if err := c.Get(ctx, client.ObjectKey{Namespace: tc.controlPlane, Name: "plane"}, plane); err != nil || len(plane.Finalizers) != 1 {
				t.Errorf("an object in the namespace is touched: %v, %v", plane.Finalizers, err)
			}
		})
	}
}

// Dots of a name are dashes in the namespace: --force finds the cluster's own.
func TestForceFindsItsControlPlane(t *testing.T) {
	for why, uid := range map[string]string{"by its UID": "uid-of-a.b", "by its reference alone": ""} {
		t.Run(why, func(t *testing.T) {
			ctx, c := context.Background(), hostile("clusters", "a.b", "clusters-a-b", ownedBy("clusters/a.b", uid))
			if _, err := destroyCluster(t, c, nil, "--name", "a.b", "--cluster-grace-period", "1ms", "--force"); err != nil {
				t.Fatal(err)
			}
			if err := c.Get(ctx, client.ObjectKey{Name: "clusters-a-b"}, &corev1.Namespace{}); !apierrors.IsNotFound(err) {
				t.Errorf("the control-plane namespace is left: %v", err)
			}
			plane := &hyperv1.HostedControlPlane{}
			if err := c.Get(ctx, client.ObjectKey{Namespace: "clusters-a-b", Name: "plane"}, plane); err != nil || len(plane.Finalizers) > 0 {
				t.Errorf("the control plane is held by %v, %v", plane.Finalizers, err)
			}
		})
	}
}

// What is left of another tenant is no business of who waits for his own.
func TestWaitTellsNothingOfAnotherTenant(t *testing.T) {
	c := hostile("acme", "dev-prod", "acme-dev-prod", ownedBy("acme-dev/prod", "uid-of-prod"))
	lines := strings.Join(stillThere(context.Background(), c, client.ObjectKey{Namespace: "acme", Name: "dev-prod"}), "\n")
	if strings.Contains(lines, "HostedControlPlane") || strings.Contains(lines, "Namespace acme-dev-prod") || !strings.Contains(lines, "not this cluster's") {
		t.Errorf("still there:\n%s", lines)
	}
}

// inventorySecret is the record beside the HostedCluster, as a tenant may have written it.
func inventorySecret(namespace, name, text string) *corev1.Secret {
	return &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: inventory.Name(name)}, Data: map[string][]byte{inventory.HandoffKey: []byte(text)}}
}

// A tenant copies the infrastructure id of another's cluster into his HostedCluster, or into the record of one that is gone: the tags in
// Azure are then those of the victim.
func TestAnotherClustersInfrastructureStays(t *testing.T) {
	victim := clitest.HostedCluster("prod", false)
	victim.Namespace, victim.Spec.InfraID = "victim", "demo-abcde"
	for why, objs := range map[string][]client.Object{
		"a copied HostedCluster": append(condemned(), victim),
		"a forged record":        {victim, inventorySecret("clusters", "demo", handoffText)},
	} {
		t.Run(why, func(t *testing.T) {
			c := clitest.Client(objs...)
			asked, err := destroyCluster(t, c, nil, "--yes", "--force")
			if err == nil || !strings.Contains(err.Error(), "HostedCluster victim/prod names infrastructure demo-abcde too") || asked != nil {
				t.Errorf("error %v, asked %+v", err, asked)
			}
			hc := &hyperv1.HostedCluster{}
			if err := c.Get(context.Background(), client.ObjectKey{Namespace: "clusters", Name: "demo"}, hc); client.IgnoreNotFound(err) != nil || !hc.DeletionTimestamp.IsZero() {
				t.Errorf("the HostedCluster is touched: %v", err)
			}
		})
	}
}

// What a tenant can write says where to look. Only what the user has typed or has on a file of his own is his word.
func TestWhatATenantWritesIsNoProof(t *testing.T) {
	for why, tc := range map[string]struct {
		objs              []client.Object
		args              []string
		vouched           int
		unproven, confirm bool
	}{
		"a HostedCluster":                   {objs: condemned(), unproven: true},
		"a record":                          {objs: []client.Object{inventorySecret("clusters", "demo", handoffText)}, unproven: true},
		"a HostedCluster and a record":      {objs: append(condemned(), inventorySecret("clusters", "demo", handoffText)), unproven: true},
		"a record, the user means it":       {objs: []client.Object{inventorySecret("clusters", "demo", handoffText)}, args: []string{"--yes"}, unproven: true, confirm: true},
		"a HostedCluster and what he typed": {objs: condemned(), args: []string{"--resource-group-name", "demo-rg"}},
		"a file of his own":                 {objs: condemned(), args: []string{"--from", writeHandoff(t, handoffText)}, vouched: 1},
		"a file beside a forged record": {objs: []client.Object{inventorySecret("clusters", "demo", strings.ReplaceAll(handoffText, "demo-rg", "production"))},
			args: []string{"--from", writeHandoff(t, handoffText)}, vouched: 1},
		"a file beside another infrastructure": {objs: []client.Object{inventorySecret("clusters", "demo", strings.ReplaceAll(handoffText, "demo-abcde", "prod-abcde"))},
			args: []string{"--from", writeHandoff(t, handoffText)}, vouched: 1},
	} {
		t.Run(why, func(t *testing.T) {
			asked, err := destroyCluster(t, clitest.Client(tc.objs...), nil, tc.args...)
			if err != nil {
				t.Fatal(err)
			}
			if asked.InfraID != "demo-abcde" || asked.ResourceGroup != "demo-rg" {
				t.Errorf("destroys %s in %s", asked.InfraID, asked.ResourceGroup)
			}
			if len(asked.Vouched) != tc.vouched || asked.GroupUnproven != tc.unproven {
				t.Errorf("vouched %v, unproven %v", asked.Vouched, asked.GroupUnproven)
			}
			if got := asked.Confirm(infra.Unproven{Group: "demo-rg"}); got != tc.confirm {
				t.Errorf("confirmed %v", got)
			}
		})
	}
}
