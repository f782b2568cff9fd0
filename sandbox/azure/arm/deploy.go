package arm

import (
	"net/http"
	"net/url"

	"github.com/hypershift-on-azure/hypershift/sandbox/azure/arm/provider"
	"github.com/hypershift-on-azure/hypershift/sandbox/azure/fault"
	"github.com/hypershift-on-azure/hypershift/sandbox/azure/wire"
)

// Deploy puts one resource inside the transaction of a call, as its caller and by the rules of any PUT.
func (s *Server) Deploy(by *provider.Call, id, apiVersion string, body wire.Doc) error {
	path, err := provider.ParsePath(id)
	if err != nil {
		return provider.BadRequest("InvalidResourceName", "The resource '%s' cannot be named so: %v.", id, err)
	}
	if err := s.reachable(path); err != nil {
		return err
	}
	req := by.Req.Clone(by.Req.Context())
	req.Method, req.URL.Path, req.URL.RawQuery = http.MethodPut, path.Raw, url.Values{"api-version": {apiVersion}}.Encode()
	req.Header.Del("If-Match")
	req.Header.Del("If-None-Match")
	c := s.call(req, path, body, by.Caller)
	c.Tx, c.Injected = by.Tx, &fault.Operation{}
	_, err = c.held(c.put)
	return err
}
