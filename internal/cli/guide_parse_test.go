package cli

import (
	"os"
	"strings"
	"testing"

	"github.com/spf13/pflag"
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

// TestOwnGuideParses holds our own guide to commands that exist.
func TestOwnGuideParses(t *testing.T) {
	raw, err := os.ReadFile("../../docs/guide.md")
	if err != nil {
		t.Fatal(err)
	}
	lines := commandLines(string(raw))
	for _, words := range lines {
		if err := parses(words); err != nil {
			t.Errorf("%s: %v", strings.Join(words, " "), err)
		}
	}
	if len(lines) < 8 {
		t.Errorf("%d commands found: this test proves nothing", len(lines))
	}
}
