package cli

import (
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// everyCommand walks the tree, without what cobra adds.
func everyCommand(cmd *cobra.Command, visit func(*cobra.Command)) {
	visit(cmd)
	for _, sub := range cmd.Commands() {
		if sub.Name() != "help" && sub.Name() != "completion" {
			everyCommand(sub, visit)
		}
	}
}

// TestHelp holds every command to say what it does and how it is typed, and every flag what it is for. The examples are parsed: one
// that names a flag the command does not have misleads.
func TestHelp(t *testing.T) {
	everyCommand(NewRoot(), func(cmd *cobra.Command) {
		path := cmd.CommandPath()
		if cmd.Short == "" {
			t.Errorf("%s does not say what it does", path)
		}
		if cmd.Example == "" {
			t.Errorf("%s has no example", path)
		}
		if !cmd.Runnable() {
			t.Errorf("%s without a subcommand would print help and report success", path)
		}
		cmd.Flags().VisitAll(func(f *pflag.Flag) {
			if strings.TrimSpace(f.Usage) == "" {
				t.Errorf("%s --%s has no description", path, f.Name)
			}
		})
		for _, line := range commandLines(cmd.Example) {
			if err := parses(line); err != nil {
				t.Errorf("the example of %s, %q: %v", path, strings.Join(line, " "), err)
			}
		}
	})
}

// commandLines are the hypershift commands of a text, as words; what a shell does with the output is left out.
func commandLines(text string) [][]string {
	var lines [][]string
	for _, line := range strings.Split(strings.ReplaceAll(text, "\\\n", " "), "\n") {
		words := strings.Fields(strings.NewReplacer(`"`, "", "'", "").Replace(line))
		for i, word := range words {
			if word == ">" || word == "&&" || word == "|" || strings.HasPrefix(word, "#") {
				words = words[:i]
				break
			}
		}
		if len(words) > 0 && strings.HasSuffix(words[0], "hypershift") {
			lines = append(lines, words[1:])
		}
	}
	return lines
}

// parses tells whether the command line reaches a command that knows its flags. "..." stands for what is left out.
func parses(words []string) error {
	cmd, rest, err := NewRoot().Traverse(words)
	if err != nil {
		return err
	}
	var flags []string
	for _, word := range rest {
		if word != "..." {
			flags = append(flags, word)
		}
	}
	cmd.InitDefaultHelpFlag()
	if err := cmd.ParseFlags(flags); err != nil {
		return err
	}
	if cmd.Flag("help").Changed {
		return nil // help is given whatever the arguments
	}
	return cmd.ValidateArgs(cmd.Flags().Args())
}

// TestEveryAzureCommandPlans holds the commands that change Azure to show their plan first, in every form, and to reach every cloud.
func TestEveryAzureCommandPlans(t *testing.T) {
	var found int
	everyCommand(NewRoot(), func(cmd *cobra.Command) {
		verb := strings.Fields(cmd.CommandPath() + " -")[1]
		changes := verb == "create" || verb == "destroy" || verb == "rotate"
		if cmd.Name() != "azure" || !changes || cmd.Parent().Name() == "nodepool" { // a node pool is made by the operator
			return
		}
		found++
		for _, name := range []string{"dry-run", "output", "cloud", "azure-creds"} {
			if cmd.Flag(name) == nil {
				t.Errorf("%s has no --%s", cmd.CommandPath(), name)
			}
		}
		if cmd.Flag("handoff") == nil && cmd.Flag("from") == nil {
			t.Errorf("%s takes no hand-off file", cmd.CommandPath())
		}
	})
	if found < 11 {
		t.Errorf("%d commands found: this test proves nothing", found)
	}
}

// TestValuesHaveNames: backquotes in a flag's usage name its value, so a quoted command would stand where the value's kind belongs.
func TestValuesHaveNames(t *testing.T) {
	everyCommand(NewRoot(), func(cmd *cobra.Command) {
		cmd.LocalFlags().VisitAll(func(f *pflag.Flag) {
			if name, _ := pflag.UnquoteUsage(f); strings.Contains(name, " ") {
				t.Errorf("%s --%s: its value is called %q", cmd.CommandPath(), f.Name, name)
			}
		})
	})
}

// TestNamespaceIsShort: -n is --namespace wherever there is one, as kubectl has it, and nothing else anywhere.
func TestNamespaceIsShort(t *testing.T) {
	found := 0
	everyCommand(NewRoot(), func(cmd *cobra.Command) {
		if f := cmd.Flags().Lookup("namespace"); f != nil {
			found++
			if f.Shorthand != "n" {
				t.Errorf("%s has --namespace without -n", cmd.CommandPath())
			}
		}
		if f := cmd.Flags().ShorthandLookup("n"); f != nil && f.Name != "namespace" {
			t.Errorf("%s: -n is --%s", cmd.CommandPath(), f.Name)
		}
	})
	if found < 30 {
		t.Errorf("%d commands have --namespace: this test proves nothing", found)
	}
}
