// Package guesttest has what tests of a guest share.
package guesttest

import (
	"slices"
	"testing"

	configv1 "github.com/openshift/api/config/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hypershift-on-azure/hypershift/api/v1beta1"
	"github.com/hypershift-on-azure/hypershift/internal/component"
	"github.com/hypershift-on-azure/hypershift/internal/guest/inside"
	"github.com/hypershift-on-azure/hypershift/internal/guest/plane"
)

// PlainFacts are the facts of a guest on Azure with a plain Kubernetes payload.
func PlainFacts() *inside.Facts {
	images := map[string]string{}
	for _, key := range []string{"apiserver-network-proxy", "azure-cloud-node-manager", "azure-workload-identity-webhook", "skipper", "kube-proxy", "flannel", "coredns", "cli",
		"azure-disk-csi-driver", "csi-node-driver-registrar", "csi-livenessprobe", "csi-snapshot-controller", "kube-metrics-server"} {
		images[key] = "quay.io/x@sha256:" + key
	}
	return &inside.Facts{
		HCP: AzurePlane(), Ingress: component.IngressExternal, IngressCert: "ingress cert", IngressKey: "ingress key", MetricsCert: "metrics cert", MetricsKey: "metrics key", KubeletCA: "kubelet ca",
		Images: images, PodCIDR: "10.132.0.0/14", ServiceCIDR: "172.31.0.0/16", DNSAddress: "172.31.0.10",
		APIAddress: "172.20.0.1", APIPort: 6443, KonnectivityHost: "konnectivity.example.com", KonnectivityPort: 443,
		KonnectivityCA: "ca", KonnectivityCert: "cert", KonnectivityKey: "key", RootCA: "root", HighlyAvailable: true,
	}
}

// AzurePlane is a hosted control plane on Azure whose user configured nothing.
func AzurePlane() *hyperv1.HostedControlPlane {
	hcp := &hyperv1.HostedControlPlane{ObjectMeta: metav1.ObjectMeta{Namespace: "clusters-demo", Name: "demo"}}
	hcp.Spec.InfraID = "demo-x1"
	id := func(name string) hyperv1.WorkloadIdentity {
		return hyperv1.WorkloadIdentity{ClientID: hyperv1.AzureClientID(name)}
	}
	hcp.Spec.Platform = hyperv1.PlatformSpec{Type: hyperv1.AzurePlatform, Azure: &hyperv1.AzurePlatformSpec{
		Location: "eastus", ResourceGroupName: "group", SubscriptionID: "subscription", TenantID: "tenant",
		AzureAuthenticationConfig: hyperv1.AzureAuthenticationConfiguration{WorkloadIdentities: &hyperv1.AzureWorkloadIdentitySet{
			Disk: id("disk"), File: id("file"), ImageRegistry: id("registry"), Ingress: id("ingress")}},
	}}
	return hcp
}

// Scheme has Kubernetes' kinds, HyperShift's and OpenShift's configuration.
func Scheme(t *testing.T) *runtime.Scheme {
	t.Helper()
	s := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{clientgoscheme.AddToScheme, hyperv1.AddToScheme, apiextensionsv1.AddToScheme, configv1.Install} {
		if err := add(s); err != nil {
			t.Fatal(err)
		}
	}
	return s
}

// Workloads are the names of the DaemonSets and Deployments among objects, sorted.
func Workloads(objects []client.Object) []string {
	var out []string
	for _, obj := range objects {
		kind := TypeName(obj)
		if kind == "DaemonSet" || kind == "Deployment" {
			out = append(out, obj.GetName())
		}
	}
	slices.Sort(out)
	return out
}

// TypeName is the kind of an object, empty when Kubernetes does not know it.
func TypeName(obj client.Object) string {
	s := runtime.NewScheme()
	_ = clientgoscheme.AddToScheme(s)
	kinds, _, err := s.ObjectKinds(obj)
	if err != nil {
		return ""
	}
	return kinds[0].Kind
}

// MachineWith is a Machine of NodePool clusters/np with these labels, and these taints in its annotation, JSON.
func MachineWith(labels map[string]string, taints string) *unstructured.Unstructured {
	machine := &unstructured.Unstructured{Object: map[string]any{}}
	machine.SetGroupVersionKind(plane.MachineKind)
	machine.SetName("np-1")
	machine.SetLabels(labels)
	annotations := map[string]string{hyperv1.NodePoolAnnotation: "clusters/np"}
	if taints != "" {
		annotations[hyperv1.NodePoolTaintsAnnotation] = taints
	}
	machine.SetAnnotations(annotations)
	return machine
}

// Find is the object of a type with this name among others.
func Find[T client.Object](objects []client.Object, namespace, name string) (found T, ok bool) {
	for _, obj := range objects {
		if typed, is := obj.(T); is && obj.GetNamespace() == namespace && obj.GetName() == name {
			return typed, true
		}
	}
	return found, false
}

// VirtualMachine is the provider id of a virtual machine.
func VirtualMachine(subscription, group, name string) string {
	return "azure:///subscriptions/" + subscription + "/resourceGroups/" + group + "/providers/Microsoft.Compute/virtualMachines/" + name
}
