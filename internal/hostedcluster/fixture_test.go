package hostedcluster

import (
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"os"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-logr/logr"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/events"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	hyperv1 "github.com/hypershift-on-azure/hypershift/api/v1beta1"
	"github.com/hypershift-on-azure/hypershift/internal/clusterapi"
	"github.com/hypershift-on-azure/hypershift/internal/contract"
	"github.com/hypershift-on-azure/hypershift/internal/hostedcluster/hostedclustertest"
	"github.com/hypershift-on-azure/hypershift/internal/hostedcluster/management"
	"github.com/hypershift-on-azure/hypershift/internal/hostedcluster/releases"
	"github.com/hypershift-on-azure/hypershift/internal/install"
	"github.com/hypershift-on-azure/hypershift/internal/kube/kubetest"
	"github.com/hypershift-on-azure/hypershift/internal/kube/proxyenv"
	"github.com/hypershift-on-azure/hypershift/internal/publish"
	"github.com/hypershift-on-azure/hypershift/internal/release"
	"github.com/hypershift-on-azure/hypershift/internal/release/releasetest"
)

// server is the management cluster of all tests of this package.
var server kubetest.Server

func TestMain(m *testing.M) {
	ctrl.SetLogger(logr.Discard())
	// The search for leftovers lists deprecated kinds too.
	rest.SetDefaultWarningHandler(rest.NoWarnings{})
	code := m.Run()
	if err := server.Stop(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

// object is the content of a kind without a Go type.
type object = map[string]any

// fixture is a HostedCluster's place in the management cluster, with a registry, and the reconciler on a client that counts writes.
type fixture struct {
	name, namespace string // of the hosted cluster, and of its control plane

	client     client.Client
	reconciler *Reconciler
	request    ctrl.Request
	image      string
	// operatorImage is that of the payload, in whose registry it lies.
	operatorImage string
	writes        atomic.Int64
	config        *rest.Config
	// operatorConfig has the operator's rights.
	operatorConfig *rest.Config
}

// newFixture is the place of the HostedCluster of this name, which no other test has.
func newFixture(t *testing.T, name string) *fixture {
	t.Helper()
	restConfig := server.Config(t)
	kubetest.InstallRoutes(t, restConfig)
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{clientgoscheme.AddToScheme, hyperv1.AddToScheme} {
		if err := add(scheme); err != nil {
			t.Fatal(err)
		}
	}
	direct, err := client.NewWithWatch(restConfig, client.Options{Scheme: scheme})
	if err != nil {
		t.Fatal(err)
	}
	registry := releasetest.New(t)
	operatorImage := registry.PushOperator(t, map[string]string{release.LabelRestricted: "true"})
	image := registry.PushPayload(t, "4.21.0", releasetest.Payload{Version: "4.21.0", Operator: operatorImage})
	f := &fixture{name: name, namespace: "clusters-" + name, client: direct, image: image, operatorImage: operatorImage, config: restConfig}
	f.request.Namespace, f.request.Name = "clusters", name
	counting := interceptor.NewClient(f.asOperator(t, scheme), kubetest.CountWrites(&f.writes))
	f.reconciler = &Reconciler{
		Options: Options{
			Releases: releases.Options{
				Releases: release.NewProvider(), Labels: release.NewLabelCache(release.Reader{}), OperatorImage: "quay.io/hypershift/hypershift-operator:test",
			},
			Capabilities: management.Capabilities{Routes: true},
			Proxy:        proxyenv.Proxy{HTTPSProxy: "http://proxy.test:8888", TrustBundle: contract.TrustedCA},
			Now:          time.Now,
		},
		Client: counting, Live: counting, Events: events.NewFakeRecorder(100),
	}
	f.createShared(t, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "clusters"}})
	return f
}

// asOperator is a client with the rights that install gives the operator: what it may not do, or not grant, fails here.
func (f *fixture) asOperator(t *testing.T, scheme *runtime.Scheme) client.WithWatch {
	t.Helper()
	options := install.Options{Namespace: "hypershift"}
	f.createShared(t, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: options.Namespace}})
	for _, obj := range options.Objects() {
		switch obj.(type) {
		case *rbacv1.ClusterRole, *rbacv1.ClusterRoleBinding, *rbacv1.Role, *rbacv1.RoleBinding, *schedulingv1.PriorityClass:
			f.createShared(t, obj)
		}
	}
	impersonated := rest.CopyConfig(f.config)
	impersonated.Impersonate = rest.ImpersonationConfig{
		UserName: "system:serviceaccount:hypershift:operator",
		Groups:   []string{"system:serviceaccounts", "system:serviceaccounts:hypershift", "system:authenticated"},
	}
	f.operatorConfig = impersonated
	operator, err := client.NewWithWatch(impersonated, client.Options{Scheme: scheme})
	if err != nil {
		t.Fatal(err)
	}
	return operator
}

