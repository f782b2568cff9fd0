package table

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"
)

// TestPagesOfTheHouseAreNarrow: what tells how the house is built fits a screen beside the code, 100 columns. A row of a table is one line, however
// long; a command is typed as it stands, and a picture drawn.
func TestPagesOfTheHouseAreNarrow(t *testing.T) {
	var pages []string
	for _, pattern := range []string{"docs/architecture.md", "docs/architecture/*.md", "docs/adr/*.md"} {
		found, err := filepath.Glob(root + pattern)
		if err != nil || len(found) == 0 {
			t.Fatalf("%s: %d pages, %v", pattern, len(found), err)
		}
		pages = append(pages, found...)
	}
	for _, page := range pages {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		fence, number := "", 0
		for line := range strings.Lines(string(text)) {
			number++
			line = strings.TrimSuffix(line, "\n")
			if kind, ok := strings.CutPrefix(line, "```"); ok {
				if fence == "" {
					fence = "of " + kind
				} else {
					fence = ""
				}
			}
			free := strings.HasPrefix(line, "|") || fence == "of mermaid" || fence == "of sh"
			if n := utf8.RuneCountInString(line); n > 100 && !free {
				t.Errorf("%s:%d has %d columns", page, number, n)
			}
		}
	}
}
