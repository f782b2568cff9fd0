package dashboard

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/net/html"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hypershift-on-azure/hypershift/api/v1beta1"
	"github.com/hypershift-on-azure/hypershift/internal/survey/surveytest"
)

var update = flag.Bool("update", false, "write the golden files anew")

// world has a cluster with nothing wrong, and one whose etcd is not scheduled and whose machine is refused in words that would be HTML.
func world() []client.Object {
	broken := surveytest.Cluster("demo")
	surveytest.Says(broken, hyperv1.HostedClusterAvailable, metav1.ConditionFalse, hyperv1.EtcdWaitingForQuorumReason, "0 of 1 pods of etcd are ready")
	surveytest.Says(broken, hyperv1.EtcdAvailable, metav1.ConditionFalse, hyperv1.EtcdWaitingForQuorumReason, "0 of 1 pods of etcd are ready")
	told := metav1.NewTime(surveytest.Now.Add(-5 * time.Minute))
	return []client.Object{broken, surveytest.Cluster("other"), surveytest.Pool("other", "other", 2),
		surveytest.Pool("demo", "demo", 2, func(np *hyperv1.NodePool) { np.Status.Replicas = 0 }),
		&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: surveytest.Namespace, Annotations: map[string]string{hyperv1.HostedClusterAnnotation: "clusters/demo"}}},
		&corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: surveytest.Namespace, Name: "etcd-0", Labels: map[string]string{"app": "etcd"}}, Status: corev1.PodStatus{Conditions: []corev1.PodCondition{{
			Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: "Unschedulable", Message: "0/1 nodes are available: 1 Insufficient cpu.", LastTransitionTime: metav1.NewTime(surveytest.Now.Add(-4 * time.Minute))}}}},
		surveytest.Machine("demo", "demo-a", "InfrastructureReady False VMProvisionFailed <script>alert(1)</script> \x1b[2J is refused"),
		&corev1.Event{ObjectMeta: metav1.ObjectMeta{Namespace: "clusters", Name: "demo.1"}, InvolvedObject: corev1.ObjectReference{Kind: "HostedCluster", Name: "demo"}, Type: "Normal", Reason: "UpgradeStarted", Message: "to 4.21.0", LastTimestamp: told, Count: 2},
		&corev1.Event{ObjectMeta: metav1.ObjectMeta{Namespace: "clusters", Name: "other.1"}, InvolvedObject: corev1.ObjectReference{Kind: "HostedCluster", Name: "other"}, Type: "Normal", Reason: "Foreign", Message: "of another cluster", LastTimestamp: told},
	}
}

const host = "127.0.0.1:8080"

func viewer(objects ...client.Object) *Viewer {
	return &Viewer{Client: surveytest.Client(objects...).Build(), Logs: func(context.Context, string, string, string, bool) (string, error) { return "", errors.New("no log") }}
}

func anybody(v *Viewer) func(http.ResponseWriter, *http.Request) (*Viewer, error) {
	return func(http.ResponseWriter, *http.Request) (*Viewer, error) { return v, nil }
}

func options(objects ...client.Object) Options {
	return Options{
		Operator: "hypershift", Hosts: []string{host}, Admit: anybody(viewer(objects...)),
		Now: func() time.Time { return surveytest.Now }, Tick: func(context.Context) error { return errors.New("once") },
	}
}

func get(t *testing.T, handler http.Handler, path string, change ...func(*http.Request)) *http.Response {
	t.Helper()
	r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, path, nil)
	r.Host = host
	for _, f := range change {
		f(r)
	}
	w := httptest.NewRecorder()
	handler.ServeHTTP(w, r)
	return w.Result()
}

func body(t *testing.T, response *http.Response) string {
	t.Helper()
	defer response.Body.Close()
	var text strings.Builder
	if _, err := bufio.NewReader(response.Body).WriteTo(&text); err != nil {
		t.Fatal(err)
	}
	return text.String()
}

