package hostedcluster

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hypershift-on-azure/hypershift/api/v1beta1"
	"github.com/hypershift-on-azure/hypershift/internal/clusterapi"
	"github.com/hypershift-on-azure/hypershift/internal/component"
	"github.com/hypershift-on-azure/hypershift/internal/contract"
	"github.com/hypershift-on-azure/hypershift/internal/hostedcluster/inputs"
	"github.com/hypershift-on-azure/hypershift/internal/hostedcluster/isolation"
	"github.com/hypershift-on-azure/hypershift/internal/kube"
	"github.com/hypershift-on-azure/hypershift/internal/release"
	"github.com/hypershift-on-azure/hypershift/internal/release/releasetest"
)

// mirrored are the annotations that go down to the HostedControlPlane, written down once more: a key that is lost in the code is
// missed here.
const mirrored = `hypershift.openshift.io/: cleanup-cloud-resources debug-deployments restart-date disable-pki-reconciliation rotate-authorities-made-before disable-profiling
disable-machine-management disable-ignition-server topology cluster-scheduled request-serving-node-additional-selector
control-plane-priority-class api-critical-priority-class etcd-priority-class kube-apiserver-gogc kube-apiserver-gomemlimit
kube-apiserver-max-requests-inflight kube-apiserver-max-mutating-requests-inflight kube-apiserver-verbosity-level kube-apiserver-goaway-chance
kube-apiserver-service-account-token-max-expiration azure-load-balancer-health-probe-mode shared-load-balancer-health-probe-path
shared-load-balancer-health-probe-port private-ingress-controller ingress-controller-load-balancer-scope cluster-autoscaler-image
konnectivity-server-image konnectivity-agent-image certified-operators-catalog-image community-operators-catalog-image
redhat-operators-catalog-image olm-catalogs-is-registry-overrides ensureexists-pullsecret-reconcile management-platform
swift-pod-network-instance restored-from-backup enable-metrics-forwarding
oauth.hypershift.openshift.io/: login-url-override
resource-request-override.hypershift.openshift.io/: etcd.etcd kube-apiserver.kube-apiserver
idpoverrides.hypershift.openshift.io/: github`

func mirroredKeys() []string {
	var keys []string
	prefix := ""
	for _, word := range strings.Fields(mirrored) {
		if domain, ok := strings.CutSuffix(word, ":"); ok {
			prefix = domain
			continue
		}
		keys = append(keys, prefix+word)
	}
	return keys
}

// TestProjection takes what a HostedCluster says to its HostedControlPlane, and takes it back.
func TestProjection(t *testing.T) {
	f := newFixture(t, "projection")
	hc := f.cluster()
	hc.Annotations = map[string]string{"example.com/mine": "x", hyperv1.ForceUpgradeToAnnotation: "x"}
	hc.Labels = map[string]string{"api.openshift.com/id": "7", "mine": "x"}
	for _, key := range mirroredKeys() {
		hc.Annotations[key] = "1"
	}
	// These have a meaning that would keep the pass from its end.
	for key, value := range map[string]string{"etcd.etcd": "cpu=1", "kube-apiserver.kube-apiserver": "memory=1Gi"} {
		hc.Annotations[hyperv1.ResourceRequestOverridePrefix+"/"+key] = value
	}
	hc.Spec.Channel, hc.Spec.NodeSelector = "stable", map[string]string{"a": "b"}
	hc.Spec.Tolerations = []corev1.Toleration{{Key: "k", Operator: corev1.TolerationOpExists}}
	hc.Spec.Labels = map[string]string{"team": "x"}
	hc.Spec.Configuration = &hyperv1.ClusterConfiguration{Scheduler: raw(`{"profile":"HighNodeUtilization"}`)}
	hc.Spec.ControlPlaneRelease = &hyperv1.Release{Image: releasetest.Serve(t, "4.21.0")}
	f.create(t, f.pullSecret(), f.madeSecret(), hc)
	f.reconcile(t)

	hcp := f.controlPlane(t)
	wanted := mirroredKeys()
	wanted = append(wanted, hyperv1.DisableClusterAutoscalerAnnotation, hyperv1.HostedClusterAnnotation)
	got := slices.DeleteFunc(slices.Collect(maps.Keys(hcp.Annotations)), func(key string) bool { return strings.HasPrefix(key, "desired-hash.") })
	slices.Sort(wanted)
	if slices.Sort(got); !slices.Equal(got, wanted) {
		t.Errorf("annotations %v\nwant %v", got, wanted)
	}
	if len(hcp.Labels) != 1 || hcp.Labels["api.openshift.com/id"] != "7" {
		t.Errorf("labels %v", hcp.Labels)
	}
	f.checkSameFields(t, f.get(t), hcp)

	hc = f.get(t)
	hc.Annotations, hc.Labels = nil, nil
	if err := f.client.Update(t.Context(), hc); err != nil {
		t.Fatal(err)
	}
	pool := f.pool("clusters", f.name)
	pool.Spec.AutoScaling = &hyperv1.NodePoolAutoScaling{Min: 1, Max: 2}
	f.create(t, pool)
	f.reconcile(t)
	hcp = f.controlPlane(t)
	if len(hcp.Annotations) != 2 || len(hcp.Labels) != 0 {
		t.Errorf("what the HostedCluster no longer says: %v %v", hcp.Annotations, hcp.Labels)
	}
}

