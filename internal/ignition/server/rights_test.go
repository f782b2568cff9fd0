package server

import (
	"context"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/wait"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	hyperv1 "github.com/hypershift-on-azure/hypershift/api/v1beta1"
	"github.com/hypershift-on-azure/hypershift/internal/component"
	"github.com/hypershift-on-azure/hypershift/internal/controlplane/ignitionserver"
	"github.com/hypershift-on-azure/hypershift/internal/controlplane/planetest"
	"github.com/hypershift-on-azure/hypershift/internal/ignition"
	"github.com/hypershift-on-azure/hypershift/internal/kube/kubetest"
	"github.com/hypershift-on-azure/hypershift/internal/release"
)

// TestServerReadsItsSecretsAlone: with the rights that it is given, and no others, the server serves the tokens that there are and that
// come later, forgets those that go, and can read neither the keys of authorities nor a list of Secrets.
func TestServerReadsItsSecretsAlone(t *testing.T) {
	config := kubetest.Start(t)
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{clientgoscheme.AddToScheme, hyperv1.AddToScheme} {
		if err := add(scheme); err != nil {
			t.Fatal(err)
		}
	}
	admin, err := client.New(config, client.Options{Scheme: scheme})
	if err != nil {
		t.Fatal(err)
	}
	create := func(obj client.Object) {
		t.Helper()
		if err := admin.Create(t.Context(), obj); err != nil {
			t.Fatal(err)
		}
	}
	create(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: testNamespace}})
	for _, obj := range serverAccess(t) {
		obj.SetNamespace(testNamespace)
		create(obj)
	}
	for _, obj := range world(t) {
		if _, plane := obj.(*hyperv1.HostedControlPlane); !plane {
			create(obj)
		}
	}
	create(&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: testNamespace, Name: "root-ca"}, Data: map[string][]byte{"ca.key": []byte("secret")}})
	create(plane())

	operator, err := ctrl.NewManager(config, ctrl.Options{Scheme: scheme, Metrics: metricsserver.Options{BindAddress: "0"}})
	if err != nil {
		t.Fatal(err)
	}
	if err := (&ignitionserver.TokenRights{Client: operator.GetClient(), Namespace: testNamespace}).Setup(operator); err != nil {
		t.Fatal(err)
	}
	asServer := rest.CopyConfig(config)
	asServer.Impersonate = rest.ImpersonationConfig{UserName: "system:serviceaccount:" + testNamespace + ":ignition-server"}
	server, err := newServerManager(asServer, Options{Namespace: testNamespace, MetricsAddr: "0"})
	if err != nil {
		t.Fatal(err)
	}
	handler, err := controllers(server, fixedReleases{release: &release.Release{Images: input().Images}},
		map[release.Kind]renderer{release.KindKubernetes: {render: renderPlain}}, testNamespace)
	if err != nil {
		t.Fatal(err)
	}
	run(t, operator)
	run(t, server)

	opens := func(token string, want int) {
		t.Helper()
		last := 0
		err := wait.PollUntilContextTimeout(t.Context(), 20*time.Millisecond, time.Minute, true, func(context.Context) (bool, error) {
			request := httptest.NewRequest(http.MethodGet, "/ignition", nil)
			request.Header.Set("Authorization", bearerOf(token))
			answer := httptest.NewRecorder()
			handler.ServeHTTP(answer, request)
			last = answer.Code
			return last == want, nil
		})
		if err != nil {
			t.Errorf("token %q is answered %d, want %d", token, last, want)
		}
	}
	opens("one", http.StatusOK)
	second := world(t)[1].(*corev1.Secret)
	second.Name, second.Data[ignition.TokenKey] = "token-second", []byte("two")
	create(second)
	opens("two", http.StatusOK)
	if err := admin.Delete(t.Context(), second); err != nil {
		t.Fatal(err)
	}
	opens("two", http.StatusNetworkAuthenticationRequired)
	opens("one", http.StatusOK)

	live, err := client.New(asServer, client.Options{Scheme: scheme})
	if err != nil {
		t.Fatal(err)
	}
	if err := live.Get(t.Context(), client.ObjectKey{Namespace: testNamespace, Name: "root-ca"}, &corev1.Secret{}); !apierrors.IsForbidden(err) {
		t.Errorf("it reads the key of an authority: %v", err)
	}
	if err := live.List(t.Context(), &corev1.SecretList{}, client.InNamespace(testNamespace)); !apierrors.IsForbidden(err) {
		t.Errorf("it lists Secrets: %v", err)
	}
}

// serverAccess is what the component gives the server.
func serverAccess(t *testing.T) []client.Object {
	t.Helper()
	hcp := &hyperv1.HostedControlPlane{ObjectMeta: metav1.ObjectMeta{Namespace: testNamespace, Name: "demo"}}
	objects, err := ignitionserver.Component().Objects(&component.Context{HCP: hcp})
	if err != nil {
		t.Fatal(err)
	}
	var access []client.Object
	for _, obj := range objects {
		switch obj.(type) {
		case *rbacv1.Role, *rbacv1.RoleBinding:
			access = append(access, obj)
		}
	}
	return access
}

// plane is a HostedControlPlane that an API server takes.
func plane() *hyperv1.HostedControlPlane {
	hcp := planetest.Plane()
	hcp.ObjectMeta = metav1.ObjectMeta{Namespace: testNamespace, Name: "demo"}
	return hcp
}

// run runs a manager until the test ends.
func run(t *testing.T, manager ctrl.Manager) {
	t.Helper()
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- manager.Start(ctx) }()
	t.Cleanup(func() {
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
}

// TestReportAuthority: machines trust for their reports the authority of the server's own certificate, whose key the server cannot read.
func TestReportAuthority(t *testing.T) {
	serving := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: testNamespace, Name: "ignition-server"}, Data: map[string][]byte{"ca.crt": []byte("authority")}}
	r := newTokenReconciler(t, start, append(world(t), serving)...)
	g := &gathered{}
	if err := r.gatherSecrets(t.Context(), g); err != nil || string(g.input.ReportCA) != "authority" {
		t.Errorf("%q, %v", g.input.ReportCA, err)
	}
}
