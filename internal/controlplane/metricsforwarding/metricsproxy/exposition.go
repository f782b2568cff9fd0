package metricsproxy

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"
)

// label of a series; value is as it is written, between the quotes.
type label struct{ name, value string }

// rule keeps or drops series, as a relabeling of a monitor does.
type rule struct {
	keep   bool
	labels []string
	match  *regexp.Regexp
}

// rulesOf reads relabelings of monitors; those that neither keep nor drop are not for series.
func rulesOf(relabelings []any) ([]rule, error) {
	var out []rule
	for _, one := range relabelings {
		fields, ok := one.(map[string]any)
		if !ok || fields["action"] != "keep" && fields["action"] != "drop" {
			continue
		}
		match, err := regexp.Compile(fmt.Sprintf("^(?:%s)$", fields["regex"]))
		if err != nil {
			return nil, fmt.Errorf("a relabeling has an expression that cannot be read: %w", err)
		}
		r := rule{keep: fields["action"] == "keep", match: match}
		sources, _ := fields["sourceLabels"].([]any)
		for _, source := range sources {
			r.labels = append(r.labels, fmt.Sprint(source))
		}
		out = append(out, r)
	}
	return out, nil
}

// wanted tells whether rules let a series through.
func wanted(rules []rule, name string, labels []label) bool {
	for _, r := range rules {
		values := make([]string, len(r.labels))
		for i, source := range r.labels {
			values[i] = valueOf(source, name, labels)
		}
		if r.match.MatchString(strings.Join(values, ";")) != r.keep {
			return false
		}
	}
	return true
}

func valueOf(source, name string, labels []label) string {
	if source == "__name__" {
		return name
	}
	if i := slices.IndexFunc(labels, func(l label) bool { return l.name == source }); i >= 0 {
		return labels[i].value
	}
	return ""
}

// family is a metric with all of its series.
type family struct {
	about, series []string
}

// exposition is what several pods of a program tell, in the text format of Prometheus: the series of a metric have to be together. Prometheus' own
// library for the format (expfmt) reads and writes a histogram as a whole; the sets keep single series of one.
type exposition struct {
	names    []string
	families map[string]*family
}

func (e *exposition) of(name string) *family {
	if e.families == nil {
		e.families = map[string]*family{}
	}
	if e.families[name] == nil {
		e.families[name] = &family{}
		e.names = append(e.names, name)
	}
	return e.families[name]
}

// add takes what a pod tells: series that the rules want, with labels added. Labels of the same names are renamed, as Prometheus does.
func (e *exposition) add(text io.Reader, rules []rule, added []label) error {
	lines := bufio.NewScanner(text)
	lines.Buffer(nil, longestLine)
	current := ""
	for lines.Scan() {
		line := strings.TrimSpace(lines.Text())
		switch {
		case line == "":
		case strings.HasPrefix(line, "#"):
			if name := described(line); name != "" {
				current = name
				if about := &e.of(name).about; !slices.ContainsFunc(*about, func(have string) bool { return sameAbout(have, line) }) {
					*about = append(*about, line)
				}
			}
		default:
			name, labels, rest, err := parse(line)
			if err != nil {
				return err
			}
			if current == "" || !strings.HasPrefix(name, current) {
				current = name
			}
			if wanted(rules, name, labels) {
				f := e.of(current)
				f.series = append(f.series, written(name, labels, added)+rest)
			}
		}
	}
	if err := lines.Err(); err != nil {
		return fmt.Errorf("read the metrics: %w", err)
	}
	return nil
}

// described is the metric that a comment is about; empty where it is about none.
func described(line string) string {
	words := strings.Fields(line)
	if len(words) < 3 || words[1] != "HELP" && words[1] != "TYPE" {
		return ""
	}
	return words[2]
}

// sameAbout tells whether both lines are the help, or the type, of a metric.
func sameAbout(a, b string) bool { return strings.Fields(a)[1] == strings.Fields(b)[1] }

// parse takes a line apart: NAME{LABEL="VALUE",…} and the rest, which begins with a space.
func parse(line string) (name string, labels []label, rest string, err error) {
	end := strings.IndexAny(line, "{ \t")
	if end <= 0 {
		return "", nil, "", fmt.Errorf("line %q of the metrics has no value", line)
	}
	name, rest = line[:end], line[end:]
	if rest[0] != '{' {
		return name, nil, " " + strings.TrimSpace(rest), nil
	}
	for rest = strings.TrimLeft(rest[1:], ", "); rest != "" && rest[0] != '}'; rest = strings.TrimLeft(rest, ", ") {
		before, after, found := strings.Cut(rest, `="`)
		last := closing(after)
		if !found || last < 0 {
			return "", nil, "", fmt.Errorf("line %q of the metrics has a label without a value", line)
		}
		labels = append(labels, label{strings.TrimSpace(before), after[:last]})
		rest = after[last+1:]
	}
	if len(rest) < 2 {
		return "", nil, "", fmt.Errorf("line %q of the metrics has no value", line)
	}
	return name, labels, " " + strings.TrimSpace(rest[1:]), nil
}

// closing is where the quote is that ends a value, -1 where there is none.
func closing(text string) int {
	for i := 0; i < len(text); i++ {
		switch text[i] {
		case '\\':
			i++
		case '"':
			return i
		}
	}
	return -1
}

func written(name string, labels, added []label) string {
	var b strings.Builder
	b.WriteString(name + "{")
	for i, l := range added {
		if i > 0 {
			b.WriteString(",")
		}
		b.WriteString(l.name + `="` + l.value + `"`)
	}
	for _, l := range labels {
		if slices.ContainsFunc(added, func(a label) bool { return a.name == l.name }) {
			l.name = "exported_" + l.name
		}
		b.WriteString("," + l.name + `="` + l.value + `"`)
	}
	b.WriteString("}")
	return b.String()
}

// text is everything, the metrics that have series.
func (e *exposition) text() []byte {
	var b bytes.Buffer
	for _, name := range e.names {
		f := e.families[name]
		if len(f.series) == 0 {
			continue
		}
		for _, line := range slices.Concat(f.about, f.series) {
			b.WriteString(line + "\n")
		}
	}
	return b.Bytes()
}
