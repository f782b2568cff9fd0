package history

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
)

// op is an operation that took from from to to; a revision of 0 is a write that was not acknowledged.
func op(write bool, value string, revision int64, from, to time.Duration) Operation {
	return Operation{Key: "k", Value: value, Write: write, Acknowledged: revision > 0, Revision: revision, Call: from, Return: to}
}

// sound is a run in which nothing went wrong: three writes, of which one was not acknowledged and done all the same.
func sound() ([]Operation, []Watch, map[string]Event) {
	operations := []Operation{
		op(true, "a", 11, 1, 2), op(false, "a", 11, 3, 4), op(true, "b", 0, 5, 6), op(false, "b", 13, 7, 8), op(true, "c", 15, 7, 9), op(false, "c", 15, 10, 11),
	}
	watch := Watch{Name: "w", Start: 10, End: 20, Events: []Event{{"k", "a", 11}, {"other", "x", 12}, {"k", "b", 13}, {"k", "c", 15}}}
	return operations, []Watch{watch}, map[string]Event{"k": {"k", "c", 15}}
}

// TestCheck plants every violation into a sound run, and nothing else is found.
func TestCheck(t *testing.T) {
	type run struct {
		operations []Operation
		watches    []Watch
		final      map[string]Event
	}
	for title, row := range map[string]struct {
		plant func(*run)
		want  string
	}{
		"nothing": {func(*run) {}, ""},
		"a write that failed never happened": {func(r *run) {
			r.operations = slices.DeleteFunc(r.operations, func(o Operation) bool { return !o.Write && o.Value == "b" })
			r.watches[0].Events = slices.Delete(r.watches[0].Events, 2, 3)
		}, ""},
		"a write that failed is done later": {func(r *run) {
			r.operations = append(r.operations, op(true, "late", 0, 5, 6), op(false, "late", 30, 40, 41))
			r.watches[0].End, r.final["k"] = 30, Event{"k", "late", 30}
			r.watches[0].Events = append(r.watches[0].Events, Event{"k", "late", 30})
		}, ""},
		"a watch that began later": {func(r *run) {
			r.watches[0] = Watch{Name: "w", Start: 14, End: 20, Held: map[string]Event{"k": {"k", "b", 13}}, Events: []Event{{"k", "c", 15}}}
		}, ""},
		"a watch that listed anew":    {func(r *run) { r.watches[0].Events, r.watches[0].Gaps = r.watches[0].Events[3:], []Gap{{10, 14}} }, ""},
		"a stale read":                {func(r *run) { r.operations = append(r.operations, op(false, "a", 11, 12, 13)) }, "no order of its"},
		"a read of what nobody wrote": {func(r *run) { r.operations = append(r.operations, op(false, "z", 17, 12, 13)) }, "no order of its"},
		"a read that goes back":       {func(r *run) { r.operations = append(r.operations, op(false, "", 0+1, 12, 13)) }, "no order of its"},
		"a lost write":                {func(r *run) { r.final["k"] = Event{"k", "b", 13} }, "it is lost"},
		"a lost key":                  {func(r *run) { delete(r.final, "k") }, "it is lost"},
		"an invented end":             {func(r *run) { r.final["k"] = Event{"k", "z", 19} }, "which nobody wrote"},
		"another end":                 {func(r *run) { r.final["k"] = Event{"k", "a", 15} }, "at which \"c\" was acknowledged"},
		"an event is missing":         {func(r *run) { r.watches[0].Events = r.watches[0].Events[1:] }, "watch w never told of write \"a\""},
		"an event is told twice":      {func(r *run) { r.watches[0].Events = append(r.watches[0].Events, Event{"k", "c", 15}) }, "told of revision 15 after 15"},
		"events change places":        {func(r *run) { e := r.watches[0].Events; e[0], e[2] = e[2], e[0] }, "told of revision 11 after 13"},
		"an event has another value":  {func(r *run) { r.watches[0].Events[0].Value = "b" }, "told of \"b\" at revision 11"},
		"an invented event":           {func(r *run) { r.watches[0].Events = append(r.watches[0].Events, Event{"k", "z", 16}) }, "told of \"z\", which nobody wrote"},
		"an event of before the list": {func(r *run) { r.watches[0].Held = map[string]Event{"k": {"k", "a", 11}} }, "told of revision 11 after 11"},
		"another revision":            {func(r *run) { r.operations[0].Revision = 12 }, "never told of write \"a\", acknowledged at revision 12"},
	} {
		r := run{}
		r.operations, r.watches, r.final = sound()
		row.plant(&r)
		found := Check(r.operations, r.watches, r.final)
		if row.want == "" && len(found) > 0 || row.want != "" && !slices.ContainsFunc(found, func(v Violation) bool { return v.Key == "k" && strings.Contains(v.What, row.want) }) {
			t.Errorf("%s: found %v, want %q", title, found, row.want)
		}
	}
}

// TestCheckManyUnknown: outcomes that nobody knows do not make the search long where nobody saw them.
func TestCheckManyUnknown(t *testing.T) {
	var operations []Operation
	for i := range 2000 {
		at := time.Duration(10 * i)
		operations = append(operations, op(true, fmt.Sprint("lost", i), 0, at, at+1), op(true, fmt.Sprint("done", i), int64(i+1), at+2, at+3), op(false, fmt.Sprint("done", i), int64(i+1), at+4, at+5))
	}
	final := map[string]Event{"k": {"k", "done1999", 2000}}
	if found := Check(operations, nil, final); len(found) > 0 {
		t.Error(found)
	}
}
