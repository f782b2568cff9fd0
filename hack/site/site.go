package main

import (
	"bytes"
	_ "embed"
	"errors"
	"fmt"
	"html/template"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/text"
)

//go:embed page.html
var layout string

//go:embed style.css
var style []byte

// chapters are the order in which a reader is shown the pages; a star stands for all of a folder.
var chapters = []struct {
	Title string
	Pages []string
}{
	{"Start", []string{"README.md", "docs/guide.md", "docs/migration.md", "docs/comparison.md"}},
	{"When something is wrong", []string{"docs/reference/troubleshooting.md", "docs/reference/preflight.md", "docs/reference/errors.md", "docs/nodes.md", "docs/etcd-majority.md"}},
	{"Security", []string{"SECURITY.md", "docs/access.md", "docs/signatures.md", "docs/architecture/rights.md"}},
	{"Reference", []string{"docs/reference/cli.md", "docs/reference/cluster-file.md", "docs/reference/api.md", "docs/reference/conditions.md", "docs/reference/metrics.md",
		"docs/reference/supported.md", "docs/reference/control-plane.md", "docs/reference/images.md", "docs/reference/licences.md"}},
	{"What is proven", []string{"docs/real-azure.md", "docs/conformance.md", "docs/benchmarks.md"}},
	{"How it is built", []string{"docs/architecture.md", "docs/architecture/*", "docs/adding-a-component.md", "CONTRIBUTING.md", "docs/adr/*"}},
}

// forge shows the folders of the sources.
const forge = "https://github.com/hypershift-on-azure/hypershift/tree/main/"

// page is a file of Markdown.
type page struct {
	file    string // in the checkout, with slashes
	source  []byte
	root    ast.Node
	Title   string
	anchors map[string]bool
}

// site is all pages, by their files.
type site struct {
	repo  string
	pages map[string]*page
	order []chapter
	// beside are files that pages lead to, and that are no pages.
	beside map[string]bool
}

type chapter struct {
	Title string
	Pages []*page
}

var markdown = goldmark.New(goldmark.WithExtensions(extension.GFM), goldmark.WithParserOptions(parser.WithAutoHeadingID()))

// read parses all pages and follows their links.
func read(repo string) (*site, error) {
	s := &site{repo: repo, pages: map[string]*page{}, beside: map[string]bool{}}
	var files []string
	for _, pattern := range []string{"*.md", "docs/*.md", "docs/*/*.md"} {
		found, err := filepath.Glob(filepath.Join(repo, pattern))
		if err != nil {
			return nil, err
		}
		files = append(files, found...)
	}
	for _, file := range files {
		name, err := filepath.Rel(repo, file)
		if err != nil {
			return nil, err
		}
		raw, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		s.pages[filepath.ToSlash(name)] = parse(filepath.ToSlash(name), raw)
	}
	if err := s.arrange(); err != nil {
		return nil, err
	}
	return s, s.follow()
}

func parse(file string, source []byte) *page {
	p := &page{file: file, source: source, Title: file, anchors: map[string]bool{}}
	context := parser.NewContext(parser.WithIDs(&slugs{taken: p.anchors}))
	p.root = markdown.Parser().Parse(text.NewReader(source), parser.WithContext(context))
	if h, ok := p.root.FirstChild().(*ast.Heading); ok {
		p.Title = string(h.Lines().Value(source))
	}
	return p
}

// slugs name headings as the forges of this world do, so that the same link works there and here.
type slugs struct{ taken map[string]bool }

var unspoken = regexp.MustCompile(`[^\p{L}\p{N} _-]`)

// Generate is of goldmark's interface.
func (s *slugs) Generate(value []byte, _ ast.NodeKind) []byte {
	slug := strings.ReplaceAll(unspoken.ReplaceAllString(strings.ToLower(strings.TrimSpace(string(value))), ""), " ", "-")
	name := slug
	for i := 1; s.taken[name]; i++ {
		name = fmt.Sprintf("%s-%d", slug, i)
	}
	s.taken[name] = true
	return []byte(name)
}

// Put is of goldmark's interface.
func (s *slugs) Put(value []byte) { s.taken[string(value)] = true }