// checkSameFields compares every field of one name, so that one that is added to both types and forgotten here is missed.
func (f *fixture) checkSameFields(t *testing.T, hc *hyperv1.HostedCluster, hcp *hyperv1.HostedControlPlane) {
	t.Helper()
	fields := func(spec any) map[string]any {
		text, err := json.Marshal(spec)
		if err != nil {
			t.Fatal(err)
		}
		all := map[string]any{}
		if err := json.Unmarshal(text, &all); err != nil {
			t.Fatal(err)
		}
		return all
	}
	from, to := fields(hc.Spec), fields(hcp.Spec)
	// References name the copies, and the images have names of their own.
	for _, own := range []string{"pullSecret", "sshKey", "serviceAccountSigningKey", "additionalTrustBundle", "release", "controlPlaneRelease", "pausedUntil"} {
		delete(from, own)
	}
	for name, value := range from {
		if !equality.Semantic.DeepEqual(to[name], value) {
			t.Errorf("spec.%s is %v, want %v", name, to[name], value)
		}
	}
	if hcp.Spec.ReleaseImage != hc.Spec.Release.Image || *hcp.Spec.ControlPlaneReleaseImage != hc.Spec.ControlPlaneRelease.Image {
		t.Errorf("images %s %s", hcp.Spec.ReleaseImage, *hcp.Spec.ControlPlaneReleaseImage)
	}
}

// TestCopies follows the user's objects into the control plane's namespace and back out of it.
func TestCopies(t *testing.T) {
	f := newFixture(t, "copies")
	secret := func(name string, data map[string][]byte) *corev1.Secret {
		return &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "clusters", Labels: map[string]string{"mine": "x"}}, Data: data}
	}
	bundle := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "copies-bundle", Namespace: "clusters"}, Data: map[string]string{"ca-bundle.crt": string(certificate(t, "x"))}}
	hc := f.cluster()
	hc.Spec.SSHKey.Name = "copies-ssh"
	hc.Spec.AuditWebhook = &corev1.LocalObjectReference{Name: "copies-audit"}
	hc.Spec.AdditionalTrustBundle = &corev1.LocalObjectReference{Name: "copies-bundle"}
	hc.Spec.SecretEncryption = &hyperv1.SecretEncryptionSpec{Type: hyperv1.AESCBC, AESCBC: &hyperv1.AESCBCSpec{ActiveKey: corev1.LocalObjectReference{Name: "copies-key"}}}
	hc.Spec.Configuration = &hyperv1.ClusterConfiguration{
		Ingress: raw(`{"componentRoutes":[{"namespace":"n","name":"r","hostname":"h.test","servingCertKeyPairSecret":{"name":"copies-users"}}]}`),
		Proxy:   &hyperv1.ProxySpec{TrustedCA: &corev1.LocalObjectReference{Name: "copies-bundle"}},
	}
	f.create(t, f.pullSecret(), f.madeSecret(), bundle, hc,
		secret("copies-ssh", map[string][]byte{"id_rsa.pub": []byte("ssh"), "id_rsa": []byte("private")}),
		secret("copies-audit", map[string][]byte{"webhook-kubeconfig": []byte("hook"), "other": []byte("x")}),
		secret("copies-key", map[string][]byte{"key": []byte("01234567890123456789012345678901")}),
		secret("copies-users", map[string][]byte{"tls.crt": []byte("c"), "tls.key": []byte("k"), "note": []byte("x")}))
	f.reconcile(t)
	for name, want := range map[string]map[string]string{
		component.PullSecret: {".dockerconfigjson": `{"auths":{}}`}, contract.SSHKey: {"id_rsa.pub": "ssh"}, "copies-audit": {"webhook-kubeconfig": "hook"},
		"copies-key": {"key": "01234567890123456789012345678901"}, "copies-users": {"tls.crt": "c", "tls.key": "k"},
	} {
		got := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: f.namespace}}
		f.read(t, got)
		text := map[string]string{}
		for key, value := range got.Data {
			text[key] = string(value)
		}
		if !maps.Equal(text, want) || (got.Labels["mine"] == "x") != (name == "copies-users") {
			t.Errorf("copy %s: labels %v, keys %v", name, got.Labels, slices.Collect(maps.Keys(text)))
		}
	}
	for _, name := range []string{contract.UserCABundle, "copies-bundle"} {
		got := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: f.namespace}}
		if f.read(t, got); got.Data["ca-bundle.crt"] != bundle.Data["ca-bundle.crt"] {
			t.Errorf("copy %s: %v", name, got.Data)
		}
	}
	f.checkEditedInputs(t)
}

