package guest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	configv1 "github.com/openshift/api/config/v1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	hyperv1 "github.com/hypershift-on-azure/hypershift/api/v1beta1"
	"github.com/hypershift-on-azure/hypershift/internal/component"
	"github.com/hypershift-on-azure/hypershift/internal/kube/kubetest"
	"github.com/hypershift-on-azure/hypershift/internal/pki"
	"github.com/hypershift-on-azure/hypershift/internal/release"
)

const testNamespace = "clusters-demo"

// releases is a payload that a test has in its hand.
type releases struct{ payload *release.Release }

func (r releases) Lookup(context.Context, string, release.Access) (*release.Release, error) {
	return r.payload, nil
}

// hostedPlane is what the user asked for in the test of the whole operator.
func hostedPlane() *hyperv1.HostedControlPlane {
	hcp := &hyperv1.HostedControlPlane{ObjectMeta: metav1.ObjectMeta{Namespace: testNamespace, Name: "demo"}}
	hcp.Spec = hyperv1.HostedControlPlaneSpec{
		ReleaseImage: "quay.io/r:4.21.0", PullSecret: corev1.LocalObjectReference{Name: "pull-secret"}, IssuerURL: "https://issuer.example.com",
		ClusterID: "8cf00b37-9bb9-473b-b400-21f9d3b065f1", Channel: "stable-4.21", InfraID: "demo-x1",
		InfrastructureAvailabilityPolicy: hyperv1.SingleReplica,
		DNS:                              hyperv1.DNSSpec{BaseDomain: "example.com", PublicZoneID: "/subscriptions/s/zone"},
		Platform:                         hyperv1.PlatformSpec{Type: hyperv1.NonePlatform},
		Networking: hyperv1.ClusterNetworking{
			NetworkType:    hyperv1.NetworkType("Other"),
			ClusterNetwork: []hyperv1.ClusterNetworkEntry{{CIDR: "10.132.0.0/14"}},
			ServiceNetwork: []hyperv1.NetworkEntry{{CIDR: "10.0.0.0/24"}},
		},
		Etcd: hyperv1.EtcdSpec{ManagementType: hyperv1.Managed, Managed: &hyperv1.ManagedEtcdSpec{Storage: hyperv1.ManagedEtcdStorageSpec{
			Type: "PersistentVolume", PersistentVolume: &hyperv1.PersistentVolumeEtcdStorageSpec{}}}},
		ImageContentSources: []hyperv1.ImageContentSource{{Source: "quay.io/a", Mirrors: []string{"mirror.example.com/a"}}},
		Configuration: &hyperv1.ClusterConfiguration{
			Proxy:   &hyperv1.ProxySpec{HTTPProxy: "http://proxy:3128", NoProxy: "internal.example.com"},
			Ingress: &runtime.RawExtension{Raw: []byte(`{"appsDomain":"apps.mine.example.com","domain":"apps.chosen.example.com"}`)},
			Image:   &runtime.RawExtension{Raw: []byte(`{"registrySources":{"insecureRegistries":["r.example.com"]}}`)},
		},
	}
	for _, service := range []hyperv1.ServiceType{hyperv1.APIServer, hyperv1.OAuthServer, hyperv1.Konnectivity, hyperv1.Ignition} {
		hcp.Spec.Services = append(hcp.Spec.Services, hyperv1.ServicePublishingStrategyMapping{
			Service: service, ServicePublishingStrategy: hyperv1.ServicePublishingStrategy{Type: hyperv1.LoadBalancer}})
	}
	return hcp
}

// server is one API server that plays both clusters, with the operator running on it.
type server struct {
	t      *testing.T
	client client.Client
}

