package isolation

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	hyperv1 "github.com/hypershift-on-azure/hypershift/api/v1beta1"
	"github.com/hypershift-on-azure/hypershift/internal/contract"
	"github.com/hypershift-on-azure/hypershift/internal/hostedcluster/cluster"
	"github.com/hypershift-on-azure/hypershift/internal/hostedcluster/hostedclustertest"
	"github.com/hypershift-on-azure/hypershift/internal/kube"
	"github.com/hypershift-on-azure/hypershift/internal/release"
	"github.com/hypershift-on-azure/hypershift/internal/steps"
	"github.com/hypershift-on-azure/hypershift/internal/survey/surveytest"
	"github.com/hypershift-on-azure/hypershift/internal/tenancy"
)

// hosted is HostedCluster clusters/demo among the objects.
func hosted(objects ...client.Object) *cluster.Cluster {
	hc := hostedclustertest.Cluster("demo", "image")
	hc.UID = "a-uid"
	c := hostedclustertest.At(hc)
	c.Client = surveytest.Client(append(objects, hc.DeepCopy())...).Build()
	c.Live = c.Client
	return c
}

// planeNamespace of somebody's control plane, with the user id of its pods.
func planeNamespace(name, reference, uid, user string) *corev1.Namespace {
	return &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{hyperv1.HostedControlPlaneLabel: "true"},
		Annotations: map[string]string{
			hyperv1.HostedClusterAnnotation: reference, hyperv1.HostedClusterUIDAnnotation: uid, hyperv1.DefaultSecurityContextUID: user}}}
}

var restricted = map[string]string{release.LabelRestricted: "true"}

// TestPodSecurity: a namespace is as closed as the operator's image allows, and what is not known changes nothing.
func TestPodSecurity(t *testing.T) {
	privileged := planeNamespace("clusters-demo", "clusters/demo", "a-uid", "")
	privileged.Labels["pod-security.kubernetes.io/enforce"] = "privileged"
	for name, c := range map[string]struct {
		override string
		known    bool
		labels   map[string]string
		own      *corev1.Namespace
		want     string
	}{
		"the image says so":         {"", true, restricted, nil, "restricted"},
		"the image says nothing":    {"", true, nil, nil, "privileged"},
		"the image says no":         {"", true, map[string]string{release.LabelRestricted: "false"}, nil, "privileged"},
		"the user says so":          {"Baseline", false, nil, nil, "baseline"},
		"not known, as before":      {"", false, nil, privileged, "privileged"},
		"not known for a new one":   {"", false, nil, nil, ""},
		"not known, never labelled": {"", false, nil, planeNamespace("clusters-demo", "clusters/demo", "a-uid", ""), ""},
	} {
		hc := hostedclustertest.Cluster("demo", "image")
		if c.override != "" {
			hc.Annotations = map[string]string{hyperv1.PodSecurityLabelOverrideAnnotation: c.override}
		}
		got, err := podSecurity(hc, NamespaceSettings{Labels: c.labels, LabelsKnown: c.known}, c.own)
		var waiting *steps.Waiting
		if got != c.want || (err != nil) != errors.As(err, &waiting) || (err != nil) != (c.want == "") {
			t.Errorf("%s: %q, %v", name, got, err)
		}
	}
}

// TestUserOfPods: each control plane has a user id of its own, which it keeps; a process that leaves its container meets no file of another.
func TestUserOfPods(t *testing.T) {
	var full []client.Object
	for id := firstUserID; id <= lastUserID; id++ {
		full = append(full, planeNamespace(fmt.Sprint("n", id), "x/y", "u", strconv.Itoa(id)))
	}
	unlabelled := planeNamespace("theirs", "", "", "1001")
	unlabelled.Labels = nil
	for name, c := range map[string]struct {
		there []client.Object
		own   *corev1.Namespace
		want  int64
	}{
		"the first":               {nil, nil, 1001},
		"a gap is filled":         {[]client.Object{planeNamespace("a", "", "", "1001"), planeNamespace("b", "", "", "1003")}, nil, 1002},
		"no number":               {[]client.Object{planeNamespace("a", "", "", "root")}, nil, 1001},
		"no control plane":        {[]client.Object{unlabelled}, nil, 1001},
		"its own":                 {[]client.Object{planeNamespace("a", "", "", "1001")}, planeNamespace("clusters-demo", "", "", "1077"), 1077},
		"its own, made elsewhere": {nil, planeNamespace("clusters-demo", "", "", ""), 1001},
		"none is left":            {full, nil, 0},
	} {
		c1 := hosted(c.there...)
		got, err := chooseUser(t.Context(), c1, c.own)
		if (err != nil) != (c.want == 0) || ptr.Deref(got, 0) != c.want || err != nil && !strings.Contains(err.Error(), "this management cluster is full") {
			t.Errorf("%s: %d, %v", name, ptr.Deref(got, 0), err)
		}
	}
}

