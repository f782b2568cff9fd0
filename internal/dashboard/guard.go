package dashboard

import (
	"context"
	"crypto/subtle"
	"errors"
	"net/http"
	"slices"
	"strings"
)

// policy lets a page load what is its own, and nothing frame it. No script and no style stands in a page.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

// signInPolicy is that of pages from which people sign in and out, to this server alone.
var signInPolicy = strings.Replace(policy, "form-action 'none'", "form-action 'self'", 1)

// staticPath is above what is the same for everybody.
const staticPath = "/static/"

// guard refuses requests that no page of ours makes, and says to browsers what may be done with the answers.
func (s *server) guard(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		for name, value := range map[string]string{
			"Content-Security-Policy": policy, "X-Content-Type-Options": "nosniff", "Referrer-Policy": "no-referrer", "Cache-Control": "no-store",
			"Cross-Origin-Opener-Policy": "same-origin", "Cross-Origin-Resource-Policy": "same-origin",
		} {
			h.Set(name, value)
		}
		if r.URL.Path == "/healthz" { // a kubelet calls it by address, and it says nothing
			_, _ = w.Write([]byte("ok\n"))
			return
		}
		if s.SignIn != nil {
			h.Set("Content-Security-Policy", signInPolicy)
			switch {
			case r.URL.Path == "/sign-in", r.URL.Path == "/sign-out":
				s.SignIn.ServeHTTP(w, r)
				return
			case strings.HasPrefix(r.URL.Path, staticPath) && r.Method == http.MethodGet: // the page to sign in has the same style
				next.ServeHTTP(w, r)
				return
			}
		}
		if len(s.Hosts) > 0 && !slices.Contains(s.Hosts, r.Host) {
			http.Error(w, "this dashboard is not called "+visible(r.Host)+"; it is "+strings.Join(s.Hosts, " or "), http.StatusMisdirectedRequest)
			return
		}
		if r.Method != http.MethodGet && r.Method != http.MethodHead {
			h.Set("Allow", "GET, HEAD")
			http.Error(w, "this dashboard only shows", http.StatusMethodNotAllowed)
			return
		}
		viewer, err := s.Admit(w, r)
		if err != nil {
			refuse(w, err)
			return
		}
		next.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), viewerKey{}, viewer)))
	})
}

// viewerKey is where a request has its viewer.
type viewerKey struct{}

func viewerOf(ctx context.Context) *Viewer { return ctx.Value(viewerKey{}).(*Viewer) }

func refuse(w http.ResponseWriter, err error) {
	if errors.Is(err, ErrAnswered) {
		return
	}
	status := http.StatusUnauthorized
	if refusal := (*Refusal)(nil); errors.As(err, &refusal) {
		status = refusal.Status
	}
	http.Error(w, err.Error(), status)
}

// cookie keeps the key of a browser that was let in. Browsers that know another port of the machine share it, so it names the port.
func cookie(r *http.Request) string {
	_, port, _ := strings.Cut(strings.TrimPrefix(r.Host, "[::1]"), ":")
	return "hypershift-dashboard-" + port
}

// ByKey admits, as this viewer, who came once by an address with ?key=KEY: other people of the machine can reach the port, too.
func ByKey(key string, viewer *Viewer) func(http.ResponseWriter, *http.Request) (*Viewer, error) {
	return func(w http.ResponseWriter, r *http.Request) (*Viewer, error) {
		if given := r.URL.Query().Get("key"); given != "" && same(given, key) {
			http.SetCookie(w, &http.Cookie{Name: cookie(r), Value: key, Path: "/", HttpOnly: true, SameSite: http.SameSiteStrictMode}) // on 127.0.0.1 there is no TLS that Secure would ask for
			http.Redirect(w, r, r.URL.Path, http.StatusSeeOther)
			return nil, ErrAnswered
		}
		if kept, err := r.Cookie(cookie(r)); err == nil && same(kept.Value, key) {
			return viewer, nil
		}
		return nil, errors.New("this dashboard is somebody's: open the whole address that `hypershift dashboard` has printed, with its key")
	}
}

func same(a, b string) bool { return subtle.ConstantTimeCompare([]byte(a), []byte(b)) == 1 }