func startOperator(t *testing.T) *server {
	t.Helper()
	config := kubetest.Start(t)
	s := scheme(t)
	direct, err := client.New(config, client.Options{Scheme: s})
	if err != nil {
		t.Fatal(err)
	}
	out := &server{t, direct}
	out.create(
		&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: testNamespace}}, hostedPlane(),
		&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: testNamespace, Name: agentSecret}, Data: map[string][]byte{"tls.crt": []byte("c"), "tls.key": []byte("k")}},
		&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: testNamespace, Name: pullSecretName}, Data: map[string][]byte{hyperv1.PullSecretKey: []byte(`{"auths":{}}`)}},
		&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: testNamespace, Name: agentCABundle}, Data: map[string]string{"ca.crt": "ca"}},
		&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: testNamespace, Name: userCABundle}, Data: map[string]string{"ca-bundle.crt": "USER"}},
		&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: testNamespace, Name: kubeletCA}, Data: map[string]string{"ca.crt": "KUBELET"}},
		&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: testNamespace, Name: component.RootCAConfigMap}, Data: map[string]string{"ca.crt": "root"}},
		&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: testNamespace, Name: pki.IngressServing}, Data: map[string][]byte{"tls.crt": []byte("c"), "tls.key": []byte("k")}},
		&hyperv1.ControlPlaneComponent{ObjectMeta: metav1.ObjectMeta{Namespace: testNamespace, Name: "kube-apiserver"}},
	)
	hcp := out.plane()
	hcp.Status.ControlPlaneEndpoint = hyperv1.APIEndpoint{Host: "api.demo.example.com", Port: 443}
	hcp.Status.ControlPlaneVersion = &hyperv1.ControlPlaneVersionStatus{Desired: hyperv1.VersionRelease{Version: "4.21.0", Image: hcp.Spec.ReleaseImage}}
	out.must(direct.Status().Update(t.Context(), hcp))
	// The guards know the operator by its name.
	itself := rest.CopyConfig(config)
	itself.Impersonate = rest.ImpersonationConfig{UserName: configOperatorUser, Groups: []string{"system:masters"}}
	manager, err := ctrl.NewManager(itself, ctrl.Options{
		Scheme: s, Metrics: metricsserver.Options{BindAddress: "0"}, Cache: cache.Options{ByObject: managedObjects()},
	})
	out.must(err)
	management, err := managementOf(config, s, testNamespace)
	out.must(err)
	out.must(manager.Add(management))
	options := Options{Namespace: testNamespace, KonnectivityAddress: "konnectivity.example.com", KonnectivityPort: 443}
	out.must(setupResources(manager, management, releases{&release.Release{Version: "4.21.0", Images: plainFacts().Images}}, options))
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- manager.Start(ctx) }()
	t.Cleanup(func() { stop(); <-done })
	return out
}

func (s *server) must(err error) {
	s.t.Helper()
	if err != nil {
		s.t.Fatal(err)
	}
}

func (s *server) create(objects ...client.Object) {
	s.t.Helper()
	for _, obj := range objects {
		s.must(s.client.Create(s.t.Context(), obj))
	}
}

func (s *server) plane() *hyperv1.HostedControlPlane {
	s.t.Helper()
	hcp := &hyperv1.HostedControlPlane{}
	s.must(s.client.Get(s.t.Context(), client.ObjectKey{Namespace: testNamespace, Name: "demo"}, hcp))
	return hcp
}

// eventually repeats a check until it has nothing to say.
func (s *server) eventually(check func() error) {
	s.t.Helper()
	var err error
	for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); time.Sleep(50 * time.Millisecond) {
		if err = check(); err == nil {
			return
		}
	}
	s.t.Fatal(err, apimeta.FindStatusCondition(s.plane().Status.Conditions, hyperv1.ConfigOperatorReconcileSucceeded))
}

// has tells what the object `cluster` of a kind lacks of the given JSON.
func (s *server) has(obj client.Object, name, want string) func() error {
	return func() error {
		namespace, base, found := strings.Cut(name, "/")
		if !found {
			namespace, base = "", name
		}
		if err := s.client.Get(s.t.Context(), client.ObjectKey{Namespace: namespace, Name: base}, obj); err != nil {
			return err
		}
		got, err := runtime.DefaultUnstructuredConverter.ToUnstructured(obj)
		if err != nil {
			return err
		}
		var wanted map[string]any
		if err := json.Unmarshal([]byte(want), &wanted); err != nil {
			return err
		}
		return within(wanted, got, fmt.Sprintf("%T", obj))
	}
}

func within(want, got any, path string) error {
	fields, isMap := want.(map[string]any)
	if !isMap {
		a, _ := json.Marshal(want)
		b, _ := json.Marshal(got)
		if string(a) != string(b) {
			return fmt.Errorf("%s is %s, want %s", path, b, a)
		}
		return nil
	}
	have, _ := got.(map[string]any)
	for key, value := range fields {
		if err := within(value, have[key], path+"."+key); err != nil {
			return err
		}
	}
	return nil
}

