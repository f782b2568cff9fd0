package cli

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/pflag"

	typing "github.com/hypershift-on-azure/hypershift/test/e2e/guide"
)

// guideLines are the commands of the published guides, and how often each of them is given.
func guideLines(t *testing.T) [][]string {
	t.Helper()
	raw, err := os.ReadFile("testdata/guide.txt")
	if err != nil {
		t.Fatal(err)
	}
	return commandLines(string(raw))
}

// TestGuideParses holds every command of the guides to reach a command that knows its flags, and to give each flag the value that was
// typed: an alias that fills something else would pass a parser.
func TestGuideParses(t *testing.T) {
	count := map[string]int{}
	for _, words := range guideLines(t) {
		line := strings.Join(words, " ")
		if err := parses(words); err != nil {
			t.Errorf("%s: %v", line, err)
			continue
		}
		cmd, rest, err := NewRoot().Traverse(words)
		if err != nil {
			t.Fatal(err)
		}
		count[strings.TrimPrefix(cmd.CommandPath(), "hypershift ")]++
		var flags []string
		for _, word := range rest {
			if word != "..." {
				flags = append(flags, word)
			}
		}
		if err := cmd.ParseFlags(flags); err != nil {
			t.Fatal(err)
		}
		typed := strings.Join(strings.FieldsFunc(line, func(r rune) bool { return r == ' ' || r == '=' }), " ") + " "
		cmd.Flags().Visit(func(f *pflag.Flag) {
			want := "--" + f.Name + " " + strings.Trim(f.Value.String(), "[]") + " "
			if f.Value.Type() == "bool" {
				want = "--" + f.Name + " "
			}
			if !strings.Contains(typed, want) {
				t.Errorf("%s: --%s is %q, which nobody typed", line, f.Name, f.Value)
			}
		})
	}
	for command, want := range map[string]int{
		"install": 7, "create cluster azure": 10, "create infra azure": 1, "create nodepool azure": 4, "create kubeconfig": 1, "destroy cluster azure": 1,
	} {
		if count[command] != want {
			t.Errorf("%d lines are for %s, want %d", count[command], command, want)
		}
	}
}

// TestOwnPagesParse holds our own pages to commands that exist: what is indented or fenced, and spans of code.
func TestOwnPagesParse(t *testing.T) {
	pages, err := filepath.Glob("../../docs/*.md")
	if err != nil {
		t.Fatal(err)
	}
	count := 0
	for _, page := range pages {
		raw, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		for _, words := range append(commandLines(string(raw)), spansOf(string(raw))...) {
			count++
			if err := parses(words); err != nil {
				t.Errorf("%s: %s: %v", filepath.Base(page), strings.Join(words, " "), err)
			}
		}
	}
	if count < 30 {
		t.Errorf("%d commands found: this test proves nothing", count)
	}
}

// spansOf are the spans of code that are a whole command with a flag, or name one that has no flags to judge.
func spansOf(text string) [][]string {
	var all [][]string
	for i, span := range strings.Split(text, "`") {
		if i%2 == 1 && strings.HasPrefix(span, "hypershift ") && !strings.Contains(span, "\n") && strings.Contains(span, " --") {
			all = append(all, commandLines(span)...)
		}
	}
	return all
}

// kind is what a command line asks for without its values: the program, its words to the first value, and the flags by name.
func kind(line string) string {
	var words, flags []string
	valued := false
	for _, word := range strings.Fields(strings.NewReplacer("\\\n", " ", `"`, "", "'", "").Replace(line)) {
		if word == ">" || word == "||" {
			break
		}
		switch {
		case strings.HasPrefix(word, "-"):
			name, _, _ := strings.Cut(word, "=")
			flags, valued = append(flags, name), true
		case !valued && !strings.ContainsAny(word, "$.*"):
			resource, _, _ := strings.Cut(word, "/")
			words = append(words, resource)
		}
	}
	slices.Sort(flags)
	return strings.Join(append(words, slices.Compact(flags)...), " ")
}

// TestGuidesAreTyped holds the script that types the published guides to have every command of theirs with all its flags, typed or listed
// with the reason, and to parse.
func TestGuidesAreTyped(t *testing.T) {
	raw, err := os.ReadFile("../../test/e2e/testdata/long/81-seeds.txtar")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(raw), "\n-- not-typed --\n")
	list, text, found := strings.Cut(rest, "\n-- guides.md --\n")
	if !found {
		t.Fatal("the script has no file guides.md after not-typed")
	}
	commands, err := typing.Commands(text, typing.Complete)
	if err != nil {
		t.Fatal(err)
	}
	if _, listed, err := typing.Without(commands, list); err != nil || listed > 7 {
		t.Errorf("%d commands are not typed, of which 7 have a reason: %v", listed, err)
	}
	there := map[string]bool{}
	for _, command := range commands {
		line := strings.TrimPrefix(strings.TrimPrefix(command.Text, "timeout 5 "), "${HYPERSHIFT_BINARY_PATH}/")
		there[kind(line)] = true
		for _, words := range commandLines(command.Text) {
			if err := parses(words); err != nil {
				t.Errorf("%s: %v", command.Text, err)
			}
		}
	}
	published, err := os.ReadFile("testdata/guide.txt")
	if err != nil {
		t.Fatal(err)
	}
	var count int
	for _, line := range strings.Split(strings.ReplaceAll(string(published), "\\\n", " "), "\n") {
		line = strings.TrimPrefix(line, "${HYPERSHIFT_BINARY_PATH}/")
		program, _, _ := strings.Cut(line, " ")
		if strings.Contains(line, "...") || !slices.Contains([]string{"hypershift", "kubectl", "oc"}, filepath.Base(program)) {
			continue
		}
		count++
		if !there[kind(line)] {
			t.Errorf("nobody types %s", line)
		}
	}
	if count < 40 {
		t.Errorf("%d commands are compared: this test proves little", count)
	}
}
