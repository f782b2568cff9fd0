package hostedcluster

import (
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hypershift-on-azure/hypershift/api/v1beta1"
	"github.com/hypershift-on-azure/hypershift/internal/clusterapi"
	"github.com/hypershift-on-azure/hypershift/internal/contract"
	"github.com/hypershift-on-azure/hypershift/internal/kube"
)

// attack reconciles a HostedCluster of another tenant and returns it as it is then, nil when it is gone.
func (f *fixture) attack(t *testing.T, hc *hyperv1.HostedCluster) *hyperv1.HostedCluster {
	t.Helper()
	key := client.ObjectKeyFromObject(hc)
	if _, err := f.reconciler.Reconcile(t.Context(), ctrl.Request{NamespacedName: key}); err != nil {
		t.Errorf("reconcile %s: %v", key, err)
	}
	now := &hyperv1.HostedCluster{}
	err := f.client.Get(t.Context(), key, now)
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		t.Fatal(err)
	}
	return now
}

// TestNamesThatMeet plays a tenant with rights in clusters-met alone, whose HostedCluster leads to the namespace of another's: it
// neither pauses nor deletes, reads nor changes anything there, and goes away by itself.
func TestNamesThatMeet(t *testing.T) {
	f := newFixture(t, "met-victim")
	f.create(t, f.pullSecret(), f.madeSecret(), f.cluster())
	f.reconcile(t)
	victim := f.get(t)
	f.playControlPlane(t)
	core := clusterapi.New(clusterapi.Cluster, f.namespace, victim.Spec.InfraID)
	f.finalizers(t, core, clusterFinalizer)
	f.reconcile(t)
	state := func() string {
		t.Helper()
		hcp, namespace := f.controlPlane(t), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: f.namespace}}
		f.read(t, namespace)
		f.read(t, core)
		if !namespace.DeletionTimestamp.IsZero() || namespace.Annotations[hyperv1.HostedClusterUIDAnnotation] != string(victim.UID) {
			t.Errorf("the victim's namespace: %v", namespace.ObjectMeta)
		}
		return strings.Join([]string{hcp.ResourceVersion, namespace.ResourceVersion, core.GetResourceVersion(), f.deployment(t, contract.ControlPlaneOperator).ResourceVersion}, " ")
	}
	before := state()

	f.createShared(t, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "clusters-met"}})
	copied := f.cluster()
	copied.Namespace, copied.Name = "clusters-met", "victim"
	copied.Spec.InfraID, copied.Spec.PausedUntil = victim.Spec.InfraID, ptr.To("true")
	pool := f.pool("clusters-met", "victim")
	f.create(t, copied, pool)
	now := f.attack(t, copied)
	for _, kind := range []string{hyperv1.ValidHostedClusterConfiguration, hyperv1.ReconciliationSucceeded} {
		c := kube.Find(now.Status.Conditions, kind)
		if c == nil || c.Status != metav1.ConditionFalse || !strings.Contains(c.Message, "is not this cluster's") || strings.Contains(c.Message, "clusters/met-victim") {
			t.Errorf("%s: %+v", kind, c)
		}
	}
	if c := kube.Find(now.Status.Conditions, hyperv1.HostedClusterAvailable); c == nil || c.Status != metav1.ConditionUnknown {
		t.Errorf("the victim's health is told to another tenant: %+v", c)
	}
	if after := state(); after != before {
		t.Errorf("paused: %s, then %s", before, after)
	}

	now.Spec.PausedUntil = nil
	if err := f.client.Update(t.Context(), now); err != nil {
		t.Fatal(err)
	}
	f.attack(t, copied)
	if after := state(); after != before {
		t.Errorf("running: %s, then %s", before, after)
	}

	for _, obj := range []client.Object{pool, copied} {
		if err := f.client.Delete(t.Context(), obj); err != nil {
			t.Fatal(err)
		}
	}
	for range 3 {
		now = f.attack(t, copied)
	}
	if now != nil {
		t.Errorf("the copied HostedCluster does not go: %+v", kube.Find(now.Status.Conditions, hyperv1.HostedClusterDestroyed))
	}
	if after := state(); after != before {
		t.Errorf("deleted: %s, then %s", before, after)
	}
	f.reconcile(t)
	if c := kube.Find(f.get(t).Status.Conditions, hyperv1.ReconciliationSucceeded); c.Status != metav1.ConditionTrue {
		t.Errorf("the victim: %+v", c)
	}
}

