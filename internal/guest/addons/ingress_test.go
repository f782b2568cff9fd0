package addons

import (
	"slices"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	hyperv1 "github.com/hypershift-on-azure/hypershift/api/v1beta1"
	"github.com/hypershift-on-azure/hypershift/internal/component"
	"github.com/hypershift-on-azure/hypershift/internal/guest/guesttest"
	"github.com/hypershift-on-azure/hypershift/internal/guest/inside"
)

func TestCloudCredentials(t *testing.T) {
	secrets := map[string]string{
		"openshift-cluster-csi-drivers/azure-disk-credentials": "disk", "openshift-cluster-csi-drivers/azure-file-credentials": "file",
		"openshift-image-registry/installer-cloud-credentials": "registry", "openshift-ingress-operator/cloud-credentials": "ingress",
	}
	read := func(facts *inside.Facts) map[string]map[string]string {
		out := map[string]map[string]string{}
		for _, obj := range cloudCredentials(facts) {
			if secret, ok := obj.(*corev1.Secret); ok {
				data := map[string]string{}
				for key, value := range secret.Data {
					data[key] = string(value)
				}
				out[secret.Namespace+"/"+secret.Name] = data
			}
		}
		return out
	}
	facts := guesttest.PlainFacts()
	got := read(facts)
	for name, client := range secrets {
		want := map[string]string{"azure_client_id": client, "azure_federated_token_file": "/var/run/secrets/openshift/serviceaccount/token",
			"azure_region": "eastus", "azure_resource_prefix": "demo-demo-x1", "azure_resourcegroup": "group",
			"azure_subscription_id": "subscription", "azure_tenant_id": "tenant"}
		for key, value := range want {
			if got[name][key] != value {
				t.Errorf("%s: %s is %q, want %q", name, key, got[name][key], value)
			}
		}
		if len(got[name]) != len(want) {
			t.Errorf("%s holds %v", name, got[name])
		}
	}
	facts.HCP.Spec.Capabilities = &hyperv1.Capabilities{Disabled: []hyperv1.OptionalCapability{"ImageRegistry", "Ingress"}}
	if got := read(facts); len(got) != 2 {
		t.Errorf("without registry and ingress there are %v", got)
	}
	facts.HCP.Spec.Platform = hyperv1.PlatformSpec{Type: hyperv1.NonePlatform}
	if got := read(facts); len(got) != 0 {
		t.Errorf("without Azure there are %v", got)
	}
}

func TestDefaultIngress(t *testing.T) {
	service := func(facts *inside.Facts) *corev1.Service {
		found, _ := guesttest.Find[*corev1.Service](Objects(facts), "openshift-ingress", "router-default")
		return found
	}
	facts := guesttest.PlainFacts()
	if s := service(facts); s.Spec.Type != corev1.ServiceTypeLoadBalancer || len(s.Annotations) > 0 || len(s.Spec.Ports) != 2 {
		t.Errorf("Service %+v", s)
	}
	facts.Ingress = component.IngressInternal
	if s := service(facts); s.Annotations["service.beta.kubernetes.io/azure-load-balancer-internal"] != "true" {
		t.Errorf("annotations of an internal load balancer: %v", s.Annotations)
	}
	facts.Ingress = component.IngressPrivate
	if s := service(facts); s.Spec.Type != corev1.ServiceTypeClusterIP {
		t.Errorf("a private router has a Service of type %s", s.Spec.Type)
	}
	facts.Ingress = ""
	if _, there := guesttest.Find[*corev1.Service](Objects(facts), "openshift-ingress", "router-default"); there {
		t.Error("there is a router although nobody knows how to publish it")
	}
	facts.Ingress = component.IngressExternal
	facts.HCP.Spec.Capabilities = &hyperv1.Capabilities{Disabled: []hyperv1.OptionalCapability{"Ingress"}}
	if _, there := guesttest.Find[*corev1.Service](Objects(facts), "openshift-ingress", "router-default"); there {
		t.Error("there is a router although the capability is disabled")
	}
}

// The router reads its certificate once.
func TestRouterStartsAgainForACertificate(t *testing.T) {
	template := func(facts *inside.Facts) corev1.PodTemplateSpec {
		deployment, ok := guesttest.Find[*appsv1.Deployment](Objects(facts), "openshift-ingress", "router-default")
		if !ok {
			t.Fatal("there is no router")
		}
		return deployment.Spec.Template
	}
	facts := guesttest.PlainFacts()
	before := template(facts)
	if !slices.Contains(before.Spec.Containers[0].Args, "-kubernetes-ingress-class=^openshift-default$") {
		t.Errorf("arguments %v", before.Spec.Containers[0].Args)
	}
	facts.IngressCert = "another"
	after := template(facts)
	if before.Annotations["hypershift.openshift.io/certificate-hash"] == after.Annotations["hypershift.openshift.io/certificate-hash"] {
		t.Error("another certificate does not reach the router")
	}
}
