package command

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// group is the annotation that says in which group of a help text a flag stands.
const group = "hypershift_group"

// Group puts the flags that add defines under a heading of the command's help.
func Group(cmd *cobra.Command, heading string, add func(*pflag.FlagSet)) {
	before := map[string]bool{}
	cmd.Flags().VisitAll(func(f *pflag.Flag) { before[f.Name] = true })
	add(cmd.Flags())
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		if before[f.Name] {
			return
		}
		if f.Annotations == nil {
			f.Annotations = map[string][]string{}
		}
		f.Annotations[group] = []string{heading}
	})
	cmd.SetUsageFunc(grouped)
}

// grouped prints a command's usage with its flags under headings, in the order of the alphabet; what has none comes after them, and what
// the command inherits comes last.
func grouped(cmd *cobra.Command) error {
	headings, flags := []string{}, map[string]*pflag.FlagSet{}
	put := func(heading string, f *pflag.Flag) {
		if flags[heading] == nil {
			headings = append(headings, heading)
			flags[heading] = pflag.NewFlagSet("", pflag.ContinueOnError)
		}
		flags[heading].AddFlag(f)
	}
	cmd.LocalFlags().VisitAll(func(f *pflag.Flag) {
		heading := "Flags"
		if said := f.Annotations[group]; len(said) > 0 {
			heading = said[0]
		}
		if !f.Hidden {
			put(heading, f)
		}
	})
	slices.SortFunc(headings, func(a, b string) int {
		if (a == "Flags") != (b == "Flags") {
			return map[bool]int{true: 1, false: -1}[a == "Flags"]
		}
		return strings.Compare(a, b)
	})
	out := cmd.OutOrStderr()
	fmt.Fprintf(out, "Usage:\n  %s\n", cmd.UseLine())
	if len(cmd.Aliases) > 0 {
		fmt.Fprintf(out, "\nAliases:\n  %s\n", cmd.NameAndAliases())
	}
	fmt.Fprintf(out, "\nExamples:\n%s\n", cmd.Example)
	for _, heading := range headings {
		fmt.Fprintf(out, "\n%s:\n%s", heading, flags[heading].FlagUsages())
	}
	if cmd.HasAvailableInheritedFlags() {
		fmt.Fprintf(out, "\nGlobal Flags:\n%s", cmd.InheritedFlags().FlagUsages())
	}
	return nil
}
