package destroy

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta/testrestmapper"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	hyperv1 "github.com/hypershift-on-azure/hypershift/api/v1beta1"
	"github.com/hypershift-on-azure/hypershift/internal/cli/clitest"
)

// handoffText is a record with a virtual network that the user has brought.
const handoffText = `apiVersion: handoff.hypershift.openshift.io/v1
kind: Handoff
name: demo
infraID: demo-abcde
cloud: AzureChinaCloud
infra:
  infraID: demo-abcde
  resourceGroupName: demo-rg
  vnetID: ` + clitest.VNet + `
rolesDNSZoneGroup: dns
inventory:
- {stack: infra, kind: load balancer, id: /subscriptions/` + clitest.UUID + `/resourceGroups/demo-rg/providers/Microsoft.Network/loadBalancers/demo-abcde}
- {stack: iam, kind: managed identity, id: /subscriptions/` + clitest.UUID + `/resourceGroups/ids/providers/Microsoft.ManagedIdentity/userAssignedIdentities/x}
`

func writeHandoff(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "demo.yaml")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// The HostedCluster is gone: its infrastructure is found by the record, beside it or in the file, and the record is then empty.
func TestDestroyClusterByItsRecord(t *testing.T) {
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "clusters", Name: "demo-azure-inventory", Labels: map[string]string{hyperv1.AutoInfraLabel: "demo-abcde"}},
		Data: map[string][]byte{"handoff.yaml": []byte(handoffText)}}
	path := writeHandoff(t, handoffText)
	for _, tc := range []struct {
		name string
		c    client.Client
		args []string
	}{{"Secret", clitest.Client(secret), nil}, {"file", clitest.Client(), []string{"--from", path}}} {
		t.Run(tc.name, func(t *testing.T) {
			asked, err := destroyCluster(t, tc.c, nil, tc.args...)
			if err != nil {
				t.Fatal(err)
			}
			if asked.InfraID != "demo-abcde" || asked.ResourceGroup != "demo-rg" || asked.DNSZoneGroup != "dns" || asked.VNetID != clitest.VNet {
				t.Errorf("destroys %+v", asked)
			}
			if len(asked.Inventory) != 1 || !strings.HasSuffix(asked.Inventory[0], "loadBalancers/demo-abcde") {
				t.Errorf("inventory %v", asked.Inventory)
			}
			err = tc.c.Get(context.Background(), client.ObjectKeyFromObject(secret), &corev1.Secret{})
			if !apierrors.IsNotFound(err) {
				t.Errorf("the record is still beside the HostedCluster: %v", err)
			}
		})
	}
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(string(raw), "infra:") || strings.Contains(string(raw), "loadBalancers") || !strings.Contains(string(raw), "userAssignedIdentities/x") {
		t.Errorf("the file holds\n%s", raw)
	}
}

func TestDestroyClusterRefusesAnotherFile(t *testing.T) {
	c := clitest.Client(condemned()...)
	asked, err := destroyCluster(t, c, nil, "--from", writeHandoff(t, strings.ReplaceAll(handoffText, "demo-abcde", "demo-other")))
	if err == nil || !strings.Contains(err.Error(), "for infraID demo-other") || asked != nil {
		t.Errorf("error %v, asked %+v", err, asked)
	}
	if err := c.Get(context.Background(), client.ObjectKey{Namespace: "clusters", Name: "demo"}, &hyperv1.HostedCluster{}); err != nil {
		t.Errorf("the HostedCluster is touched: %v", err)
	}
}

// A run that failed half-way keeps its record.
func TestDestroyClusterKeepsTheRecord(t *testing.T) {
	path := writeHandoff(t, handoffText)
	if _, err := destroyCluster(t, clitest.Client(), errors.New("quota"), "--from", path); err == nil {
		t.Fatal("the failure is not reported")
	}
	raw, err := os.ReadFile(path)
	if err != nil || !strings.Contains(string(raw), "loadBalancers/demo-abcde") || !strings.Contains(string(raw), "infra:") {
		t.Errorf("%v, the file holds\n%s", err, raw)
	}
}

// stuck is a hosted cluster of which nothing lets go, beside another one's node pool.
func stuck(t *testing.T) client.Client {
	t.Helper()
	scheme := runtime.NewScheme()
	_ = clientgoscheme.AddToScheme(scheme)
	_ = hyperv1.AddToScheme(scheme)
	held := []string{"example.com/held"}
	objs := condemned()
	objs[0].SetFinalizers(held)
	pool := &hyperv1.NodePool{ObjectMeta: metav1.ObjectMeta{Namespace: "clusters", Name: "demo", Finalizers: held}, Spec: hyperv1.NodePoolSpec{ClusterName: "demo"}}
	other := &hyperv1.NodePool{ObjectMeta: metav1.ObjectMeta{Namespace: "clusters", Name: "foreign", Finalizers: held}, Spec: hyperv1.NodePoolSpec{ClusterName: "other"}}
	plane := &hyperv1.HostedControlPlane{ObjectMeta: metav1.ObjectMeta{Namespace: "clusters-demo", Name: "demo", Finalizers: held}}
	home := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "clusters-demo", Annotations: map[string]string{hyperv1.HostedClusterAnnotation: "clusters/demo"}}}
	objs = append(objs, pool, other, plane, home)
	for _, kind := range []string{"Machine", "Cluster"} {
		gvk := schema.GroupVersionKind{Group: "cluster.x-k8s.io", Version: "v1beta2", Kind: kind}
		scheme.AddKnownTypeWithName(gvk, &unstructured.Unstructured{})
		scheme.AddKnownTypeWithName(gvk.GroupVersion().WithKind(kind+"List"), &unstructured.UnstructuredList{})
		obj := &unstructured.Unstructured{}
		obj.SetGroupVersionKind(gvk)
		obj.SetNamespace("clusters-demo")
		obj.SetName("demo")
		obj.SetFinalizers(held)
		objs = append(objs, obj)
	}
	return fake.NewClientBuilder().WithScheme(scheme).WithRESTMapper(testrestmapper.TestOnlyStaticRESTMapper(scheme)).WithObjects(objs...).Build()
}

