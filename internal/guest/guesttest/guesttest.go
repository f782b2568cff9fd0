// Package guesttest has what tests of a guest share.
package guesttest

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	configv1 "github.com/openshift/api/config/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

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

// OpenShiftImages are those of a payload of OpenShift's, as far as a guest is concerned.
func OpenShiftImages() map[string]string {
	images := map[string]string{}
	for _, key := range []string{"apiserver-network-proxy", "azure-cloud-node-manager", "azure-workload-identity-webhook", "kube-proxy", "coredns", "cli",
		"azure-disk-csi-driver", "csi-node-driver-registrar", "csi-livenessprobe", "csi-snapshot-controller", "haproxy-router", "cluster-version-operator",
		"machine-config-operator", "cluster-network-operator", "cluster-dns-operator", "cluster-ingress-operator", "cluster-storage-operator",
		"cluster-image-registry-operator", "cluster-monitoring-operator", "openshift-apiserver", "oauth-apiserver", "oauth-server", "operator-lifecycle-manager"} {
		images[key] = "quay.io/x@sha256:" + key
	}
	return images
}

// definitionsBrought are the files, below the folder of OpenShift's API, of kinds that a guest has objects of.
var definitionsBrought = map[string][]string{
	"config/v1": {"clusteroperators", "clusterversions-Default", "proxies", "operatorhubs", "apiservers-Default", "authentications", "dnses", "imagedigestmirrorsets",
		"images-Default", "infrastructures-Default", "ingresses", "networks", "builds", "projects"},
	"operator/v1":      {"cloudcredentials", "clustercsidrivers-Default", "ingresscontrollers", "storages", "networks", "csisnapshotcontrollers"},
	"imageregistry/v1": {"configs"},
}

// OpenShiftDefinitions are the kinds that the version operator of OpenShift brings, from the module of its API.
func OpenShiftDefinitions(t *testing.T) []client.Object {
	t.Helper()
	dir, err := exec.CommandContext(t.Context(), "go", "list", "-m", "-f", "{{.Dir}}", "github.com/openshift/api").Output()
	if err != nil {
		t.Fatal("find the module of OpenShift's API: ", err)
	}
	var out []client.Object
	for folder, kinds := range definitionsBrought {
		for _, kind := range kinds {
			files, err := filepath.Glob(filepath.Join(strings.TrimSpace(string(dir)), folder, "zz_generated.crd-manifests", "*_"+kind+".crd.yaml"))
			if err != nil || len(files) != 1 {
				t.Fatalf("definition of %s %s: %v, %v", folder, kind, files, err)
			}
			raw, err := os.ReadFile(files[0])
			crd := &apiextensionsv1.CustomResourceDefinition{}
			if err == nil {
				err = yaml.Unmarshal(raw, crd)
			}
			if err != nil {
				t.Fatal(files[0], err)
			}
			out = append(out, crd)
		}
	}
	return out
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
