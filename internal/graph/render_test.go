package graph_test

import (
	"strings"
	"testing"

	"github.com/hypershift-on-azure/hypershift/internal/graph"
)

// What somebody has named cannot become a part of the picture's own language.
func TestNamesStayNames(t *testing.T) {
	g := &graph.Graph{Title: `a"b`, Nodes: []graph.Node{{ID: "n0", Side: graph.Azure, Kind: "VM", Name: "x\"];evil[\"<b>&`#\\\n", State: graph.Bad}, {ID: "n1", Side: graph.Guest, Kind: "Node", State: graph.Good}},
		Edges: []graph.Edge{{From: "n0", To: "n1", Label: `ru"ns`}}}
	mermaid, dot := g.Mermaid(), g.Dot()
	for _, part := range []string{`n0["VM<br/>x#quot;];evil[#quot;#lt;b#gt;#amp;#96;#35;\ "]:::bad`, `n1["Node<br/>-"]:::good`, `n0 -- "ru#quot;ns" --> n1`, "classDef bad"} {
		if !strings.Contains(mermaid, part) {
			t.Errorf("%s is missing in\n%s", part, mermaid)
		}
	}
	for _, part := range []string{`n0 [label="VM\nx\"];evil[\"<b>&` + "`" + `#\\ "`, `n0 -> n1 [label="ru\"ns"];`, `label="a\"b"`} {
		if !strings.Contains(dot, part) {
			t.Errorf("%s is missing in\n%s", part, dot)
		}
	}
}