// TestOnePlaceInAzure: a HostedCluster does not share its infrastructure id or its resource group with an older one.
func TestOnePlaceInAzure(t *testing.T) {
	f := newFixture(t, "placed")
	f.create(t, f.pullSecret(), f.madeSecret(), f.cluster())
	f.reconcile(t)
	older := f.get(t)
	f.createShared(t, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "clusters-other"}})
	for name, test := range map[string]struct {
		change func(*hyperv1.HostedCluster)
		says   string
	}{
		"id":    {func(hc *hyperv1.HostedCluster) { hc.Spec.InfraID = older.Spec.InfraID }, "spec.infraID"},
		"group": {func(hc *hyperv1.HostedCluster) { hc.Spec.Platform.Azure.ResourceGroupName = "PLACED" }, "spec.platform.azure.resourceGroup"},
		"none":  {func(*hyperv1.HostedCluster) {}, ""},
	} {
		hc := f.cluster()
		hc.Namespace, hc.Name = "clusters-other", name
		hc.Spec.Platform.Azure.ResourceGroupName = "of-" + name
		test.change(hc)
		f.create(t, hc)
		if _, err := f.reconciler.Reconcile(t.Context(), ctrl.Request{NamespacedName: client.ObjectKeyFromObject(hc)}); err == nil && test.says != "" {
			t.Errorf("%s: no error", name)
		}
		f.read(t, hc)
		c := kube.Find(hc.Status.Conditions, hyperv1.ValidHostedClusterConfiguration)
		shared := c != nil && strings.Contains(c.Message, "another HostedCluster")
		if shared != (test.says != "") || (shared && !strings.Contains(c.Message, test.says)) || strings.Contains(c.Message, "clusters/") {
			t.Errorf("%s: %+v", name, c)
		}
	}
	f.reconcile(t)
	if c := kube.Find(f.get(t).Status.Conditions, hyperv1.ValidHostedClusterConfiguration); strings.Contains(c.Message, "another HostedCluster") {
		t.Errorf("the older one: %+v", c)
	}
}

