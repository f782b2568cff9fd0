// Package preflighttest holds what tests provoke against the rows of preflight.
package preflighttest

import (
	"regexp"
	"strings"
	"testing"

	"github.com/hypershift-on-azure/hypershift/internal/preflight"
)

// Tally is what several cases of a test have found together.
type Tally struct {
	rows []*counted
}

type counted struct {
	preflight.Row
	name, finding, remedy *regexp.Regexp
	// bad: a check of it did not pass; told: one said what the row says.
	bad, told bool
}

// New makes a Tally of all rows.
func New() *Tally {
	t := &Tally{}
	for _, row := range preflight.Rows() {
		t.rows = append(t.rows, &counted{Row: row, name: Pattern(row.Name), finding: Pattern(row.Finding), remedy: Pattern(row.Remedy)})
	}
	return t
}

var placeholder = regexp.MustCompile(`\\\{[^}]*\\\}`)

// Pattern matches what has something else for each {…}.
func Pattern(text string) *regexp.Regexp {
	return regexp.MustCompile("(?s)^" + placeholder.ReplaceAllLiteralString(regexp.QuoteMeta(text), ".*") + "$")
}

// of finds the row of a name: the one with the most letters of its own, for a placeholder takes anything.
func (c *Tally) of(name string) *counted {
	var found *counted
	own := -1
	for _, row := range c.rows {
		if letters := len(placeholder.ReplaceAllLiteralString(regexp.QuoteMeta(row.Name), "")); row.name.MatchString(name) && letters > own {
			found, own = row, letters
		}
	}
	return found
}

var severity = map[preflight.Status]int{preflight.Pass: 0, preflight.Skip: 1, preflight.Warn: 2, preflight.Fail: 3}

// Found counts the checks of a case. A check has a row, comes to no worse than it says, and has a remedy unless it passes.
func (c *Tally) Found(t *testing.T, checks []preflight.Check) {
	t.Helper()
	for _, check := range checks {
		row := c.of(check.Name)
		if row == nil {
			t.Errorf("no row of preflight.Rows is called %q", check.Name)
			continue
		}
		if (check.Status == preflight.Pass) != (check.Remedy == "") {
			t.Errorf("a remedy is for what does not pass: %+v", check)
		}
		if severity[check.Status] > severity[row.Worst] {
			t.Errorf("row %q comes to %s at worst: %+v", row.Name, row.Worst, check)
		}
		row.bad = row.bad || check.Status != preflight.Pass
		row.told = row.told || check.Status != preflight.Pass && row.finding.MatchString(check.Detail) && row.remedy.MatchString(check.Remedy)
	}
}

// Complete holds that each row that is looked at there has not passed in some case, in the words of the row.
func (c *Tally) Complete(t *testing.T, at string) {
	t.Helper()
	for _, row := range c.rows {
		switch {
		case row.At != at || row.Worst == preflight.Pass:
		case !row.bad:
			t.Errorf("nothing provokes %q", row.Name)
		case !row.told:
			t.Errorf("%q never says %q with %q", row.Name, row.Finding, row.Remedy)
		}
		if (row.Worst == preflight.Pass) != (row.Remedy == "") || strings.TrimSpace(row.Name) == "" {
			t.Errorf("%+v", row.Row)
		}
	}
}