func TestGuestConfiguration(t *testing.T) {
	s := startOperator(t)
	for _, row := range []struct {
		obj        client.Object
		name, want string
	}{
		{&configv1.ClusterVersion{}, "version", `{"spec":{"clusterID":"8cf00b37-9bb9-473b-b400-21f9d3b065f1","channel":"stable-4.21"},
			"status":{"desired":{"version":"4.21.0","image":"quay.io/r:4.21.0"}}}`},
		{&configv1.Infrastructure{}, clusterSingleton, `{"spec":{"platformSpec":{"type":"None"}},"status":{"controlPlaneTopology":"External",
			"infrastructureTopology":"SingleReplica","infrastructureName":"demo-x1","apiServerURL":"https://api.demo.example.com:443","etcdDiscoveryDomain":"demo.example.com"}}`},
		{&configv1.DNS{}, clusterSingleton, `{"spec":{"baseDomain":"demo.example.com","publicZone":{"id":"/subscriptions/s/zone"},"privateZone":null}}`},
		{&configv1.Ingress{}, clusterSingleton, `{"spec":{"domain":"apps.chosen.example.com","appsDomain":"apps.mine.example.com"}}`},
		{&configv1.Network{}, clusterSingleton, `{"spec":{"clusterNetwork":[{"cidr":"10.132.0.0/14","hostPrefix":23}],"serviceNetwork":["10.0.0.0/24"],"networkType":"Other"}}`},
		{&configv1.Proxy{}, clusterSingleton, `{"spec":{"httpProxy":"http://proxy:3128","noProxy":"internal.example.com"},
			"status":{"noProxy":".cluster.local,.local,.svc,10.0.0.0/24,10.132.0.0/14,127.0.0.1,internal.example.com,localhost"}}`},
		{&configv1.Authentication{}, clusterSingleton, `{"spec":{"serviceAccountIssuer":"https://issuer.example.com"}}`},
		{&configv1.APIServer{}, clusterSingleton, `{}`},
		{&configv1.Image{}, clusterSingleton, `{"spec":{"registrySources":{"insecureRegistries":["r.example.com"]}}}`},
		{&configv1.ImageDigestMirrorSet{}, clusterSingleton, `{"spec":{"imageDigestMirrors":[{"source":"quay.io/a","mirrors":["mirror.example.com/a"]}]}}`},
		{&corev1.Namespace{}, "openshift-kube-apiserver", `{"metadata":{"labels":{"openshift.io/cluster-monitoring":"true"}}}`},
		{&corev1.Secret{}, "openshift-config/pull-secret", `{"type":"kubernetes.io/dockerconfigjson","data":{".dockerconfigjson":"eyJhdXRocyI6e319"}}`},
		{&corev1.Secret{}, "openshift/pull-secret", `{"type":"kubernetes.io/dockerconfigjson"}`},
		{&corev1.ConfigMap{}, "openshift-config/openshift-install", `{"data":{"invoker":"hypershift","version":"4.21.0"}}`},
		{&corev1.ConfigMap{}, "openshift-config/user-ca-bundle", `{"data":{"ca-bundle.crt":"USER"}}`},
		{&corev1.ConfigMap{}, "openshift-config-managed/kubelet-serving-ca", `{"data":{"ca-bundle.crt":"KUBELET"}}`},
		{&corev1.Secret{}, "openshift-kube-apiserver-operator/kube-control-plane-signer", `{"data":{"tls.crt":"S1VCRUxFVA=="}}`},
		{&configv1.ClusterOperator{}, "kube-apiserver", `{"status":{"relatedObjects":[{"group":"","resource":"namespaces","name":"openshift-kube-apiserver"}]}}`},
	} {
		s.eventually(s.has(row.obj, row.name, row.want))
	}
	s.eventually(func() error {
		status := s.plane().Status
		if status.VersionStatus == nil || !apimeta.IsStatusConditionTrue(status.Conditions, hyperv1.ConfigOperatorReconcileSucceeded) {
			return errors.New("the hosted control plane does not know the version, or the operator fails")
		}
		return nil
	})
	s.repairs()
	s.guarded()
	s.takesBack()
}

// repairs: what somebody in the guest changes or deletes comes back.
func (s *server) repairs() {
	s.t.Helper()
	version := &configv1.ClusterVersion{}
	s.must(s.client.Get(s.t.Context(), client.ObjectKey{Name: clusterVersionName}, version))
	s.must(s.client.Patch(s.t.Context(), version, client.RawPatch(types.MergePatchType, []byte(`{"spec":{"channel":"fast"}}`))))
	infrastructure := &configv1.Infrastructure{}
	s.must(s.client.Get(s.t.Context(), client.ObjectKey{Name: clusterSingleton}, infrastructure))
	infrastructure.Status.ControlPlaneTopology = configv1.SingleReplicaTopologyMode
	s.must(s.client.Status().Update(s.t.Context(), infrastructure))
	s.must(s.client.Delete(s.t.Context(), &configv1.ClusterOperator{ObjectMeta: metav1.ObjectMeta{Name: "kube-apiserver"}}))
	s.eventually(s.has(&configv1.ClusterVersion{}, clusterVersionName, `{"spec":{"channel":"stable-4.21"}}`))
	s.eventually(s.has(&configv1.Infrastructure{}, clusterSingleton, `{"status":{"controlPlaneTopology":"External"}}`))
	s.eventually(s.has(&configv1.ClusterOperator{}, "kube-apiserver", `{"metadata":{"name":"kube-apiserver"}}`))
}

