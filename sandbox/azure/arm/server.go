// Package arm is the resource manager of the embedded Azure: a document store that knows no api-version, with small rules per kind of
// resource.
package arm

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/netip"
	"regexp"
	"strings"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/hypershift-on-azure/hypershift/sandbox/azure/access"
	"github.com/hypershift-on-azure/hypershift/sandbox/azure/entra"
	"github.com/hypershift-on-azure/hypershift/sandbox/azure/fault"
	"github.com/hypershift-on-azure/hypershift/sandbox/azure/store"
	"github.com/hypershift-on-azure/hypershift/sandbox/azure/wire"
)

// Doc is a JSON object.
type Doc = store.Doc

// Options of a server.
type Options struct {
	Subscription, Tenant, Location string
	PublicIPs                      netip.Prefix  // addresses of public IP resources
	OperationTime                  time.Duration // how long a long-running operation takes
}

// Server is the http.Handler of management.azure.com.
type Server struct {
	Options
	store    *store.Store
	identity *entra.Service

	mu      sync.Mutex
	pending map[string]time.Time // lower-cased id -> when its operation is done
	writing map[string]bool      // identities with a federated credential being written
}

// New makes a server on the store.
func New(o Options, s *store.Store, identity *entra.Service) *Server {
	return &Server{Options: o, store: s, identity: identity, pending: map[string]time.Time{}, writing: map[string]bool{}}
}

// maxBody is the size of the largest request that is read.
const maxBody = 8 << 20

// call is one request inside its transaction.
type call struct {
	*Server
	tx     *store.Tx
	req    *http.Request
	path   Path
	body   Doc
	caller entra.Principal

	discard  bool             // a success is answered and nothing is kept
	injected *fault.Operation // what goes wrong with the operation that the request starts, once somebody asked
}

// reply is built inside the transaction and sent after its commit.
type reply struct {
	status int
	header http.Header
	body   any // nil: no content
}

func answer(status int, body any) *reply {
	return &reply{status: status, header: http.Header{}, body: body}
}

func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	h.Set("x-ms-request-id", uuid.NewString())
	h.Set("x-ms-correlation-request-id", uuid.NewString())
	h.Set("x-ms-routing-request-id", "SANDBOX:"+uuid.NewString())
	h.Set("Cache-Control", "no-cache")
	if strings.EqualFold(r.URL.Path, "/metadata/endpoints") {
		wire.JSON(w, http.StatusOK, cloudMetadata(r))
		return
	}
	out, err := s.handle(w, r)
	if err != nil {
		writeError(w, err)
		return
	}
	for k, v := range out.header {
		h[k] = v
	}
	topOf(r, out)
	if out.body == nil || r.Method == http.MethodHead {
		w.WriteHeader(out.status)
		return
	}
	wire.JSON(w, out.status, out.body)
}

func (s *Server) handle(w http.ResponseWriter, r *http.Request) (*reply, error) {
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
	release, err := s.oneFederationAtATime(r, path)
	if err != nil {
		return nil, err
	}
	defer release()
	c := call{Server: s, req: r, path: path, body: body, caller: caller}
	var out *reply
	switch r.Method {
	case http.MethodGet, http.MethodHead:
		s.store.View(func(tx *store.Tx) {
			c.tx = tx
			out, err = c.dispatch()
		})
	default:
		err = s.store.Update(func(tx *store.Tx) error {
			c.tx = tx
			var err error
			if out, err = c.dispatch(); err == nil && c.discard {
				err = errDiscarded
			}
			return err
		})
		if errors.Is(err, errDiscarded) {
			err = nil
		}
	}
	return out, err
}

// errDiscarded ends the transaction of a request that only tries something out.
var errDiscarded = errors.New("nothing is kept")

var versionRe = regexp.MustCompile(`^\d{4}-\d{2}-\d{2}(-[a-z]+)?$`)

// slashes are as good as one: az leaves out what a path does not have, not the slashes around it.
var slashes = regexp.MustCompile("//+")

// target is what a request is about, as far as the gateway looks: before any provider is asked.
func (s *Server) target(r *http.Request) (Path, error) {
	switch version := r.URL.Query().Get("api-version"); {
	case version == "":
		return Path{}, badRequest("MissingApiVersionParameter", "The api-version query parameter (?api-version=) is required for all requests.")
	case !versionRe.MatchString(version):
		return Path{}, badRequest("InvalidApiVersionParameter", "The api-version '%s' is invalid: it is a date such as 2024-03-01, or one with -preview behind it.", version)
	}
	path, err := ParsePath(slashes.ReplaceAllString(r.URL.Path, "/"))
	if err != nil {
		return path, failf(http.StatusNotFound, "InvalidResourceType", "The path %q names no resource: %v.", r.URL.Path, err)
	}
	return path, s.reachable(path)
}