// TestEnsureNamespace: it is made with the proof of whose it is, and is closed; a second pass writes nothing else into it.
func TestEnsureNamespace(t *testing.T) {
	c := hosted()
	settings := NamespaceSettings{AssignUsers: true, LabelsKnown: true, Labels: restricted, Monitoring: true}
	for range 2 {
		user, err := new(Namespaces).Ensure(t.Context(), c, settings)
		if err != nil || ptr.Deref(user, 0) != 1001 {
			t.Fatalf("%v, %v", user, err)
		}
	}
	made := &corev1.Namespace{}
	if err := c.Client.Get(t.Context(), client.ObjectKey{Name: "clusters-demo"}, made); err != nil {
		t.Fatal(err)
	}
	for key, want := range map[string]string{"pod-security.kubernetes.io/enforce": "restricted", "pod-security.kubernetes.io/audit": "restricted",
		"pod-security.kubernetes.io/warn": "restricted", hyperv1.HostedControlPlaneLabel: "true", contract.ClusterMonitoringLabel: "true",
		contract.PodSecuritySyncLabel: "false"} {
		if made.Labels[key] != want {
			t.Errorf("label %s is %q", key, made.Labels[key])
		}
	}
	if made.Annotations[hyperv1.HostedClusterAnnotation] != "clusters/demo" || made.Annotations[hyperv1.HostedClusterUIDAnnotation] != "a-uid" ||
		made.Annotations[hyperv1.DefaultSecurityContextUID] != "1001" {
		t.Errorf("annotations %v", made.Annotations)
	}
	account := &corev1.ServiceAccount{}
	err := c.Client.Get(t.Context(), client.ObjectKey{Namespace: "clusters-demo", Name: "default"}, account)
	if err != nil || len(account.ImagePullSecrets) != 1 || account.ImagePullSecrets[0].Name != contract.PullSecret {
		t.Errorf("%+v, %v", account, err)
	}
}

// TestNamespaceIsNotTakenOver: one of another cluster's, or of a former one of the name, is not touched, and none is made for a cluster that is gone.
func TestNamespaceIsNotTakenOver(t *testing.T) {
	settings := NamespaceSettings{LabelsKnown: true}
	for name, there := range map[string]*corev1.Namespace{
		"another cluster's": planeNamespace("clusters-demo", "clusters-demo/", "a-uid", ""),
		"a former one's": planeNamespace("clusters-demo",
			"clusters/demo", "b-uid", ""),
		"somebody's": {ObjectMeta: metav1.ObjectMeta{Name: "clusters-demo"}},
	} {
		c := hosted(there)
		if _, err := new(Namespaces).Ensure(t.Context(), c, settings); !tenancy.IsRefusal(err) {
			t.Errorf("%s: %v", name, err)
		}
		left := &corev1.Namespace{}
		if err := c.Client.Get(t.Context(), client.ObjectKey{Name: "clusters-demo"}, left); err != nil || len(left.Labels) != len(there.Labels) {
			t.Errorf("%s: %v, %v", name, left.Labels, err)
		}
	}
	for name, change := range map[string]func(*cluster.Cluster) error{
		"it is gone":     func(c *cluster.Cluster) error { return c.Client.Delete(context.Background(), c.Hosted.DeepCopy()) },
		"made anew":      func(c *cluster.Cluster) error { c.Hosted.UID = "b-uid"; return nil },
		"is unknown":     func(c *cluster.Cluster) error { settings.LabelsKnown = false; return nil },
		"the cache lags": func(c *cluster.Cluster) error { c.Live = surveytest.Client().Build(); return nil },
	} {
		c := hosted()
		if err := change(c); err != nil {
			t.Fatal(err)
		}
		if _, err := new(Namespaces).Ensure(t.Context(), c, settings); err == nil {
			t.Errorf("%s: no error", name)
		}
		if err := c.Client.Get(t.Context(), client.ObjectKey{Name: "clusters-demo"}, &corev1.Namespace{}); err == nil {
			t.Errorf("%s: a namespace is made that nobody would delete", name)
		}
		settings.LabelsKnown = true
	}
}