// guarded: the configuration is changed in the HostedCluster and nowhere else; what does not change its specification may pass.
func (s *server) guarded() {
	s.t.Helper()
	patch := func(obj client.Object, text string) error {
		obj.SetName(clusterSingleton)
		return s.client.Patch(s.t.Context(), obj, client.RawPatch(types.MergePatchType, []byte(text)))
	}
	refused := func(change func() error) {
		s.t.Helper()
		s.eventually(func() error {
			if err := change(); !apierrors.IsInvalid(err) && !apierrors.IsForbidden(err) {
				return fmt.Errorf("a guarded change is let through: %w", errors.Join(err, errors.New("not refused")))
			}
			return nil
		})
	}
	refused(func() error { return patch(&configv1.DNS{}, `{"spec":{"baseDomain":"other.example.com"}}`) })
	refused(func() error { return patch(&configv1.Infrastructure{}, `{"spec":{"cloudConfig":{"name":"x"}}}`) })
	refused(func() error {
		return s.client.Delete(s.t.Context(), &configv1.Proxy{ObjectMeta: metav1.ObjectMeta{Name: clusterSingleton}})
	})
	refused(func() error {
		return s.client.Create(s.t.Context(), &configv1.ImageDigestMirrorSet{ObjectMeta: metav1.ObjectMeta{Name: "mine"}})
	})
	s.must(patch(&configv1.DNS{}, `{"metadata":{"labels":{"mine":"yes"}}}`))
	s.eventually(s.has(&configv1.DNS{}, clusterSingleton, `{"spec":{"baseDomain":"demo.example.com"}}`))
}

// takesBack: what the user takes out of the specification goes, and what Kubernetes derived from our objects or a user made stays.
func (s *server) takesBack() {
	s.t.Helper()
	theirs := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: kubeSystem, Name: "theirs", Labels: map[string]string{hyperv1.ManagedByLabel: managedBy}}}
	s.create(theirs)
	stale := &appsv1.DaemonSet{ObjectMeta: metav1.ObjectMeta{Namespace: kubeSystem, Name: "former", Labels: map[string]string{hyperv1.ManagedByLabel: managedBy}}}
	stale.Spec.Selector = &metav1.LabelSelector{MatchLabels: map[string]string{"a": "b"}}
	stale.Spec.Template.Labels = stale.Spec.Selector.MatchLabels
	stale.Spec.Template.Spec.Containers = []corev1.Container{{Name: "x", Image: "x"}}
	stale.TypeMeta = metav1.TypeMeta{APIVersion: "apps/v1", Kind: "DaemonSet"}
	//nolint:staticcheck // the object is applied as this operator applied it once
	s.must(s.client.Patch(s.t.Context(), stale, client.Apply, client.FieldOwner(FieldManager)))
	hcp := s.plane()
	hcp.Spec.ImageContentSources, hcp.Spec.Configuration.Proxy, hcp.Spec.Configuration.Image = nil, nil, nil
	s.must(s.client.Update(s.t.Context(), hcp))
	s.eventually(func() error {
		for _, gone := range []client.Object{&configv1.ImageDigestMirrorSet{}, &appsv1.DaemonSet{}} {
			key := client.ObjectKey{Name: clusterSingleton}
			if _, ok := gone.(*appsv1.DaemonSet); ok {
				key = client.ObjectKeyFromObject(stale)
			}
			if err := s.client.Get(s.t.Context(), key, gone); !apierrors.IsNotFound(err) {
				return fmt.Errorf("%T is still there: %w", gone, errors.Join(err, errors.New("found")))
			}
		}
		return nil
	})
	s.eventually(s.has(&configv1.Proxy{}, clusterSingleton, `{"spec":{"httpProxy":null},"status":{"httpProxy":null,"noProxy":null}}`))
	s.eventually(s.has(&configv1.Image{}, clusterSingleton, `{"spec":{"registrySources":{"insecureRegistries":null}}}`))
	s.must(s.client.Get(s.t.Context(), client.ObjectKeyFromObject(theirs), ptr.To(*theirs)))
}
