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
	rbacv1 "k8s.io/api/rbac/v1"
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
	ctrlconfig "sigs.k8s.io/controller-runtime/pkg/config"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	hyperv1 "github.com/hypershift-on-azure/hypershift/api/v1beta1"
	"github.com/hypershift-on-azure/hypershift/internal/contract"
	"github.com/hypershift-on-azure/hypershift/internal/guest/access"
	"github.com/hypershift-on-azure/hypershift/internal/guest/configuration"
	"github.com/hypershift-on-azure/hypershift/internal/guest/guesttest"
	"github.com/hypershift-on-azure/hypershift/internal/guest/inplace"
	"github.com/hypershift-on-azure/hypershift/internal/guest/inside"
	"github.com/hypershift-on-azure/hypershift/internal/guest/nodes"
	"github.com/hypershift-on-azure/hypershift/internal/guest/plane"
	"github.com/hypershift-on-azure/hypershift/internal/guest/resources"
	"github.com/hypershift-on-azure/hypershift/internal/guest/webhooks"
	"github.com/hypershift-on-azure/hypershift/internal/kube/kubetest"
	"github.com/hypershift-on-azure/hypershift/internal/kube/rbac"
	"github.com/hypershift-on-azure/hypershift/internal/release"
)

const testNamespace = "clusters-demo"

// releases have one payload under all versions: the tag of the image.
type releases struct{ images map[string]string }

func (r releases) Lookup(_ context.Context, image string, _ release.Access) (*release.Release, error) {
	return &release.Release{Version: versionOf(image), KubernetesVersion: "1.34.2", Images: r.images}, nil
}

func versionOf(image string) string { return image[strings.LastIndex(image, ":")+1:] }

// server is one API server that plays both clusters, with the operator running on it.
type server struct {
	t      *testing.T
	config *rest.Config
	client client.Client
	images map[string]string
}

func startOperator(t *testing.T, hcp *hyperv1.HostedControlPlane) *server {
	t.Helper()
	return startOperatorOf(t, hcp, guesttest.PlainFacts().Images)
}

// startOperatorOf has a payload with these images, and objects that its operators bring.
func startOperatorOf(t *testing.T, hcp *hyperv1.HostedControlPlane, images map[string]string, brought ...client.Object) *server {
	t.Helper()
	config := kubetest.Start(t)
	s := guesttest.Scheme(t)
	direct, err := client.New(config, client.Options{Scheme: s})
	if err != nil {
		t.Fatal(err)
	}
	out := &server{t, config, direct, images}
	out.create(brought...)
	out.create(append([]client.Object{&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: testNamespace}}, hcp}, sources(hcp)...)...)
	out.must(access.Bootstrap(t.Context(), direct))
	hcp = out.plane()
	hcp.Status.ControlPlaneEndpoint = hyperv1.APIEndpoint{Host: "api.demo.example.com", Port: 443}
	hcp.Status.ControlPlaneVersion = &hyperv1.ControlPlaneVersionStatus{Desired: hyperv1.VersionRelease{Version: versionOf(hcp.Spec.ReleaseImage), Image: hcp.Spec.ReleaseImage}}
	out.must(direct.Status().Update(t.Context(), hcp))
	// The guards know the operator by its name.
	itself := rest.CopyConfig(config)
	itself.Impersonate = rest.ImpersonationConfig{UserName: access.ConfigOperatorUser, Groups: []string{"system:masters"}}
	manager, err := ctrl.NewManager(itself, ctrl.Options{
		Scheme: s, Metrics: metricsserver.Options{BindAddress: "0"}, Cache: cache.Options{ByObject: resources.ManagedObjects()},
		// The process has such an operator for each guest of its tests.
		Controller: ctrlconfig.Controller{SkipNameValidation: ptr.To(true)},
	})
	out.must(err)
	management, err := plane.ConnectWith(out.asAccount(hcp), s, testNamespace)
	out.must(err)
	out.must(manager.Add(management))
	options := Options{Namespace: testNamespace, KonnectivityAddress: "konnectivity.example.com", KonnectivityPort: 443}
	reader := readerOf(manager, management, releases{images}, options)
	out.must(setupResources(manager, management, reader, options))
	out.must(inplace.Setup(manager, management, testNamespace, reader.Facts, reader.Releases))
	out.must(webhooks.Setup(manager, management, testNamespace))
	out.must(nodes.Setup(manager, management, testNamespace))
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- manager.Start(ctx) }()
	t.Cleanup(func() { stop(); <-done })
	return out
}