func slice(name, service string, ports []int32, addresses ...string) *discoveryv1.EndpointSlice {
	s := &discoveryv1.EndpointSlice{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name,
		Labels: map[string]string{discoveryv1.LabelServiceName: service}},
		Endpoints: []discoveryv1.Endpoint{{Addresses: addresses}}}
	for _, port := range ports {
		s.Ports = append(s.Ports, discoveryv1.EndpointPort{Port: ptr.To(port)})
	}
	s.Ports = append(s.Ports, discoveryv1.EndpointPort{})
	return s
}

func node(name, cidr string, addresses ...string) *corev1.Node {
	n := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: corev1.NodeSpec{PodCIDRs: []string{cidr}}}
	for _, address := range addresses {
		n.Status.Addresses = append(n.Status.Addresses, corev1.NodeAddress{Type: corev1.NodeInternalIP, Address: address})
	}
	n.Status.Addresses = append(n.Status.Addresses, corev1.NodeAddress{Type: corev1.NodeHostName, Address: "10.9.9.9"})
	return n
}

// TestNetworksAreRead: each address once, of IPv4, whatever the order in which the API server lists them; and not more often than once a minute.
func TestNetworksAreRead(t *testing.T) {
	lists := 0
	fails := false
	reader := surveytest.Client(slice("b", "kubernetes", []int32{6443}, "10.0.0.5", "10.0.0.4"), slice("a", "kubernetes", []int32{6443}, "10.0.0.4",
		"fd00::4", "server"),
		slice("c", "another", []int32{1}, "10.0.0.7"), node("n", "10.128.0.0/24", "10.0.0.8", "fd00::8"), node("m", "no network", "10.0.0.9")).
		WithInterceptorFuncs(interceptor.Funcs{List: func(ctx context.Context, inner client.WithWatch, list client.ObjectList, o ...client.ListOption) error {
			if lists++; fails {
				return errors.New("no answer")
			}
			return inner.List(ctx, list, o...)
		}}).Build()
	networks, now := &Networks{}, time.Unix(0, 0)
	found, err := networks.read(t.Context(), reader, now)
	if err != nil {
		t.Fatal(err)
	}
	if got := fmt.Sprint(found.servers, found.ports, found.pods,
		found.nodes); got != "[10.0.0.4/32 10.0.0.5/32] [6443] [10.128.0.0/24] [10.0.0.9/32 10.0.0.8/32]" {
		t.Error(got)
	}
	asked := lists
	fails = true
	if again, err := networks.read(t.Context(), reader, now.Add(59*time.Second)); err != nil || lists != asked || len(again.servers) != 2 {
		t.Errorf("%d lists, %v", lists-asked, err)
	}
	if _, err := networks.read(t.Context(), reader, now.Add(time.Minute)); err == nil {
		t.Error("what cannot be read is taken for nothing")
	}
	fails = false
	if again, err := networks.read(t.Context(), reader, now.Add(time.Minute)); err != nil || len(again.servers) != 2 {
		t.Errorf("an error is remembered: %v, %v", again, err)
	}
}

// TestPodNetworksOfOpenShift: the configuration of the management cluster says more than its nodes; one that is malformed is no empty one.
func TestPodNetworksOfOpenShift(t *testing.T) {
	config := func(networks any) *unstructured.Unstructured {
		return &unstructured.Unstructured{Object: map[string]any{"apiVersion": "config.openshift.io/v1", "kind": "Network",
			"metadata": map[string]any{"name": "cluster"}, "spec": map[string]any{"clusterNetwork": networks}}}
	}
	for name, c := range map[string]struct {
		networks any
		want     string
	}{
		"networks":  {[]any{map[string]any{"cidr": "10.128.0.1/14"}, map[string]any{"cidr": "fd01::/48"}, "odd", map[string]any{}}, "[10.128.0.0/14]"},
		"none":      {[]any{}, "[]"},
		"malformed": {"odd", "error"},
	} {
		reader := surveytest.Client(config(c.networks)).Build()
		found, err := podNetworks(t.Context(), reader, &corev1.NodeList{Items: []corev1.Node{*node("n", "10.200.0.0/24")}})
		if got := fmt.Sprint(found); err != nil && c.want != "error" || err == nil && got != c.want {
			t.Errorf("%s: %s, %v", name, got, err)
		}
	}
}

