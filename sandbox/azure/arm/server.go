// Package arm is the resource manager of the embedded Azure: a document store with small rules per kind of resource. Documents are stored once,
// whatever api-version put them; package schema knows what they look like at each.
package arm

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"regexp"
	"strings"

	"github.com/google/uuid"

	"github.com/hypershift-on-azure/hypershift/sandbox/azure/access"
	"github.com/hypershift-on-azure/hypershift/sandbox/azure/arm/provider"
	"github.com/hypershift-on-azure/hypershift/sandbox/azure/arm/resources"
	"github.com/hypershift-on-azure/hypershift/sandbox/azure/arm/rights"
	"github.com/hypershift-on-azure/hypershift/sandbox/azure/entra"
	"github.com/hypershift-on-azure/hypershift/sandbox/azure/schema"
	"github.com/hypershift-on-azure/hypershift/sandbox/azure/store"
	"github.com/hypershift-on-azure/hypershift/sandbox/azure/wire"
)

// Options of a server.
type Options = provider.Options

// Server is the http.Handler of management.azure.com.
type Server struct {
	Options
	*registry
	store    *store.Store
	identity *entra.Service
	running  *provider.Operations
	writes   writes
	leaving  leaver
}

// New makes a server on the store.
func New(o Options, s *store.Store, identity *entra.Service) *Server {
	return &Server{Options: o, registry: newRegistry(), store: s, identity: identity, running: provider.NewOperations(), writes: writes{of: map[string]bool{}}}
}

// maxBody is the size of the largest request that is read.
const maxBody = 8 << 20

// call is one request inside its transaction, as the gateway sees it.
type call struct {
	*provider.Call
	*registry
	wrong []schema.Problem // with the request's document
}

// call makes one that has no transaction yet.
func (s *Server) call(r *http.Request, path provider.Path, body wire.Doc, caller entra.Principal) *call {
	return &call{registry: s.registry, Call: &provider.Call{Options: s.Options, Kinds: s.kinds, Gateway: s, Running: s.running,
		Req: r, Path: path, Body: body, Caller: caller}}
}

func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	h.Set("x-ms-request-id", uuid.NewString())
	h.Set("x-ms-correlation-request-id", uuid.NewString())
	h.Set("x-ms-routing-request-id", "SANDBOX:"+uuid.NewString())
	h.Set("Cache-Control", "no-cache")
	if strings.EqualFold(r.URL.Path, "/metadata/endpoints") {
		wire.JSON(w, http.StatusOK, resources.CloudMetadata(r))
		return
	}
	out, err := s.handle(w, r)
	if err != nil {
		writeError(w, err)
		return
	}
	for k, v := range out.Header {
		h[k] = v
	}
	page(r, out)
	if out.Body == nil || r.Method == http.MethodHead {
		w.WriteHeader(out.Status)
		return
	}
	wire.JSON(w, out.Status, out.Body)
}

func (s *Server) handle(w http.ResponseWriter, r *http.Request) (*provider.Reply, error) {
	caller, err := s.authenticate(w, r)
	if err != nil {
		return nil, err
	}
	path, err := s.target(r)
	if err != nil {
		return nil, err
	}
	body, err := readBody(r)
	if err != nil {
		return nil, err
	}
	if out := s.operation(r); out != nil {
		return out, nil
	}
	if err := s.settle(); err != nil {
		return nil, err
	}
	end, err := s.writes.begin(r, path, s.kinds.Of(path.Type))
	if err != nil {
		return nil, err
	}
	defer end()
	c := s.call(r, path, body, caller)
	var out *provider.Reply
	switch r.Method {
	case http.MethodGet, http.MethodHead:
		s.store.View(func(tx *store.Tx) {
			c.Tx = tx
			out, err = c.dispatch()
		})
	default:
		err = s.store.Update(func(tx *store.Tx) error {
			c.Tx = tx
			var err error
			if out, err = c.dispatch(); err == nil && c.Discard {
				err = errDiscarded
			}
			return err
		})
		if errors.Is(err, errDiscarded) {
			err = nil
		}
	}
	if err == nil {
		c.checkAnswer(out)
	}
	return out, err
}

// errDiscarded ends the transaction of a request that only tries something out.
var errDiscarded = errors.New("nothing is kept")

var versionRe = regexp.MustCompile(`^\d{4}-\d{2}-\d{2}(-[a-z]+)?$`)

// slashes are as good as one: az leaves out what a path does not have, not the slashes around it.
var slashes = regexp.MustCompile("//+")

// target is what a request is about, as far as the gateway looks: before any provider is asked.
func (s *Server) target(r *http.Request) (provider.Path, error) {
	switch version := r.URL.Query().Get("api-version"); {
	case version == "":
		return provider.Path{}, provider.BadRequest("MissingApiVersionParameter", "The api-version query parameter (?api-version=) is required for all requests.")
	case !versionRe.MatchString(version):
		return provider.Path{}, provider.BadRequest("InvalidApiVersionParameter", "The api-version '%s' is invalid: it is a date such as 2024-03-01, or one with -preview behind it.", version)
	}
	path, err := provider.ParsePath(slashes.ReplaceAllString(r.URL.Path, "/"))
	if err != nil {
		return path, provider.Failf(http.StatusNotFound, "InvalidResourceType", "The path %q names no resource: %v.", r.URL.Path, err)
	}
	return path, s.reachable(path)
}

