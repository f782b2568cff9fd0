package signin_test

import (
	"bufio"
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hypershift-on-azure/hypershift/api/v1beta1"
	"github.com/hypershift-on-azure/hypershift/internal/dashboard"
	"github.com/hypershift-on-azure/hypershift/internal/dashboard/signin"
	"github.com/hypershift-on-azure/hypershift/internal/kube/kubetest"
)

const namespace = "acme"

// management is a real API server with a HostedCluster and people: reader may read everywhere, local in the namespace alone, stranger nothing.
type management struct {
	config *rest.Config
	admin  client.Client
}

func newManagement(t *testing.T) *management {
	t.Helper()
	config := kubetest.Start(t)
	scheme := runtime.NewScheme()
	if err := errors.Join(clientgoscheme.AddToScheme(scheme), hyperv1.AddToScheme(scheme)); err != nil {
		t.Fatal(err)
	}
	admin, err := client.New(config, client.Options{Scheme: scheme})
	if err != nil {
		t.Fatal(err)
	}
	rules := []rbacv1.PolicyRule{{APIGroups: []string{hyperv1.GroupVersion.Group}, Resources: []string{"hostedclusters", "nodepools"}, Verbs: []string{"get", "list"}}}
	person := func(name string) []rbacv1.Subject {
		return []rbacv1.Subject{{Kind: "ServiceAccount", Namespace: namespace, Name: name}}
	}
	named := metav1.ObjectMeta{Namespace: namespace, Name: "looks"}
	hc := &hyperv1.HostedCluster{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "secretive"}}
	hc.Spec.Release.Image, hc.Spec.PullSecret.Name, hc.Spec.SSHKey.Name = "quay.io/releases/ocp:4.21.0", "pull", "ssh"
	hc.Spec.Platform.Type, hc.Spec.Etcd.ManagementType = hyperv1.NonePlatform, hyperv1.Managed
	hc.Spec.Etcd.Managed = &hyperv1.ManagedEtcdSpec{Storage: hyperv1.ManagedEtcdStorageSpec{Type: "PersistentVolume"}}
	hc.Spec.Networking.ClusterNetwork = []hyperv1.ClusterNetworkEntry{{CIDR: "10.132.0.0/14"}}
	hc.Spec.Services = []hyperv1.ServicePublishingStrategyMapping{}
	for _, service := range []hyperv1.ServiceType{hyperv1.APIServer, hyperv1.OAuthServer, hyperv1.Konnectivity, hyperv1.Ignition} {
		hc.Spec.Services = append(hc.Spec.Services, hyperv1.ServicePublishingStrategyMapping{Service: service, ServicePublishingStrategy: hyperv1.ServicePublishingStrategy{Type: hyperv1.Route}})
	}
	objects := []client.Object{
		&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}},
		&rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: "looks"}, Rules: rules},
		&rbacv1.ClusterRoleBinding{ObjectMeta: metav1.ObjectMeta{Name: "looks"}, Subjects: person("reader"), RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "looks"}},
		&rbacv1.RoleBinding{ObjectMeta: named, Subjects: person("local"), RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "looks"}},
		hc,
	}
	for _, name := range []string{"reader", "local", "stranger"} {
		objects = append(objects, &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}})
	}
	for _, obj := range objects {
		if err := admin.Create(t.Context(), obj); err != nil {
			t.Fatal(err)
		}
	}
	return &management{config, admin}
}

// token is one of a service account.
func (m *management) token(t *testing.T, name string) string {
	t.Helper()
	request := &authenticationv1.TokenRequest{}
	sa := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
	if err := m.admin.SubResource("token").Create(t.Context(), sa, request); err != nil {
		t.Fatal(err)
	}
	return request.Status.Token
}

// browser keeps cookies and follows nobody elsewhere.
type browser struct {
	*http.Client
	server string
}

func newBrowser(t *testing.T, server *httptest.Server) *browser {
	t.Helper()
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	return &browser{&http.Client{Jar: jar, Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: server.Client().Transport.(*http.Transport).TLSClientConfig.RootCAs}},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}, server.URL}
}