// TestPages: what is shown, to the letter.
func TestPages(t *testing.T) {
	handler := New(options(world()...))
	for name, path := range map[string]string{"fleet.html": "/", "cluster.html": "/clusters/clusters/demo/", "healthy.html": "/clusters/clusters/other/"} {
		response := get(t, handler, path)
		text := body(t, response)
		if response.StatusCode != http.StatusOK {
			t.Errorf("%s: %s", path, response.Status)
		}
		file := filepath.Join("testdata", name)
		if *update {
			if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if text != string(want) {
			t.Errorf("%s is not as %s has it (-update writes it anew):\n%s", path, file, text)
		}
		if strings.Contains(text, "<script>alert") || strings.Contains(text, "\x1b") || strings.Contains(text, "of another cluster") && name == "cluster.html" {
			t.Errorf("%s has a word of others as it came, or an event of another cluster", path)
		}
	}
}

// TestAccessible holds the pages to what a screen reader and a keyboard need, and to have no script or style of their own, which the policy forbids.
func TestAccessible(t *testing.T) {
	handler := New(options(world()...))
	for _, path := range []string{"/", "/clusters/clusters/demo/", "/clusters/clusters/nobody/"} {
		text := body(t, get(t, handler, path))
		tree, err := html.Parse(strings.NewReader(text))
		if err != nil {
			t.Fatal(err)
		}
		count, ids := map[string]int{}, map[string]int{}
		for n := range tree.Descendants() {
			if n.Type != html.ElementNode {
				continue
			}
			count[n.Data]++
			attributes := map[string]string{}
			for _, a := range n.Attr {
				attributes[a.Key] = a.Val
				if a.Key == "style" || strings.HasPrefix(a.Key, "on") {
					t.Errorf("%s: <%s %s=…> stands in the page", path, n.Data, a.Key)
				}
			}
			if id := attributes["id"]; id != "" {
				ids[id]++
			}
			switch {
			case n.Data == "th" && attributes["scope"] == "":
				t.Errorf("%s: a heading of a table does not say of what", path)
			case n.Data == "script" && (n.FirstChild != nil || attributes["src"] == ""), n.Data == "style":
				t.Errorf("%s: <%s> stands in the page", path, n.Data)
			case n.Data == "html" && attributes["lang"] != "en":
				t.Errorf("%s has no language", path)
			case n.Data == "p" && attributes["id"] == "live" && attributes["role"] != "status":
				t.Errorf("%s: what is live is not said", path)
			}
		}
		if count["h1"] != 1 || count["main"] != 1 || count["nav"] != 1 || count["caption"] != count["table"] {
			t.Errorf("%s: %v", path, count)
		}
		for id, n := range ids {
			if n > 1 {
				t.Errorf("%s: id %s is there %d times", path, id, n)
			}
		}
		if !strings.Contains(text, `<a class="skip" href="#content">`) || ids["content"] != 1 {
			t.Errorf("%s: nobody can skip to the content", path)
		}
	}
}

// TestRefuses: who is let in, and what browsers may do with the answers.
func TestRefuses(t *testing.T) {
	o := options(world()...)
	o.Admit = ByKey("secret", viewer(world()...))
	handler := New(o)
	with := func(r *http.Request) { r.AddCookie(&http.Cookie{Name: "hypershift-dashboard-8080", Value: "secret"}) }
	for name, tc := range map[string]struct {
		path   string
		change func(*http.Request)
		status int
	}{
		"no key":         {"/", func(*http.Request) {}, http.StatusUnauthorized},
		"another key":    {"/?key=secreT", func(*http.Request) {}, http.StatusUnauthorized},
		"another cookie": {"/", func(r *http.Request) { r.AddCookie(&http.Cookie{Name: "hypershift-dashboard-8080", Value: "x"}) }, http.StatusUnauthorized},
		"key":            {"/?key=secret", func(*http.Request) {}, http.StatusSeeOther},
		"cookie":         {"/", with, http.StatusOK},
		"rebound name":   {"/", func(r *http.Request) { with(r); r.Host = "attacker.example:8080" }, http.StatusMisdirectedRequest},
		"another port":   {"/", func(r *http.Request) { with(r); r.Host = "127.0.0.1:80" }, http.StatusMisdirectedRequest},
		"write":          {"/", func(r *http.Request) { with(r); r.Method = http.MethodPost }, http.StatusMethodNotAllowed},
		"no cluster":     {"/clusters/clusters/nobody/", with, http.StatusNotFound},
		"no file":        {"/static/page.html", with, http.StatusNotFound},
		"file":           {"/static/style.css", with, http.StatusOK},
		"no page":        {"/else", with, http.StatusNotFound},
		"health":         {"/healthz", func(r *http.Request) { r.Host = "10.0.0.1:8443" }, http.StatusOK},
	} {
		response := get(t, handler, tc.path, tc.change)
		text := body(t, response)
		if response.StatusCode != tc.status {
			t.Errorf("%s: %s, want %d\n%s", name, response.Status, tc.status, text)
		}
		if csp := response.Header.Get("Content-Security-Policy"); !strings.HasPrefix(csp, "default-src 'none';") || strings.Contains(csp, "unsafe") {
			t.Errorf("%s: policy %q", name, csp)
		}
		if response.Header.Get("Cache-Control") != "no-store" || response.Header.Get("X-Content-Type-Options") != "nosniff" {
			t.Errorf("%s: %v", name, response.Header)
		}
		if name == "key" {
			c := response.Cookies()
			if len(c) != 1 || !c[0].HttpOnly || c[0].SameSite != http.SameSiteStrictMode || response.Header.Get("Location") != "/" {
				t.Errorf("cookies %v, location %q", c, response.Header.Get("Location"))
			}
		}
	}
}

// TestScope: a namespace hides the clusters of others.
func TestScope(t *testing.T) {
	o := options(append(world(), surveytest.Cluster("far", func(hc *hyperv1.HostedCluster) { hc.Namespace = "elsewhere" }))...)
	for namespace, status := range map[string]int{"": http.StatusOK, "elsewhere": http.StatusOK, "clusters": http.StatusNotFound} {
		o.Namespace = namespace
		handler := New(o)
		if got := get(t, handler, "/clusters/elsewhere/far/").StatusCode; got != status {
			t.Errorf("namespace %q: %d, want %d", namespace, got, status)
		}
		if listed := strings.Contains(body(t, get(t, handler, "/")), `href="clusters/elsewhere/far/"`); listed != (status == http.StatusOK) {
			t.Errorf("namespace %q: listed %t", namespace, listed)
		}
	}
}

// TestOperatorNamespace: what the operator and ExternalDNS have to do with a cluster is looked for in --operator-namespace.
func TestOperatorNamespace(t *testing.T) {
	hc := surveytest.Cluster("lost", func(hc *hyperv1.HostedCluster) {
		surveytest.Says(hc, hyperv1.ExternalDNSReachable, metav1.ConditionFalse, hyperv1.ExternalDNSHostNotReachable, "lookup api.lost.example.com: no such host")
	})
	o := options(hc)
	o.Operator = "dns"
	page := body(t, get(t, New(o), "/clusters/"+hc.Namespace+"/lost/"))
	if !strings.Contains(page, "no pod of it runs in namespace dns") {
		t.Errorf("the page does not say where ExternalDNS was looked for:\n%s", page)
	}
}

// told is an event of a stream.
type told struct{ id, event, text string }

func events(t *testing.T, stream string) []told {
	t.Helper()
	var all []told
	for block := range strings.SplitSeq(strings.TrimSpace(stream), "\n\n") {
		var one told
		for line := range strings.SplitSeq(block, "\n") {
			name, value, _ := strings.Cut(line, ": ")
			switch name {
			case "id":
				one.id = value
			case "event":
				one.event = value
			case "data":
				if err := json.Unmarshal([]byte(value), &one.text); err != nil {
					t.Fatalf("%s: %v", value, err)
				}
			}
		}
		all = append(all, one)
	}
	return all
}

// TestLive: the content comes once, again when it changes, and not to a browser that has seen it; ages alone are no change.
func TestLive(t *testing.T) {
	o, v := options(), viewer(world()...)
	o.Admit = anybody(v)
	c := v.Client.(client.Client)
	now := surveytest.Now
	o.Now = func() time.Time { return now }
	ticks := 0
	o.Tick = func(context.Context) error {
		switch ticks++; ticks {
		case 1:
			now = now.Add(time.Hour) // nothing but the time
		case 2:
			hc := &hyperv1.HostedCluster{}
			if err := c.Get(t.Context(), client.ObjectKey{Namespace: "clusters", Name: "other"}, hc); err != nil {
				t.Error(err)
			}
			surveytest.Says(hc, hyperv1.HostedClusterAvailable, metav1.ConditionFalse, "Gone", "nobody answers")
			if err := c.Update(t.Context(), hc); err != nil {
				t.Error(err)
			}
		case 3:
			return errors.New("nobody looks")
		}
		return nil
	}
	handler := New(o)
	response := get(t, handler, "/live")
	if got := response.Header.Get("Content-Type"); got != "text/event-stream" {
		t.Errorf("type %q", got)
	}
	all := events(t, body(t, response))
	kinds := []string{}
	for _, e := range all {
		kinds = append(kinds, e.event)
	}
	if !slices.Equal(kinds, []string{"page", "", "page"}) {
		t.Fatalf("events %q", kinds)
	}
	if strings.Contains(all[0].text, "nobody answers") || !strings.Contains(all[2].text, "nobody answers") || strings.Contains(all[2].text, "<html") {
		t.Errorf("%q, then %q", all[0].text, all[2].text)
	}
	ticks = 2
	for name, change := range map[string]func(*http.Request){
		"header":  func(r *http.Request) { r.Header.Set("Last-Event-ID", all[2].id) },
		"address": func(r *http.Request) { r.URL.RawQuery = "seen=" + all[2].id },
	} {
		ticks = 2
		if again := events(t, body(t, get(t, handler, "/live", change))); again[0].event != "" {
			t.Errorf("%s: what was seen comes again: %+v", name, again)
		}
	}
	ticks = 2
	if gone := events(t, body(t, get(t, handler, "/clusters/clusters/nobody/live"))); gone[0].event != "trouble" || !strings.Contains(gone[0].text, "nobody") {
		t.Errorf("%+v", gone)
	}
}

// TestStreamsAreBounded: one who asks for streams without end does not keep others out of the pages.
func TestStreamsAreBounded(t *testing.T) {
	o := options(world()...)
	hold, entered := make(chan struct{}), make(chan struct{}, streams)
	o.Tick = func(context.Context) error { entered <- struct{}{}; <-hold; return errors.New("done") }
	handler := New(o)
	for range streams {
		go get(t, handler, "/live")
	}
	for range streams {
		<-entered
	}
	if got := get(t, handler, "/live").StatusCode; got != http.StatusServiceUnavailable {
		t.Errorf("one more stream gives %d", got)
	}
	if got := get(t, handler, "/").StatusCode; got != http.StatusOK {
		t.Errorf("a page gives %d", got)
	}
	close(hold)
}