// createShared creates what the tests share, where no test before did.
func (f *fixture) createShared(t *testing.T, obj client.Object) {
	t.Helper()
	if err := f.client.Create(t.Context(), obj); err != nil && !apierrors.IsAlreadyExists(err) {
		t.Fatalf("create %T %s: %v", obj, obj.GetName(), err)
	}
}

func (f *fixture) create(t *testing.T, objects ...client.Object) {
	t.Helper()
	for _, obj := range objects {
		status := statusOf(obj)
		if err := f.client.Create(t.Context(), obj); err != nil {
			t.Fatalf("create %T %s: %v", obj, obj.GetName(), err)
		}
		if status != nil {
			obj.(*unstructured.Unstructured).Object["status"] = status
			if err := f.client.Status().Update(t.Context(), obj); err != nil {
				t.Fatal(err)
			}
		}
	}
}

func statusOf(obj client.Object) any {
	if u, ok := obj.(*unstructured.Unstructured); ok {
		return u.Object["status"]
	}
	return nil
}

func (f *fixture) reconcile(t *testing.T) {
	t.Helper()
	if _, err := f.reconciler.Reconcile(t.Context(), f.request); err != nil {
		t.Fatalf("reconcile: %v", err)
	}
}

func (f *fixture) read(t *testing.T, obj client.Object) {
	t.Helper()
	if err := f.client.Get(t.Context(), client.ObjectKeyFromObject(obj), obj); err != nil {
		t.Fatalf("read %T %s: %v", obj, obj.GetName(), err)
	}
}

func (f *fixture) get(t *testing.T) *hyperv1.HostedCluster {
	t.Helper()
	hc := &hyperv1.HostedCluster{ObjectMeta: metav1.ObjectMeta{Namespace: "clusters", Name: f.name}}
	f.read(t, hc)
	return hc
}

func (f *fixture) controlPlane(t *testing.T) *hyperv1.HostedControlPlane {
	t.Helper()
	hcp := &hyperv1.HostedControlPlane{ObjectMeta: metav1.ObjectMeta{Namespace: f.namespace, Name: f.name}}
	f.read(t, hcp)
	return hcp
}

func (f *fixture) deployment(t *testing.T, name string) *appsv1.Deployment {
	t.Helper()
	deployment := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: f.namespace, Name: name}}
	f.read(t, deployment)
	return deployment
}

func (f *fixture) pullSecret() *corev1.Secret {
	return &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Name: f.name + "-pull-secret", Namespace: "clusters"},
		Data:       map[string][]byte{".dockerconfigjson": []byte(`{"auths":{}}`)},
	}
}

func (f *fixture) madeSecret() *corev1.Secret {
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		panic(err)
	}
	return &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{
			Name: f.name + "sa-token-issuer-key", Namespace: "clusters", Labels: map[string]string{hyperv1.DeleteWithClusterLabel: "true"},
		},
		Data: map[string][]byte{"key": pem.EncodeToMemory(&pem.Block{Type: "RSA PRIVATE KEY", Bytes: x509.MarshalPKCS1PrivateKey(key)})},
	}
}

func (f *fixture) cluster() *hyperv1.HostedCluster { return hostedclustertest.Cluster(f.name, f.image) }

func (f *fixture) admittedRoute(name, host string) *unstructured.Unstructured {
	route := clusterapi.NewWithSpec(publish.RouteKind, f.namespace, name, object{"to": object{"kind": "Service", "name": name}})
	route.Object["status"] = object{"ingress": []any{object{
		"host": host, "conditions": []any{object{"type": "Admitted", "status": "True"}},
	}}}
	return route
}

func (f *fixture) ignitionDeployment() *appsv1.Deployment {
	labels := map[string]string{"app": contract.IgnitionServer}
	return &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Name: contract.IgnitionServer, Namespace: f.namespace},
		Spec: appsv1.DeploymentSpec{
			Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: labels},
				Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: "x"}}},
			},
		},
	}
}

// pool is a node pool of the cluster, as small as the API allows.
func (f *fixture) pool(namespace, cluster string) *hyperv1.NodePool {
	np := &hyperv1.NodePool{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: cluster + "-pool"}}
	np.Spec.ClusterName = cluster
	np.Spec.Release.Image = f.image
	np.Spec.Management.UpgradeType = hyperv1.UpgradeTypeReplace
	np.Spec.Platform = hyperv1.NodePoolPlatform{Type: hyperv1.AzurePlatform, Azure: &hyperv1.AzureNodePoolPlatform{
		VMSize: "Standard_D4s_v3", OSDisk: hyperv1.AzureNodePoolOSDisk{SizeGiB: 120},
		Image:    hyperv1.AzureVMImage{Type: hyperv1.AzureMarketplaceImage, AzureMarketplace: &hyperv1.AzureMarketplaceSpec{ImageGeneration: "Gen2"}},
		SubnetID: "/subscriptions/5a2d0b0e-0000-4000-8000-000000000001/resourceGroups/rg/providers/Microsoft.Network/virtualNetworks/vnet/subnets/default",
	}}
	return np
}
