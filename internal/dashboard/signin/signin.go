// Package signin lets people into the dashboard by their tokens of the management cluster, and has the pages read with these tokens alone: nobody
// sees there what the management cluster would not show to him, and the dashboard itself needs no right.
package signin

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"unicode"

	authenticationv1 "k8s.io/api/authentication/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/rest"
	"maragu.dev/gomponents"
	"maragu.dev/gomponents/html"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"

	hyperv1 "github.com/hypershift-on-azure/hypershift/api/v1beta1"
	"github.com/hypershift-on-azure/hypershift/internal/dashboard"
	"github.com/hypershift-on-azure/hypershift/internal/explain"
	"github.com/hypershift-on-azure/hypershift/internal/kube"
)

const (
	// cookieName has the prefix that keeps browsers from sending it to, or taking it from, any other host, and without TLS.
	cookieName = "__Host-hypershift-dashboard"
	// cookieLimit is what browsers take, name and attributes included.
	cookieLimit = 4000
	// formLimit in bytes is more than any token.
	formLimit = 64 << 10
)

// Door lets people in.
type Door struct {
	// cluster is the management cluster as nobody in particular, kinds what it serves.
	cluster *rest.Config
	kinds   meta.RESTMapper
	scheme  *runtime.Scheme
}

// New makes a door to the management cluster. Of the credentials in config it uses what asks for the kinds that are served, which anybody may who
// has signed in; people's requests bear none of them.
func New(config *rest.Config) (*Door, error) {
	d := &Door{cluster: rest.AnonymousClientConfig(config), scheme: runtime.NewScheme()}
	if err := errors.Join(clientgoscheme.AddToScheme(d.scheme), hyperv1.AddToScheme(d.scheme)); err != nil {
		return nil, fmt.Errorf("register kinds: %w", err)
	}
	http, err := rest.HTTPClientFor(config)
	if err != nil {
		return nil, fmt.Errorf("reach the management cluster: %w", err)
	}
	if d.kinds, err = apiutil.NewDynamicRESTMapper(config, http); err != nil {
		return nil, fmt.Errorf("ask the management cluster for its kinds: %w", err)
	}
	return d, nil
}

// Admit is for dashboard.Options: it takes the token of a header, which a proxy may have put there, or of the cookie of who has signed in.
func (d *Door) Admit(w http.ResponseWriter, r *http.Request) (*dashboard.Viewer, error) {
	token, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	if !ok {
		if kept, err := r.Cookie(cookieName); err == nil {
			token = kept.Value
		}
	}
	viewer, err := d.viewer(r.Context(), token)
	refusal := (*dashboard.Refusal)(nil)
	if err == nil || !errors.As(err, &refusal) || refusal.Status != http.StatusUnauthorized {
		return viewer, err
	}
	if strings.Contains(r.Header.Get("Accept"), "text/html") { // a person, not what follows in a page
		http.Redirect(w, r, "/sign-in", http.StatusSeeOther)
		return nil, dashboard.ErrAnswered
	}
	w.Header().Set("WWW-Authenticate", "Bearer")
	return nil, err
}

// viewer asks the management cluster whose token it is.
func (d *Door) viewer(ctx context.Context, token string) (*dashboard.Viewer, error) {
	if token == "" || strings.ContainsFunc(token, func(r rune) bool { return r > unicode.MaxASCII || !unicode.IsGraphic(r) || unicode.IsSpace(r) }) {
		return nil, &dashboard.Refusal{Status: http.StatusUnauthorized, Says: "this dashboard asks for a token of the management cluster: sign in, or send it as a bearer token"}
	}
	config := rest.CopyConfig(d.cluster)
	config.BearerToken, config.QPS, config.Burst = token, 100, 100
	c, err := client.New(config, client.Options{Scheme: d.scheme, Mapper: d.kinds})
	if err != nil {
		return nil, unanswered(err)
	}
	pods, err := corev1client.NewForConfig(config)
	if err != nil {
		return nil, unanswered(err)
	}
	review := &authenticationv1.SelfSubjectReview{}
	switch err := c.Create(ctx, review); {
	case apierrors.IsUnauthorized(err):
		return nil, &dashboard.Refusal{Status: http.StatusUnauthorized, Says: "the management cluster does not know this token, or it has expired; get another one, such as by `kubectl create token NAME`"}
	case apierrors.IsForbidden(err):
		return nil, &dashboard.Refusal{Status: http.StatusForbidden, Says: err.Error()}
	case err != nil:
		return nil, unanswered(err)
	}
	return &dashboard.Viewer{Name: review.Status.UserInfo.Username, Client: c, Logs: explain.Logs(kube.LogTail(pods, explain.LogLines, explain.LogBytes))}, nil
}