// checkEditedInputs: the user's objects are marked and nothing else, an edit leads to the cluster, and copies go with their names,
// but for keys.
func (f *fixture) checkEditedInputs(t *testing.T) {
	t.Helper()
	source := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "copies-ssh", Namespace: "clusters"}}
	f.read(t, source)
	if len(source.Annotations) != 1 || source.Annotations["referenced-resource.hypershift.openshift.io/copies"] == "" || len(source.OwnerReferences) != 0 {
		t.Errorf("the user's Secret: %+v", source.ObjectMeta)
	}
	requests := f.reconciler.byObject(inputs.SecretKind)(t.Context(), source)
	if len(requests) != 1 || requests[0] != f.request {
		t.Errorf("an edit leads to %v", requests)
	}
	source.Annotations = nil
	if again := f.reconciler.byObject(inputs.SecretKind)(t.Context(), source); len(again) != 1 || again[0] != f.request {
		t.Errorf("a Secret made after the cluster leads to %v", again)
	}
	hc := f.get(t)
	hc.Spec.SSHKey.Name, hc.Spec.AuditWebhook, hc.Spec.Configuration = "", nil, nil
	hc.Spec.SecretEncryption.AESCBC.ActiveKey.Name = "copies-newkey"
	newKey := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "copies-newkey", Namespace: "clusters"}, Data: map[string][]byte{"key": []byte("x1234567890123456789012345678901")}}
	f.create(t, newKey)
	if err := f.client.Update(t.Context(), hc); err != nil {
		t.Fatal(err)
	}
	f.reconcile(t)
	for name, stays := range map[string]bool{
		contract.SSHKey: false, "copies-audit": false, "copies-users": false, "copies-key": true, "copies-newkey": true, component.PullSecret: true,
	} {
		if gone := f.isGone(t, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: f.namespace, Name: name}}); gone == stays {
			t.Errorf("the copy %s is gone: %v", name, gone)
		}
	}
	if !f.isGone(t, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: f.namespace, Name: "copies-bundle"}}) {
		t.Error("the copy of the proxy's bundle stays")
	}
	f.reconcile(t)
	before := f.writes.Load()
	if f.reconcile(t); f.writes.Load() != before {
		t.Errorf("%d writes at rest", f.writes.Load()-before)
	}
}

// TestLostPullSecret: a running cluster whose pull secret goes away is kept up, but for what has to be read from its release; without
// the key, or before it ever ran, it is not started.
func TestLostPullSecret(t *testing.T) {
	f := newFixture(t, "lost")
	pull := f.pullSecret()
	pull.Data = map[string][]byte{"other": []byte("x")}
	f.create(t, pull, f.madeSecret(), f.cluster())
	if _, err := f.reconciler.Reconcile(t.Context(), f.request); err == nil {
		t.Error("a pull secret without its key is no problem")
	}
	valid := kube.Find(f.get(t).Status.Conditions, hyperv1.ValidHostedClusterConfiguration)
	if valid.Status != metav1.ConditionFalse || !strings.Contains(valid.Message, `spec.pullSecret: Secret "lost-pull-secret" has no key ".dockerconfigjson"; add it`) {
		t.Errorf("without the key: %+v", valid)
	}
	if err := f.client.Get(t.Context(), client.ObjectKey{Namespace: f.namespace, Name: f.name}, &hyperv1.HostedControlPlane{}); !apierrors.IsNotFound(err) {
		t.Errorf("the control plane is started: %v", err)
	}
	f.read(t, pull) // it is marked now
	pull.Data = f.pullSecret().Data
	if err := f.client.Update(t.Context(), pull); err != nil {
		t.Fatal(err)
	}
	f.reconcile(t)

	if err := f.client.Delete(t.Context(), pull); err != nil {
		t.Fatal(err)
	}
	hc := f.get(t)
	hc.Spec.Labels = map[string]string{"edit": "one"}
	if err := f.client.Update(t.Context(), hc); err != nil {
		t.Fatal(err)
	}
	f.reconcile(t)
	image := kube.Find(f.get(t).Status.Conditions, hyperv1.ValidReleaseImage)
	if image.Status != metav1.ConditionFalse || image.Reason != hyperv1.SecretNotFoundReason {
		t.Errorf("without the pull secret: %+v", image)
	}
	if got := f.controlPlane(t).Spec.Labels["edit"]; got != "one" {
		t.Errorf("the control plane does not follow: %q", got)
	}
	copied := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: f.namespace, Name: component.PullSecret}}
	if f.read(t, copied); string(copied.Data[hyperv1.PullSecretKey]) != `{"auths":{}}` {
		t.Errorf("the copy %v", copied.Data)
	}
}