func TestDestroyClusterForce(t *testing.T) {
	ctx, c := context.Background(), stuck(t)
	record := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "clusters", Name: "demo-azure-inventory", Labels: map[string]string{hyperv1.AutoInfraLabel: "demo-abcde"}},
		Data: map[string][]byte{"handoff.yaml": []byte(handoffText)}}
	if err := c.Create(ctx, record); err != nil {
		t.Fatal(err)
	}
	if _, err := destroyCluster(t, c, nil, "--cluster-grace-period", "1ms"); err == nil || !strings.Contains(err.Error(), "wasn't finalized") {
		t.Fatalf("error %v, want one that says that the cluster was not finalized", err)
	}
	quota := errors.New("quota")
	if _, err := destroyCluster(t, c, quota, "--cluster-grace-period", "1ms", "--force"); !errors.Is(err, quota) {
		t.Fatalf("error %v, want the one of the infrastructure that stands", err)
	}
	for _, gone := range []client.Object{&hyperv1.HostedCluster{}, &hyperv1.NodePool{}} {
		if err := c.Get(ctx, client.ObjectKey{Namespace: "clusters", Name: "demo"}, gone); !apierrors.IsNotFound(err) {
			t.Errorf("%T is still there: %v", gone, err)
		}
	}
	for _, kind := range []string{"Machine", "Cluster"} {
		obj := &unstructured.Unstructured{}
		obj.SetGroupVersionKind(schema.GroupVersionKind{Group: "cluster.x-k8s.io", Version: "v1beta2", Kind: kind})
		if err := c.Get(ctx, client.ObjectKey{Namespace: "clusters-demo", Name: "demo"}, obj); err != nil || len(obj.GetFinalizers()) > 0 {
			t.Errorf("%s holds %v, %v", kind, obj.GetFinalizers(), err)
		}
	}
	foreign := &hyperv1.NodePool{}
	if err := c.Get(ctx, client.ObjectKey{Namespace: "clusters", Name: "foreign"}, foreign); err != nil || !slices.Contains(foreign.Finalizers, "example.com/held") {
		t.Errorf("another cluster's node pool is touched: %v, %v", foreign.Finalizers, err)
	}
	if err := c.Get(ctx, client.ObjectKey{Name: "clusters-demo"}, &corev1.Namespace{}); !apierrors.IsNotFound(err) {
		t.Errorf("the control-plane namespace is still there: %v", err)
	}
	if err := c.Get(ctx, client.ObjectKey{Namespace: "clusters", Name: "demo-pull-secret"}, &corev1.Secret{}); !apierrors.IsNotFound(err) {
		t.Errorf("a Secret of the cluster is still there: %v", err)
	}
	// The record is all that the next run has: with it the rest goes, and then the record.
	asked, err := destroyCluster(t, c, nil, "--force")
	if err != nil || asked.InfraID != "demo-abcde" || len(asked.Inventory) != 1 {
		t.Errorf("the next run: %v, destroys %+v", err, asked)
	}
	if err := c.Get(ctx, client.ObjectKeyFromObject(record), &corev1.Secret{}); !apierrors.IsNotFound(err) {
		t.Errorf("the record outlives what it is of: %v", err)
	}
}

// unreadable has a management cluster that does not give out Secrets for a moment.
func unreadable(failure error, objs ...client.Object) client.Client {
	return interceptor.NewClient(clitest.Client(objs...).(client.WithWatch), interceptor.Funcs{
		Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, obj client.Object, opts ...client.GetOption) error {
			if _, secret := obj.(*corev1.Secret); secret && key.Name == "demo-azure-inventory" {
				return failure
			}
			return c.Get(ctx, key, obj, opts...)
		}})
}

// The record may say what is the user's: nothing goes before it is read.
func TestDestroyClusterNeedsTheRecordItHas(t *testing.T) {
	busy := apierrors.NewServiceUnavailable("etcd")
	asked, err := destroyCluster(t, unreadable(busy, condemned()...), nil)
	if !errors.Is(err, busy) || asked != nil {
		t.Errorf("error %v, destroys %+v", err, asked)
	}
}
