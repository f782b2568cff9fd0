package e2e

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"

	"github.com/hypershift-on-azure/hypershift/internal/explain"
	"github.com/hypershift-on-azure/hypershift/test/e2e/causes"
)

// builtins are testscript's own commands.
var builtins = strings.Fields("cd chmod cmp cmpenv cp env exec exists grep kill mkdir mv rm skip stderr stdin stdout stop symlink unquote wait")

var (
	scriptLine = regexp.MustCompile(`^\s*(?:\[[^]]*\]\s*)*(?:!\s*)?([A-Za-z][\w-]*)`)
	shellFile  = regexp.MustCompile(`(?:^|\s)sh ([a-z-]+\.sh)\b`)
)

// TestScriptsAreSound reads every script: each command exists, each file of shell that is run lies in the script, and none lies there
// that nobody runs.
func TestScriptsAreSound(t *testing.T) {
	scripts, err := causes.Scripts("testdata")
	if err != nil {
		t.Fatal(err)
	}
	own := commands("")
	for _, path := range scripts {
		archive, err := txtar.ParseFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for number, line := range strings.Split(string(archive.Comment), "\n") {
			match := scriptLine.FindStringSubmatch(line)
			if match == nil || slices.Contains(builtins, match[1]) || own[match[1]] != nil {
				continue
			}
			t.Errorf("%s:%d: there is no command %q", path, number+1, match[1])
		}
		for _, problem := range shellOf(archive) {
			t.Errorf("%s: %s", path, problem)
		}
	}
}

// TestEveryCaseHasAScript: each case of the table of troubles is made for real in a script, and found.
func TestEveryCaseHasAScript(t *testing.T) {
	made, err := causes.Made("testdata")
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range explain.Cases() {
		if len(made[row.ID]) == 0 {
			t.Errorf("no script has %q explained: %s", row.ID, row.Symptom)
		}
		delete(made, row.ID)
	}
	for name, scripts := range made {
		t.Errorf("%v has %q explained, which is no case", scripts, name)
	}
}

// shellOf compares the files of shell in a script with those that it runs.
func shellOf(archive *txtar.Archive) (problems []string) {
	text, has := string(archive.Comment), map[string]bool{}
	for _, file := range archive.Files {
		text += "\n" + string(file.Data)
		if strings.HasSuffix(file.Name, ".sh") {
			has[file.Name] = true
		}
	}
	runs := map[string]bool{}
	for _, match := range shellFile.FindAllStringSubmatch(text, -1) {
		runs[match[1]] = true
		if !has[match[1]] {
			problems = append(problems, match[1]+" is run and is not there")
		}
	}
	for name := range has {
		if !runs[name] {
			problems = append(problems, name+" is there and is not run")
		}
	}
	return problems
}

func TestShellOf(t *testing.T) {
	archive := txtar.Parse([]byte("exec sh a.sh x\nuntil 1s ^$ sh c.sh\n-- a.sh --\n  sh d.sh\n-- b.sh --\n-- d.sh --\n"))
	problems := shellOf(archive)
	slices.Sort(problems)
	if want := []string{"b.sh is there and is not run", "c.sh is run and is not there"}; !slices.Equal(problems, want) {
		t.Errorf("%q, want %q", problems, want)
	}
}

func TestMatches(t *testing.T) {
	for _, test := range []struct {
		expression, out string
		want            bool
	}{
		{"^$", "", true}, {"^$", "\n", true}, {"^$", "deployment.apps/x\n", false}, {"^two$", "one\ntwo\n", true}, {"^$", "one\ntwo", false},
		{`\A\S+ Ready\z`, "a Ready\n", true}, {`\A\S+ Ready\z`, "a Ready\nb Ready\n", false},
	} {
		want, err := pattern(test.expression)
		if err != nil {
			t.Fatal(err)
		}
		if got := (attempt{want: want}).matches(test.out); got != test.want {
			t.Errorf("%s with %q: %t", test.expression, test.out, got)
		}
	}
}

func TestReadyOthers(t *testing.T) {
	if got := readyOthers("a True\nb True\nc False\nd True\n", []string{"a"}); got != 2 {
		t.Errorf("%d others are ready, want b and d", got)
	}
}

func TestValueOf(t *testing.T) {
	for _, test := range []struct {
		out        string
		mayBeEmpty bool
		want       string
		fails      bool
	}{
		{out: " 10.0.0.4\n", want: "10.0.0.4"}, {out: "", fails: true}, {out: " \n", fails: true}, {out: "\n", mayBeEmpty: true}, {out: "a", mayBeEmpty: true, want: "a"},
	} {
		if got, err := valueOf(test.out, test.mayBeEmpty); got != test.want || (err != nil) != test.fails {
			t.Errorf("%+v: %q, %v", test, got, err)
		}
	}
}
