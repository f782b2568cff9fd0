package arm

import (
	"strings"

	"github.com/hypershift-on-azure/hypershift/sandbox/azure/arm/authorization"
	"github.com/hypershift-on-azure/hypershift/sandbox/azure/arm/provider"
	"github.com/hypershift-on-azure/hypershift/sandbox/azure/arm/rights"
	"github.com/hypershift-on-azure/hypershift/sandbox/azure/wire"
)

// unlocked refuses a change that a lock forbids: one on the resource, on what it is in, or, for a deletion, on what would go along.
func (c *call) unlocked() error {
	verb := provider.Verbs[c.Req.Method]
	if verb == "read" || strings.EqualFold(c.Path.Type, authorization.TypeLock) {
		return nil
	}
	_, at := rights.Action(c.Req.Method, c.Path)
	if verb == "delete" {
		at = c.Path.Raw
	}
	var locked []string
	for _, l := range c.Within("", authorization.TypeLock) {
		scope := l.ID[:strings.Index(strings.ToLower(l.ID), "/providers/microsoft.authorization/locks/")]
		above := provider.Key(at) == provider.Key(scope) || strings.HasPrefix(provider.Key(at), provider.Key(scope)+"/")
		below := strings.HasPrefix(provider.Key(scope), provider.Key(at)+"/")
		readOnly := wire.Text(wire.Props(l.Body), "level") == authorization.LockReadOnly
		if above && (readOnly || verb == "delete") || below && verb == "delete" {
			locked = append(locked, scope)
		}
	}
	if len(locked) == 0 {
		return nil
	}
	if verb == "action" {
		verb = "write" // as which Azure counts it
	}
	return provider.Conflict("ScopeLocked", "The scope '%s' cannot perform %s operation because following scope(s) are locked: '%s'. Please remove the lock and try again.",
		at, verb, strings.Join(locked, ","))
}
