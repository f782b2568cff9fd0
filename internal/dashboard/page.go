package dashboard

import (
	"cmp"
	"fmt"
	"net/url"

	"maragu.dev/gomponents"
	"maragu.dev/gomponents/html"

	"github.com/hypershift-on-azure/hypershift/internal/explain"
	"github.com/hypershift-on-azure/hypershift/internal/survey"
)

// Pages are functions of a view, so that a mistake in one does not compile, and the program needs no text/template: with that, a linker keeps
// every method of every type.

// page is a whole document.
func (s *server) page(v *view) gomponents.Node {
	title := "Hosted clusters"
	if v.Cluster != "" {
		title = v.Cluster + " – " + title
	}
	return html.Doctype(html.HTML(html.Lang("en"), line,
		html.Head(line, lines(
			html.Meta(html.Charset("utf-8")),
			html.Meta(html.Name("viewport"), html.Content("width=device-width, initial-scale=1")),
			html.Meta(html.Name("color-scheme"), html.Content("light dark")),
			html.TitleEl(text(title)),
			html.Link(html.Rel("icon"), html.Href(v.Root+"static/icon.svg"), html.Type("image/svg+xml")),
			html.Link(html.Rel("stylesheet"), html.Href(v.Root+"static/style.css")),
			html.Script(html.Src(v.Root+"static/live.js"), html.Defer()),
		)), line,
		html.Body(gomponents.If(v.Live != "", html.Data("live", v.Live)), html.Data("seen", v.Version), line, lines(
			html.A(html.Class("skip"), html.Href("#content"), text("Skip to the content")),
			html.Header(line, lines(
				whereYouAre(v),
				gomponents.If(v.Who != "", html.Form(html.Method("post"), html.Action(v.Root+"sign-out"), html.Button(html.Type("submit"), text("Sign out "+v.Who)))),
				html.P(html.ID("live"), html.Role("status"), text("As of when it was loaded")),
			)),
			html.Main(html.ID("content"), html.TabIndex("-1"), line, s.content(v), line),
		)), line,
	))
}

func whereYouAre(v *view) gomponents.Node {
	first := []gomponents.Node{html.Href(cmp.Or(v.Root, "./")), text("Hosted clusters")}
	if v.Cluster == "" {
		return html.Nav(html.Aria("label", "Where you are"), html.A(append(first, html.Aria("current", "page"))...))
	}
	return html.Nav(html.Aria("label", "Where you are"), html.A(first...), text(" "), html.Span(html.Aria("hidden", "true"), text("/")), text(" "),
		html.Span(html.Aria("current", "page"), text(v.Cluster)))
}

// content is what a page has that follows what happens.
func (s *server) content(v *view) gomponents.Node {
	var main gomponents.Node
	switch {
	case v.Trouble != "":
		main = lines(html.H1(text("Nothing to show")), html.P(html.Class("bad"), text(v.Trouble)))
	case v.One != nil:
		main = s.cluster(v)
	default:
		main = s.fleet(v.Fleet.Clusters)
	}
	unseen := func(what string) gomponents.Node { return lines(html.P(html.Class("busy"), text("Not seen: "+what))) }
	return gomponents.Group{main, gomponents.Map(v.Unseen, unseen)}
}

func (s *server) fleet(clusters []survey.Cluster) gomponents.Node {
	title := html.H1(text("Hosted clusters"))
	if len(clusters) == 0 {
		return lines(title, html.P(text("There are none. "), html.Code(text("hypershift create cluster azure")), text(" makes one.")))
	}
	row := func(c survey.Cluster) gomponents.Node {
		says := ""
		if c.Available != "True" || c.Progress != survey.Completed {
			says = c.Message
		}
		return html.Tr(
			html.Th(html.Scope("row"), html.A(html.ID("to-"+c.Namespace+"-"+c.Name), html.Href("clusters/"+url.PathEscape(c.Namespace)+"/"+url.PathEscape(c.Name)+"/"), text(c.Name))),
			cell("Namespace", text(c.Namespace)), cell("State", toned(c.Available, state(c.Available))), cell("Version", text(versions(c))),
			cell("Progress", toned(c.Progress, c.Progress)), cell("Nodes", text(nodes(c))), cell("Age", s.when(c.Created)), cell("What it says", text(says)))
	}
	return lines(title, table(fmt.Sprintf("%d hosted clusters, by namespace and name", len(clusters)),
		[]string{"Name", "Namespace", "State", "Version", "Progress", "Nodes", "Age", "What it says"}, gomponents.Map(clusters, func(c survey.Cluster) gomponents.Node { return lines(row(c)) })))
}

