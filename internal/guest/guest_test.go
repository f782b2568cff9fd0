package guest

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	configv1 "github.com/openshift/api/config/v1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/controller-runtime/pkg/event"

	hyperv1 "github.com/hypershift-on-azure/hypershift/api/v1beta1"
	"github.com/hypershift-on-azure/hypershift/internal/component"
)

func plainFacts() *Facts {
	images := map[string]string{}
	for _, key := range []string{"apiserver-network-proxy", "azure-cloud-node-manager", "azure-workload-identity-webhook", "skipper", "kube-proxy", "flannel", "coredns", "cli"} {
		images[key] = "quay.io/x@sha256:" + key
	}
	return &Facts{
		HCP: azurePlane(), Ingress: component.IngressExternal, IngressCert: "ingress cert", IngressKey: "ingress key",
		Images: images, PodCIDR: "10.132.0.0/14", ServiceCIDR: "172.31.0.0/16", DNSAddress: "172.31.0.10",
		APIAddress: "172.20.0.1", APIPort: 6443, KonnectivityHost: "konnectivity.example.com", KonnectivityPort: 443,
		KonnectivityCA: "ca", KonnectivityCert: "cert", KonnectivityKey: "key", RootCA: "root", HighlyAvailable: true,
	}
}

func azurePlane() *hyperv1.HostedControlPlane {
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

func scheme(t *testing.T) *runtime.Scheme {
	t.Helper()
	s := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{clientgoscheme.AddToScheme, hyperv1.AddToScheme, apiextensionsv1.AddToScheme, configv1.Install} {
		if err := add(s); err != nil {
			t.Fatal(err)
		}
	}
	return s
}

func workloads(objects []client.Object) []string {
	var out []string
	for _, obj := range objects {
		kind := typeName(obj)
		if kind == "DaemonSet" || kind == "Deployment" {
			out = append(out, obj.GetName())
		}
	}
	slices.Sort(out)
	return out
}

func typeName(obj client.Object) string {
	s := runtime.NewScheme()
	_ = clientgoscheme.AddToScheme(s)
	kinds, _, err := s.ObjectKinds(obj)
	if err != nil {
		return ""
	}
	return kinds[0].Kind
}

func TestAddonsFollowThePayload(t *testing.T) {
	all := []string{"azure-cloud-node-manager", "coredns", "flannel", "kas-connection-checker", "konnectivity-agent", "kube-proxy", "router-default"}
	tests := map[string]struct {
		change func(map[string]string)
		want   []string
	}{
		"plain payload": {func(map[string]string) {}, all},
		"no flannel":    {func(m map[string]string) { delete(m, "flannel") }, []string{"azure-cloud-node-manager", "coredns", "kas-connection-checker", "konnectivity-agent", "kube-proxy", "router-default"}},
		"OpenShift payload": {func(m map[string]string) {
			m["cluster-network-operator"], m["cluster-dns-operator"], m["cluster-ingress-operator"] = "a", "b", "c"
		}, []string{"azure-cloud-node-manager", "kas-connection-checker", "konnectivity-agent"}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			facts := plainFacts()
			test.change(facts.Images)
			if got := workloads(Objects(facts)); !slices.Equal(got, test.want) {
				t.Errorf("workloads = %v, want %v", got, test.want)
			}
		})
	}
}

// An agent looks for servers all the time, and the next node's is not replaced before it has had the time to find them.
func TestAgentsFindEveryServer(t *testing.T) {
	for _, obj := range konnectivityAgent(plainFacts()) {
		set, ok := obj.(*appsv1.DaemonSet)
		if !ok {
			continue
		}
		c := set.Spec.Template.Spec.Containers[0]
		i := slices.IndexFunc(c.Args, func(arg string) bool { return strings.HasPrefix(arg, "--sync-interval=") })
		if !slices.Contains(c.Args, "--sync-forever=true") || i < 0 {
			t.Fatalf("arguments %v", c.Args)
		}
		interval, err := time.ParseDuration(strings.TrimPrefix(c.Args[i], "--sync-interval="))
		if settles := time.Duration(set.Spec.MinReadySeconds) * time.Second; err != nil || settles < 7*interval {
			t.Errorf("%s are for too few attempts every %s (%v)", settles, interval, err)
		}
		if c.ReadinessProbe == nil || c.ReadinessProbe.HTTPGet.Path != "/readyz" {
			t.Error("ready without a connection")
		}
	}
}

