package server

import (
	"bytes"
	"context"
	"encoding/base64"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	k8sfake "k8s.io/client-go/kubernetes/fake"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/tools/events"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	hyperv1 "github.com/hypershift-on-azure/hypershift/api/v1beta1"
	"github.com/hypershift-on-azure/hypershift/internal/ignition"
	"github.com/hypershift-on-azure/hypershift/internal/release"
)

// input is of a small pool.
func input() ignition.Input {
	return ignition.Input{
		NodePool: "np", ServiceCIDR: "172.31.0.0/16",
		Images: map[string]string{
			"hyperkube": "quay.io/art@sha256:1", "pod": "quay.io/art@sha256:2", "haproxy-router": "quay.io/art@sha256:3", "container-networking-plugins": "quay.io/art@sha256:4",
			"azure-cloud-node-manager": "quay.io/art@sha256:5", "flannel": "quay.io/art@sha256:6",
		},
		BootstrapKubeconfig: []byte("bootstrap"), KubeletClientCA: []byte("ca"), CloudConfig: []byte("{}"),
		PullSecret: []byte(`{"auths":{"quay.io":{"auth":"dXNlcjpwYXNz"}}}`),
	}
}

func bearerOf(token string) string {
	return "Bearer " + base64.StdEncoding.EncodeToString([]byte(token))
}

func TestProtocol(t *testing.T) {
	tokens := newStore()
	valid, err := ignition.Render(input())
	if err != nil {
		t.Fatal(err)
	}
	tokens.set(entry{secret: "s", nodePool: "clusters/np", payload: valid}, "good", "old")
	tokens.set(entry{secret: "broken", nodePool: "clusters/bad", payload: []byte("{}")}, "bad")
	var reached, failed int
	h := &protocol{store: tokens, metrics: newMetrics(prometheus.NewRegistry(), tokens), served: func(_ context.Context, _ entry, err error) {
		if err != nil {
			failed++
		} else {
			reached++
		}
	}}
	tests := []struct {
		name, path, authorization string
		status                    int
		body                      string
	}{
		{"payload", "/ignition", bearerOf("good"), 200, `"version":"3.2.0"`},
		{"rotated token", "/ignition", bearerOf("old"), 200, `"version":"3.2.0"`},
		{"longer path", "/ignition-worker", bearerOf("good"), 200, `"version":"3.2.0"`},
		{"no header", "/ignition", "", 401, "Unauthorized"},
		{"no prefix", "/ignition", base64.StdEncoding.EncodeToString([]byte("good")), 401, "Unauthorized"},
		{"lower-case prefix", "/ignition", "bearer Z29vZA==", 401, "Unauthorized"},
		{"no base64", "/ignition", "Bearer good!", 401, "Unauthorized"},
		{"url base64", "/ignition", "Bearer -_-_", 401, "Unauthorized"},
		{"unknown token", "/ignition", bearerOf("other"), 511, "Token not found"},
		{"other path before authorisation", "/config/worker", "", 404, ""},
		{"sub-path", "/ignition/worker", bearerOf("good"), 404, ""},
		{"health", "/healthz", "", 200, ""},
		{"broken payload", "/ignition", bearerOf("bad"), 500, ""},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			request := httptest.NewRequest(http.MethodGet, test.path, nil)
			if test.authorization != "" {
				request.Header.Set("Authorization", test.authorization)
			}
			answer := httptest.NewRecorder()
			h.ServeHTTP(answer, request)
			if answer.Code != test.status || !strings.Contains(answer.Body.String(), test.body) {
				t.Errorf("%d %q, want %d %q", answer.Code, answer.Body.String(), test.status, test.body)
			}
			if test.status == 200 && test.body != "" && answer.Header().Get("Content-Type") != "application/json; charset=utf-8" {
				t.Errorf("content type %q", answer.Header().Get("Content-Type"))
			}
		})
	}
	if reached != 3 || failed != 1 {
		t.Errorf("reached %d, failed %d", reached, failed)
	}
}

type fixedReleases struct {
	release *release.Release
	err     error
}

