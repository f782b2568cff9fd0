package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"reflect"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hypershift-on-azure/hypershift/api/v1beta1"
	"github.com/hypershift-on-azure/hypershift/internal/cli"
	"github.com/hypershift-on-azure/hypershift/internal/component"
	"github.com/hypershift-on-azure/hypershift/internal/controlplane"
	"github.com/hypershift-on-azure/hypershift/internal/kube/kubetest"
	"github.com/hypershift-on-azure/hypershift/internal/pki"
	"github.com/hypershift-on-azure/hypershift/internal/publish"
	"github.com/hypershift-on-azure/hypershift/internal/release"
	"github.com/hypershift-on-azure/hypershift/internal/release/releasetest"
)

// lateFields are the fields of spec and status that the older definitions of this test lack, with their defaults.
var lateFields = map[string][]string{
	"hostedclusters.hypershift.openshift.io": {
		"spec.olmCatalogPlacement", "spec.capabilities", "spec.infrastructureAvailabilityPolicy", "spec.autoNode", "spec.operatorConfiguration",
		"spec.controlPlaneRelease", "status.controlPlaneVersion", "status.autoNode",
	},
	"hostedcontrolplanes.hypershift.openshift.io": {
		"spec.olmCatalogPlacement", "spec.capabilities", "spec.infrastructureAvailabilityPolicy", "spec.autoNode", "spec.operatorConfiguration",
		"spec.controlPlaneReleaseImage", "status.controlPlaneVersion",
	},
	"nodepools.hypershift.openshift.io": {"spec.arch", "spec.tuningConfig", "status.nodesInfo"},
}

// defaulted are those among them that the API server fills in once the definition knows them.
var defaulted = map[string][]string{
	"HostedCluster":      {"olmCatalogPlacement", "capabilities", "infrastructureAvailabilityPolicy"},
	"HostedControlPlane": {"olmCatalogPlacement", "capabilities", "infrastructureAvailabilityPolicy"},
	"NodePool":           {"arch"},
}

// upgrade is a management cluster whose installation is upgraded.
type upgrade struct {
	client.Client
	*testing.T
	image string
	plane *controlplane.Reconciler
}

// TestUpgradeKeepsWhatIsStored: hosted clusters that were stored under older definitions reconcile as new ones do after an upgrade of
// the installation, keep what their users wrote, and none of their pods restarts for it.
func TestUpgradeKeepsWhatIsStored(t *testing.T) {
	u := newUpgrade(t)
	u.install()
	u.makeOlder()
	u.create("demo")
	stop := u.operator()
	u.settle("demo")
	stop()
	spec, pods := u.specs("demo"), u.templates("demo")
	if len(pods) < 8 || pods["StatefulSet etcd"] == nil || pods["Deployment kube-apiserver"] == nil || pods["Deployment control-plane-operator"] == nil {
		t.Fatalf("the older installation made only %v", slices.Sorted(maps.Keys(pods)))
	}
	for kind, fields := range defaulted {
		for _, field := range fields {
			if spec[kind][field] != nil {
				t.Fatalf("spec.%s of the %s is known to the older definition", field, kind)
			}
		}
	}

	u.install()
	u.waitForShape(true)
	u.operator()
	u.create("fresh")
	u.settle("fresh")
	u.settle("demo")
	u.checkStatus()
	u.checkSpecs(spec)
	u.checkPods(pods)
}

// checkStatus waits until what is stored was reconciled under the new definitions.
func (u *upgrade) checkStatus() {
	u.Helper()
	var upgraded, fresh map[string]string
	u.Cleanup(func() {
		if u.Failed() {
			u.Logf("conditions after the upgrade\n%v\nfresh ones\n%v", upgraded, fresh)
		}
	})
	eventually(u.T, "the stored objects' status has what the older definitions had no place for", func() bool {
		hc, _ := u.get("HostedCluster", "demo").Object["status"].(map[string]any)
		hcp, _ := u.get("HostedControlPlane", "demo").Object["status"].(map[string]any)
		return hc["controlPlaneVersion"] != nil && hcp["controlPlaneVersion"] != nil
	})
	eventually(u.T, "the stored objects' conditions are those of fresh ones", func() bool {
		upgraded, fresh = u.conditions("demo"), u.conditions("fresh")
		return reflect.DeepEqual(upgraded, fresh)
	})
}

func (u *upgrade) checkSpecs(spec map[string]map[string]any) {
	u.Helper()
	for kind, before := range spec {
		after := u.specs("demo")[kind]
		for _, field := range defaulted[kind] {
			if after[field] == nil {
				u.Errorf("spec.%s of the %s has no default after the upgrade", field, kind)
			}
			delete(after, field)
		}
		if !reflect.DeepEqual(before, after) {
			u.Errorf("the upgrade changed the %s's spec from\n%v\nto\n%v", kind, before, after)
		}
	}
}