// Everything up to a node's initialisation has to run on a node that is not initialised.
func TestNodeAddonsTolerateNewNodes(t *testing.T) {
	for _, obj := range Objects(plainFacts()) {
		if typeName(obj) != "DaemonSet" {
			continue
		}
		raw, err := runtime.DefaultUnstructuredConverter.ToUnstructured(obj)
		if err != nil {
			t.Fatal(err)
		}
		tolerations, _, _ := unstructured.NestedSlice(raw, "spec", "template", "spec", "tolerations")
		if len(tolerations) != 1 || tolerations[0].(map[string]any)["operator"] != "Exists" {
			t.Errorf("%s tolerates %v", obj.GetName(), tolerations)
		}
	}
}

func TestObjectsCarryTheirFacts(t *testing.T) {
	facts := plainFacts()
	want := map[string]string{
		"--proxy-server-host=konnectivity.example.com": "", "--proxy-server-port=443": "", "clusterCIDR: 10.132.0.0/14": "",
		`"Network":"10.132.0.0/14"`: "", "server: https://172.20.0.1:6443": "", "172.31.0.10": "",
	}
	var text strings.Builder
	for _, obj := range Objects(facts) {
		raw, err := runtime.DefaultUnstructuredConverter.ToUnstructured(obj)
		if err != nil {
			t.Fatal(err)
		}
		collect(&text, raw)
		if obj.GetLabels()[hyperv1.ManagedByLabel] != managedBy {
			t.Errorf("%s %s is not labelled", typeName(obj), obj.GetName())
		}
	}
	for part := range want {
		if !strings.Contains(text.String(), part) {
			t.Errorf("no object holds %q", part)
		}
	}
}

func collect(out *strings.Builder, value any) {
	switch v := value.(type) {
	case map[string]any:
		for _, item := range v {
			collect(out, item)
		}
	case []any:
		for _, item := range v {
			collect(out, item)
		}
	case string:
		out.WriteString(v + "\n")
	}
}

func TestEnsureIsQuietUntilSomethingChanges(t *testing.T) {
	writes := 0
	guest := fake.NewClientBuilder().WithScheme(scheme(t)).WithInterceptorFuncs(interceptor.Funcs{
		Apply: func(ctx context.Context, c client.WithWatch, obj runtime.ApplyConfiguration, opts ...client.ApplyOption) error {
			writes++
			return c.Apply(ctx, obj, opts...)
		},
	}).Build()
	r := &resourceReconciler{guest: guest, applied: map[string]applied{}}
	pass := func() int {
		writes = 0
		for _, obj := range Objects(plainFacts()) {
			if err := r.ensure(t.Context(), obj); err != nil {
				t.Fatal(err)
			}
		}
		return writes
	}
	if first := pass(); first != len(Objects(plainFacts())) {
		t.Errorf("first pass wrote %d objects", first)
	}
	if again := pass(); again != 0 {
		t.Errorf("converged pass wrote %d objects", again)
	}
	config := &corev1.ConfigMap{}
	if err := guest.Get(t.Context(), client.ObjectKey{Namespace: kubeSystem, Name: "coredns"}, config); err != nil {
		t.Fatal(err)
	}
	config.Data["Corefile"] = "broken"
	if err := guest.Update(t.Context(), config); err != nil {
		t.Fatal(err)
	}
	if repaired := pass(); repaired != 1 {
		t.Errorf("drift in one object led to %d writes", repaired)
	}
	if err := guest.Get(t.Context(), client.ObjectKey{Namespace: kubeSystem, Name: "coredns"}, config); err != nil || config.Data["Corefile"] != corefile {
		t.Errorf("Corefile = %q, %v", config.Data["Corefile"], err)
	}
}

