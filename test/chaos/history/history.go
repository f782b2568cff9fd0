// Package history judges what clients of an API server saw while things went wrong around it: whether every acknowledged write is there,
// whether reads and writes of each key are linearisable, and whether every watch told all of it once and in order.
package history

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"time"

	"github.com/anishathalye/porcupine"
)

// Operation is a write or a read of one key by one client.
type Operation struct {
	Client int
	Key    string
	// Value that was written, or that was read; every write has a value of its own. "" is the key before its first write.
	Value string
	Write bool
	// Acknowledged: the server said that it is done. A write that failed on its way may have been done or not, also later; a read counts
	// only if it was answered.
	Acknowledged bool
	// Revision that the server gave to an acknowledged write, or that a read saw.
	Revision int64
	// Call and Return are times of one clock.
	Call, Return time.Duration
}

// Event is what a watch told of a key.
type Event struct {
	Key, Value string
	Revision   int64
}

// Watch is what one watcher saw. It began with the list at Start, and lists anew where it was cut and its revision is gone.
type Watch struct {
	Name string
	// Start is the revision of the first list, and Held is what each key had there.
	Start int64
	Held  map[string]Event
	// Events in the order in which they came.
	Events []Event
	// Gaps are the revisions of later lists, before which events may be missing: From is the last one seen before.
	Gaps []Gap
	// End is the revision up to which it surely saw everything: that of the final list.
	End int64
}

// Gap is a range of revisions, From exclusive, To inclusive, of which a watcher knows only what a list had in the end.
type Gap struct{ From, To int64 }

func (w Watch) misses(revision int64) bool {
	return revision <= w.Start || revision > w.End || slices.ContainsFunc(w.Gaps, func(g Gap) bool { return revision > g.From && revision <= g.To })
}

// Violation is something that must not happen.
type Violation struct {
	Key, What string
}

// patience is how long one key is looked at: the search is exponential in writes whose outcome nobody knows.
const patience = 30 * time.Second

// Check judges a whole run. final is what each key had at the end.
func Check(operations []Operation, watches []Watch, final map[string]Event) []Violation {
	keys := map[string][]Operation{}
	for _, o := range operations {
		keys[o.Key] = append(keys[o.Key], o)
	}
	var found []Violation
	for _, key := range slices.Sorted(maps.Keys(keys)) {
		found = append(found, linearisable(key, keys[key])...)
		found = append(found, kept(key, keys[key], final)...)
		for _, w := range watches {
			found = append(found, watched(key, keys[key], w)...)
		}
	}
	return found
}

type call struct {
	write bool
	value string
}

// register is a key by itself: a read gives what the last write before it left.
var register = porcupine.Model{
	Init: func() any { return "" },
	Step: func(state, input, output any) (bool, any) {
		c := input.(call)
		if c.write {
			return true, c.value
		}
		return output.(string) == state.(string), state
	},
	Equal: func(a, b any) bool { return a == b },
}

// linearisable asks whether there is one order of all operations that everybody's answers agree with.
func linearisable(key string, operations []Operation) []Violation {
	read := map[string]bool{}
	for _, o := range operations {
		if !o.Write && o.Acknowledged {
			read[o.Value] = true
		}
	}
	var all []porcupine.Operation
	for _, o := range operations {
		end := int64(o.Return)
		switch {
		case !o.Acknowledged && (!o.Write || !read[o.Value]):
			continue // nobody saw it, so it may as well never have happened
		case !o.Acknowledged:
			end = math.MaxInt64 // it may take effect at any time
		}
		all = append(all, porcupine.Operation{ClientId: o.Client, Input: call{o.Write, o.Value}, Output: o.Value, Call: int64(o.Call), Return: end})
	}
	switch porcupine.CheckOperationsTimeout(register, all, patience) {
	case porcupine.Illegal:
		return []Violation{{key, fmt.Sprintf("no order of its %d reads and writes agrees with all answers", len(all))}}
	case porcupine.Unknown:
		return []Violation{{key, fmt.Sprintf("whether its %d reads and writes are linearisable was not found out in %s: look at fewer keys or less time", len(all), patience)}}
	}
	return nil
}

// kept: what is there in the end is the last acknowledged write, or one of unknown outcome; revisions grow in real time.
func kept(key string, operations []Operation, final map[string]Event) []Violation {
	var last Operation
	known := map[string]bool{"": true}
	var found []Violation
	for _, o := range operations {
		if !o.Write {
			continue
		}
		known[o.Value] = true
		if o.Acknowledged && o.Revision > last.Revision {
			last = o
		}
	}
	end := final[key]
	switch {
	case !known[end.Value]:
		found = append(found, Violation{key, fmt.Sprintf("has %q in the end, which nobody wrote", end.Value)})
	case end.Revision < last.Revision:
		found = append(found, Violation{key, fmt.Sprintf("is at revision %d in the end, and write %q was acknowledged at %d: it is lost", end.Revision, last.Value, last.Revision)})
	case end.Revision == last.Revision && end.Value != last.Value:
		found = append(found, Violation{key, fmt.Sprintf("has %q at revision %d, at which %q was acknowledged", end.Value, end.Revision, last.Value)})
	}
	return found
}

// watched: every acknowledged write that the watch should have seen it saw, once, at its revision and in order, and nothing that nobody wrote.
func watched(key string, operations []Operation, w Watch) []Violation {
	seen, known := map[int64]string{}, map[string]bool{"": true}
	for _, o := range operations {
		if o.Write {
			known[o.Value] = true
		}
	}
	var found []Violation
	tell := func(format string, args ...any) {
		found = append(found, Violation{key, "watch " + w.Name + " " + fmt.Sprintf(format, args...)})
	}
	last := w.Held[key].Revision
	for _, e := range w.Events {
		if e.Key != key {
			continue
		}
		if !known[e.Value] {
			tell("told of %q, which nobody wrote", e.Value)
		}
		if e.Revision <= last {
			tell("told of revision %d after %d", e.Revision, last)
		}
		last = max(last, e.Revision)
		seen[e.Revision] = e.Value
	}
	writes := slices.DeleteFunc(slices.Clone(operations), func(o Operation) bool { return !o.Write || !o.Acknowledged })
	slices.SortFunc(writes, func(a, b Operation) int { return cmp.Compare(a.Revision, b.Revision) })
	for _, o := range writes {
		value, there := seen[o.Revision]
		switch {
		case there && value != o.Value:
			tell("told of %q at revision %d, at which %q was acknowledged", value, o.Revision, o.Value)
		case !there && !w.misses(o.Revision):
			tell("never told of write %q, acknowledged at revision %d", o.Value, o.Revision)
		}
	}
	return found
}