func (u *upgrade) checkPods(pods map[string]*corev1.PodTemplateSpec) {
	u.Helper()
	after := u.templates("demo")
	for name, template := range pods {
		if !equality.Semantic.DeepEqual(template, after[name]) {
			u.Errorf("the upgrade restarts the pods of %s, from\n%v\nto\n%v", name, template, after[name])
		}
	}
	if len(after) != len(pods) {
		u.Errorf("workloads %v before the upgrade, %v after", slices.Sorted(maps.Keys(pods)), slices.Sorted(maps.Keys(after)))
	}
}

func newUpgrade(t *testing.T) *upgrade {
	t.Helper()
	restConfig := kubetest.Start(t)
	t.Setenv("KUBECONFIG", kubetest.Kubeconfig(t, restConfig, t.TempDir()))
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{clientgoscheme.AddToScheme, hyperv1.AddToScheme, apiextensionsv1.AddToScheme} {
		if err := add(scheme); err != nil {
			t.Fatal(err)
		}
	}
	c, err := client.New(restConfig, client.Options{Scheme: scheme})
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "clusters"}}); err != nil {
		t.Fatal(err)
	}
	registry := releasetest.New(t)
	operator := registry.PushOperator(t, map[string]string{release.LabelRestricted: "true"})
	image := registry.PushPayload(t, "4.21.0", releasetest.Payload{Version: "4.21.0"})
	return &upgrade{Client: c, T: t, image: image, plane: &controlplane.Reconciler{
		Client: c, Releases: release.NewProvider(), Settings: component.Settings{Image: operator, UID: ptr.To[int64](1001)},
		IngressDomain: "apps.example.com", Certificates: pki.DefaultPolicy(), Now: time.Now,
		// The guest of this test is the management cluster itself.
		Guest: func([]byte) (client.Client, error) { return c, nil },
		Probe: func(context.Context, publish.Endpoint, []byte) error { return nil },
	}}
}

// install is the user's command.
func (u *upgrade) install() {
	u.Helper()
	root, messages := cli.NewRoot(), &bytes.Buffer{}
	root.SetOut(messages)
	root.SetErr(messages)
	root.SetArgs([]string{"install", "--ingress-domain", "apps.example.com", "--limit-crd-install", "Azure"})
	if err := root.ExecuteContext(u.Context()); err != nil {
		u.Fatalf("install: %v\n%s", err, messages)
	}
}

// makeOlder takes fields with their defaults, the rules and the last printer column out of the definitions.
func (u *upgrade) makeOlder() {
	u.Helper()
	for name, fields := range lateFields {
		crd := &apiextensionsv1.CustomResourceDefinition{}
		if err := u.Get(u.Context(), client.ObjectKey{Name: name}, crd); err != nil {
			u.Fatal(err)
		}
		version := &crd.Spec.Versions[0]
		for _, field := range fields {
			part, field, _ := strings.Cut(field, ".")
			if _, found := version.Schema.OpenAPIV3Schema.Properties[part].Properties[field]; !found {
				u.Fatalf("%s has no field %s.%s to take away", name, part, field)
			}
			delete(version.Schema.OpenAPIV3Schema.Properties[part].Properties, field)
		}
		spec := version.Schema.OpenAPIV3Schema.Properties["spec"]
		spec.XValidations = nil
		version.Schema.OpenAPIV3Schema.Properties["spec"] = spec
		if columns := version.AdditionalPrinterColumns; len(columns) > 0 {
			version.AdditionalPrinterColumns = columns[:len(columns)-1]
		}
		if err := u.Update(u.Context(), crd); err != nil {
			u.Fatal(err)
		}
	}
	u.waitForShape(false)
}