func (b *browser) do(t *testing.T, method, path, form string, headers ...string) (*http.Response, string) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), method, b.server+path, strings.NewReader(form))
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Accept", "text/html,*/*")
	if form != "" {
		request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	for i := 0; i < len(headers); i += 2 {
		request.Header.Set(headers[i], headers[i+1])
	}
	response, err := b.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(bufio.NewReader(response.Body))
	if err != nil {
		t.Fatal(err)
	}
	return response, string(text)
}

// TestPeople: who shows no token of the management cluster is asked for one, and who does sees what it lets this person see, with no right of the
// dashboard's own: the configuration that it has here may do anything.
func TestPeople(t *testing.T) {
	m := newManagement(t)
	door, err := signin.New(m.config)
	if err != nil {
		t.Fatal(err)
	}
	handler := dashboard.New(dashboard.Options{Operator: "hypershift", Admit: door.Admit, SignIn: door.Pages(), Now: time.Now, Tick: func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() }})
	server := httptest.NewTLSServer(handler)
	t.Cleanup(func() { server.CloseClientConnections(); server.Close() })

	t.Run("nobody", func(t *testing.T) {
		b := newBrowser(t, server)
		for path, want := range map[string]int{"/": http.StatusSeeOther, "/clusters/acme/secretive/": http.StatusSeeOther, "/sign-in": http.StatusOK, "/static/style.css": http.StatusOK, "/healthz": http.StatusOK} {
			if response, text := b.do(t, "GET", path, ""); response.StatusCode != want || strings.Contains(text, "secretive") || want == http.StatusSeeOther && response.Header.Get("Location") != "/sign-in" {
				t.Errorf("%s: %s to %s\n%s", path, response.Status, response.Header.Get("Location"), text)
			}
		}
		if response, _ := b.do(t, "GET", "/live", "", "Accept", "text/event-stream"); response.StatusCode != http.StatusUnauthorized || response.Header.Get("WWW-Authenticate") != "Bearer" {
			t.Errorf("a stream: %s", response.Status)
		}
		for _, token := range []string{"", "wrong", "a b", "ü", strings.Repeat("x", 70<<10)} {
			response, text := b.do(t, "POST", "/sign-in", url.Values{"token": {token}}.Encode())
			if response.StatusCode != http.StatusUnauthorized || !strings.Contains(text, `role="alert"`) || len(response.Cookies()) > 0 {
				t.Errorf("token %.9q: %s, %v\n%s", token, response.Status, response.Cookies(), text)
			}
		}
	})
	t.Run("reader", func(t *testing.T) {
		b := newBrowser(t, server)
		form := url.Values{"token": {m.token(t, "reader")}}.Encode()
		if response, _ := b.do(t, "POST", "/sign-in", form, "Origin", "https://elsewhere.example"); response.StatusCode != http.StatusForbidden || len(response.Cookies()) > 0 {
			t.Errorf("a page of somebody else signs in: %s", response.Status)
		}
		response, _ := b.do(t, "POST", "/sign-in", form, "Origin", server.URL)
		if response.StatusCode != http.StatusSeeOther || response.Header.Get("Location") != "/" || len(response.Cookies()) != 1 {
			t.Fatalf("%s, %v", response.Status, response.Cookies())
		}
		if c := response.Cookies()[0]; !c.Secure || !c.HttpOnly || c.SameSite != http.SameSiteStrictMode || !strings.HasPrefix(c.Name, "__Host-") || c.Domain != "" || c.MaxAge != 0 {
			t.Errorf("%+v", c)
		}
		response, text := b.do(t, "GET", "/", "")
		if response.StatusCode != http.StatusOK || !strings.Contains(text, "secretive") || !strings.Contains(text, "Sign out system:serviceaccount:acme:reader") || !strings.Contains(response.Header.Get("Content-Security-Policy"), "form-action 'self'") {
			t.Errorf("%s\n%s", response.Status, text)
		}
		if response, _ := b.do(t, "POST", "/sign-out", "", "Origin", server.URL); response.StatusCode != http.StatusSeeOther {
			t.Errorf("sign out: %s", response.Status)
		}
		if response, _ := b.do(t, "GET", "/", ""); response.StatusCode != http.StatusSeeOther {
			t.Errorf("signed out, and still there: %s", response.Status)
		}
	})
	t.Run("by a proxy", func(t *testing.T) {
		b := newBrowser(t, server)
		if response, text := b.do(t, "GET", "/", "", "Authorization", "Bearer "+m.token(t, "reader")); response.StatusCode != http.StatusOK || !strings.Contains(text, "secretive") {
			t.Errorf("%s\n%s", response.Status, text)
		}
		if response, _ := b.do(t, "GET", "/", "", "Authorization", "Bearer wrong", "Accept", "*/*"); response.StatusCode != http.StatusUnauthorized {
			t.Errorf("%s", response.Status)
		}
	})
	t.Run("local", func(t *testing.T) {
		b := newBrowser(t, server)
		bearer := "Bearer " + m.token(t, "local")
		for path, want := range map[string]int{"/": http.StatusForbidden, "/clusters/acme/secretive/": http.StatusOK, "/clusters/other/secretive/": http.StatusForbidden} {
			if response, text := b.do(t, "GET", path, "", "Authorization", bearer); response.StatusCode != want || (want == http.StatusOK) != strings.Contains(text, "secretive</h1>") {
				t.Errorf("%s: %s\n%s", path, response.Status, text)
			}
		}
	})
	t.Run("stranger", func(t *testing.T) {
		b := newBrowser(t, server)
		bearer := "Bearer " + m.token(t, "stranger")
		for _, path := range []string{"/", "/clusters/acme/secretive/", "/clusters/acme/absent/"} {
			response, text := b.do(t, "GET", path, "", "Authorization", bearer)
			if response.StatusCode != http.StatusForbidden || strings.Contains(text, "4.21.0") || !strings.Contains(text, "forbidden") {
				t.Errorf("%s: %s\n%s", path, response.Status, text)
			}
		}
		// The stream says why and ends: this would hang else.
		if _, text := b.do(t, "GET", "/live", "", "Authorization", bearer); !strings.Contains(text, "event: trouble") || !strings.Contains(text, "forbidden") {
			t.Errorf("%s", text)
		}
	})
	t.Run("with a token that has expired", func(t *testing.T) {
		b := newBrowser(t, server)
		at, err := url.Parse(server.URL)
		if err != nil {
			t.Fatal(err)
		}
		b.Jar.SetCookies(at, []*http.Cookie{{Name: "__Host-hypershift-dashboard", Value: "expired", Path: "/", Secure: true}})
		if response, _ := b.do(t, "GET", "/", ""); response.StatusCode != http.StatusSeeOther || response.Header.Get("Location") != "/sign-in" {
			t.Errorf("%s", response.Status)
		}
	})
}