func (f fixedReleases) Lookup(context.Context, string, release.Access) (*release.Release, error) {
	return f.release, f.err
}

const testNamespace = "clusters-demo"

func world(t *testing.T) []client.Object {
	t.Helper()
	in := input()
	hcp := &hyperv1.HostedControlPlane{ObjectMeta: metav1.ObjectMeta{Namespace: testNamespace, Name: "demo"}}
	hcp.Spec.Networking.ServiceNetwork = []hyperv1.NetworkEntry{{CIDR: "172.31.0.0/16"}}
	name := func(n string) metav1.ObjectMeta { return metav1.ObjectMeta{Namespace: testNamespace, Name: n} }
	packed, err := ignition.Compress("")
	if err != nil {
		t.Fatal(err)
	}
	token := &corev1.Secret{ObjectMeta: name("token-np"), Data: map[string][]byte{
		ignition.TokenKey: []byte("one"), ignition.TokenReleaseKey: []byte("quay.io/release:4.21.0"), ignition.TokenConfigKey: packed,
	}}
	token.Annotations = map[string]string{
		hyperv1.IgnitionConfigAnnotation: "true", hyperv1.NodePoolAnnotation: "clusters/np",
		hyperv1.IgnitionLastTokenGenerationTimeAnnotation: start.Format(time.RFC3339Nano),
	}
	return []client.Object{
		hcp, token,
		&corev1.Secret{ObjectMeta: name("bootstrap-kubeconfig"), Data: map[string][]byte{"kubeconfig": in.BootstrapKubeconfig}},
		&corev1.Secret{ObjectMeta: name("pull-secret"), Data: map[string][]byte{".dockerconfigjson": in.PullSecret}},
		&corev1.ConfigMap{ObjectMeta: name("kubelet-client-ca"), Data: map[string]string{"ca.crt": "ca"}},
		&corev1.ConfigMap{ObjectMeta: name("azure-cloud-config"), Data: map[string]string{"cloud.conf": "{}"}},
	}
}

var start = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

func newTokenReconciler(t *testing.T, now time.Time, objects ...client.Object) *tokenReconciler {
	t.Helper()
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{clientgoscheme.AddToScheme, hyperv1.AddToScheme} {
		if err := add(scheme); err != nil {
			t.Fatal(err)
		}
	}
	tokens := newStore()
	followed := newWatches(k8sfake.NewClientset(), testNamespace)
	followed.started = true
	t.Cleanup(followed.end)
	if err := followed.follow("token-np"); err != nil {
		t.Fatal(err)
	}
	return &tokenReconciler{
		watches: followed,
		client:  fake.NewClientBuilder().WithScheme(scheme).WithObjects(objects...).Build(), namespace: testNamespace,
		releases: fixedReleases{release: &release.Release{Images: input().Images}},
		store:    tokens, metrics: newMetrics(prometheus.NewRegistry(), tokens), now: func() time.Time { return now },
		renderers: map[release.Kind]renderer{release.KindKubernetes: {render: renderPlain}},
	}
}

// TestTokenGoesWhileItsPayloadIsBuilt: a pass that has read a Secret writes to the store after the Secret and the right to it are gone.
func TestTokenGoesWhileItsPayloadIsBuilt(t *testing.T) {
	r := newTokenReconciler(t, start, world(t)...)
	names := &namesReconciler{client: r.client, watches: r.watches, store: r.store}
	key := ctrl.Request{NamespacedName: client.ObjectKey{Namespace: testNamespace, Name: "token-np"}}
	built := r.releases
	r.releases = lookup(func(ctx context.Context, image string, access release.Access) (*release.Release, error) {
		go func() {
			if _, err := names.Reconcile(ctx, ctrl.Request{}); err != nil {
				t.Error(err)
			}
		}()
		<-r.watches.changed
		return built.Lookup(ctx, image, access)
	})
	for range 2 { // the pass in flight, and the one that it was told of
		if _, err := r.Reconcile(t.Context(), key); err != nil {
			t.Fatal(err)
		}
	}
	if _, opens := r.store.get("one"); opens {
		t.Error("the token of a Secret that is gone opens its payload")
	}
}

