package authorization

import (
	"github.com/hypershift-on-azure/hypershift/sandbox/azure/arm/provider"
	"github.com/hypershift-on-azure/hypershift/sandbox/azure/wire"
)

// TypeLock is the resource type of locks.
const TypeLock = "Microsoft.Authorization/locks"

// Levels of a lock.
const (
	LockDelete   = "CanNotDelete"
	LockReadOnly = "ReadOnly"
)

func putLock(c *provider.Call, r *provider.Resource, _ wire.Doc) error {
	switch level := wire.Text(wire.Props(r.Body), "level"); level {
	case LockDelete, LockReadOnly:
		return c.ScopeExists()
	default:
		return provider.BadRequest("LockLevelNotSupported", "The lock level '%s' is not supported. Supported levels are '%s' and '%s'.", level, LockDelete, LockReadOnly)
	}
}