// TestPauseStopsEverything: a paused cluster hands its pause down and changes nothing else; resumed, it catches up.
func TestPauseStopsEverything(t *testing.T) {
	f := newFixture(t, "paused")
	f.create(t, f.pullSecret(), f.madeSecret(), f.cluster())
	f.reconcile(t)
	set := func(value *string, label string) {
		hc := f.get(t)
		hc.Spec.PausedUntil, hc.Spec.Labels = value, map[string]string{"edit": label}
		if err := f.client.Update(t.Context(), hc); err != nil {
			t.Fatal(err)
		}
		f.reconcile(t)
	}
	cluster := clusterapi.NewWithSpec(clusterapi.Cluster, f.namespace, f.get(t).Spec.InfraID, nil)
	capiPaused := func() bool {
		f.read(t, cluster)
		paused, _, _ := unstructured.NestedBool(cluster.Object, "spec", "paused")
		return paused
	}
	set(ptr.To("true"), "one")
	hcp := f.controlPlane(t)
	condition := kube.Find(f.get(t).Status.Conditions, hyperv1.ReconciliationActive)
	if ptr.Deref(hcp.Spec.PausedUntil, "") != "true" || !capiPaused() || hcp.Spec.Labels["edit"] != "" || condition.Reason != hyperv1.ReconciliationPausedReason {
		t.Errorf("paused: %v, Cluster paused %t, labels %v, %+v", hcp.Spec.PausedUntil, capiPaused(), hcp.Spec.Labels, condition)
	}
	f.writes.Store(0)
	if f.reconcile(t); f.writes.Load() != 0 {
		t.Errorf("a paused cluster costs %d writes", f.writes.Load())
	}
	set(nil, "two")
	hcp = f.controlPlane(t)
	if hcp.Spec.PausedUntil != nil || capiPaused() || hcp.Spec.Labels["edit"] != "two" {
		t.Errorf("resumed: %v, Cluster paused %t, labels %v", hcp.Spec.PausedUntil, capiPaused(), hcp.Spec.Labels)
	}
}

