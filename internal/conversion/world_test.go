package conversion

import (
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"net/http"
	"os"
	"strconv"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	controllerconfig "sigs.k8s.io/controller-runtime/pkg/config"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"
	"sigs.k8s.io/controller-runtime/pkg/webhook"
	"sigs.k8s.io/yaml"

	"github.com/hypershift-on-azure/hypershift/internal/contract"
	"github.com/hypershift-on-azure/hypershift/internal/conversion/wire"
	"github.com/hypershift-on-azure/hypershift/internal/install"
	"github.com/hypershift-on-azure/hypershift/internal/kube/kubetest"
)

var (
	server kubetest.Server
	// shared is the prepared server: definitions take their time.
	shared *world
)

func TestMain(m *testing.M) {
	code := m.Run()
	if err := server.Stop(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

type world struct {
	config *rest.Config
	client client.WithWatch
	host   string
	// handler is one for all replicas, which are in one process here.
	handler http.Handler
}

func newWorld(t *testing.T) *world {
	t.Helper()
	config := server.Config(t)
	if shared != nil {
		// Another test may have moved the clock.
		for _, name := range []string{contract.ConversionCA, contract.ConversionCertificate} {
			secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: testNamespace, Name: name}}
			if err := shared.client.Delete(t.Context(), secret); client.IgnoreNotFound(err) != nil {
				t.Fatal(err)
			}
		}
		shared.distrust(t)
		return shared
	}
	w := &world{config: config, host: hostAddress(t)}
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{clientgoscheme.AddToScheme, apiextensionsv1.AddToScheme} {
		if err := add(scheme); err != nil {
			t.Fatal(err)
		}
	}
	var err error
	if w.client, err = client.NewWithWatch(w.config, client.Options{Scheme: scheme}); err != nil {
		t.Fatal(err)
	}
	if w.handler, err = Handler(w.client, w.client.RESTMapper()); err != nil {
		t.Fatal(err)
	}
	w.create(t, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: testNamespace}})
	crds, err := (&install.Options{Namespace: testNamespace}).CRDs()
	if err != nil {
		t.Fatal(err)
	}
	for _, crd := range crds {
		live := &apiextensionsv1.CustomResourceDefinition{}
		if err := w.client.Get(t.Context(), client.ObjectKeyFromObject(crd), live); err != nil {
			t.Fatal(err)
		}
		live.Labels, live.Spec.Conversion = crd.Labels, crd.Spec.Conversion
		if err := w.client.Update(t.Context(), live); err != nil {
			t.Fatal(err)
		}
	}
	w.create(t, &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Namespace: testNamespace, Name: wire.ServiceName},
		Spec:       corev1.ServiceSpec{Ports: []corev1.ServicePort{{Name: "manager", Port: wire.ServicePort}}},
	})
	shared = w
	return w
}

// distrust takes the authorities of a former test out of the definitions.
func (w *world) distrust(t *testing.T) {
	t.Helper()
	crds := &apiextensionsv1.CustomResourceDefinitionList{}
	if err := w.client.List(t.Context(), crds); err != nil {
		t.Fatal(err)
	}
	for i := range crds.Items {
		crd := &crds.Items[i]
		if crd.Spec.Conversion == nil || crd.Spec.Conversion.Webhook == nil {
			continue
		}
		patch := client.MergeFrom(crd.DeepCopy())
		crd.Spec.Conversion.Webhook.ClientConfig.CABundle = nil
		if err := w.client.Patch(t.Context(), crd, patch); err != nil {
			t.Fatal(err)
		}
	}
}

// hostAddress is one that endpoints may have: not of the loopback.
func hostAddress(t *testing.T) string {
	t.Helper()
	addresses, err := net.InterfaceAddrs()
	if err != nil {
		t.Fatal(err)
	}
	for _, address := range addresses {
		if network, ok := address.(*net.IPNet); ok && network.IP.To4() != nil && network.IP.IsGlobalUnicast() {
			return network.IP.String()
		}
	}
	t.Skip("no address but the loopback's: endpoints of a Service cannot lead here")
	return ""
}

// replica is one pod of the operator, as far as conversion goes.
type replica struct {
	port   int
	cancel context.CancelFunc
	ended  chan error
}