// TestPoliciesAreWritten: without the addresses of the management cluster the ways in are opened all the same, and nothing that closes ways out is taken
// for done; what let the ingress in goes where the cluster's own router serves.
func TestPoliciesAreWritten(t *testing.T) {
	applied := map[string]bool{}
	stale := &networkingv1.NetworkPolicy{ObjectMeta: metav1.ObjectMeta{Namespace: "clusters-demo", Name: ingressPolicy}}
	mine := &networkingv1.NetworkPolicy{ObjectMeta: metav1.ObjectMeta{Namespace: "clusters-demo", Name: "mine"}}
	c := hosted()
	c.Client = surveytest.Client(stale, mine).WithInterceptorFuncs(interceptor.Funcs{
		Apply: func(_ context.Context, _ client.WithWatch, obj runtime.ApplyConfiguration, _ ...client.ApplyOption) error {
			raw, err := json.Marshal(obj)
			policy := &networkingv1.NetworkPolicy{}
			err = errors.Join(err, json.Unmarshal(raw, policy))
			applied[policy.Name] = true
			return err
		},
	}).Build()
	for i := range c.Hosted.Spec.Services {
		c.Hosted.Spec.Services[i].ServicePublishingStrategy = hyperv1.ServicePublishingStrategy{
			Type: hyperv1.Route, Route: &hyperv1.RoutePublishingStrategy{Hostname: hyperv1.Hostname(fmt.Sprintf("h%d.test", i))}}
	}
	live := c.Live
	c.Live = surveytest.Client().WithInterceptorFuncs(interceptor.Funcs{
		List: func(context.Context, client.WithWatch, client.ObjectList, ...client.ListOption) error {
			return errors.New("no answer")
		},
	}).Build()
	around := Surroundings{Networks: &Networks{}}
	if err := EnsurePolicies(t.Context(), c, around); err == nil {
		t.Error("ways out stay open, and nobody says so")
	}
	if got := slices.Sorted(maps.Keys(applied)); !slices.Equal(got, []string{"kas", "openshift-monitoring", "same-namespace"}) {
		t.Errorf("%v", got)
	}
	left := &networkingv1.NetworkPolicyList{}
	if err := c.Client.List(t.Context(), left); err != nil || len(left.Items) != 1 || left.Items[0].Name != "mine" {
		t.Errorf("%v, %v", left.Items, err)
	}
	c.Live = live
	if err := EnsurePolicies(t.Context(), c, around); err != nil {
		t.Fatal(err)
	}
	want := []string{"kas", "kas-egress", "management-api", "openshift-monitoring", "pods-egress", "private-router", "same-namespace"}
	if got := slices.Sorted(maps.Keys(applied)); !slices.Equal(got, want) {
		t.Errorf("%v", got)
	}
	if told := kube.Find(c.Hosted.Status.Conditions, hyperv1.ControlPlaneIsolated); told == nil || told.Status != metav1.ConditionFalse {
		t.Errorf("%+v", told)
	}
}

// TestNameServers: on OpenShift only its name servers are asked, elsewhere whoever listens at their port.
func TestNameServers(t *testing.T) {
	for openShift, want := range map[bool]int{true: 5353, false: 53} {
		rule := dnsRule(openShift)
		if len(rule.Ports) != 2 || rule.Ports[0].Port.IntValue() != want || (len(rule.To) == 1) != openShift {
			t.Errorf("%t: %+v", openShift, rule)
		}
	}
}

// TestPortOfTheAPIServer: the port at which nodes ask is let in, too, once.
func TestPortOfTheAPIServer(t *testing.T) {
	for port, want := range map[int32][]int32{0: {6443}, 6443: {6443}, 7443: {6443, 7443}} {
		hc := hostedclustertest.Cluster("demo", "image")
		if port != 0 {
			hc.Spec.Networking.APIServer = &hyperv1.APIServerNetworking{Port: &port}
		}
		if got := (policies{hc: hc}).apiServerPorts(); !slices.Equal(got, want) {
			t.Errorf("%d: %v", port, got)
		}
	}
}
