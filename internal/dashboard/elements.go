package dashboard

import (
	"strings"
	"time"
	"unicode"

	"k8s.io/apimachinery/pkg/util/duration"
	"maragu.dev/gomponents"
	"maragu.dev/gomponents/html"
)

// line ends one in the text of a page, for who reads that.
var line = gomponents.Raw("\n")

// lines has each of the nodes, without those that are nil, on lines of its own.
func lines(nodes ...gomponents.Node) gomponents.Node {
	var out gomponents.Group
	for _, node := range nodes {
		if node != nil {
			out = append(out, node, line)
		}
	}
	return out
}

// text is one of others: what would be HTML is shown as it is written, and what moves a cursor is left out.
func text(of string) gomponents.Node { return gomponents.Text(visible(of)) }

// visible is a text of others without what moves a cursor.
func visible(text string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return ' '
		}
		return r
	}, text)
}

// code shows what stands between backticks as what a person types.
func code(of string) gomponents.Node {
	var out gomponents.Group
	for i, part := range strings.Split(of, "`") {
		if i%2 == 1 {
			out = append(out, html.Code(text(part)))
		} else {
			out = append(out, text(part))
		}
	}
	return out
}

// table has its columns' names in the head; cells repeat them, for who sees no columns.
func table(caption string, columns []string, rows gomponents.Node) gomponents.Node {
	column := func(name string) gomponents.Node { return html.Th(html.Scope("col"), text(name)) }
	return html.Table(line, html.Caption(text(caption)), line, html.THead(html.Tr(gomponents.Map(columns, column))), line, html.TBody(line, rows), line)
}

// cell is one of a row that is not its name.
func cell(column string, says gomponents.Node) gomponents.Node {
	return html.Td(html.Data("label", column), says)
}

// toned is a word in the colour of a state.
func toned(state, word string) gomponents.Node { return html.Span(html.Class(tone(state)), text(word)) }

// when is a point in time as a person says it, and exactly for programs and pointers.
func (s *server) when(t time.Time) gomponents.Node {
	if t.IsZero() || t.Unix() == 0 {
		return text("–")
	}
	exact := t.UTC().Format(time.RFC3339)
	return html.Time(html.DateTime(exact), html.Title(exact), text(duration.HumanDuration(s.Now().Sub(t))))
}
