package oauthserver

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	configv1 "github.com/openshift/api/config/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	hyperv1 "github.com/hypershift-on-azure/hypershift/api/v1beta1"
	"github.com/hypershift-on-azure/hypershift/internal/clusterconfig"
	"github.com/hypershift-on-azure/hypershift/internal/component"
	"github.com/hypershift-on-azure/hypershift/internal/contract"
	"github.com/hypershift-on-azure/hypershift/internal/controlplane/planetest"
	"github.com/hypershift-on-azure/hypershift/internal/publish"
)

func viewOf(objects ...client.Object) *component.Context {
	view := planetest.View(planetest.Plane())
	view.Client = fake.NewClientBuilder().WithObjects(objects...).Build()
	return view
}

func unreadable() *component.Context {
	view := viewOf()
	view.Client = fake.NewClientBuilder().WithInterceptorFuncs(interceptor.Funcs{
		Get: func(context.Context, client.WithWatch, client.ObjectKey, client.Object, ...client.GetOption) error {
			return errors.New("no answer")
		},
	}).Build()
	return view
}

func secretOf(name, key, value string) *corev1.Secret {
	return &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "clusters-demo", Name: name}, Data: map[string][]byte{key: []byte(value)}}
}

// TestKubeadmin: the first administrator's password is made once; where the user says how others log in there is none, and one that cannot be read is
// not replaced.
func TestKubeadmin(t *testing.T) {
	password := func(view *component.Context) string {
		objects, err := kubeadminOf(view)
		if err != nil {
			t.Fatal(err)
		}
		if len(objects) == 0 {
			return ""
		}
		return string(objects[0].(*corev1.Secret).Data["password"])
	}
	made := password(viewOf())
	groups := strings.Split(made, "-")
	if len(made) != 23 || len(groups) != 4 || made == password(viewOf()) {
		t.Errorf("made: %q", made)
	}
	for _, group := range groups {
		if len(group) != 5 || strings.ContainsAny(group, "01lO") {
			t.Errorf("group %q", group)
		}
	}
	if got := password(viewOf(secretOf(KubeadminSecret, "password", "kept"))); got != "kept" {
		t.Errorf("another one is made: %q", got)
	}
	if got := password(viewOf(secretOf(KubeadminSecret, "password", ""))); len(got) != 23 {
		t.Errorf("an empty one stays: %q", got)
	}
	configured := viewOf(secretOf(KubeadminSecret, "password", "kept"))
	configured.HCP.Spec.Configuration = &hyperv1.ClusterConfiguration{OAuth: &runtime.RawExtension{Raw: []byte(`{"identityProviders":[]}`)}}
	if got := password(configured); got != "" {
		t.Errorf("the user says how others log in, and there is %q", got)
	}
	if _, err := kubeadminOf(unreadable()); err == nil {
		t.Error("a password that cannot be read is replaced")
	}
}

// TestSession: browsers stay logged in as long as the secret of their sessions is of use.
func TestSession(t *testing.T) {
	session := func(view *component.Context) string {
		secret, err := sessionOf(view)
		if err != nil {
			t.Fatal(err)
		}
		return string(secret.Data[sessionKey])
	}
	made := session(viewOf())
	if kept := session(viewOf(secretOf(sessionSecret, sessionKey, made))); kept != made {
		t.Errorf("everybody has to log in again: %s", kept)
	}
	for name, text := range map[string]string{
		"empty": "", "no YAML": "\t:", "no secrets": "kind: SessionSecrets\nsecrets: []\n", "half of one": "secrets: [{authentication: a, encryption: \"\"}]\n",
	} {
		got := session(viewOf(secretOf(sessionSecret, sessionKey, text)))
		if got == text || got == made || !strings.Contains(got, "encryption: ") {
			t.Errorf("%s: %s", name, got)
		}
	}
	if _, err := sessionOf(unreadable()); err == nil {
		t.Error("a secret that cannot be read is replaced")
	}
}

// TestLoginURL is the API server as users know it: by what the user says, else by its further name, else where it is published.
func TestLoginURL(t *testing.T) {
	hcp := planetest.Plane()
	api := publish.Endpoint{Host: "198.51.100.7", Port: 7443}
	for _, step := range []struct {
		change func()
		want   string
	}{
		{func() {}, "https://198.51.100.7:7443"},
		{func() { hcp.Spec.KubeAPIServerDNSName = "api.corp.test" }, "https://api.corp.test:7443"},
		{func() { hcp.Annotations = map[string]string{hyperv1.LoginURLOverrideAnnotation: "https://login.test"} }, "https://login.test"},
	} {
		if step.change(); loginURL(hcp, api) != step.want {
			t.Errorf("%s, want %s", loginURL(hcp, api), step.want)
		}
	}
}

