package arm

import (
	"encoding/json"
	"net/http"
	"net/url"

	"github.com/hypershift-on-azure/hypershift/sandbox/azure/entra"
	"github.com/hypershift-on-azure/hypershift/sandbox/azure/store"
)

// Ensure puts a resource as the caller, by the rules of any PUT, unless it exists.
func (s *Server) Ensure(id string, body Doc, caller entra.Principal) error {
	path, err := ParsePath(id)
	if err != nil {
		return err
	}
	exists := false
	s.store.View(func(tx *store.Tx) { exists = tx.Get(store.ARM, key(path.Raw)) != nil })
	if exists {
		return nil
	}
	data, err := json.Marshal(body) // so that the body has the types a decoded one has
	if err != nil {
		return err
	}
	plain := Doc{}
	if err := json.Unmarshal(data, &plain); err != nil {
		return err
	}
	req := &http.Request{Method: http.MethodPut, Host: "management.azure.com", URL: &url.URL{Path: path.Raw}, Header: http.Header{}}
	return s.store.Update(func(tx *store.Tx) error {
		c := call{Server: s, tx: tx, req: req, path: path, body: plain, caller: caller}
		_, err := c.dispatch()
		return err
	})
}