func (s *server) cluster(v *view) gomponents.Node {
	c := *v.One
	fact := func(name string, says gomponents.Node) gomponents.Node {
		return html.Div(html.Dt(text(name)), html.Dd(says))
	}
	pools := gomponents.Node(lines(html.P(text("There are none."))))
	if len(c.NodePools) > 0 {
		pools = gomponents.Map(c.NodePools, s.pool)
	}
	events := gomponents.Node(html.P(text("Nothing is told of the last hour.")))
	if len(v.Events) > 0 {
		events = table("Newest first: of the hosted cluster and its node pools, and warnings of its control plane",
			[]string{"Ago", "Kind", "Reason", "About", "Times", "What it says"}, gomponents.Map(v.Events, s.event))
	}
	return gomponents.Group{
		lines(html.H1(text(c.Name)), html.Dl(line, lines(
			fact("State", toned(c.Available, state(c.Available))), fact("Progress", toned(c.Progress, c.Progress)), fact("Version", text(versions(c))),
			fact("Nodes", text(nodes(c))), fact("Age", s.when(c.Created)), fact("Namespace", text(c.Namespace)), fact("Where", text(c.Platform+" "+c.Location)),
			fact("API server", text(cmp.Or(c.Endpoint, "not known yet"))), fact("Release", text(c.Image)),
		)), html.H2(html.ID("why"), text("Why it is so")), s.tree([]explain.Finding{*v.Finding}), html.H2(html.ID("pools"), text("Node pools"))),
		pools,
		lines(html.H2(html.ID("events"), text("Events")), events),
	}
}

func (s *server) event(e happening) gomponents.Node {
	kind := text("normal")
	if e.Warning {
		kind = html.Span(html.Class("bad"), text("warning"))
	}
	return lines(html.Tr(cell("Ago", s.when(e.At)), cell("Kind", kind), html.Th(html.Scope("row"), text(e.Reason)), cell("About", text(e.Object)),
		cell("Times", text(fmt.Sprint(e.Count))), cell("What it says", text(e.Says))))
}

// tree draws findings with what they are because of.
func (s *server) tree(findings []explain.Finding) gomponents.Node {
	return html.Ul(html.Class("tree"), line, gomponents.Map(findings, func(f explain.Finding) gomponents.Node { return lines(s.finding(f)) }))
}

func (s *server) finding(f explain.Finding) gomponents.Node {
	class, name, says := "bad", f.Object, ": "+f.Says
	if f.Healthy {
		class = "good"
	}
	if f.Condition != "" {
		name += " " + f.Condition
	}
	if f.Reason != "" {
		says += " (" + f.Reason + ")"
	}
	var since gomponents.Node
	if f.Since != nil {
		since = gomponents.Group{text(", since "), s.when(*f.Since)}
	}
	evidence := func(e explain.Evidence) gomponents.Node {
		return lines(html.P(html.Class("evidence"), text(e.Source+": "), html.Q(text(e.Says))))
	}
	next := func(action string) gomponents.Node { return html.Li(code(action)) }
	return html.Li(html.Span(html.Class(class), text(name)), text(says), since, line,
		gomponents.Map(f.Evidence, evidence),
		gomponents.If(f.Cause != "", lines(html.P(html.Strong(text("Cause:")), text(" "+f.Cause)))),
		gomponents.If(len(f.Next) > 0, lines(gomponents.Group{html.P(html.Strong(text("Next:"))), html.Ol(gomponents.Map(f.Next, next))})),
		gomponents.Iff(len(f.Because) > 0, func() gomponents.Node { return s.tree(f.Because) }))
}

func (s *server) pool(p survey.Pool) gomponents.Node {
	facts := fmt.Sprintf(", %d", p.Nodes)
	if p.Wanted >= 0 {
		facts += fmt.Sprintf("/%d nodes", p.Wanted)
	} else {
		facts += fmt.Sprintf(" nodes (%d to %d)", p.Minimum, p.Maximum)
	}
	for _, more := range []string{p.Version, p.Size, disk(p)} {
		if more != "" {
			facts += ", " + more
		}
	}
	machines := gomponents.Iff(len(p.Machines) > 0, func() gomponents.Node {
		return lines(table("Machines of "+p.Name, []string{"Machine", "Stage", "For", "Node", "Version", "Size", "Zone", "Why"}, gomponents.Map(p.Machines, s.machine)))
	})
	return lines(html.Details(html.ID("pool-"+p.Name), gomponents.Attr("open"), line,
		lines(html.Summary(html.H3(text(p.Name)), text(" "), toned(p.Progress, p.Progress), text(facts))),
		gomponents.If(p.Message != "", lines(html.P(text(p.Message)))), machines))
}

func (s *server) machine(m survey.Machine) gomponents.Node {
	why := m.Reason
	if m.Message != "" {
		why += ": " + m.Message
	}
	return lines(html.Tr(html.Th(html.Scope("row"), text(m.Name)), cell("Stage", toned(m.Stage, m.Stage)), cell("For", s.when(m.Since)), cell("Node", text(m.Node)),
		cell("Version", text(m.Version)), cell("Size", text(m.Size)), cell("Zone", text(m.Zone)), cell("Why", text(why))))
}
