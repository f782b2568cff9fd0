package controlplane

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hypershift-on-azure/hypershift/api/v1beta1"
	"github.com/hypershift-on-azure/hypershift/internal/controlplane/planetest"
	"github.com/hypershift-on-azure/hypershift/internal/hostedcluster/operators"
	"github.com/hypershift-on-azure/hypershift/internal/kube/kubetest"
	"github.com/hypershift-on-azure/hypershift/internal/release"
)

// server is the API server that the tests of this package share; each test has a namespace of its own.
var server kubetest.Server

func TestMain(m *testing.M) {
	ctrl.SetLogger(logr.Discard())
	code := m.Run()
	if err := server.Stop(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

// payload is every key of the sandbox's release payload that a control plane can use.
var payload = []string{
	"hyperkube", "etcd", "apiserver-network-proxy", "azure-cloud-controller-manager", "azure-cloud-node-manager", "coredns", "kube-proxy",
	"flannel", "azure-workload-identity-webhook", "skipper", "haproxy-router", "cli", "tools", "hypershift", "azure-disk-csi-driver",
	"csi-external-provisioner", "csi-external-attacher", "csi-external-resizer", "csi-external-snapshotter", "csi-snapshot-controller",
	"csi-node-driver-registrar", "csi-livenessprobe",
}

const (
	loadBalancerAddress = "198.18.16.3"
	nodeAddress         = "192.0.2.10"

	planeHA             = "ha"
	planeSingle         = "single"
	planeForwarding     = "metrics-forwarding"
	planeLoadBalancer   = "load-balancer"
	planeLBHostname     = "load-balancer-hostname"
	planeRouteHostname  = "route-hostname"
	planeNodePort       = "node-port"
	planeNoneBalancer   = "none-load-balancer"
	planeKeyVault       = "key-vault"
	planeKeyRotation    = "key-rotation"
	planeBoth           = "public-and-private"
	planePrivate        = "private"
	planeOAuthBalancer  = "oauth-load-balancer"
	planeEncrypted      = "encrypted"
	hostnameOfTheTables = "api.demo.example.com"
)

// published are the planes that differ in how their services are published, and one with keys in a key vault; each changes planetest.Plane().
var published = map[string]func(*hyperv1.HostedControlPlane){
	planeLoadBalancer: func(*hyperv1.HostedControlPlane) {},
	planeLBHostname: func(hcp *hyperv1.HostedControlPlane) {
		hcp.Spec.Services[0].ServicePublishingStrategy.LoadBalancer = &hyperv1.LoadBalancerPublishingStrategy{Hostname: hostnameOfTheTables}
		hcp.Spec.Networking.APIServer = &hyperv1.APIServerNetworking{AllowedCIDRBlocks: []hyperv1.CIDR{"192.0.2.0/24"}}
	},
	planeKeyVault: func(hcp *hyperv1.HostedControlPlane) {
		hcp.Spec.SecretEncryption = &hyperv1.SecretEncryptionSpec{Type: hyperv1.KMS, KMS: &hyperv1.KMSSpec{Provider: "Azure", Azure: &hyperv1.AzureKMSSpec{
			ActiveKey:        hyperv1.AzureKMSKey{KeyVaultName: "keeper", KeyName: "etcd", KeyVersion: "1"},
			WorkloadIdentity: &hyperv1.WorkloadIdentity{ClientID: "11111111-2222-4333-8444-555555555555"}}}}
	},
	planeRouteHostname: func(hcp *hyperv1.HostedControlPlane) {
		hcp.Spec.ControllerAvailabilityPolicy = hyperv1.HighlyAvailable
		for i, name := range []string{"api", "oauth", "konnectivity", "ignition"} {
			hcp.Spec.Services[i].ServicePublishingStrategy = hyperv1.ServicePublishingStrategy{Type: hyperv1.Route,
				Route: &hyperv1.RoutePublishingStrategy{Hostname: hyperv1.Hostname(name + ".demo.example.com")}}
		}
		hcp.Spec.Networking.APIServer = &hyperv1.APIServerNetworking{AllowedCIDRBlocks: []hyperv1.CIDR{"192.0.2.0/24"}}
	},
	// As the command line has them without an external DNS domain, and a private one with it.
	planeBoth: func(hcp *hyperv1.HostedControlPlane) {
		setTopology(hcp, hyperv1.AzureTopologyPublicAndPrivate)
	},
	planePrivate: func(hcp *hyperv1.HostedControlPlane) {
		setTopology(hcp, hyperv1.AzureTopologyPrivate)
		hcp.Spec.Services[0].ServicePublishingStrategy = hyperv1.ServicePublishingStrategy{Type: hyperv1.Route,
			Route: &hyperv1.RoutePublishingStrategy{Hostname: hostnameOfTheTables}}
	},
	planeNodePort: func(hcp *hyperv1.HostedControlPlane) {
		hcp.Spec.Platform = hyperv1.PlatformSpec{Type: hyperv1.NonePlatform}
		for i, port := range []int32{30443, 30444, 30091, 30090} {
			hcp.Spec.Services[i].ServicePublishingStrategy = hyperv1.ServicePublishingStrategy{Type: hyperv1.NodePort,
				NodePort: &hyperv1.NodePortPublishingStrategy{Address: nodeAddress, Port: port}}
		}
	},
	planeNoneBalancer: func(hcp *hyperv1.HostedControlPlane) {
		hcp.Spec.Platform = hyperv1.PlatformSpec{Type: hyperv1.NonePlatform}
		hcp.Spec.Services[2].ServicePublishingStrategy = hyperv1.ServicePublishingStrategy{Type: hyperv1.LoadBalancer}
	},
}

func setTopology(hcp *hyperv1.HostedControlPlane, topology hyperv1.AzureTopology) {
	azure := hcp.Spec.Platform.Azure
	azure.Topology = topology
	azure.Private = &hyperv1.AzurePrivateSpec{Type: "Swift", Swift: &hyperv1.AzureSwiftSpec{PodNetworkInstance: "network"}}
}

// vaultConfig is how the providers of a key vault reach it; the HostedCluster controller writes it.
var vaultConfig = corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "azure-kms-config"}, Data: map[string][]byte{"cloud.conf": []byte("{}")}}

