package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestLinks: every page of the repository has its place, every link leads to a page, a heading or a file, and the pages are written.
func TestLinks(t *testing.T) {
	s, err := read("../..")
	if err != nil {
		t.Fatal(err)
	}
	out := t.TempDir()
	if err := s.write(out); err != nil {
		t.Fatal(err)
	}
	for file, words := range map[string]string{
		"index.html":                          `<a href="docs/guide.html">docs/guide.md</a>`,
		"docs/guide.html":                     `href="../docs/reference/troubleshooting.html"`,
		"docs/reference/troubleshooting.html": `<a href="../../index.html"`,
		"docs/images/dashboard-cluster.png":   "PNG",
		"style.css":                           "prefers-color-scheme: dark",
	} {
		raw, err := os.ReadFile(filepath.Join(out, file))
		if err != nil || !strings.Contains(string(raw), words) {
			t.Errorf("%s has no %q: %v", file, words, err)
		}
	}
}

func write(t *testing.T, files map[string]string) *site {
	t.Helper()
	s := &site{repo: t.TempDir(), pages: map[string]*page{}, beside: map[string]bool{}}
	for file, content := range files {
		s.pages[file] = parse(file, []byte(content))
	}
	return s
}

// What leads nowhere is named with the page and the link.
func TestDeadLinks(t *testing.T) {
	for link, wrong := range map[string]string{
		"other.md": "", "other.md#a-heading-of-two": "", "#one": "", "https://example.com/x": "", "none.md": "there is no docs/none.md",
		"other.md#none": "docs/other.md has no heading #none", "../../etc/passwd": "there is no ../etc/passwd", "#a-code--more": "",
	} {
		s := write(t, map[string]string{"docs/a.md": "# One\n\n[x](" + link + ")\n\n## A `code` & more\n", "docs/other.md": "# Other\n\n## A heading of two\n"})
		err := s.follow()
		if (err != nil) != (wrong != "") || err != nil && !strings.Contains(err.Error(), "docs/a.md: the link to "+link+": "+wrong) {
			t.Errorf("%s: %v, want %q", link, err, wrong)
		}
	}
}

// A page that nobody finds is refused, and so is a place without a page.
func TestEveryPageHasAPlace(t *testing.T) {
	s, err := read("../..")
	if err != nil {
		t.Fatal(err)
	}
	s.order, s.pages["docs/lost.md"] = nil, parse("docs/lost.md", []byte("# Lost\n"))
	if err := s.arrange(); err == nil || !strings.Contains(err.Error(), "docs/lost.md") {
		t.Errorf("%v", err)
	}
	delete(s.pages, "docs/lost.md")
	delete(s.pages, "docs/guide.md")
	if err := s.arrange(); err == nil || !strings.Contains(err.Error(), "docs/guide.md, which is not there") {
		t.Errorf("%v", err)
	}
}