type lookup func(context.Context, string, release.Access) (*release.Release, error)

func (f lookup) Lookup(ctx context.Context, image string, access release.Access) (*release.Release, error) {
	return f(ctx, image, access)
}

func reconcileToken(t *testing.T, r *tokenReconciler) (*corev1.Secret, ctrl.Result, error) {
	t.Helper()
	key := client.ObjectKey{Namespace: testNamespace, Name: "token-np"}
	result, err := r.Reconcile(t.Context(), ctrl.Request{NamespacedName: key})
	secret := &corev1.Secret{}
	if getErr := r.client.Get(t.Context(), key, secret); getErr != nil && !apierrors.IsNotFound(getErr) {
		t.Fatal(getErr)
	}
	return secret, result, err
}

func without(objects []client.Object, name string) []client.Object {
	var out []client.Object
	for _, obj := range objects {
		if obj.GetName() != name {
			out = append(out, obj)
		}
	}
	return out
}

func TestTokenOpensItsPayload(t *testing.T) {
	r := newTokenReconciler(t, start, world(t)...)
	secret, result, err := reconcileToken(t, r)
	if err != nil {
		t.Fatal(err)
	}
	if string(secret.Data["reason"]) != "AsExpected" || string(secret.Data["message"]) != "Payload generated successfully" {
		t.Errorf("outcome %q %q", secret.Data["reason"], secret.Data["message"])
	}
	if _, ok := r.store.get("one"); !ok {
		t.Error("the token opens nothing")
	}
	if result.RequeueAfter != tokenLifetime/2 {
		t.Errorf("looks again in %s", result.RequeueAfter)
	}
}

func TestTokenProblems(t *testing.T) {
	tests := map[string]struct {
		change  func(*tokenReconciler) // after the objects are there
		missing string
		reason  string
		retried bool
	}{
		"cloud configuration pending": {missing: "azure-cloud-config", reason: "CloudConfigPending"},
		"control plane not complete":  {missing: "bootstrap-kubeconfig", retried: true},
		"payload of another kind": {reason: "InvalidConfig", change: func(r *tokenReconciler) {
			r.releases = fixedReleases{release: &release.Release{Images: map[string]string{}}}
		}},
		"payload unknown": {reason: "InvalidConfig", change: func(r *tokenReconciler) {
			r.releases = fixedReleases{err: &release.Error{Reason: release.ReasonNotFound, Cause: errors.New("x")}}
		}},
		"registry away": {retried: true, change: func(r *tokenReconciler) {
			r.releases = fixedReleases{err: &release.Error{Reason: release.ReasonUnreachable, Cause: errors.New("x")}}
		}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			r := newTokenReconciler(t, start, without(world(t), test.missing)...)
			if test.change != nil {
				test.change(r)
			}
			secret, result, err := reconcileToken(t, r)
			if (err != nil) != test.retried {
				t.Errorf("error = %v", err)
			}
			if err == nil && (result.RequeueAfter == 0 || result.RequeueAfter > time.Minute) {
				t.Errorf("looks again in %s: a registry tells nobody when it has the image", result.RequeueAfter)
			}
			if string(secret.Data["reason"]) != test.reason {
				t.Errorf("reason = %q (%s)", secret.Data["reason"], secret.Data["message"])
			}
			if _, ok := r.store.get("one"); ok {
				t.Error("the token opens something")
			}
		})
	}
}

func TestTokenRotatesAtHalfLife(t *testing.T) {
	r := newTokenReconciler(t, start.Add(tokenLifetime/2), world(t)...)
	secret, _, err := reconcileToken(t, r)
	if err != nil {
		t.Fatal(err)
	}
	if string(secret.Data["old_token"]) != "one" || string(secret.Data["token"]) == "one" || len(secret.Data["token"]) != 36 {
		t.Errorf("token %q, old %q", secret.Data["token"], secret.Data["old_token"])
	}
	if _, _, err := reconcileToken(t, r); err != nil {
		t.Fatal(err)
	}
	for _, token := range []string{"one", string(secret.Data["token"])} {
		if _, ok := r.store.get(token); !ok {
			t.Errorf("token %q opens nothing", token)
		}
	}
}