// TestHostNamesOfOthers plays a tenant who publishes his cluster under the names of another's.
func TestHostNamesOfOthers(t *testing.T) {
	const zone = "/subscriptions/s/resourceGroups/dns/providers/Microsoft.Network/dnsZones/hypershift.test"
	publish := func(hc *hyperv1.HostedCluster, i int, how hyperv1.ServicePublishingStrategy) {
		hc.Spec.Services = slices.Clone(hc.Spec.Services)
		hc.Spec.Services[i].ServicePublishingStrategy = how
	}
	balanced := func(name hyperv1.Hostname) hyperv1.ServicePublishingStrategy {
		return hyperv1.ServicePublishingStrategy{Type: hyperv1.LoadBalancer, LoadBalancer: &hyperv1.LoadBalancerPublishingStrategy{Hostname: name}}
	}
	routed := func(name hyperv1.Hostname) hyperv1.ServicePublishingStrategy {
		return hyperv1.ServicePublishingStrategy{Type: hyperv1.Route, Route: &hyperv1.RoutePublishingStrategy{Hostname: name}}
	}
	f := newFixture(t, "named")
	victim := f.cluster()
	publish(victim, 0, balanced("api.named.test"))
	publish(victim, 1, routed("ignition.named.test"))
	victim.Spec.KubeAPIServerDNSName, victim.Spec.DNS.PublicZoneID = "kas.named.test", zone
	f.create(t, f.pullSecret(), f.madeSecret(), victim)
	f.reconcile(t)
	told := func(hc *hyperv1.HostedCluster) string {
		t.Helper()
		// A HostedCluster that is refused ends with an error.
		_, _ = f.reconciler.Reconcile(t.Context(), ctrl.Request{NamespacedName: client.ObjectKeyFromObject(hc)})
		f.read(t, hc)
		return kube.Find(hc.Status.Conditions, hyperv1.ValidHostedClusterConfiguration).Message
	}
	f.createShared(t, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "clusters-names"}})
	for _, test := range []struct {
		name   string
		change func(*hyperv1.HostedCluster)
		says   string
	}{
		{"other-zone", func(hc *hyperv1.HostedCluster) {
			hc.Spec.DNS.PublicZoneID, hc.Spec.DNS.BaseDomainPrefix = zone+"2", ptr.To("named")
		}, ""},
		{"balanced", func(hc *hyperv1.HostedCluster) { publish(hc, 0, balanced("API.named.test")) }, "spec.services[0]"},
		{"routed", func(hc *hyperv1.HostedCluster) { publish(hc, 2, routed("api.named.test")) }, "spec.services[2]"},
		{"ignition", func(hc *hyperv1.HostedCluster) { publish(hc, 1, routed("ignition.named.test")) }, "spec.services[1]"},
		{"further", func(hc *hyperv1.HostedCluster) { hc.Spec.KubeAPIServerDNSName = "api.named.test" }, "spec.kubeAPIServerDNSName"},
		{"below", func(hc *hyperv1.HostedCluster) { publish(hc, 1, routed("console.apps.named.hypershift.test")) }, "spec.services[1]"},
		{"domain", func(hc *hyperv1.HostedCluster) {
			hc.Spec.DNS.PublicZoneID, hc.Spec.DNS.BaseDomainPrefix = strings.ToUpper(zone), ptr.To("Named")
		}, "spec.dns"},
		{"chosen", func(hc *hyperv1.HostedCluster) {
			hc.Spec.DNS.PublicZoneID = zone
			hc.Spec.Configuration = &hyperv1.ClusterConfiguration{Ingress: &runtime.RawExtension{Raw: []byte(`{"domain":"apps.named.hypershift.test"}`)}}
		}, "spec.dns"},
		{"free", func(hc *hyperv1.HostedCluster) { publish(hc, 0, balanced("api.free.test")) }, ""},
	} {
		hc := f.cluster()
		hc.Namespace, hc.Name = "clusters-names", test.name
		hc.Spec.Platform.Azure.ResourceGroupName = "named-" + test.name
		test.change(hc)
		f.create(t, hc)
		message := told(hc)
		taken := strings.Contains(message, "another HostedCluster")
		if taken != (test.says != "") || (taken && !strings.Contains(message, test.says)) || strings.Contains(message, "clusters/") {
			t.Errorf("%s: %s", test.name, message)
		}
	}
	if message := told(victim); strings.Contains(message, "another HostedCluster") {
		t.Errorf("the victim: %s", message)
	}
	// A name that can be changed is not taken away by a HostedCluster that is older.
	victim.Spec.KubeAPIServerDNSName = "young.named.test"
	if err := f.client.Update(t.Context(), victim); err != nil {
		t.Fatal(err)
	}
	f.reconcile(t)
	older := &hyperv1.HostedCluster{}
	older.Namespace, older.Name = "clusters", "named"
	f.read(t, older)
	young := f.cluster()
	young.Name, young.Spec.Platform.Azure.ResourceGroupName, young.Spec.KubeAPIServerDNSName = "named-young", "named-young", "first.named.test"
	f.create(t, young)
	if message := told(young); strings.Contains(message, "another HostedCluster") {
		t.Fatalf("the younger one: %s", message)
	}
	older.Spec.KubeAPIServerDNSName = "first.named.test"
	if err := f.client.Update(t.Context(), older); err != nil {
		t.Fatal(err)
	}
	if message := told(older); !strings.Contains(message, "spec.kubeAPIServerDNSName") {
		t.Errorf("the older one takes a name: %s", message)
	}
	if message := told(young); strings.Contains(message, "another HostedCluster") {
		t.Errorf("the younger one loses its name: %s", message)
	}
}

// TestControlPlanesMakeNoClusters: what runs in a control plane's namespace has rights there, and HostedClusters of it come to nothing.
func TestControlPlanesMakeNoClusters(t *testing.T) {
	f := newFixture(t, "outer")
	f.create(t, f.pullSecret(), f.madeSecret(), f.cluster())
	f.reconcile(t)
	inner := f.cluster()
	inner.Namespace, inner.Name = f.namespace, "inner"
	inner.Annotations = map[string]string{hyperv1.PodSecurityLabelOverrideAnnotation: "privileged"}
	secret := f.pullSecret()
	secret.Namespace, secret.ResourceVersion, secret.UID = f.namespace, "", ""
	f.create(t, secret, inner)
	now := f.attack(t, inner)
	if c := kube.Find(now.Status.Conditions, hyperv1.ReconciliationSucceeded); c == nil || !strings.Contains(c.Message, "is that of a control plane") {
		t.Errorf("%+v", c)
	}
	made := &corev1.Namespace{}
	if err := f.client.Get(t.Context(), client.ObjectKey{Name: contract.ControlPlaneNamespace(inner.Namespace, inner.Name)}, made); !apierrors.IsNotFound(err) {
		t.Errorf("a namespace was made for it: %v, %v", made.Name, err)
	}
}
