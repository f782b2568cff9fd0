// Package surveytest has a management cluster for tests of what looks at one.
package surveytest

import (
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	hyperv1 "github.com/hypershift-on-azure/hypershift/api/v1beta1"
	"github.com/hypershift-on-azure/hypershift/internal/clusterapi"
)

// Now is the time of the tests; what they make is an hour old.
var Now = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

// Namespace is that of the control plane of HostedCluster clusters/demo.
const Namespace = "clusters-demo"

func ago(d time.Duration) metav1.Time { return metav1.NewTime(Now.Add(-d)) }

// Client is a management cluster with the objects. More wraps it.
func Client(objects ...client.Object) *fake.ClientBuilder {
	scheme := runtime.NewScheme()
	_ = clientgoscheme.AddToScheme(scheme)
	_ = hyperv1.AddToScheme(scheme)
	for _, kind := range []schema.GroupVersionKind{clusterapi.Machine, clusterapi.AzureMachine} {
		scheme.AddKnownTypeWithName(kind, &unstructured.Unstructured{})
		scheme.AddKnownTypeWithName(kind.GroupVersion().WithKind(kind.Kind+"List"), &unstructured.UnstructuredList{})
	}
	return fake.NewClientBuilder().WithScheme(scheme).WithObjects(objects...)
}

// Cluster is a HostedCluster in namespace clusters that is available, with what change makes of it.
func Cluster(name string, change ...func(*hyperv1.HostedCluster)) *hyperv1.HostedCluster {
	hc := &hyperv1.HostedCluster{ObjectMeta: metav1.ObjectMeta{Namespace: "clusters", Name: name, UID: types.UID("uid-" + name), CreationTimestamp: ago(time.Hour)}}
	hc.Spec.Platform = hyperv1.PlatformSpec{Type: hyperv1.AzurePlatform, Azure: &hyperv1.AzurePlatformSpec{Location: "eastus", ResourceGroupName: "demo-group"}}
	hc.Spec.Release.Image, hc.Spec.IssuerURL = "quay.io/release:4.21.0", "https://issuer.example.com/demo"
	hc.Status.ControlPlaneEndpoint = hyperv1.APIEndpoint{Host: "10.0.0.9", Port: 6443}
	done := ago(50 * time.Minute)
	hc.Status.Version = &hyperv1.ClusterVersionStatus{Desired: hyperv1.VersionRelease{Version: "4.21.0"},
		History: []hyperv1.UpdateHistory{{State: hyperv1.CompletedUpdate, Version: "4.21.0", CompletionTime: &done}}}
	for _, condition := range []string{
		hyperv1.HostedClusterAvailable, hyperv1.EtcdAvailable, hyperv1.KubeAPIServerAvailable, hyperv1.InfrastructureReady, hyperv1.ReconciliationSucceeded,
		hyperv1.ReconciliationActive, hyperv1.ValidHostedClusterConfiguration, hyperv1.SupportedHostedCluster, hyperv1.ValidReleaseImage, hyperv1.PlatformCredentialsFound,
		hyperv1.ExternalDNSReachable, hyperv1.IgnitionEndpointAvailable,
	} {
		Says(hc, condition, metav1.ConditionTrue, hyperv1.AsExpectedReason, "")
	}
	for _, condition := range []string{hyperv1.HostedClusterProgressing, hyperv1.HostedClusterDegraded} {
		Says(hc, condition, metav1.ConditionFalse, hyperv1.AsExpectedReason, "")
	}
	for _, f := range change {
		f(hc)
	}
	return hc
}

// Says sets a condition of a HostedCluster, three minutes ago.
func Says(hc *hyperv1.HostedCluster, name string, status metav1.ConditionStatus, reason, message string) {
	for i := range hc.Status.Conditions {
		if hc.Status.Conditions[i].Type == name {
			hc.Status.Conditions = append(hc.Status.Conditions[:i], hc.Status.Conditions[i+1:]...)
			break
		}
	}
	hc.Status.Conditions = append(hc.Status.Conditions, metav1.Condition{Type: name, Status: status, Reason: reason, Message: message, LastTransitionTime: ago(3 * time.Minute)})
}