// waitForShape waits until the API server goes by the definitions: it gets to know them a moment after they are stored.
func (u *upgrade) waitForShape(current bool) {
	u.Helper()
	hc, np, hcp := u.cluster("probe"), u.pool("probe"), &hyperv1.HostedControlPlane{}
	hcp.Name, hcp.Namespace = "probe", "clusters"
	hcp.Spec.Platform, hcp.Spec.Services, hcp.Spec.Etcd, hcp.Spec.Networking = hc.Spec.Platform, hc.Spec.Services, hc.Spec.Etcd, hc.Spec.Networking
	hcp.Spec.ReleaseImage, hcp.Spec.InfraID, hcp.Spec.IssuerURL = u.image, "probe", hc.Spec.IssuerURL
	for _, obj := range []client.Object{hc, np, hcp} {
		eventually(u.T, "the API server goes by the definition that was stored last", func() bool {
			content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(obj)
			if err != nil {
				u.Fatal(err)
			}
			probe := &unstructured.Unstructured{Object: content}
			kind, err := u.GroupVersionKindFor(obj)
			if err != nil {
				u.Fatal(err)
			}
			probe.SetGroupVersionKind(kind)
			for _, field := range defaulted[kind.Kind] {
				unstructured.RemoveNestedField(probe.Object, "spec", field)
			}
			if err := u.Create(u.Context(), probe, client.DryRunAll); err != nil {
				u.Fatal(err)
			}
			spec, _ := probe.Object["spec"].(map[string]any)
			return !slices.ContainsFunc(defaulted[kind.Kind], func(field string) bool { return (spec[field] != nil) != current })
		})
	}
}

func (u *upgrade) cluster(name string) *hyperv1.HostedCluster {
	hc := cluster(u.image)
	hc.Name = name
	hc.Spec.NodeSelector = map[string]string{"hosts": "control-planes"}
	hc.Spec.Labels = map[string]string{"team": "blue"}
	return hc
}

func (u *upgrade) pool(name string) *hyperv1.NodePool {
	np := &hyperv1.NodePool{ObjectMeta: metav1.ObjectMeta{Namespace: "clusters", Name: name}}
	np.Spec.ClusterName, np.Spec.Replicas, np.Spec.Release.Image = name, ptr.To[int32](2), u.image
	np.Spec.NodeLabels = map[string]string{"team": "blue"}
	np.Spec.Management = hyperv1.NodePoolManagement{AutoRepair: true, UpgradeType: hyperv1.UpgradeTypeReplace}
	np.Spec.Platform.Type = hyperv1.NonePlatform
	return np
}

func (u *upgrade) create(name string) {
	u.Helper()
	hc := u.cluster(name)
	hc.Spec.PullSecret.Name = name + "-pull"
	pull := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Name: name + "-pull", Namespace: "clusters"}, Data: map[string][]byte{hyperv1.PullSecretKey: []byte(`{"auths":{}}`)},
	}
	for _, obj := range []client.Object{pull, hc, u.pool(name)} {
		if err := u.Create(u.Context(), obj); err != nil {
			u.Fatalf("create %T %s: %v", obj, name, err)
		}
	}
}

// asOperator, set in the environment, makes the test's program the operator: a process runs one only.
const asOperator = "HYPERSHIFT_TEST_AS_OPERATOR"

func TestMain(m *testing.M) {
	if os.Getenv(asOperator) != "" {
		main()
		return
	}
	os.Exit(m.Run())
}

// operator runs the operator until it is stopped, or the test ends.
func (u *upgrade) operator() (stop func()) {
	u.Helper()
	output := &bytes.Buffer{}
	command := exec.Command(os.Args[0], "run", "--namespace=hypershift", "--metrics-addr=0", "--health-addr=0", "--ingress-domain=apps.example.com",
		"--control-plane-operator-image="+u.plane.Settings.Image, "--webhook-port="+kubetest.FreePort(u.T),
		"--registry-overrides="+releasetest.Trust(u.image))
	command.Env = append(os.Environ(), asOperator+"=true")
	command.Stdout, command.Stderr = output, output
	command.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := command.Start(); err != nil {
		u.Fatal(err)
	}
	stop = sync.OnceFunc(func() {
		if err := errors.Join(command.Process.Signal(syscall.SIGTERM), command.Wait()); err != nil {
			u.Errorf("the operator failed: %v", err)
		}
		if u.Failed() {
			u.Logf("the end of the operator's log:\n%s", output.Bytes()[max(0, output.Len()-4000):])
		}
	})
	u.Cleanup(stop)
	return stop
}

