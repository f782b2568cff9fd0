package arm

import (
	"encoding/json"
	"net/http"
	"net/url"

	"github.com/hypershift-on-azure/hypershift/sandbox/azure/arm/provider"
	"github.com/hypershift-on-azure/hypershift/sandbox/azure/entra"
	"github.com/hypershift-on-azure/hypershift/sandbox/azure/store"
	"github.com/hypershift-on-azure/hypershift/sandbox/azure/wire"
)

// Ensure puts a resource as the caller, by the rules of any PUT, unless it exists.
func (s *Server) Ensure(id string, body wire.Doc, caller entra.Principal) error {
	path, err := provider.ParsePath(id)
	if err != nil {
		return err
	}
	exists := false
	s.store.View(func(tx *store.Tx) { exists = tx.Get(store.ARM, provider.Key(path.Raw)) != nil })
	if exists {
		return nil
	}
	data, err := json.Marshal(body) // so that the body has the types a decoded one has
	if err != nil {
		return err
	}
	plain := wire.Doc{}
	if err := json.Unmarshal(data, &plain); err != nil {
		return err
	}
	req := &http.Request{Method: http.MethodPut, Host: "management.azure.com", URL: &url.URL{Path: path.Raw}, Header: http.Header{}}
	return s.store.Update(func(tx *store.Tx) error {
		c := s.call(req, path, plain, caller)
		c.Tx = tx
		_, err := c.dispatch()
		return err
	})
}
