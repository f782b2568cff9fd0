package arm

import (
	"net/http"

	"github.com/hypershift-on-azure/hypershift/sandbox/azure/arm/provider"
	"github.com/hypershift-on-azure/hypershift/sandbox/azure/arm/rights"
)

// linked checks the rights of the caller at what the written document leads to. They are asked for at each write, whatever was there before.
func (c *call) linked() error {
	if provider.Verbs[c.Req.Method] != "write" {
		return nil
	}
	for _, l := range c.Kinds.Of(c.Path.Type).Links {
		for _, id := range l.Targets(c.Body) {
			needed := l.ActionAt(id)
			if rights.Allowed(c.Call, needed, id) {
				continue
			}
			action, scope := rights.Action(c.Req.Method, c.Path)
			return provider.Failf(http.StatusForbidden, "LinkedAuthorizationFailed", "The client '%s' with object id '%s' has permission to perform action '%s' on scope '%s'; however, it does not have permission to perform action(s) '%s' on the linked scope(s) '%s' (respectively) or the linked scope(s) are invalid.",
				c.Caller.ClientID, c.Caller.ObjectID, action, scope, needed, id)
		}
	}
	return nil
}
