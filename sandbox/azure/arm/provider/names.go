package provider

import (
	"regexp"
	"sync"
)

// Pattern compiles a regular expression when it is used first: the command line links the embedded Azure, too, and has to begin at once.
func Pattern(text string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(text) })
}

// NameRule is what Azure demands of the names of a type, from "Naming rules and restrictions for Azure resources".
type NameRule struct {
	Pattern func() *regexp.Regexp
	Code    string // of the refusal
	Demand  string // what the refusal tells

	Shortest, Longest int // 0: what the pattern says
}

func (r NameRule) takes(name string) bool {
	return r.Pattern().MatchString(name) && len(name) >= r.Shortest && (r.Longest == 0 || len(name) <= r.Longest)
}

// Check refuses a name that the rule does not take; no rule takes all.
func (r *NameRule) Check(name string) error {
	if r == nil || r.takes(name) {
		return nil
	}
	return BadRequest(r.Code, "The name '%s' is invalid. %s", name, r.Demand)
}
