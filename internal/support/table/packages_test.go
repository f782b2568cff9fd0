package table

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestEveryPackageIsOnItsPage: docs/architecture/packages.md names each package of internal, by its path, in the table or as a
// heading, or by what follows a heading in its section.
func TestEveryPackageIsOnItsPage(t *testing.T) {
	page, err := os.ReadFile(root + "docs/architecture/packages.md")
	if err != nil {
		t.Fatal(err)
	}
	quoted := regexp.MustCompile("`([^`\n]+)`")
	named := map[string]bool{}
	folder := ""
	for line := range strings.Lines(string(page)) {
		if heading, ok := strings.CutPrefix(line, "#"); ok {
			folder = strings.TrimSpace(strings.TrimLeft(heading, "#"))
			named["internal "+folder] = true
		}
		for _, name := range quoted.FindAllStringSubmatch(line, -1) {
			named[folder+" "+name[1]] = true
		}
	}
	for _, path := range packages(t) {
		known := named["internal "+path]
		for above := filepath.Dir(path); above != "."; above = filepath.Dir(above) {
			known = known || named[above+" "+filepath.Base(path)] || named[above+" "+strings.TrimPrefix(path, above+"/")]
		}
		if !known {
			t.Errorf("docs/architecture/packages.md does not say what internal/%s knows", path)
		}
	}
}

// packages are the folders of internal that have Go files, but those of tests.
func packages(t *testing.T) []string {
	t.Helper()
	var found []string
	err := filepath.WalkDir(root+"internal", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || !entry.IsDir() {
			return err
		}
		if strings.HasSuffix(path, "test") || entry.Name() == "testdata" {
			return filepath.SkipDir
		}
		sources, err := filepath.Glob(filepath.Join(path, "*.go"))
		if err != nil || len(sources) == 0 {
			return err
		}
		name, err := filepath.Rel(root+"internal", path)
		found = append(found, filepath.ToSlash(name))
		return err
	})
	if err != nil || len(found) == 0 {
		t.Fatalf("%d packages, %v", len(found), err)
	}
	return found
}
