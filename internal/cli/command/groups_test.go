package command_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/hypershift-on-azure/hypershift/internal/cli/command"
)

// Flags stand under their headings, each once; one without a heading comes last, and a hidden one nowhere.
func TestGroup(t *testing.T) {
	cmd := &cobra.Command{Use: "make", Short: "Make", Example: "  make it", Run: func(*cobra.Command, []string) {}}
	cmd.Flags().String("plain", "", "has no group")
	command.Group(cmd, "Network", func(f *pflag.FlagSet) { f.String("range", "", "of addresses") })
	command.Group(cmd, "Machines", func(f *pflag.FlagSet) {
		f.String("size", "", "of machines")
		f.String("alias", "", "of size")
		_ = f.MarkHidden("alias")
	})
	command.Group(cmd, "Network", func(f *pflag.FlagSet) { f.String("subnet", "", "of a network") })
	var out bytes.Buffer
	cmd.SetOut(&out)
	cmd.SetErr(&out)
	cmd.SetArgs([]string{"--help"})
	if err := cmd.Execute(); err != nil {
		t.Fatal(err)
	}
	var order []string
	for line := range strings.SplitSeq(out.String(), "\n") {
		words := strings.Fields(strings.TrimPrefix(strings.TrimSpace(line), "-h, "))
		if len(words) > 0 && (strings.HasPrefix(words[0], "--") || strings.HasSuffix(line, ":")) {
			order = append(order, words[0])
		}
	}
	if got := strings.Join(order, " "); got != "Usage: Examples: Machines: --size Network: --range --subnet Flags: --help --plain" {
		t.Errorf("%s\n%s", got, out.String())
	}
}

// A grouped help tells the flags that the command inherits, and its aliases.
func TestGroupTellsInherited(t *testing.T) {
	root := &cobra.Command{Use: "tool"}
	root.PersistentFlags().BoolP("quiet", "q", false, "tell nothing")
	cmd := &cobra.Command{Use: "make", Aliases: []string{"build"}, Short: "Make", Example: "  make it", Run: func(*cobra.Command, []string) {}}
	root.AddCommand(cmd)
	command.Group(cmd, "Network", func(f *pflag.FlagSet) { f.String("range", "", "of addresses") })
	var out bytes.Buffer
	root.SetOut(&out)
	root.SetErr(&out)
	root.SetArgs([]string{"make", "--help"})
	if err := root.Execute(); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"Aliases:\n  make, build\n", "Global Flags:\n  -q, --quiet "} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("the help lacks %q:\n%s", want, out.String())
		}
	}
}