func unanswered(err error) error {
	return &dashboard.Refusal{Status: http.StatusBadGateway, Says: "the management cluster does not say who you are: " + err.Error()}
}

// Pages are /sign-in and /sign-out. Pages of others cannot have a browser sign in or out.
func (d *Door) Pages() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /sign-in", func(w http.ResponseWriter, _ *http.Request) { show(w, http.StatusOK, "") })
	mux.HandleFunc("POST /sign-in", d.signIn)
	mux.HandleFunc("POST /sign-out", func(w http.ResponseWriter, r *http.Request) {
		keep(w, "", -1)
		http.Redirect(w, r, "/sign-in", http.StatusSeeOther)
	})
	return http.NewCrossOriginProtection().Handler(mux)
}

func (d *Door) signIn(w http.ResponseWriter, r *http.Request) {
	r.Body = http.MaxBytesReader(w, r.Body, formLimit)
	token := strings.TrimSpace(r.PostFormValue("token"))
	_, err := d.viewer(r.Context(), token)
	if err == nil && len(token) > cookieLimit {
		err = &dashboard.Refusal{Status: http.StatusRequestHeaderFieldsTooLarge, Says: fmt.Sprintf("the token has %d characters, and a browser keeps %d: use one of a service account (`kubectl create token NAME`), or a proxy that sends it as a bearer token", len(token), cookieLimit)}
	}
	if err != nil {
		status := http.StatusUnauthorized
		if refusal := (*dashboard.Refusal)(nil); errors.As(err, &refusal) {
			status = refusal.Status
		}
		show(w, status, err.Error())
		return
	}
	keep(w, token, 0)
	http.Redirect(w, r, "/", http.StatusSeeOther)
}

// keep has the browser keep a token until it is closed, or forget it with an age below zero. No script of any page reads it.
func keep(w http.ResponseWriter, token string, age int) {
	http.SetCookie(w, &http.Cookie{Name: cookieName, Value: token, Path: "/", MaxAge: age, Secure: true, HttpOnly: true, SameSite: http.SameSiteStrictMode})
}

// page asks for a token, and says what was wrong with the last one.
func page(trouble string) gomponents.Node {
	text := gomponents.Text
	return html.Doctype(html.HTML(html.Lang("en"),
		html.Head(
			html.Meta(html.Charset("utf-8")),
			html.Meta(html.Name("viewport"), html.Content("width=device-width, initial-scale=1")),
			html.Meta(html.Name("color-scheme"), html.Content("light dark")),
			html.TitleEl(text("Sign in – Hosted clusters")),
			html.Link(html.Rel("icon"), html.Href("static/icon.svg"), html.Type("image/svg+xml")),
			html.Link(html.Rel("stylesheet"), html.Href("static/style.css")),
		),
		html.Body(html.Main(html.ID("content"),
			html.H1(text("Sign in")),
			gomponents.If(trouble != "", html.P(html.Class("bad"), html.Role("alert"), text(trouble))),
			html.Form(html.Method("post"), html.Action("sign-in"),
				html.P(html.Label(html.For("token"), text("Your token of the management cluster"))),
				html.P(html.Input(html.ID("token"), html.Name("token"), html.Type("password"), html.AutoComplete("off"), html.Required(), html.AutoFocus())),
				html.P(html.Button(html.Type("submit"), text("Sign in"))),
			),
			html.P(text("You see here what the management cluster lets you see. "), html.Code(text("kubectl create token NAME")),
				text(" makes a token of a service account, "), html.Code(text("oc whoami -t")), text(" prints yours on OpenShift.")),
		)),
	))
}

func show(w http.ResponseWriter, status int, trouble string) {
	var out bytes.Buffer
	if err := page(trouble).Render(&out); err != nil {
		http.Error(w, "the page cannot be made: "+err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.WriteHeader(status)
	_, _ = w.Write(out.Bytes()) // who has gone reads no error
}
