package e2e

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var (
	testFunction = regexp.MustCompile(`(?m)^func (Test\w+)\(`)
	quoted       = regexp.MustCompile("`([^`]+)`")
	scriptName   = regexp.MustCompile(`^\d\d-[a-z-]+$`)
)

// TestSecurityNamesItsTests: each line of SECURITY.md that says what holds names a test or a script, and each that it names is there.
func TestSecurityNamesItsTests(t *testing.T) {
	raw, err := os.ReadFile("../../SECURITY.md")
	if err != nil {
		t.Fatal(err)
	}
	_, holds, found := strings.Cut(string(raw), "\n## What holds\n")
	if !found {
		t.Fatal("SECURITY.md has no section \"What holds\"")
	}
	tables, _, _ := strings.Cut(holds, "\n## ")
	tests, rows := namesOfTests(t), 0
	for line := range strings.Lines(tables) {
		if !strings.HasPrefix(line, "|") || strings.HasPrefix(line, "|--") || strings.HasSuffix(line, "| Test |\n") {
			continue
		}
		rows++
		cells := strings.Split(strings.Trim(line, "|\n "), "|")
		names := quoted.FindAllStringSubmatch(cells[len(cells)-1], -1)
		if len(names) == 0 {
			t.Errorf("no test is named: %s", line)
		}
		for _, name := range names {
			if !tests[name[1]] {
				t.Errorf("%s is named and does not exist: %s", name[1], line)
			}
		}
	}
	if rows < 60 {
		t.Errorf("%d lines were found in the tables", rows)
	}
	for _, name := range quoted.FindAllStringSubmatch(string(raw), -1) {
		if (strings.HasPrefix(name[1], "Test") || scriptName.MatchString(name[1])) && !tests[name[1]] {
			t.Errorf("%s is named and does not exist", name[1])
		}
	}
}

// TestParsersHaveTheirTargets: each line of CONTRIBUTING.md that names a parser of what others write names fuzz targets of its packages.
func TestParsersHaveTheirTargets(t *testing.T) {
	raw, err := os.ReadFile("../../CONTRIBUTING.md")
	if err != nil {
		t.Fatal(err)
	}
	rows := 0
	for line := range strings.Lines(string(raw)) {
		cells := strings.Split(strings.TrimSpace(line), "|") // the first and the last one are empty
		if len(cells) != 6 || !strings.Contains(line, "`Fuzz") {
			continue
		}
		rows++
		var text []byte
		for _, name := range quoted.FindAllStringSubmatch(cells[4], -1) {
			files, err := filepath.Glob("../../" + name[1] + "/*_test.go")
			if err != nil || len(files) == 0 {
				t.Errorf("%s has no tests: %s", name[1], line)
			}
			for _, file := range files {
				more, err := os.ReadFile(file)
				if err != nil {
					t.Fatal(err)
				}
				text = append(text, more...)
			}
		}
		for _, name := range quoted.FindAllStringSubmatch(cells[3], -1) {
			if !strings.Contains(string(text), "\nfunc "+name[1]+"(") {
				t.Errorf("%s is named and is not there: %s", name[1], line)
			}
		}
	}
	if rows < 15 {
		t.Errorf("%d lines name targets", rows)
	}
}

// namesOfTests are the test functions of the repository, and the scripts of this package.
func namesOfTests(t *testing.T) map[string]bool {
	t.Helper()
	names := map[string]bool{}
	err := filepath.WalkDir("../..", func(path string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir():
			if base := entry.Name(); base == "bin" || base == ".git" {
				return filepath.SkipDir
			}
		case strings.HasSuffix(path, "_test.go"):
			text, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			for _, match := range testFunction.FindAllSubmatch(text, -1) {
				names[string(match[1])] = true
			}
		case strings.HasSuffix(path, ".txtar") && strings.Contains(path, "test/e2e/testdata/"):
			names[strings.TrimSuffix(filepath.Base(path), ".txtar")] = true
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return names
}