// reachable refuses a path into another subscription, or of a namespace that Azure does not have.
func (s *Server) reachable(path provider.Path) error {
	segs := strings.Split(path.Raw[1:], "/")
	if len(segs) > 1 && strings.EqualFold(segs[0], "subscriptions") && !strings.EqualFold(segs[1], s.Subscription) {
		if uuid.Validate(segs[1]) != nil {
			return provider.BadRequest("InvalidSubscriptionId", "The provided subscription identifier '%s' is malformed or invalid.", segs[1])
		}
		return provider.Failf(http.StatusNotFound, "SubscriptionNotFound", "The subscription '%s' could not be found.", segs[1])
	}
	if ns, _, isResource := strings.Cut(path.Type, "/"); isResource && path.Scope != "" && s.namespaces.Find(ns) == "" {
		return resources.NamespaceInvalid(ns)
	}
	return nil
}

func (s *Server) authenticate(w http.ResponseWriter, r *http.Request) (entra.Principal, error) {
	raw, ok := wire.Bearer(r)
	if !ok {
		w.Header().Set("WWW-Authenticate", `Bearer authorization_uri="https://login.microsoftonline.com/`+s.Tenant+`", error="invalid_token", error_description="The authentication failed because of missing 'Authorization' header."`)
		return entra.Principal{}, provider.Failf(http.StatusUnauthorized, "AuthenticationFailed", "Authentication failed. The 'Authorization' header is missing.")
	}
	caller, err := s.identity.Verify(raw, entra.ManagementAudiences, nil)
	var refused *entra.TokenError
	if errors.As(err, &refused) {
		w.Header().Set("WWW-Authenticate", `Bearer authorization_uri="https://login.microsoftonline.com/`+s.Tenant+`", error="invalid_token", error_description="The access token is invalid."`)
		return caller, provider.Failf(http.StatusUnauthorized, refused.Code, "%s", refused.Message)
	}
	access.SetPrincipal(r.Context(), caller.ClientID)
	return caller, err
}

func readBody(r *http.Request) (wire.Doc, error) {
	if r.Method == http.MethodGet || r.Method == http.MethodHead || r.Body == nil {
		return wire.Doc{}, nil
	}
	data, err := io.ReadAll(io.LimitReader(r.Body, maxBody+1))
	if err != nil {
		return nil, provider.BadRequest("InvalidRequestContent", "The request content could not be read: %v.", err)
	}
	if len(data) > maxBody {
		return nil, provider.Failf(http.StatusRequestEntityTooLarge, "RequestContentTooLarge", "The request content is larger than %d bytes.", maxBody)
	}
	body := wire.Doc{}
	if len(strings.TrimSpace(string(data))) == 0 {
		return body, nil
	}
	err = json.Unmarshal(data, &body)
	if err != nil && strings.Contains(strings.ToLower(r.URL.Path), "/microsoft.resources/deployments/") {
		err = json.Unmarshal(strictJSON(data), &body)
	}
	if err != nil || body == nil {
		return nil, provider.BadRequest("InvalidRequestContent", "The request content was invalid and could not be deserialized: %v.", err)
	}
	return body, nil
}

// allows asks everyone who may refuse a request before somebody answers it.
func (c *call) allows() error {
	for _, ask := range []func() error{c.served, c.versionKnown, c.authorize, c.linked, c.registered, c.unlocked, c.wellFormed, c.staysThere} {
		if err := ask(); err != nil {
			return err
		}
	}
	return nil
}

// authorize asks the role assignments of the caller.
func (c *call) authorize() error { return rights.Authorize(c.Call) }

// registered asks whether the subscription has registered the namespace.
func (c *call) registered() error { return c.namespaces.Registered(c.Call) }

// dispatch answers a request inside its transaction.
func (c *call) dispatch() (*provider.Reply, error) {
	return c.held(c.answer)
}

// answer finds who answers a request that is allowed.
func (c *call) answer() (*provider.Reply, error) {
	if h := c.route(c.Req.Method, c.Path); h != nil {
		return h(c.Call)
	}
	switch c.Req.Method {
	case http.MethodPut:
		return c.put()
	case http.MethodPatch:
		return c.patch()
	case http.MethodDelete:
		return c.delete()
	case http.MethodPost:
		return c.action()
	case http.MethodGet, http.MethodHead:
		if c.Path.Collection {
			return c.list()
		}
		return c.read()
	}
	return nil, provider.Failf(http.StatusMethodNotAllowed, "MethodNotAllowed", "The HTTP method '%s' is not supported.", c.Req.Method)
}

func (c *call) action() (*provider.Reply, error) {
	r, err := c.Parent()
	if err != nil {
		return nil, err
	}
	return c.actions[strings.ToLower(c.Path.Type)](c.Call, r)
}

func writeError(w http.ResponseWriter, err error) {
	var e *provider.Error
	if !errors.As(err, &e) {
		e = provider.Failf(http.StatusInternalServerError, "InternalServerError", "%v", err)
	}
	w.Header().Set("x-ms-failure-cause", "gateway")
	w.Header().Set("x-ms-error-code", e.Code)
	wire.JSON(w, e.Status, wire.Doc{"error": e.Document()})
}
