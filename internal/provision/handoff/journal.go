package handoff

import (
	"cmp"
	"encoding/json"
	"slices"
	"sort"
	"strings"
	"sync"

	"github.com/hypershift-on-azure/hypershift/internal/azure/failure"
	"github.com/hypershift-on-azure/hypershift/internal/stack"
	"github.com/hypershift-on-azure/hypershift/internal/wholefile"
)

// Journal keeps the inventory of a hand-off, and the file it is in, true while a stack runs: what a step is about to make is on
// record before it begins, so that a run that is killed leaves nothing unknown behind.
type Journal struct {
	stackName, path string // no name: the first part of a node's id tells it; no path: the inventory is only kept in memory
	next            stack.Progress

	mu      sync.Mutex // guards the hand-off, noted and begun
	handoff *File
	begun   map[string]bool // ids that this run has put on record, and of which no write can have taken effect unless the last one did
	noted   int             // changes of the inventory

	writing sync.Mutex // guards the file and written
	written int        // changes that are in the file
}

// Journal begins one for a run of a stack; events are passed on to next.
func (h *File) Journal(stackName, path string, next stack.Progress) *Journal {
	return &Journal{stackName: stackName, path: path, next: next, handoff: h, begun: map[string]bool{}}
}

// Progress is the function to give to a stack.
func (j *Journal) Progress(e stack.Event) {
	if upTo := j.note(e); upTo > 0 {
		j.commit(upTo)
	}
	j.next(e)
}

// note brings the inventory up to date and returns the number of the change, 0 when there was none. What stood there before the
// stack came is not its own, even where it is changed. Nor is what Azure refused to make: somebody else may make it one day.
func (j *Journal) note(e stack.Event) int {
	j.mu.Lock()
	defer j.mu.Unlock()
	changed := false
	switch {
	case e.Node.Resource == "" || e.Node.Delete == nil: // what no stack removes, such as the persistent group, is not for the inventory
	case (e.Phase == stack.Applying || e.Phase == stack.Applied) && e.Missing:
		changed = j.handoff.add(Made{Stack: j.stackOf(e.Node), Kind: e.Node.Kind, ID: e.Node.Resource})
		if changed {
			j.begun[e.Node.Resource] = true
		}
	case e.Phase == stack.Waiting && !failure.IsRefused(e.Err, e.Node.Resource): // this try may have taken effect
		delete(j.begun, e.Node.Resource)
	case e.Phase == stack.Failed && j.begun[e.Node.Resource] && failure.IsRefused(e.Err, e.Node.Resource):
		changed = j.handoff.remove(e.Node.Resource)
	case e.Phase == stack.Deleted:
		changed = j.handoff.drop(e.Node.Resource)
	}
	if !changed {
		return 0
	}
	j.noted++
	return j.noted
}

func (j *Journal) stackOf(n *stack.Node) string {
	if j.stackName != "" {
		return j.stackName
	}
	name, _, _ := strings.Cut(n.ID, "/")
	return name
}

// commit has the change in the file before it returns. Of several steps that wait, one writes for all. A file that cannot be written
// is no reason to stop half-way: the next step tries again, and who ends the run writes the hand-off once more and reports it.
func (j *Journal) commit(upTo int) {
	if j.path == "" {
		return
	}
	j.writing.Lock()
	defer j.writing.Unlock()
	if j.written >= upTo {
		return
	}
	j.mu.Lock()
	// JSON, which every reader of the file takes as well, costs a fraction of the time, and steps wait for it. Who ends the run writes the
	// file as people read it.
	raw, err := json.Marshal(j.handoff)
	upTo = j.noted
	j.mu.Unlock()
	if err == nil {
		err = wholefile.Replace(j.path, raw, fileMode)
	}
	if err == nil {
		j.written = upTo
	}
}

// add puts a resource into the inventory, unless it is there.
func (h *File) add(made Made) bool {
	if slices.ContainsFunc(h.Inventory, func(m Made) bool { return strings.EqualFold(m.ID, made.ID) }) {
		return false
	}
	h.Inventory = append(h.Inventory, made)
	sort.Slice(h.Inventory, func(i, k int) bool {
		return h.Inventory[i].Stack+h.Inventory[i].ID < h.Inventory[k].Stack+h.Inventory[k].ID
	})
	return true
}

// drop takes a resource out of the inventory, with what is inside it.
func (h *File) drop(id string) bool {
	before, gone := len(h.Inventory), strings.ToLower(id)+"/"
	h.Inventory = slices.DeleteFunc(h.Inventory, func(m Made) bool { return strings.HasPrefix(strings.ToLower(m.ID)+"/", gone) })
	return len(h.Inventory) != before
}

// remove takes one resource out of the inventory.
func (h *File) remove(id string) bool {
	before := len(h.Inventory)
	h.Inventory = slices.DeleteFunc(h.Inventory, func(m Made) bool { return strings.EqualFold(m.ID, id) })
	return len(h.Inventory) != before
}

// Forget empties the inventory of a stack that is gone as a whole: what its destroy has left to the user is not on record.
func (h *File) Forget(stackName string) {
	h.Inventory = slices.DeleteFunc(h.Inventory, func(m Made) bool { return m.Stack == stackName })
}

// Made are the ids of the resources on record for a stack.
func (h *File) Made(stackName string) []string {
	var ids []string
	for _, m := range h.Inventory {
		if m.Stack == stackName {
			ids = append(ids, m.ID)
		}
	}
	return ids
}

// Join puts what an earlier hand-off of the same infrastructure knows beside what this one knows.
func (h *File) Join(earlier *File) {
	for _, m := range earlier.Inventory {
		h.add(m)
	}
	h.Identities, h.DNS = cmp.Or(h.Identities, earlier.Identities), cmp.Or(h.DNS, earlier.DNS)
	if earlier.Brought == nil {
		return
	}
	if h.Brought == nil {
		h.Brought = &Brought{}
	}
	orElse(&h.Brought.PrivateZoneID, earlier.Brought.PrivateZoneID)
	orElse(&h.Brought.PublicIPID, earlier.Brought.PublicIPID)
	orElse(&h.Brought.LoadBalancerID, earlier.Brought.LoadBalancerID)
}
