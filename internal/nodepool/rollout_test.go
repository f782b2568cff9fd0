package nodepool

import (
	"context"
	"errors"
	"fmt"
	"os"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	hyperv1 "github.com/hypershift-on-azure/hypershift/api/v1beta1"
	"github.com/hypershift-on-azure/hypershift/internal/clusterapi"
	"github.com/hypershift-on-azure/hypershift/internal/kube/kubetest"
)

// server is a real API server, for what the fake client knows nothing of: schemas, generations, a status of its own.
var server kubetest.Server

func TestMain(m *testing.M) {
	code := m.Run()
	if err := server.Stop(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

// onServer is a world on the API server.
func onServer(t *testing.T) *world {
	t.Helper()
	scheme := runtime.NewScheme()
	if err := errors.Join(clientgoscheme.AddToScheme(scheme), hyperv1.AddToScheme(scheme)); err != nil {
		t.Fatal(err)
	}
	direct, err := client.NewWithWatch(server.Config(t), client.Options{Scheme: scheme})
	if err != nil {
		t.Fatal(err)
	}
	w := newWorld(t)
	live := interceptor.NewClient(direct, w.noting())
	w.real, w.Reconciler.client, w.Reconciler.live = true, live, live
	hc, np := storedCluster(), nodePool()
	t.Cleanup(func() { w.clear(t, madeKinds...) })
	w.createIfMissing(t, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "clusters"}}, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{
		Name: cpns, Annotations: map[string]string{hyperv1.HostedClusterAnnotation: hc.Namespace + "/" + hc.Name},
	}})
	np.Spec.Platform.Azure.SubnetID = hc.Spec.Platform.Azure.SubnetID
	status := hc.Status
	w.clear(t, madeKinds...) // a world of the same test may have been before
	w.create(t, append(surroundings(t)[1:], hc, np)...)
	hc.Status = status
	if err := live.Status().Update(t.Context(), hc); err != nil {
		t.Fatal(err)
	}
	return w
}

// storedCluster is the hosted cluster with all that the API server wants of one.
func storedCluster() *hyperv1.HostedCluster {
	const network = "/subscriptions/5a2d0b0e-0000-4000-8000-000000000001/resourceGroups/rg/providers/Microsoft.Network/"
	hc := hostedCluster()
	hc.UID = ""
	hc.Spec.Release.Image = "quay.io/openshift-release-dev/ocp-release:4.21.0-x86_64"
	hc.Spec.IssuerURL = "https://account.blob.core.windows.net/demo"
	hc.Spec.ControllerAvailabilityPolicy = hyperv1.SingleReplica
	hc.Spec.DNS.BaseDomain = "hypershift.test"
	hc.Spec.Networking.ClusterNetwork = []hyperv1.ClusterNetworkEntry{{CIDR: "10.132.0.0/14"}}
	hc.Spec.Networking.ServiceNetwork = []hyperv1.NetworkEntry{{CIDR: "172.31.0.0/16"}}
	hc.Spec.Etcd = hyperv1.EtcdSpec{ManagementType: hyperv1.Managed, Managed: &hyperv1.ManagedEtcdSpec{Storage: hyperv1.ManagedEtcdStorageSpec{Type: "PersistentVolume"}}}
	for service, how := range map[hyperv1.ServiceType]hyperv1.PublishingStrategyType{
		hyperv1.APIServer: hyperv1.LoadBalancer, hyperv1.Ignition: hyperv1.Route, hyperv1.Konnectivity: hyperv1.Route, hyperv1.OAuthServer: hyperv1.Route,
	} {
		hc.Spec.Services = append(hc.Spec.Services, hyperv1.ServicePublishingStrategyMapping{
			Service: service, ServicePublishingStrategy: hyperv1.ServicePublishingStrategy{Type: how}})
	}
	id := hyperv1.WorkloadIdentity{ClientID: "11111111-2222-4333-8444-555555555555"}
	hc.Spec.Platform.Azure = &hyperv1.AzurePlatformSpec{
		Location: "eastus", ResourceGroupName: "rg", TenantID: "7e0a1d00-0000-4000-8000-000000000001", SubscriptionID: "5a2d0b0e-0000-4000-8000-000000000001",
		VnetID: network + "virtualNetworks/vnet", SubnetID: network + "virtualNetworks/vnet/subnets/default", SecurityGroupID: network + "networkSecurityGroups/nsg",
		AzureAuthenticationConfig: hyperv1.AzureAuthenticationConfiguration{
			AzureAuthenticationConfigType: hyperv1.AzureWorkloadIdentities,
			WorkloadIdentities: &hyperv1.AzureWorkloadIdentitySet{
				ImageRegistry: id, Ingress: id, File: id, Disk: id, NodePoolManagement: id, CloudProvider: id, Network: id},
		},
	}
	return hc
}

func (w *world) create(t *testing.T, objects ...client.Object) {
	t.Helper()
	for _, obj := range objects {
		if err := w.client.Create(t.Context(), obj); err != nil {
			t.Fatal(err)
		}
	}
}

func (w *world) createIfMissing(t *testing.T, objects ...client.Object) {
	t.Helper()
	for _, obj := range objects {
		if err := w.client.Create(t.Context(), obj); client.IgnoreAlreadyExists(err) != nil {
			t.Fatal(err)
		}
	}
}