// reachable refuses a path into another subscription, or of a namespace that Azure does not have.
func (s *Server) reachable(path Path) error {
	segs := strings.Split(path.Raw[1:], "/")
	if len(segs) > 1 && strings.EqualFold(segs[0], "subscriptions") && !strings.EqualFold(segs[1], s.Subscription) {
		if uuid.Validate(segs[1]) != nil {
			return badRequest("InvalidSubscriptionId", "The provided subscription identifier '%s' is malformed or invalid.", segs[1])
		}
		return failf(http.StatusNotFound, "SubscriptionNotFound", "The subscription '%s' could not be found.", segs[1])
	}
	if ns, _, isResource := strings.Cut(path.Type, "/"); isResource && path.Scope != "" && namespace(ns) == "" {
		return namespaceInvalid(ns)
	}
	return nil
}

func (s *Server) authenticate(w http.ResponseWriter, r *http.Request) (entra.Principal, error) {
	raw, ok := wire.Bearer(r)
	if !ok {
		w.Header().Set("WWW-Authenticate", `Bearer authorization_uri="https://login.microsoftonline.com/`+s.Tenant+`", error="invalid_token", error_description="The authentication failed because of missing 'Authorization' header."`)
		return entra.Principal{}, failf(http.StatusUnauthorized, "AuthenticationFailed", "Authentication failed. The 'Authorization' header is missing.")
	}
	caller, err := s.identity.Verify(raw, entra.ManagementAudiences, nil)
	var refused *entra.TokenError
	if errors.As(err, &refused) {
		w.Header().Set("WWW-Authenticate", `Bearer authorization_uri="https://login.microsoftonline.com/`+s.Tenant+`", error="invalid_token", error_description="The access token is invalid."`)
		return caller, failf(http.StatusUnauthorized, refused.Code, "%s", refused.Message)
	}
	access.SetPrincipal(r.Context(), caller.ClientID)
	return caller, err
}

func readBody(r *http.Request) (Doc, error) {
	if r.Method == http.MethodGet || r.Method == http.MethodHead || r.Body == nil {
		return Doc{}, nil
	}
	data, err := io.ReadAll(io.LimitReader(r.Body, maxBody+1))
	if err != nil {
		return nil, badRequest("InvalidRequestContent", "The request content could not be read: %v.", err)
	}
	if len(data) > maxBody {
		return nil, failf(http.StatusRequestEntityTooLarge, "RequestContentTooLarge", "The request content is larger than %d bytes.", maxBody)
	}
	body := Doc{}
	if len(strings.TrimSpace(string(data))) == 0 {
		return body, nil
	}
	err = json.Unmarshal(data, &body)
	if err != nil && strings.Contains(strings.ToLower(r.URL.Path), "/microsoft.resources/deployments/") {
		err = json.Unmarshal(strictJSON(data), &body)
	}
	if err != nil || body == nil {
		return nil, badRequest("InvalidRequestContent", "The request content was invalid and could not be deserialized: %v.", err)
	}
	return body, nil
}

// dispatch authorises a request and finds who answers it.
func (c *call) dispatch() (*reply, error) {
	if err := c.served(); err != nil {
		return nil, err
	}
	if err := c.authorize(); err != nil {
		return nil, err
	}
	if err := c.registered(); err != nil {
		return nil, err
	}
	if err := c.unlocked(); err != nil {
		return nil, err
	}
	if h := findRoute(c.req.Method, c.path.Raw); h != nil {
		return h(c)
	}
	if h := scopeRoute(c.path); h != nil {
		return h(c)
	}
	switch c.req.Method {
	case http.MethodPut:
		return c.put()
	case http.MethodPatch:
		return c.patch()
	case http.MethodDelete:
		return c.delete()
	case http.MethodPost:
		return c.action()
	case http.MethodGet, http.MethodHead:
		if c.path.Collection {
			return c.list()
		}
		return c.read()
	}
	return nil, failf(http.StatusMethodNotAllowed, "MethodNotAllowed", "The HTTP method '%s' is not supported.", c.req.Method)
}

func (c *call) action() (*reply, error) {
	r, err := c.parent()
	if err != nil {
		return nil, err
	}
	return actions[strings.ToLower(c.path.Type)](c, r)
}

// parent is the resource that the last segment of the path is beneath.
func (c *call) parent() (*Resource, error) {
	p, err := ParsePath(c.path.Up())
	if err != nil {
		return nil, badRequest("InvalidResourceId", "%v", err)
	}
	r := c.get(p.Raw)
	if r == nil {
		return nil, notFound(p)
	}
	return r, nil
}