// settle runs the control plane's operator, too, until everything of the hosted cluster was reconciled as the definitions are now.
func (u *upgrade) settle(name string) {
	u.Helper()
	key, namespace := client.ObjectKey{Namespace: "clusters", Name: name}, "clusters-"+name
	hc, np := &hyperv1.HostedCluster{}, &hyperv1.NodePool{}
	eventually(u.T, "hosted cluster "+name+" and its pool are reconciled", func() bool {
		if u.Get(u.Context(), key, hc) != nil || u.Get(u.Context(), key, np) != nil {
			return false
		}
		return meta.IsStatusConditionTrue(hc.Status.Conditions, hyperv1.ReconciliationSucceeded) && len(np.Status.Conditions) > 0
	})
	request := ctrl.Request{NamespacedName: client.ObjectKey{Namespace: namespace, Name: name}}
	hcp := &hyperv1.HostedControlPlane{}
	eventually(u.T, "the control plane of "+name+" is reconciled", func() bool {
		if _, err := u.plane.Reconcile(u.Context(), request); err != nil {
			return false
		}
		u.publish(namespace)
		u.runEtcd(namespace)
		return u.Get(u.Context(), request.NamespacedName, hcp) == nil && meta.IsStatusConditionTrue(hcp.Status.Conditions, hyperv1.InfrastructureReady) &&
			u.Get(u.Context(), client.ObjectKey{Namespace: namespace, Name: "kube-scheduler"}, &appsv1.Deployment{}) == nil
	})
}

// runEtcd plays the members of etcd, before which only the API server is made.
func (u *upgrade) runEtcd(namespace string) {
	u.Helper()
	s := &appsv1.StatefulSet{}
	if u.Get(u.Context(), client.ObjectKey{Namespace: namespace, Name: "etcd"}, s) != nil {
		return
	}
	before, n := s.DeepCopy(), *s.Spec.Replicas
	s.Status = appsv1.StatefulSetStatus{ObservedGeneration: s.Generation, Replicas: n, UpdatedReplicas: n, ReadyReplicas: n, AvailableReplicas: n}
	if err := u.Status().Patch(u.Context(), s, client.MergeFrom(before)); err != nil {
		u.Fatal(err)
	}
}

// publish gives load balancers their addresses, as the cloud does.
func (u *upgrade) publish(namespace string) {
	u.Helper()
	services := &corev1.ServiceList{}
	if err := u.List(u.Context(), services, client.InNamespace(namespace)); err != nil {
		u.Fatal(err)
	}
	for i := range services.Items {
		lb := &services.Items[i]
		if lb.Spec.Type != corev1.ServiceTypeLoadBalancer || len(lb.Status.LoadBalancer.Ingress) > 0 {
			continue
		}
		before := lb.DeepCopy()
		lb.Status.LoadBalancer.Ingress = []corev1.LoadBalancerIngress{{IP: "198.18.16.3"}}
		if err := u.Status().Patch(u.Context(), lb, client.MergeFrom(before)); err != nil {
			u.Fatal(err)
		}
	}
}

// get reads without the program's types, which know of fields that are not stored.
func (u *upgrade) get(kind, name string) *unstructured.Unstructured {
	u.Helper()
	obj := &unstructured.Unstructured{}
	obj.SetGroupVersionKind(hyperv1.GroupVersion.WithKind(kind))
	namespace := "clusters"
	if kind == "HostedControlPlane" {
		namespace += "-" + name
	}
	if err := u.Get(u.Context(), client.ObjectKey{Namespace: namespace, Name: name}, obj); err != nil {
		u.Fatal(err)
	}
	return obj
}

// specs are those of each kind.
func (u *upgrade) specs(name string) map[string]map[string]any {
	u.Helper()
	specs := map[string]map[string]any{}
	for kind := range defaulted {
		specs[kind], _ = u.get(kind, name).Object["spec"].(map[string]any)
	}
	return specs
}

// templates are those of all pods in the control plane's namespace.
func (u *upgrade) templates(name string) map[string]*corev1.PodTemplateSpec {
	u.Helper()
	deployments, sets := &appsv1.DeploymentList{}, &appsv1.StatefulSetList{}
	for _, list := range []client.ObjectList{deployments, sets} {
		if err := u.List(u.Context(), list, client.InNamespace("clusters-"+name)); err != nil {
			u.Fatal(err)
		}
	}
	templates := map[string]*corev1.PodTemplateSpec{}
	for i := range deployments.Items {
		templates["Deployment "+deployments.Items[i].Name] = &deployments.Items[i].Spec.Template
	}
	for i := range sets.Items {
		templates["StatefulSet "+sets.Items[i].Name] = &sets.Items[i].Spec.Template
	}
	return templates
}

// conditions are those of the hosted cluster, its control plane and its pool: type, status and reason.
func (u *upgrade) conditions(name string) map[string]string {
	u.Helper()
	conditions := map[string]string{}
	for kind := range defaulted {
		list, _, err := unstructured.NestedSlice(u.get(kind, name).Object, "status", "conditions")
		if err != nil {
			u.Fatal(err)
		}
		for _, one := range list {
			c, _ := one.(map[string]any)
			conditions[fmt.Sprintf("%s %v", kind, c["type"])] = fmt.Sprintf("%v %v", c["status"], c["reason"])
		}
	}
	return conditions
}
