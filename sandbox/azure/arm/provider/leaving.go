package provider

import (
	"strings"
	"time"

	"github.com/hypershift-on-azure/hypershift/sandbox/azure/store"
	"github.com/hypershift-on-azure/hypershift/sandbox/azure/wire"
)

// A deletion that is deferred leaves everything as it is until it ends. It is in the store, so that a restart does not undo it.

const leavesAt = "until"

// Leave has a resource deleted at a time.
func (c *Call) Leave(id string, until time.Time) {
	c.Tx.Put(store.Leaving, Key(id), store.Doc{leavesAt: until.UTC().Format(time.RFC3339Nano)})
}

// Leaves is the id of what is being deleted: the resource itself, or the nearest one that it is in. It is "" when all of them stay.
func (c *Call) Leaves(id string) string {
	for id = Key(id); id != "" && id != "/"; id = id[:strings.LastIndex(id, "/")] {
		if c.Tx.Get(store.Leaving, id) != nil {
			return id
		}
	}
	return ""
}

// LeavesAt is when the deletion of a resource ends, the zero time when none is under way.
func (c *Call) LeavesAt(id string) time.Time {
	return wire.Time(c.Tx.Get(store.Leaving, Key(id)), leavesAt)
}

// Left are the ids of what is to be gone at a time, and when the next one has to go, the zero time when there is none.
func Left(tx *store.Tx, now time.Time) (ids []string, next time.Time) {
	for _, r := range tx.Scan(store.Leaving, "") {
		at := wire.Time(r.Doc, leavesAt)
		switch {
		case !now.Before(at):
			ids = append(ids, r.Key)
		case next.IsZero() || at.Before(next):
			next = at
		}
	}
	return ids, next
}
