// Package command makes commands that lead to others.
package command

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	_ "github.com/hypershift-on-azure/hypershift/internal/cli/fieldflags" // errors of the domains name flags
	"github.com/hypershift-on-azure/hypershift/internal/cli/printing"
)

// ErrHelp ends a command that was given no subcommand: help was printed, and nothing was done.
var ErrHelp = errors.New("a subcommand is needed")

// Parent is a command that only leads to others; its examples are the first one of each.
func Parent(use, short string, children ...*cobra.Command) *cobra.Command {
	cmd := &cobra.Command{Use: use, Short: short, RunE: NeedSubcommand}
	cmd.AddCommand(children...)
	var examples []string
	for _, child := range children {
		if !child.Hidden {
			examples = append(examples, firstExample(child.Example))
		}
	}
	cmd.Example = strings.Join(examples, "\n")
	return cmd
}

// firstExample is the first command line, continued lines included.
func firstExample(text string) string {
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		if !strings.HasSuffix(line, `\`) {
			return strings.Join(lines[:i+1], "\n")
		}
	}
	return text
}

// NeedSubcommand runs a command that only leads to others: it prints its help, and refuses words that are none of them.
func NeedSubcommand(cmd *cobra.Command, args []string) error {
	if len(args) > 0 {
		var known []string
		for _, child := range cmd.Commands() {
			if child.IsAvailableCommand() {
				known = append(known, child.Name())
			}
		}
		return fmt.Errorf("unknown command %q for %q%s; see `%s -h`", args[0], cmd.CommandPath(), printing.Suggest(args[0], known), cmd.CommandPath())
	}
	if err := cmd.Help(); err != nil {
		return err
	}
	return ErrHelp
}

// FlagError says what was meant by a flag that is unknown: where a word before it names no subcommand, that word is what is wrong.
func FlagError(cmd *cobra.Command, err error) error {
	if words := cmd.Flags().Args(); len(words) > 0 && cmd.HasAvailableSubCommands() {
		return NeedSubcommand(cmd, words)
	}
	return printing.SuggestFlag(cmd, err)
}

// Given tells whether a flag was typed.
func Given(cmd *cobra.Command, flag string) bool {
	f := cmd.Flags().Lookup(flag)
	return f != nil && f.Changed
}

// OneName refuses a command line that does not name exactly one thing.
func OneName(cmd *cobra.Command, args []string) error {
	if len(args) != 1 || args[0] == "" {
		return fmt.Errorf("%d names are given, and one is needed: `%s`", len(args), cmd.UseLine())
	}
	return nil
}