// madeKinds are of what tests make.
var madeKinds = []schema.GroupVersionKind{
	hyperv1.GroupVersion.WithKind("NodePool"), hyperv1.GroupVersion.WithKind("HostedCluster"),
	clusterapi.MachineHealthCheck, clusterapi.MachineDeployment, clusterapi.MachineSet, clusterapi.Machine, clusterapi.AzureMachine, clusterapi.AzureMachineTemplate,
	corev1.SchemeGroupVersion.WithKind("Secret"), corev1.SchemeGroupVersion.WithKind("ConfigMap"),
}

// clear deletes what a test has made of these kinds, for the next one: the namespaces are never finished without their controller.
func (w *world) clear(t *testing.T, kinds ...schema.GroupVersionKind) {
	t.Helper()
	for _, kind := range kinds {
		for _, namespace := range []string{"clusters", cpns} {
			list := clusterapi.NewList(kind)
			if err := w.client.List(context.Background(), list, client.InNamespace(namespace)); err != nil {
				t.Fatal(err)
			}
			for i := range list.Items {
				obj := &list.Items[i]
				if len(obj.GetFinalizers()) > 0 {
					obj.SetFinalizers(nil)
					if err := w.client.Update(context.Background(), obj); client.IgnoreNotFound(err) != nil {
						t.Fatal(err)
					}
				}
				if err := w.client.Delete(context.Background(), obj); client.IgnoreNotFound(err) != nil {
					t.Fatal(err)
				}
			}
		}
	}
}

// want makes a pass and compares what the pool says of its update.
func (w *world) want(t *testing.T, moment, version string, updating ...string) {
	t.Helper()
	if _, err := w.pass(t); err != nil {
		t.Fatalf("%s: %v", moment, err)
	}
	np := w.pool(t)
	if np.Status.Version != version {
		t.Errorf("%s: version %q, want %q", moment, np.Status.Version, version)
	}
	var found []string
	for _, name := range []string{hyperv1.NodePoolUpdatingConfig, hyperv1.NodePoolUpdatingVersion, hyperv1.NodePoolUpdatingPlatformMachineTemplate} {
		if condition(np, name).Status == corev1.ConditionTrue {
			found = append(found, name)
		}
	}
	if fmt.Sprint(found) != fmt.Sprint(updating) {
		t.Errorf("%s: %v, want %v", moment, found, updating)
	}
}

// release lets a Machine that was deleted go.
func (w *world) release(t *testing.T, machines ...*unstructured.Unstructured) {
	t.Helper()
	for _, machine := range machines {
		live := w.object(t, clusterapi.Machine, machine.GetName())
		live.SetFinalizers(nil)
		if err := w.client.Update(t.Context(), live); err != nil {
			t.Fatal(err)
		}
	}
}

func (w *world) remove(t *testing.T, machines ...*unstructured.Unstructured) {
	t.Helper()
	for _, machine := range machines {
		if err := w.client.Delete(t.Context(), machine); err != nil {
			t.Fatal(err)
		}
	}
}

// TestUpdateEndsWithTheLastFormerMachine: what a MachineDeployment counts is not what there is, least of all in the moment after a change.
func TestUpdateEndsWithTheLastFormerMachine(t *testing.T) {
	const config, version, template = hyperv1.NodePoolUpdatingConfig, hyperv1.NodePoolUpdatingVersion, hyperv1.NodePoolUpdatingPlatformMachineTemplate
	w := onServer(t)
	w.want(t, "made", "", config, version, template)
	former := []*unstructured.Unstructured{w.makeMachine(t, "a"), w.makeMachine(t, "b")}
	w.counted(t, 2)
	w.want(t, "the first machines are there", "4.21.0")

	w.releases = versioned("4.21.1")
	w.want(t, "another version is wanted", "4.21.0", version)
	w.counted(t, 2)
	w.want(t, "the counts are of the former version", "4.21.0", version)
	if info := w.pool(t).Status.NodesInfo; info == nil || len(info.NodeVersions) != 1 || info.NodeVersions[0].OCPVersion != "4.21.0" {
		t.Errorf("nodes %+v, and all are of 4.21.0", info)
	}
	present := []*unstructured.Unstructured{w.makeMachine(t, "c"), w.makeMachine(t, "d")}
	w.remove(t, former...)
	w.counted(t, 2)
	w.want(t, "the former machines drain", "4.21.0", version)
	w.release(t, former[0])
	w.want(t, "one of them drains", "4.21.0", version)
	w.release(t, former[1])
	w.want(t, "the former machines are gone", "4.21.1")

	// Nothing but the template differs.
	w.resize(t, "Standard_D8s_v3")
	w.want(t, "another size is wanted", "4.21.1", template)
	w.counted(t, 2)
	w.want(t, "the machines are of the former size", "4.21.1", template)
	// Back to what the pool calls current, when one machine is already replaced.
	larger := w.makeMachine(t, "e")
	w.remove(t, present[0])
	w.release(t, present[0])
	w.resize(t, "Standard_D4s_v3")
	w.want(t, "the former size is wanted again", "4.21.1", template)
	w.counted(t, 2)
	w.want(t, "a machine of the other size is there", "4.21.1", template)
	w.makeMachine(t, "f")
	w.remove(t, larger)
	w.release(t, larger)
	w.want(t, "all machines are of the former size", "4.21.1")
}

func (w *world) resize(t *testing.T, size string) {
	t.Helper()
	np := w.pool(t)
	np.Spec.Platform.Azure.VMSize = size
	if err := w.client.Update(t.Context(), np); err != nil {
		t.Fatal(err)
	}
}