// TestNetworkPoliciesOnServer: what they say, as the API server understands it.
func TestNetworkPoliciesOnServer(t *testing.T) {
	f := newFixture(t, "isolated")
	hc := f.cluster()
	hc.Spec.Networking.APIServer = &hyperv1.APIServerNetworking{Port: ptr.To[int32](7443)}
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "isolated"}, Spec: corev1.NodeSpec{PodCIDR: "10.200.7.0/24", PodCIDRs: []string{"10.200.7.0/24"}}}
	f.create(t, f.pullSecret(), f.madeSecret(), hc, node)
	node.Status.Addresses = []corev1.NodeAddress{{Type: corev1.NodeInternalIP, Address: "10.9.8.7"}, {Type: corev1.NodeHostName, Address: "isolated"}}
	if err := f.client.Status().Update(t.Context(), node); err != nil {
		t.Fatal(err)
	}
	f.reconcile(t)
	policy := func(name string) networkingv1.NetworkPolicySpec {
		got := &networkingv1.NetworkPolicy{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: f.namespace}}
		f.read(t, got)
		return got.Spec
	}
	kas := policy("kas")
	if kas.PodSelector.MatchLabels["app"] != "kube-apiserver" || len(kas.Ingress) != 2 || len(kas.Ingress[0].From) != 0 ||
		kas.Ingress[0].Ports[0].Port.IntValue() != 6443 || kas.Ingress[1].Ports[0].Port.IntValue() != 7443 {
		t.Errorf("kas %+v", kas)
	}
	same := policy("same-namespace")
	if len(same.Ingress) != 1 || same.Ingress[0].From[0].PodSelector == nil || same.Ingress[0].From[0].NamespaceSelector != nil || len(same.Ingress[0].Ports) != 0 {
		t.Errorf("same-namespace %+v", same)
	}
	if from := policy("openshift-ingress").Ingress[0].From[0]; from.NamespaceSelector.MatchLabels["network.openshift.io/policy-group"] != "ingress" {
		t.Errorf("openshift-ingress %+v", from)
	}
	router := policy("private-router")
	if len(router.PolicyTypes) != 2 || len(router.Egress) != 3 || len(router.Egress[0].To[0].IPBlock.Except) == 0 || len(router.Egress[2].Ports) != 2 {
		t.Errorf("private-router %+v", router)
	}
	// A plain management cluster: what pods have is read from its nodes.
	server := policy("kas-egress")
	if server.PodSelector.MatchLabels["app"] != "kube-apiserver" || len(server.PolicyTypes) != 1 || len(server.Ingress) != 0 || len(server.Egress) != 3 ||
		server.Egress[0].To[0].NamespaceSelector != nil || server.Egress[0].To[0].PodSelector == nil {
		t.Fatalf("kas-egress %+v", server)
	}
	closed := server.Egress[1].To[0].IPBlock.Except
	management := policy("management-api")
	if len(management.Egress) != 1 || len(management.Egress[0].To) == 0 || len(management.Egress[0].Ports) == 0 {
		t.Fatalf("management-api %+v", management)
	}
	for _, network := range []string{"10.200.7.0/24", "10.9.8.7/32", "169.254.169.254/32", "168.63.129.16/32", management.Egress[0].To[0].IPBlock.CIDR} {
		if !slices.Contains(closed, network) {
			t.Errorf("the API server of a guest reaches %s: %v", network, closed)
		}
	}
	for name, block := range map[string]*networkingv1.IPBlock{"pods-egress": policy("pods-egress").Egress[1].To[0].IPBlock, "private-router": router.Egress[0].To[0].IPBlock} {
		if !slices.Equal(block.Except, closed) {
			t.Errorf("%s closes %v, kas-egress %v", name, block.Except, closed)
		}
	}

	// What another version let in goes where the cluster's own router serves every Route, once.
	routed := hc.DeepCopy()
	for i, host := range []hyperv1.Hostname{"a.test", "b.test", "c.test", "d.test"} {
		routed.Spec.Services[i].ServicePublishingStrategy = hyperv1.ServicePublishingStrategy{Type: hyperv1.Route,
			Route: &hyperv1.RoutePublishingStrategy{Hostname: host}}
	}
	p := f.reconciler.newPass(routed)
	for _, want := range []int64{1, 0} {
		f.writes.Store(0)
		if err := isolation.EnsurePolicies(t.Context(), p.Cluster, f.reconciler.surroundings()); err != nil || f.writes.Load() != want {
			t.Errorf("closing to the ingress: %d writes, want %d: %v", f.writes.Load(), want, err)
		}
	}
}

// TestOperatorUpgradeRestartsNothing: another version of this operator, of another image, writes nothing to a cluster at rest, even
// where its own image runs the control plane because the payload has none.
func TestOperatorUpgradeRestartsNothing(t *testing.T) {
	f := newFixture(t, "operator-upgrade")
	registry := releasetest.New(t)
	hc := f.cluster()
	hc.Spec.Release.Image = registry.PushPayload(t, "plain", releasetest.Payload{Version: "4.21.0", Without: []string{"hypershift"}})
	own := registry.PushOperator(t, map[string]string{release.LabelRestricted: "true"})
	newer := registry.PushOperator(t, map[string]string{release.LabelRestricted: "true", "version": "newer"})
	f.reconciler.Releases.OperatorImage = own
	f.create(t, f.pullSecret(), f.madeSecret(), hc)
	f.reconcile(t)
	f.playControlPlane(t)
	f.reconcile(t)
	f.reconcile(t)
	f.reconciler.Releases.OperatorImage = newer
	f.writes.Store(0)
	f.reconcile(t)
	if got := f.deployment(t, contract.ControlPlaneOperator).Spec.Template.Spec.Containers[0].Image; got != own || f.writes.Load() != 0 {
		t.Errorf("the control plane runs %s after %d writes", got, f.writes.Load())
	}
	hc = f.get(t)
	hc.Spec.Release.Image = registry.PushPayload(t, "next", releasetest.Payload{Version: "4.21.1", Without: []string{"hypershift"}})
	if err := f.client.Update(t.Context(), hc); err != nil {
		t.Fatal(err)
	}
	f.reconcile(t)
	if got := f.deployment(t, contract.ControlPlaneOperator).Spec.Template.Spec.Containers[0].Image; got != newer {
		t.Errorf("with a new release the control plane runs %s", got)
	}
}
