package guide

import (
	"os"
	"slices"
	"strings"
	"testing"
)

func TestCommands(t *testing.T) {
	fence := "```"
	for _, tc := range []struct {
		name, markdown string
		want           []Command
	}{
		{"indented", "# One\n\ntext\n\n    a\n    b -x\n\n    c\n", []Command{{"One", 5, "a"}, {"One", 6, "b -x"}, {"One", 8, "c"}}},
		{"continued", "    a \\\n      b\n    c\n", []Command{{"", 1, "a \\\n  b"}, {"", 3, "c"}}},
		{"loop", "    for i in 1 2; do\n      echo $i\n    done > f\n    c\n", []Command{{"", 1, "for i in 1 2; do\n  echo $i\ndone > f"}, {"", 4, "c"}}},
		{"quote over lines", fence + "sh\na 'b\nc'\n" + fence + "\n", []Command{{"", 2, "a 'b\nc'"}}},
		{"empty line in a quote", "    a 'b\n    \n    c'\n", []Command{{"", 1, "a 'b\n\nc'"}}},
		{"comment", "    # says why\n    a # why\n", []Command{{"", 2, "a # why"}}},
		{"no code: the line goes on", "text\n    goes on\n", nil},
		{"span", "## Two ##\n\nRun `kubectl get nodes`, not `kubectl`.\n", []Command{{"Two", 3, "kubectl get nodes"}}},
		{"span over lines", "Run\n`kubectl get\nnodes` now\n", []Command{{"", 2, "kubectl get nodes"}}},
		{"span of ours", "`create dns azure --dns-zone-name x` and `create dns azure`, `--flag`", []Command{{"", 1, "create dns azure --dns-zone-name x"}}},
		{"row", "| a | b |\n|---|---|\n| x | `az group list \\| cat`, then `oc get nodes` |\n", []Command{{"", 3, "az group list | cat"}, {"", 3, "oc get nodes"}}},
		{"two backticks", "``kubectl get `x` ``", []Command{{"", 1, "kubectl get `x`"}}},
		{"windows", "    a\r\n    b\r\n", []Command{{"", 1, "a"}, {"", 2, "b"}}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got, err := Commands(tc.markdown, Complete)
			if err != nil || !slices.Equal(got, tc.want) {
				t.Errorf("got %+v, %v, want %+v", got, err, tc.want)
			}
		})
	}
}

func TestCommandsRefuses(t *testing.T) {
	for name, markdown := range map[string]string{
		"line 1: the fence is never closed":     "```sh\na\n",
		`line 2: the language of a fence is "y`: "text\n```yaml\na: b\n```\n",
		"line 2: a command has no end: a '":     "\n    a '\n\ntext\n",
	} {
		if got, err := Commands(markdown, Complete); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%q: %+v, %v, want %q", markdown, got, err, name)
		}
	}
}

func TestWithout(t *testing.T) {
	commands := []Command{{"", 1, "a"}, {"", 2, "b"}, {"", 3, "a"}}
	typed, listed, err := Without(commands, "# because\na\n\n")
	if err != nil || listed != 2 || !slices.Equal(typed, commands[1:2]) {
		t.Errorf("typed %+v, listed %d, %v", typed, listed, err)
	}
	if _, _, err := Without(commands, "a\nstale"); err == nil || !strings.Contains(err.Error(), `"stale"`) {
		t.Errorf("a stale line gives %v", err)
	}
}

// FuzzCommands: whatever the text, a command is where it is said to be.
func FuzzCommands(f *testing.F) {
	raw, err := os.ReadFile("../../../docs/guide.md")
	if err != nil {
		f.Fatal(err)
	}
	f.Add(string(raw))
	f.Add("# a\n\n    b \\\n    c\n```sh\nd\n```\n| `az x` |\n")
	f.Fuzz(func(t *testing.T, markdown string) {
		commands, err := Commands(markdown, func(text string) bool { return strings.Count(text, "'")%2 == 0 })
		if err != nil {
			return
		}
		lines := strings.Split(markdown, "\n")
		for _, c := range commands {
			if c.Line < 1 || c.Line > len(lines) || strings.TrimSpace(c.Text) == "" {
				t.Fatalf("command %+v of %d lines", c, len(lines))
			}
			if word := strings.Fields(c.Text)[0]; !strings.Contains(lines[c.Line-1], word) && !strings.Contains(lines[c.Line-1], "`") {
				t.Fatalf("line %d, %q, has no %q", c.Line, lines[c.Line-1], word)
			}
		}
	})
}