func (w *world) replica(t *testing.T) *replica {
	t.Helper()
	listener, err := net.Listen("tcp", w.host+":0")
	if err != nil {
		t.Fatal(err)
	}
	port := listener.Addr().(*net.TCPAddr).Port
	if err := listener.Close(); err != nil {
		t.Fatal(err)
	}
	keeper := New(testNamespace)
	mgr, err := ctrl.NewManager(w.config, ctrl.Options{
		Scheme:                  w.client.Scheme(),
		Metrics:                 metricsserver.Options{BindAddress: "0"},
		Controller:              controllerconfig.Controller{SkipNameValidation: ptr.To(true)},
		LeaderElection:          true,
		LeaderElectionID:        "operator",
		LeaderElectionNamespace: testNamespace,
		WebhookServer: webhook.NewServer(webhook.Options{Host: w.host, Port: port, TLSOpts: []func(*tls.Config){
			func(config *tls.Config) { config.GetCertificate = keeper.GetCertificate },
		}}),
		Cache: cache.Options{ByObject: map[client.Object]cache.ByObject{&apiextensionsv1.CustomResourceDefinition{}: CacheOptions()}},
	})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	if err := keeper.SetupWithManager(ctx, mgr, w.handler); err != nil {
		t.Fatal(err)
	}
	r := &replica{port: port, cancel: cancel, ended: make(chan error, 1)}
	go func() { r.ended <- mgr.Start(ctx) }()
	t.Cleanup(cancel)
	return r
}

func (r *replica) stop(t *testing.T) {
	t.Helper()
	r.cancel()
	if err := <-r.ended; err != nil {
		t.Fatalf("the operator ended: %v", err)
	}
}

// publish is what the endpoints controller does, and waits until the API server got there.
func (w *world) publish(t *testing.T, replicas ...*replica) {
	t.Helper()
	slices := &discoveryv1.EndpointSlice{}
	if err := w.client.DeleteAllOf(t.Context(), slices, client.InNamespace(testNamespace)); err != nil {
		t.Fatal(err)
	}
	for _, r := range replicas {
		w.create(t, &discoveryv1.EndpointSlice{
			ObjectMeta: metav1.ObjectMeta{
				Namespace: testNamespace, Name: "operator-" + strconv.Itoa(r.port), Labels: map[string]string{discoveryv1.LabelServiceName: wire.ServiceName},
			},
			AddressType: discoveryv1.AddressTypeIPv4,
			Endpoints:   []discoveryv1.Endpoint{{Addresses: []string{w.host}, Conditions: discoveryv1.EndpointConditions{Ready: ptr.To(true)}}},
			Ports:       []discoveryv1.EndpointPort{{Name: ptr.To("manager"), Port: ptr.To(int32(r.port)), Protocol: ptr.To(corev1.ProtocolTCP)}},
		})
	}
	probe := object(t, formerMachine, metav1.NamespaceDefault)
	deadline := time.Now().Add(30 * time.Second)
	for {
		err := w.client.Create(t.Context(), probe.DeepCopy(), client.DryRunAll)
		if err == nil {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("the API server does not get to the webhook: %v", err)
		}
		time.Sleep(50 * time.Millisecond)
	}
}

func (w *world) create(t *testing.T, obj client.Object) {
	t.Helper()
	if err := w.client.Create(t.Context(), obj); err != nil {
		t.Fatalf("create %T %s: %v", obj, obj.GetName(), err)
	}
}

func (w *world) get(t *testing.T, kind schema.GroupVersionKind, namespace, name string) *unstructured.Unstructured {
	t.Helper()
	obj := &unstructured.Unstructured{}
	obj.SetGroupVersionKind(kind)
	if err := w.client.Get(t.Context(), client.ObjectKey{Namespace: namespace, Name: name}, obj); err != nil {
		t.Fatalf("get %s %s/%s: %v", kind, namespace, name, err)
	}
	return obj
}

func (w *world) authority(t *testing.T) *corev1.Secret {
	t.Helper()
	secret := &corev1.Secret{}
	if err := w.client.Get(t.Context(), client.ObjectKey{Namespace: testNamespace, Name: contract.ConversionCA}, secret); err != nil {
		t.Fatal(err)
	}
	return secret
}

func (w *world) bundleOf(t *testing.T, name string) *apiextensionsv1.CustomResourceDefinition {
	t.Helper()
	crd := &apiextensionsv1.CustomResourceDefinition{}
	if err := w.client.Get(t.Context(), client.ObjectKey{Name: name}, crd); err != nil {
		t.Fatal(err)
	}
	return crd
}

func object(t *testing.T, text, namespace string) *unstructured.Unstructured {
	t.Helper()
	obj := &unstructured.Unstructured{}
	if err := yaml.Unmarshal([]byte(fmt.Sprintf(text, namespace)), &obj.Object); err != nil {
		t.Fatal(err)
	}
	// As the API server answers: numbers are integers.
	raw, err := obj.MarshalJSON()
	if err != nil {
		t.Fatal(err)
	}
	if err := obj.UnmarshalJSON(raw); err != nil {
		t.Fatal(err)
	}
	obj.SetNamespace(namespace)
	return obj
}