// TestTrust: who is redirected to the server trusts its authority, or its certificate where it has none, and the user's authorities.
func TestTrust(t *testing.T) {
	serving := secretOf(servingSecret, contract.CAKey, " authority\n")
	serving.Data[corev1.TLSCertKey] = []byte("certificate")
	bundle := func(name string) client.Object {
		return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "clusters-demo", Name: name}, Data: map[string]string{hyperv1.TrustBundleKey: name}}
	}
	view := viewOf(serving, bundle(contract.UserCABundle), bundle("proxy-ca"))
	if got, err := trustOf(view, clusterconfig.APIServer{}); err != nil || got != "authority\n" {
		t.Errorf("%q, %v", got, err)
	}
	view.HCP.Spec.AdditionalTrustBundle = &corev1.LocalObjectReference{Name: "theirs"}
	view.HCP.Spec.Configuration = &hyperv1.ClusterConfiguration{Proxy: &hyperv1.ProxySpec{TrustedCA: &corev1.LocalObjectReference{Name: "proxy-ca"}}}
	if got, err := trustOf(view, clusterconfig.APIServer{}); err != nil || got != "authority\n"+contract.UserCABundle+"\nproxy-ca\n" {
		t.Errorf("%q, %v", got, err)
	}
	if _, err := trustOf(viewOf(), clusterconfig.APIServer{}); err == nil {
		t.Error("nothing to trust, and no error")
	}
	own := viewOf(secretOf(servingSecret, corev1.TLSCertKey, "certificate"))
	if got, err := trustOf(own, clusterconfig.APIServer{}); err != nil || got != "certificate\n" {
		t.Errorf("%q, %v", got, err)
	}
}

// TestPasswordHash is read off the Secret, and empty without one; what cannot be read is no empty one.
func TestPasswordHash(t *testing.T) {
	noted := secretOf(KubeadminSecret, "password", "p")
	noted.Annotations = map[string]string{contract.KubeadminHash: "hash"}
	for want, view := range map[string]*component.Context{"hash": viewOf(noted), "": viewOf()} {
		if got, err := passwordHash(view); err != nil || got != want {
			t.Errorf("%q, %v; want %q", got, err, want)
		}
	}
	if _, err := passwordHash(unreadable()); err == nil {
		t.Error("no error")
	}
}

type answering func(*http.Request) (*http.Response, error)

func (a answering) RoundTrip(r *http.Request) (*http.Response, error) { return a(r) }

// TestServersAreAskedSeldom: an answer, good or bad, is believed for ten minutes; another issuer, client or authority is asked at once.
func TestServersAreAskedSeldom(t *testing.T) {
	now, asked := time.Unix(0, 0), 0
	s := &servers{answers: map[string]answer{}, now: func() time.Time { return now }, transport: func([]byte) http.RoundTripper {
		return answering(func(*http.Request) (*http.Response, error) { asked++; return nil, errors.New("no answer") })
	}}
	authority := "one"
	read := func(name string) (map[string][]byte, error) {
		if name == "gone" {
			return nil, errors.New("missing")
		}
		return map[string][]byte{contract.CAKey: []byte(authority)}, nil
	}
	provider := configv1.OpenIDIdentityProvider{Issuer: "https://issuer.test", ClientID: "c"}
	for _, step := range []struct {
		change func()
		asked  int
	}{
		{func() {}, 1}, {func() { now = now.Add(knownFor - time.Second) }, 1}, {func() { now = now.Add(time.Second) }, 2},
		{func() { provider.ClientID = "d" }, 3}, {func() { provider.CA.Name = "ca" }, 4}, {func() { authority = "two" }, 5},
		{func() { provider.CA.Name = "gone" }, 5}, {func() { provider.CA.Name = "ca" }, 5},
		{func() { provider.Issuer = "http://issuer.test" }, 5},
	} {
		step.change()
		if _, err := s.ask(t.Context(), read, provider); err == nil || asked != step.asked {
			t.Errorf("%+v: asked %d times, want %d; %v", provider, asked, step.asked, err)
		}
	}
}
