package dashboard

import (
	"fmt"
	"html/template"
	"strings"
	"time"
	"unicode"

	"k8s.io/apimachinery/pkg/util/duration"

	"github.com/hypershift-on-azure/hypershift/internal/explain"
	"github.com/hypershift-on-azure/hypershift/internal/survey"
)

// when is a point in time as a person says it, and exactly for programs and pointers.
func (s *server) when(at any) template.HTML {
	var t time.Time
	switch at := at.(type) {
	case time.Time:
		t = at
	case *time.Time:
		if at != nil {
			t = *at
		}
	}
	if t.IsZero() || t.Unix() == 0 {
		return "–"
	}
	exact := t.UTC().Format(time.RFC3339)
	return template.HTML(fmt.Sprintf(`<time datetime="%s" title="%s">%s</time>`, exact, exact, duration.HumanDuration(s.Now().Sub(t)))) //nolint:gosec // no word of anybody else is in it
}

// tone is the class of a state. The word says it too: colour alone tells nobody.
func tone(word string) string {
	switch word {
	case survey.Completed, survey.Ready, "True", "available":
		return "good"
	case "Failed", "False", "not available":
		return "bad"
	}
	return "busy"
}

func state(available string) string {
	switch available {
	case "True":
		return "available"
	case "False":
		return "not available"
	}
	return "not known"
}

// nodes are those that a cluster has of those that it is to have. A pool that scales itself wants what it has.
func nodes(c survey.Cluster) string {
	var has, wants int32
	for _, p := range c.NodePools {
		has += p.Nodes
		wants += max(p.Wanted, 0)
		if p.Wanted < 0 {
			wants += max(p.Nodes, p.Minimum)
		}
	}
	return fmt.Sprintf("%d/%d", has, wants)
}

func versions(c survey.Cluster) string {
	switch {
	case c.Target != "" && c.Version != "":
		return c.Version + " → " + c.Target
	case c.Target != "":
		return "→ " + c.Target
	case c.Version != "":
		return c.Version
	}
	return "–"
}

func disk(p survey.Pool) string {
	if p.DiskGiB == 0 {
		return ""
	}
	return strings.TrimSpace(fmt.Sprintf("%d GiB %s", p.DiskGiB, p.DiskKind))
}

// list makes a list of one, for a tree that is drawn by lists.
func list(f *explain.Finding) []explain.Finding { return []explain.Finding{*f} }

// visible is a text of others without what moves a cursor.
func visible(text string) string {
	return strings.TrimSpace(strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return ' '
		}
		return r
	}, text))
}

// code shows what stands between backticks as what a person types.
func code(text string) template.HTML {
	var out strings.Builder
	for i, part := range strings.Split(visible(text), "`") {
		part = template.HTMLEscapeString(part)
		if i%2 == 1 {
			part = "<code>" + part + "</code>"
		}
		out.WriteString(part)
	}
	return template.HTML(out.String()) //nolint:gosec // each part is escaped
}
