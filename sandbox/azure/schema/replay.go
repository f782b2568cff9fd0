package schema

import (
	"bufio"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"regexp"
	"slices"

	"github.com/hypershift-on-azure/hypershift/sandbox/azure/access"
)

// Violation is what requests or answers have wrong, and how often.
type Violation struct {
	Client string `json:"client"` // who asked: see access.ClientOf
	access.Violation
	Refused bool `json:"refused"` // the request was answered with an error
	Count   int  `json:"count"`
}

func (v Violation) String() string {
	end := ""
	if v.Refused {
		end = " (refused)"
	}
	return fmt.Sprintf("%d × %s, %s of %s %s %s: %s%s", v.Count, v.Client, v.Side, v.Method, v.Type, v.APIVersion, v.Problem, end)
}

var indexRe = regexp.MustCompile(`\[\d+\]`)

// Replay counts the violations of an access log by client and kind; places in lists are not told apart. They are sorted: answers first.
func Replay(accessLog io.Reader) ([]Violation, error) {
	lines := bufio.NewScanner(accessLog)
	lines.Buffer(nil, 4<<20)
	count := map[Violation]int{}
	for lines.Scan() {
		var e access.Entry
		if err := json.Unmarshal(lines.Bytes(), &e); err != nil {
			return nil, fmt.Errorf("the access log: %w", err)
		}
		for _, v := range e.Violations {
			v.Problem = indexRe.ReplaceAllString(v.Problem, "[]")
			count[Violation{Client: access.ClientOf(e.UserAgent), Violation: v, Refused: e.Status >= 400}]++
		}
	}
	out := make([]Violation, 0, len(count))
	for v, n := range count {
		v.Count = n
		out = append(out, v)
	}
	slices.SortFunc(out, func(a, b Violation) int {
		return cmp.Or(cmp.Compare(a.Side, b.Side), cmp.Compare(a.Client, b.Client), cmp.Compare(a.Type, b.Type), cmp.Compare(a.Method, b.Method), cmp.Compare(a.String(), b.String()))
	})
	return out, lines.Err()
}

// Faults are the violations that nobody means: all in answers, and in requests those that were accepted or come from a client that has a name. A
// request that a test wrote by hand, wrong on purpose and refused, is none.
func Faults(list []Violation) []Violation {
	return slices.DeleteFunc(slices.Clone(list), func(v Violation) bool {
		return v.Side == access.SideRequest && v.Refused && v.Client == access.ClientUnknown
	})
}
