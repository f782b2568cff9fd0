package graph

import (
	"regexp"
	"strings"
	"sync"

	"github.com/hypershift-on-azure/hypershift/sandbox/azure/wire"
)

var (
	anyRe = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`(?i)^(\w+)/any\(\s*(\w+)\s*:\s*\w+\s+eq\s+'((?:[^']|'')*)'\s*\)$`)
	})
	startsRe = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`(?i)^startswith\(\s*(\w+)\s*,\s*'((?:[^']|'')*)'\s*\)$`)
	})
	equalRe = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`(?i)^(\w+)\s+eq\s+'((?:[^']|'')*)'$`)
	})
	orRe = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`(?i)\s+or\s+`)
	})
	andRe = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`(?i)\s+and\s+`)
	})
)

// parseFilter reads disjunctions of conjunctions of eq, startswith and any.
func parseFilter(filter string) (func(Doc) bool, error) {
	if strings.TrimSpace(filter) == "" {
		return func(Doc) bool { return true }, nil
	}
	var alternatives [][]func(Doc) bool
	for _, alternative := range split(filter, orRe()) {
		var all []func(Doc) bool
		for _, text := range split(alternative, andRe()) {
			term, err := parseTerm(strings.TrimSpace(text))
			if err != nil {
				return nil, err
			}
			all = append(all, term)
		}
		alternatives = append(alternatives, all)
	}
	return func(d Doc) bool {
		for _, all := range alternatives {
			if every(all, d) {
				return true
			}
		}
		return false
	}, nil
}

// split cuts a text at a word, but not inside of quotes.
func split(text string, word *regexp.Regexp) []string {
	var out []string
	from := 0
	for _, at := range word.FindAllStringIndex(text, -1) {
		if strings.Count(text[from:at[0]], "'")%2 == 0 {
			out, from = append(out, text[from:at[0]]), at[1]
		}
	}
	return append(out, text[from:])
}

func every(terms []func(Doc) bool, d Doc) bool {
	for _, t := range terms {
		if !t(d) {
			return false
		}
	}
	return true
}

func parseTerm(text string) (func(Doc) bool, error) {
	unquote := func(s string) string { return strings.ReplaceAll(s, "''", "'") }
	if m := anyRe().FindStringSubmatch(text); m != nil {
		return func(d Doc) bool {
			for _, s := range wire.Texts(d, m[1]) {
				if strings.EqualFold(s, unquote(m[3])) {
					return true
				}
			}
			return false
		}, nil
	}
	if m := startsRe().FindStringSubmatch(text); m != nil {
		return func(d Doc) bool {
			return strings.HasPrefix(strings.ToLower(wire.Text(d, m[1])), strings.ToLower(unquote(m[2])))
		}, nil
	}
	if m := equalRe().FindStringSubmatch(text); m != nil {
		return func(d Doc) bool { return strings.EqualFold(wire.Text(d, m[1]), unquote(m[2])) }, nil
	}
	return nil, invalid("Invalid filter clause: '%s' is not supported by the embedded Azure.", text)
}
