package graph

import (
	"cmp"
	"fmt"
	"strings"
)

// sides in the order in which they are drawn.
var sides = []Side{Management, Azure, Guest}

// colours of states, which tell the same as the words beside them: fill and border.
var colours = map[State][2]string{Good: {"#e6f4ea", "#1e7e34"}, Coming: {"#fff8e1", "#b07d00"}, Bad: {"#fdecea", "#b3261e"}, Unknown: {"#f1f3f4", "#5f6368"}}

// states in the order in which their classes are printed.
var states = []State{Good, Coming, Bad, Unknown}

// lines of a node's label.
func (n Node) lines() []string {
	out := []string{n.Kind, cmp.Or(n.Name, "-")}
	if n.Note != "" {
		out = append(out, n.Note)
	}
	return out
}

// Mermaid is the graph for https://mermaid.js.org, which Markdown pages draw.
func (g *Graph) Mermaid() string {
	var b strings.Builder
	fmt.Fprintf(&b, "---\ntitle: %q\n---\nflowchart LR\n", g.Title)
	for _, side := range sides {
		fmt.Fprintf(&b, "  subgraph %s[%q]\n", strings.ReplaceAll(string(side), " ", "_"), side)
		for _, n := range g.Nodes {
			if n.Side == side {
				fmt.Fprintf(&b, "    %s[\"%s\"]:::%s\n", n.ID, forMermaid(n.lines()), n.State)
			}
		}
		b.WriteString("  end\n")
	}
	for _, e := range g.Edges {
		fmt.Fprintf(&b, "  %s -- \"%s\" --> %s\n", e.From, forMermaid([]string{e.Label}), e.To)
	}
	for _, state := range states {
		fmt.Fprintf(&b, "  classDef %s fill:%s,stroke:%s,color:#202124\n", state, colours[state][0], colours[state][1])
	}
	return b.String()
}

// forMermaid keeps a text a text: mermaid reads HTML and entities in labels.
func forMermaid(lines []string) string {
	escape := strings.NewReplacer("&", "#amp;", "#", "#35;", `"`, "#quot;", "<", "#lt;", ">", "#gt;", "`", "#96;", "\n", " ")
	escaped := make([]string, len(lines))
	for i, line := range lines {
		escaped[i] = escape.Replace(line)
	}
	return strings.Join(escaped, "<br/>")
}

// Dot is the graph for Graphviz: https://graphviz.org/doc/info/lang.html.
func (g *Graph) Dot() string {
	var b strings.Builder
	fmt.Fprintf(&b, "digraph hosted_cluster {\n  label=\"%s\"; rankdir=LR; node [shape=box, style=filled, fontname=\"sans-serif\"];\n", forDot([]string{g.Title}))
	for i, side := range sides {
		fmt.Fprintf(&b, "  subgraph cluster_%d {\n    label=\"%s\";\n", i, side)
		for _, n := range g.Nodes {
			if n.Side == side {
				fmt.Fprintf(&b, "    %s [label=\"%s\", fillcolor=\"%s\", color=\"%s\"];\n", n.ID, forDot(n.lines()), colours[n.State][0], colours[n.State][1])
			}
		}
		b.WriteString("  }\n")
	}
	for _, e := range g.Edges {
		fmt.Fprintf(&b, "  %s -> %s [label=\"%s\"];\n", e.From, e.To, forDot([]string{e.Label}))
	}
	b.WriteString("}\n")
	return b.String()
}

func forDot(lines []string) string {
	escape := strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", " ")
	escaped := make([]string, len(lines))
	for i, line := range lines {
		escaped[i] = escape.Replace(line)
	}
	return strings.Join(escaped, `\n`)
}
