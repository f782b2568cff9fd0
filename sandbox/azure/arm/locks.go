package arm

import (
	"strings"

	"github.com/hypershift-on-azure/hypershift/sandbox/azure/wire"
)

const typeLock = "Microsoft.Authorization/locks"

// Levels of a lock.
const (
	lockDelete   = "CanNotDelete"
	lockReadOnly = "ReadOnly"
)

func putLock(c *call, r *Resource, _ Doc) error {
	switch level := wire.Text(wire.Props(r.Body), "level"); level {
	case lockDelete, lockReadOnly:
		return c.scopeExists()
	default:
		return badRequest("LockLevelNotSupported", "The lock level '%s' is not supported. Supported levels are '%s' and '%s'.", level, lockDelete, lockReadOnly)
	}
}

// unlocked refuses a change that a lock forbids: one on the resource, on what it is in, or, for a deletion, on what would go along.
func (c *call) unlocked() error {
	verb := verbs[c.req.Method]
	if verb == "read" || strings.EqualFold(c.path.Type, typeLock) {
		return nil
	}
	_, at := actionOf(c.req.Method, c.path)
	if verb == "delete" {
		at = c.path.Raw
	}
	var locked []string
	for _, l := range c.within("", typeLock) {
		scope := l.ID[:strings.Index(strings.ToLower(l.ID), "/providers/microsoft.authorization/locks/")]
		above := key(at) == key(scope) || strings.HasPrefix(key(at), key(scope)+"/")
		below := strings.HasPrefix(key(scope), key(at)+"/")
		readOnly := wire.Text(wire.Props(l.Body), "level") == lockReadOnly
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
	return conflict("ScopeLocked", "The scope '%s' cannot perform %s operation because following scope(s) are locked: '%s'. Please remove the lock and try again.",
		at, verb, strings.Join(locked, ","))
}