// asAccount is the management cluster as the operator's account there sees it, whose Secrets are those that it reads.
func (s *server) asAccount(hcp *hyperv1.HostedControlPlane) *rest.Config {
	s.t.Helper()
	const name = "config-operator"
	secrets := rbac.Named(rbac.Rule("", rbac.Read, "secrets"), access.ConfigOperatorSecrets(hcp, release.KindOf(s.images))...)
	rules := append(access.ConfigOperatorRights(release.KindOf(s.images)), secrets, rbac.Rule("", "list,watch", "services"),
		rbac.Rule("", "list,watch,create,patch", "configmaps"),
		rbac.Rule("hypershift.openshift.io", rbac.Write, "*"), rbac.Rule("cluster.x-k8s.io", rbac.Write, "*"))
	subject := rbacv1.Subject{Kind: rbacv1.UserKind, APIGroup: rbacv1.GroupName, Name: name}
	s.create(
		&rbacv1.Role{ObjectMeta: metav1.ObjectMeta{Namespace: testNamespace, Name: name}, Rules: rules},
		access.BindRole(testNamespace, name, name, subject),
	)
	config := rest.CopyConfig(s.config)
	config.Impersonate = rest.ImpersonationConfig{UserName: name, Groups: []string{"system:authenticated"}}
	return config
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

// TestGuestConfiguration asserts the table for a guest whose user configured much, then what becomes of changes, in the guest and outside.
func TestGuestConfiguration(t *testing.T) {
	s := startOperator(t, hostedPlane())
	s.checkTable(guestNone)
	s.repairs()
	s.guarded()
	s.warnsOfPolicies()
	s.webhooksOfTheControlPlane()
	s.takesBack()
}

// repairs: what somebody in the guest changes or deletes comes back.
func (s *server) repairs() {
	s.t.Helper()
	version := &configv1.ClusterVersion{}
	s.must(s.client.Get(s.t.Context(), client.ObjectKey{Name: configuration.ClusterVersionName}, version))
	s.must(s.client.Patch(s.t.Context(), version, client.RawPatch(types.MergePatchType, []byte(`{"spec":{"channel":"fast"}}`))))
	infrastructure := &configv1.Infrastructure{}
	s.must(s.client.Get(s.t.Context(), client.ObjectKey{Name: configuration.Singleton}, infrastructure))
	infrastructure.Status.ControlPlaneTopology = configv1.SingleReplicaTopologyMode
	s.must(s.client.Status().Update(s.t.Context(), infrastructure))
	s.must(s.client.Delete(s.t.Context(), &configv1.ClusterOperator{ObjectMeta: metav1.ObjectMeta{Name: "kube-apiserver"}}))
	s.eventually(s.has(&configv1.ClusterVersion{}, configuration.ClusterVersionName, `{"spec":{"channel":"stable-4.21"}}`))
	s.eventually(s.has(&configv1.Infrastructure{}, configuration.Singleton, `{"status":{"controlPlaneTopology":"External"}}`))
	s.eventually(s.has(&configv1.ClusterOperator{}, "kube-apiserver", `{"metadata":{"name":"kube-apiserver"}}`))
}

// guarded: the configuration is changed in the HostedCluster and nowhere else; what does not change its specification may pass.
func (s *server) guarded() {
	s.t.Helper()
	patch := func(obj client.Object, text string) error {
		obj.SetName(configuration.Singleton)
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
		return s.client.Delete(s.t.Context(), &configv1.Proxy{ObjectMeta: metav1.ObjectMeta{Name: configuration.Singleton}})
	})
	refused(func() error {
		return s.client.Create(s.t.Context(), &configv1.ImageDigestMirrorSet{ObjectMeta: metav1.ObjectMeta{Name: "mine"}})
	})
	mirrored := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: contract.ManagedNamespace, Name: "tuned", Labels: map[string]string{contract.MirroredLabel: "true"}}}
	refused(func() error { return s.client.Create(s.t.Context(), mirrored.DeepCopy()) })
	mirrored.Labels = nil
	s.create(mirrored)
	s.must(patch(&configv1.DNS{}, `{"metadata":{"labels":{"mine":"yes"}}}`))
	s.eventually(s.has(&configv1.DNS{}, configuration.Singleton, `{"spec":{"baseDomain":"demo.example.com"}}`))
}

// takesBack: what the user takes out of the specification goes, and what Kubernetes derived from our objects or a user made stays.
func (s *server) takesBack() {
	s.t.Helper()
	theirs := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: inside.KubeSystem, Name: "theirs", Labels: map[string]string{hyperv1.ManagedByLabel: inside.ManagedBy}}}
	s.create(theirs)
	stale := &appsv1.DaemonSet{ObjectMeta: metav1.ObjectMeta{Namespace: inside.KubeSystem, Name: "former", Labels: map[string]string{hyperv1.ManagedByLabel: inside.ManagedBy}}}
	stale.Spec.Selector = &metav1.LabelSelector{MatchLabels: map[string]string{"a": "b"}}
	stale.Spec.Template.Labels = stale.Spec.Selector.MatchLabels
	stale.Spec.Template.Spec.Containers = []corev1.Container{{Name: "x", Image: "x"}}
	stale.TypeMeta = metav1.TypeMeta{APIVersion: "apps/v1", Kind: "DaemonSet"}
	//nolint:staticcheck // the object is applied as this operator applied it once
	s.must(s.client.Patch(s.t.Context(), stale, client.Apply, client.FieldOwner(inside.FieldManager)))
	hcp := s.plane()
	hcp.Spec.ImageContentSources, hcp.Spec.Configuration.Proxy, hcp.Spec.Configuration.Image = nil, nil, nil
	s.must(s.client.Update(s.t.Context(), hcp))
	s.eventually(func() error {
		for _, gone := range []client.Object{&configv1.ImageDigestMirrorSet{}, &appsv1.DaemonSet{}} {
			key := client.ObjectKey{Name: configuration.Singleton}
			if _, ok := gone.(*appsv1.DaemonSet); ok {
				key = client.ObjectKeyFromObject(stale)
			}
			if err := s.client.Get(s.t.Context(), key, gone); !apierrors.IsNotFound(err) {
				return fmt.Errorf("%T is still there: %w", gone, errors.Join(err, errors.New("found")))
			}
		}
		return nil
	})
	s.eventually(s.has(&configv1.Proxy{}, configuration.Singleton, `{"spec":{"httpProxy":null},"status":{"httpProxy":null,"noProxy":null}}`))
	s.eventually(s.has(&configv1.Image{}, configuration.Singleton, `{"spec":{"registrySources":{"insecureRegistries":null}}}`))
	s.must(s.client.Get(s.t.Context(), client.ObjectKeyFromObject(theirs), ptr.To(*theirs)))
}