// Pool is a NodePool of the cluster that has its nodes, with what change makes of it.
func Pool(cluster, name string, replicas int32, change ...func(*hyperv1.NodePool)) *hyperv1.NodePool {
	np := &hyperv1.NodePool{ObjectMeta: metav1.ObjectMeta{Namespace: "clusters", Name: name, CreationTimestamp: ago(time.Hour)}}
	np.Spec.ClusterName, np.Spec.Replicas, np.Spec.Arch, np.Spec.Release.Image = cluster, ptr.To(replicas), "amd64", "quay.io/release:4.21.0"
	np.Spec.Platform = hyperv1.NodePoolPlatform{Type: hyperv1.AzurePlatform, Azure: &hyperv1.AzureNodePoolPlatform{
		VMSize: "Standard_D4s_v5", SubnetID: "/subscriptions/s/resourceGroups/g/providers/Microsoft.Network/virtualNetworks/v/subnets/default",
		OSDisk: hyperv1.AzureNodePoolOSDisk{SizeGiB: 120, DiskStorageAccountType: "Premium_LRS"}}}
	np.Status.Replicas, np.Status.Version = replicas, "4.21.0"
	for _, condition := range []string{hyperv1.NodePoolReady, hyperv1.NodePoolAllMachinesReady, hyperv1.NodePoolAllNodesHealthy, hyperv1.NodePoolReachedIgnitionEndpoint, hyperv1.NodePoolValidReleaseImage} {
		PoolSays(np, condition, corev1.ConditionTrue, hyperv1.AsExpectedReason, "")
	}
	for _, f := range change {
		f(np)
	}
	return np
}

// PoolSays sets a condition of a NodePool, two minutes ago.
func PoolSays(np *hyperv1.NodePool, name string, status corev1.ConditionStatus, reason, message string) {
	for i := range np.Status.Conditions {
		if np.Status.Conditions[i].Type == name {
			np.Status.Conditions = append(np.Status.Conditions[:i], np.Status.Conditions[i+1:]...)
			break
		}
	}
	np.Status.Conditions = append(np.Status.Conditions, hyperv1.NodePoolCondition{Type: name, Status: status, Reason: reason, Message: message, LastTransitionTime: ago(2 * time.Minute)})
}

// Condition is one of a Machine, a minute ago; text is "Type Status Reason message".
func Condition(text string) any {
	words := append(strings.SplitN(text, " ", 4), "", "")
	return map[string]any{"type": words[0], "status": words[1], "reason": words[2], "message": words[3], "lastTransitionTime": ago(time.Minute).UTC().Format(time.RFC3339)}
}

// Machine is one of a pool of clusters/demo, ten minutes old, with conditions as Condition takes them.
func Machine(pool, name string, conditions ...string) *unstructured.Unstructured {
	m := clusterapi.NewWithSpec(clusterapi.Machine, Namespace, name, map[string]any{
		"clusterName": "demo", "version": "v4.21.0", "infrastructureRef": map[string]any{"apiGroup": clusterapi.InfrastructureGroup, "kind": "AzureMachine", "name": name + "-vm"},
	})
	m.SetAnnotations(map[string]string{hyperv1.NodePoolAnnotation: "clusters/" + pool})
	m.SetCreationTimestamp(ago(10 * time.Minute))
	var all []any
	for _, text := range conditions {
		all = append(all, Condition(text))
	}
	m.Object["status"] = map[string]any{"conditions": all}
	return m
}

// NodeOf has the machine joined as a node with an address.
func NodeOf(m *unstructured.Unstructured, node string) *unstructured.Unstructured {
	status := m.Object["status"].(map[string]any)
	status["nodeRef"] = map[string]any{"name": node}
	status["addresses"] = []any{map[string]any{"type": "InternalIP", "address": "10.0.0.5"}}
	return m
}

// AzureMachine is what Azure's provider knows of a virtual machine.
func AzureMachine(name, size, zone string) *unstructured.Unstructured {
	return clusterapi.NewWithSpec(clusterapi.AzureMachine, Namespace, name+"-vm", map[string]any{"vmSize": size, "failureDomain": zone})
}