// inNamespace is planetest.Plane in a namespace for one test.
func inNamespace(name string) *hyperv1.HostedControlPlane {
	hcp := planetest.Plane()
	hcp.Namespace = "clusters-" + name
	return hcp
}

// withPayload gives the fixture the sandbox's payload, and more.
func (f *fixture) withPayload(more ...string) {
	all := map[string]string{}
	for _, key := range slices.Concat(payload, more) {
		all[key] = "quay.io/openshift-release-dev/ocp-v4.0-art-dev@sha256:" + key
	}
	f.reconciler.Releases = oneRelease{f.payload.Version, all}
}

// begin creates the namespace with what the HostedCluster controller puts into it, and the control plane.
func (f *fixture) begin(secrets ...corev1.Secret) {
	f.Helper()
	namespace := f.hcp.Namespace
	objects := []client.Object{
		&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}},
		&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "pull-secret", Namespace: namespace}, Type: corev1.SecretTypeDockerConfigJson,
			Data: map[string][]byte{".dockerconfigjson": []byte(`{"auths":{}}`)}},
	}
	for _, s := range secrets {
		if s.Name != "pull-secret" {
			objects = append(objects, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: s.Name, Namespace: namespace}, Type: s.Type, Data: s.Data})
		}
	}
	objects = append(objects, operators.Account(release.Kind(f.payload.Kind)).Objects(namespace)...)
	f.create(append(objects, f.hcp)...)
	// The server of all tests has some two hundred addresses for Services.
	f.Cleanup(func() {
		if err := f.client.DeleteAllOf(context.Background(), &corev1.Service{}, client.InNamespace(namespace)); err != nil {
			f.Error(err)
		}
	})
}

// publishedPasses reconciles until the endpoints have addresses, which it gives to the load balancers as a cloud does.
func (f *fixture) publishedPasses() {
	f.Helper()
	f.pass()
	services := &corev1.ServiceList{}
	f.list(services)
	for i := range services.Items {
		s := &services.Items[i]
		if s.Spec.Type != corev1.ServiceTypeLoadBalancer {
			continue
		}
		s.Status.LoadBalancer.Ingress = []corev1.LoadBalancerIngress{{IP: loadBalancerAddress}}
		if err := f.client.Status().Update(context.Background(), s); err != nil {
			f.Fatal(err)
		}
	}
	f.etcdRuns()
	f.pass()
	f.pass() // who is told the addresses of Services of others comes after them
}

func (f *fixture) list(into client.ObjectList) {
	f.Helper()
	if err := f.client.List(context.Background(), into, client.InNamespace(f.hcp.Namespace)); err != nil {
		f.Fatal(err)
	}
}

// addressed are the Services whose addresses the table names.
var addressed = []string{"openshift-apiserver", "packageserver", "openshift-oauth-apiserver"}

// fill puts the plane's facts where the table has placeholders.
func (f *fixture) fill(text string) string {
	for _, name := range addressed {
		placeholder := "<ip " + name + ">"
		if strings.Contains(text, placeholder) {
			service := &corev1.Service{}
			f.get(service, name)
			text = strings.ReplaceAll(text, placeholder, service.Spec.ClusterIP)
		}
	}
	return strings.NewReplacer("<cpns>", f.hcp.Namespace, "<hcp>", f.hcp.Name, "<infraID>", f.hcp.Spec.InfraID, "<api>", loadBalancerAddress,
		"<konnectivity>", "konnectivity-server-"+f.hcp.Namespace+".apps.mgmt.hypershift.test",
		"<oauth>", "oauth-"+f.hcp.Namespace+".apps.mgmt.hypershift.test",
		"<metrics>", "metrics-proxy-"+f.hcp.Namespace+".apps.mgmt.hypershift.test",
		"<ignition>", "ignition-server-"+f.hcp.Namespace+".apps.mgmt.hypershift.test").Replace(text)
}

func (f *fixture) fillAll(texts []string) []string {
	var out []string
	for _, text := range texts {
		out = append(out, f.fill(text))
	}
	return out
}

func exists(planes []string, plane string) bool {
	return len(planes) == 0 || slices.Contains(planes, plane)
}
