package provider

import "regexp"

// NameRule is what Azure demands of the names of a type, from "Naming rules and restrictions for Azure resources".
type NameRule struct {
	Pattern *regexp.Regexp
	Code    string // of the refusal
	Demand  string // what the refusal tells

	Shortest, Longest int // 0: what the pattern says
}

func (r NameRule) takes(name string) bool {
	return r.Pattern.MatchString(name) && len(name) >= r.Shortest && (r.Longest == 0 || len(name) <= r.Longest)
}

// Check refuses a name that the rule does not take; no rule takes all.
func (r *NameRule) Check(name string) error {
	if r == nil || r.takes(name) {
		return nil
	}
	return BadRequest(r.Code, "The name '%s' is invalid. %s", name, r.Demand)
}