func machineWith(labels map[string]string, taints string) *unstructured.Unstructured {
	machine := &unstructured.Unstructured{Object: map[string]any{}}
	machine.SetGroupVersionKind(MachineKind)
	machine.SetName("np-1")
	machine.SetLabels(labels)
	annotations := map[string]string{hyperv1.NodePoolAnnotation: "clusters/np"}
	if taints != "" {
		annotations[hyperv1.NodePoolTaintsAnnotation] = taints
	}
	machine.SetAnnotations(annotations)
	return machine
}

func TestAdjustNode(t *testing.T) {
	node := &corev1.Node{}
	node.Labels = map[string]string{"kubernetes.io/os": "linux"}
	node.Spec.Taints = []corev1.Taint{{Key: "node.kubernetes.io/not-ready", Effect: corev1.TaintEffectNoSchedule}}
	machine := machineWith(map[string]string{"managed.hypershift.openshift.io.example.com/tier": "gold", "other": "x"},
		`[{"key":"dedicated","value":"gpu","effect":"NoSchedule"}]`)
	if err := adjust(node, machine); err != nil {
		t.Fatal(err)
	}
	for key, want := range map[string]string{"example.com/tier": "gold", hyperv1.NodePoolLabel: "np", workerRole: "", "kubernetes.io/os": "linux"} {
		if got, ok := node.Labels[key]; !ok || got != want {
			t.Errorf("label %s = %q, %v", key, got, ok)
		}
	}
	if _, leaked := node.Labels["other"]; leaked {
		t.Error("a label of the machine that is not the pool's reached the node")
	}
	if len(node.Spec.Taints) != 2 || node.Spec.Taints[1].Value != "gpu" {
		t.Errorf("taints = %v", node.Spec.Taints)
	}
	again := node.DeepCopy()
	if err := adjust(again, machine); err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(again.Spec.Taints, node.Spec.Taints) || len(again.Labels) != len(node.Labels) {
		t.Error("a second pass changed the node")
	}
	if err := adjust(node, machineWith(nil, "")); err != nil {
		t.Fatal(err)
	}
	if _, kept := node.Labels["example.com/tier"]; kept || len(node.Spec.Taints) != 1 {
		t.Errorf("dropped label or taint stayed: %v %v", node.Labels, node.Spec.Taints)
	}
}

// Somebody who takes a pool's taint off a node changes neither label nor annotation.
func TestTaintsStartAPassHeartbeatsDoNot(t *testing.T) {
	tainted := &corev1.Node{Spec: corev1.NodeSpec{Taints: []corev1.Taint{{Key: "dedicated", Effect: corev1.TaintEffectNoSchedule}}}}
	beating := tainted.DeepCopy()
	beating.ResourceVersion = "2"
	beating.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}}
	for name, test := range map[string]struct {
		now  *corev1.Node
		want bool
	}{"heartbeat": {beating, false}, "taint taken away": {&corev1.Node{}, true}} {
		if got := taintsChanged.Update(event.UpdateEvent{ObjectOld: tainted, ObjectNew: test.now}); got != test.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}

func TestAgentImage(t *testing.T) {
	hcp, images := azurePlane(), map[string]string{"apiserver-network-proxy": "payload"}
	if got := withAgentImage(hcp, images)["apiserver-network-proxy"]; got != "payload" {
		t.Errorf("without the annotation: %s", got)
	}
	hcp.Annotations = map[string]string{hyperv1.KonnectivityAgentImageAnnotation: "mine"}
	if got := withAgentImage(hcp, images)["apiserver-network-proxy"]; got != "mine" || images["apiserver-network-proxy"] != "payload" {
		t.Errorf("%s, and the payload has %v", got, images)
	}
}