// A machine that boots late must get its configuration, whatever happens to the registry meanwhile.
func TestPassingFailureKeepsWhatWasServed(t *testing.T) {
	now := start
	r := newTokenReconciler(t, start, world(t)...)
	r.now = func() time.Time { return now }
	if _, _, err := reconcileToken(t, r); err != nil {
		t.Fatal(err)
	}
	r.releases = fixedReleases{err: &release.Error{Reason: release.ReasonUnreachable, Cause: errors.New("x")}}
	now = start.Add(tokenLifetime / 2)
	if _, _, err := reconcileToken(t, r); err != nil {
		t.Fatal(err)
	}
	secret, _, err := reconcileToken(t, r)
	if err == nil {
		t.Fatal("the registry is away, yet the payload was built")
	}
	for _, token := range []string{"one", string(secret.Data["token"])} {
		if _, ok := r.store.get(token); !ok {
			t.Errorf("token %q opens nothing", token)
		}
	}
	r.releases = fixedReleases{release: &release.Release{Images: map[string]string{}}}
	if _, _, err := reconcileToken(t, r); err != nil {
		t.Fatal(err)
	}
	if _, ok := r.store.get("one"); ok {
		t.Error("a configuration that is no longer valid is still served")
	}
}

func TestTokenExpires(t *testing.T) {
	for name, expiry := range map[string]string{"past": start.Add(-time.Second).Format(time.RFC3339), "unreadable": "soon"} {
		t.Run(name, func(t *testing.T) {
			objects := world(t)
			objects[1].GetAnnotations()[hyperv1.IgnitionTokenExpirationTimestampAnnotation] = expiry
			r := newTokenReconciler(t, start, objects...)
			r.store.set(entry{secret: "token-np"}, "one")
			secret, _, err := reconcileToken(t, r)
			if err != nil || secret.Name != "" {
				t.Errorf("secret %q is still there (%v)", secret.Name, err)
			}
			if _, ok := r.store.get("one"); ok {
				t.Error("the token still opens its payload")
			}
		})
	}
}

func TestServedPayloadMarksTheSecret(t *testing.T) {
	r := newTokenReconciler(t, start, world(t)...)
	traces := events.NewFakeRecorder(2)
	rec := &recorder{client: r.client, namespace: testNamespace, events: traces}
	rec.record(t.Context(), entry{secret: "token-np", nodePool: "clusters/np"}, nil)
	secret := &corev1.Secret{}
	if err := r.client.Get(t.Context(), client.ObjectKey{Namespace: testNamespace, Name: "token-np"}, secret); err != nil {
		t.Fatal(err)
	}
	if secret.Annotations[hyperv1.IgnitionReachedAnnotation] != "True" {
		t.Errorf("annotations = %v", secret.Annotations)
	}
	if event := <-traces.Events; !strings.Contains(event, "GetPayload") {
		t.Errorf("event = %q", event)
	}
}

// A machine that is updated in place gets the files of what a new one would get.
func TestFilesAreServed(t *testing.T) {
	valid, err := ignition.Render(input())
	if err != nil {
		t.Fatal(err)
	}
	tokens := newStore()
	tokens.set(entry{secret: "s", nodePool: "clusters/np", payload: valid}, "good")
	handler := &protocol{store: tokens, metrics: newMetrics(prometheus.NewRegistry(), tokens), served: func(context.Context, entry, error) {}}
	answer := httptest.NewRecorder()
	request := httptest.NewRequest(http.MethodGet, ignition.FilesPath, nil)
	request.Header.Set("Authorization", bearerOf("good"))
	handler.ServeHTTP(answer, request)
	want, err := ignition.Archive(valid)
	if err != nil || answer.Code != http.StatusOK || !bytes.Equal(answer.Body.Bytes(), want) || answer.Header().Get("Content-Type") != "application/x-tar" {
		t.Errorf("%d, %d bytes, want %d: %v", answer.Code, answer.Body.Len(), len(want), err)
	}
}