// arrange puts the pages into chapters; each has one place.
func (s *site) arrange() error {
	left := maps.Clone(s.pages)
	for _, c := range chapters {
		made := chapter{Title: c.Title}
		for _, pattern := range c.Pages {
			var found []string
			for file := range left {
				if ok, _ := path.Match(pattern, file); ok { // the patterns above are well formed
					found = append(found, file)
				}
			}
			if len(found) == 0 {
				return fmt.Errorf("chapter %q has %s, which is not there", c.Title, pattern)
			}
			slices.Sort(found)
			for _, file := range found {
				made.Pages = append(made.Pages, left[file])
				delete(left, file)
			}
		}
		s.order = append(s.order, made)
	}
	if len(left) > 0 {
		return fmt.Errorf("no chapter of hack/site has %s", strings.Join(slices.Sorted(maps.Keys(left)), ", "))
	}
	return nil
}

// follow has every link lead to a page of the site, and tells of those that lead nowhere.
func (s *site) follow() error {
	var wrong []error
	for _, file := range slices.Sorted(maps.Keys(s.pages)) {
		p := s.pages[file]
		err := ast.Walk(p.root, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
			var to *[]byte
			switch n := n.(type) {
			case *ast.Link:
				to = &n.Destination
			case *ast.Image:
				to = &n.Destination
			}
			if to == nil || !entering {
				return ast.WalkContinue, nil
			}
			led, err := s.lead(p, string(*to))
			if err != nil {
				wrong = append(wrong, fmt.Errorf("%s: the link to %s: %w", file, *to, err))
			}
			*to = []byte(led)
			return ast.WalkContinue, nil
		})
		if err != nil {
			return err
		}
	}
	return errors.Join(wrong...)
}

// lead is where a link of a page goes on the site.
func (s *site) lead(p *page, to string) (string, error) {
	if strings.Contains(to, "://") || strings.HasPrefix(to, "mailto:") {
		return to, nil
	}
	name, anchor, _ := strings.Cut(to, "#")
	target := p.file
	if name != "" {
		target = path.Join(path.Dir(p.file), name)
	}
	if anchor != "" {
		anchor = "#" + anchor
	}
	if other := s.pages[target]; other != nil {
		if anchor != "" && !other.anchors[anchor[1:]] {
			return to, fmt.Errorf("%s has no heading %s", target, anchor)
		}
		return relative(p.file, webName(target)) + anchor, nil
	}
	info, err := os.Stat(filepath.Join(s.repo, target))
	switch {
	case err != nil || strings.HasPrefix(target, ".."):
		return to, fmt.Errorf("there is no %s", target)
	case info.IsDir():
		// A folder is the chapter that begins with its first page.
		for _, c := range s.order {
			for _, other := range c.Pages {
				if path.Dir(other.file) == target {
					return relative(p.file, webName(other.file)), nil
				}
			}
		}
		return forge + target, nil
	}
	s.beside[target] = true
	return relative(p.file, target), nil
}

// webName is the file of a page on the site.
func webName(file string) string {
	if file == "README.md" {
		return "index.html"
	}
	return strings.TrimSuffix(file, ".md") + ".html"
}

// relative leads from a file to another one, so that the site works in any folder, and from a disk.
func relative(from, to string) string {
	return strings.Repeat("../", strings.Count(from, "/")) + to
}

// shown is what the layout has.
type shown struct {
	*page
	Chapters []chapter
	Body     template.HTML
}

func (s *site) write(out string) error {
	if err := os.RemoveAll(out); err != nil {
		return err
	}
	for _, p := range s.pages {
		if err := s.writePage(out, p); err != nil {
			return fmt.Errorf("%s: %w", p.file, err)
		}
	}
	for file := range s.beside {
		raw, err := os.ReadFile(filepath.Join(s.repo, file))
		if err != nil {
			return err
		}
		if err := put(out, file, raw); err != nil {
			return err
		}
	}
	return put(out, "style.css", style)
}

func (s *site) writePage(out string, p *page) error {
	var body, whole bytes.Buffer
	if err := markdown.Renderer().Render(&body, p.source, p.root); err != nil {
		return err
	}
	from := func(file string) string { return relative(p.file, file) }
	t, err := template.New("").Funcs(template.FuncMap{"from": from, "web": func(other *page) string { return from(webName(other.file)) }}).Parse(layout)
	if err != nil {
		return err
	}
	if err := t.Execute(&whole, shown{p, s.order, template.HTML(body.String())}); err != nil {
		return err
	}
	return put(out, webName(p.file), whole.Bytes())
}

func put(out, file string, content []byte) error {
	at := filepath.Join(out, filepath.FromSlash(file))
	if err := os.MkdirAll(filepath.Dir(at), fs.ModePerm); err != nil {
		return err
	}
	return os.WriteFile(at, content, 0o644)
}