const (
	formerCluster = `
apiVersion: cluster.x-k8s.io/v1beta1
kind: Cluster
metadata: {name: cluster}
spec:
  clusterNetwork: {pods: {cidrBlocks: [10.132.0.0/14]}, services: {cidrBlocks: [172.31.0.0/16]}}
  controlPlaneEndpoint: {host: api.%[1]s.example.com, port: 7443}
  controlPlaneRef: {apiVersion: hypershift.openshift.io/v1beta1, kind: HostedControlPlane, name: %[1]s, namespace: %[1]s}
  infrastructureRef: {apiVersion: infrastructure.cluster.x-k8s.io/v1beta1, kind: AzureCluster, name: %[1]s, namespace: %[1]s}
`
	formerMachine = `
apiVersion: cluster.x-k8s.io/v1beta1
kind: Machine
metadata: {name: machine}
spec:
  clusterName: %[1]s
  version: v1.34.2
  nodeDrainTimeout: 10m0s
  nodeVolumeDetachTimeout: 1m30s
  nodeDeletionTimeout: 10s
  failureDomain: "1"
  bootstrap: {dataSecretName: user-data}
  infrastructureRef: {apiVersion: infrastructure.cluster.x-k8s.io/v1beta1, kind: AzureMachine, name: machine, namespace: %[1]s}
`
	formerMachineSet = `
apiVersion: cluster.x-k8s.io/v1beta1
kind: MachineSet
metadata: {name: set}
spec:
  clusterName: %[1]s
  replicas: 3
  minReadySeconds: 7
  deletePolicy: Oldest
  selector: {matchLabels: {pool: a}}
  template:
    metadata: {labels: {pool: a}}
    spec:
      clusterName: %[1]s
      bootstrap: {dataSecretName: user-data}
      infrastructureRef: {apiVersion: infrastructure.cluster.x-k8s.io/v1beta1, kind: AzureMachineTemplate, name: a, namespace: %[1]s}
`
	formerHealthCheck = `
apiVersion: cluster.x-k8s.io/v1beta1
kind: MachineHealthCheck
metadata: {name: check}
spec:
  clusterName: %[1]s
  maxUnhealthy: 2
  nodeStartupTimeout: 15m0s
  selector: {matchLabels: {pool: a}}
  unhealthyConditions: [{type: Ready, status: "False", timeout: 8m0s}]
`
	formerPool = `
apiVersion: cluster.x-k8s.io/v1beta1
kind: MachinePool
metadata: {name: pool}
spec:
  clusterName: %[1]s
  replicas: 2
  minReadySeconds: 3
  failureDomains: ["1", "2"]
  template:
    metadata: {labels: {pool: c}}
    spec:
      clusterName: %[1]s
      nodeDrainTimeout: 6m0s
      bootstrap: {dataSecretName: user-data}
      infrastructureRef: {apiVersion: infrastructure.cluster.x-k8s.io/v1beta1, kind: AzureASOManagedMachinePool, name: pool, namespace: %[1]s}
`
	formerClass = `
apiVersion: cluster.x-k8s.io/v1beta1
kind: ClusterClass
metadata: {name: class}
spec:
  infrastructure: {ref: {apiVersion: infrastructure.cluster.x-k8s.io/v1beta1, kind: AzureClusterTemplate, name: class, namespace: %[1]s}}
  controlPlane:
    metadata: {labels: {class: a}}
    ref: {apiVersion: infrastructure.cluster.x-k8s.io/v1beta1, kind: AzureASOManagedControlPlaneTemplate, name: class, namespace: %[1]s}
  workers: {}
`
	// The API server converts this one by itself.
	formerAzurePool = `
apiVersion: infrastructure.cluster.x-k8s.io/v1alpha1
kind: AzureASOManagedMachinePool
metadata: {name: pool}
spec:
  resources: [{apiVersion: containerservice.azure.com/v1api20231001, kind: ManagedClustersAgentPool, metadata: {name: %[1]s}}]
`
	currentDeployment = `
apiVersion: cluster.x-k8s.io/v1beta2
kind: MachineDeployment
metadata: {name: deployment}
spec:
  clusterName: %[1]s
  replicas: 2
  selector: {matchLabels: {pool: b}}
  rollout: {after: "2026-01-31T12:00:00Z", strategy: {type: RollingUpdate, rollingUpdate: {maxSurge: 2, maxUnavailable: 0}}}
  template:
    metadata: {labels: {pool: b}}
    spec:
      clusterName: %[1]s
      minReadySeconds: 4
      bootstrap: {dataSecretName: user-data}
      deletion: {nodeDrainTimeoutSeconds: 300}
      infrastructureRef: {apiGroup: infrastructure.cluster.x-k8s.io, kind: AzureMachineTemplate, name: b}
`
	currentDrainRule = `
apiVersion: cluster.x-k8s.io/v1beta2
kind: MachineDrainRule
metadata: {name: rule}
spec:
  drain: {behavior: Drain, order: 5}
  machines: [{clusterSelector: {matchLabels: {cluster: %[1]s}}}]
`
)
