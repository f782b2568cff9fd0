package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/hypershift-on-azure/hypershift/internal/cli"
)

// commands is the page of all commands with all their flags, docs/reference/cli.md.
//
//nolint:unparam // every page is rendered by such a function
func commands() (string, error) {
	var out strings.Builder
	root := cli.NewRoot()
	fmt.Fprintf(&out, `# Commands

<!-- Written by hack/apidocs from the commands themselves. -->

%[1]s

All commands take these:

%[2]s

What becomes of each flag, and which test shows it, is in [supported](supported.md).
`, root.Long, "```\n"+root.PersistentFlags().FlagUsages()+"```")
	var visit func(*cobra.Command)
	visit = func(cmd *cobra.Command) {
		if !cmd.IsAvailableCommand() || cmd.Name() == "help" || cmd.Name() == "completion" {
			return
		}
		section(&out, cmd)
		for _, child := range cmd.Commands() {
			visit(child)
		}
	}
	for _, cmd := range root.Commands() {
		visit(cmd)
	}
	return out.String(), nil
}

func section(out *strings.Builder, cmd *cobra.Command) {
	long := strings.TrimSpace(cmd.Long)
	if long == "" {
		long = cmd.Short + "."
	}
	fmt.Fprintf(out, "\n## %s\n\n%s\n\n```\n%s\n\n%s\n```\n", strings.TrimPrefix(cmd.CommandPath(), "hypershift "), escape(long), cmd.UseLine(), strings.TrimRight(cmd.Example, "\n"))
	var rows []string
	add := func(f *pflag.Flag) {
		if f.Hidden || f.Name == "help" {
			return
		}
		name := "`--" + f.Name + "`"
		if f.Shorthand != "" {
			name = "`-" + f.Shorthand + "`, " + name
		}
		preset := ""
		if f.DefValue != "" && f.DefValue != "false" && f.DefValue != "[]" && f.DefValue != "0" {
			preset = "`" + f.DefValue + "`"
		}
		rows = append(rows, fmt.Sprintf("| %s | %s | %s |", name, preset, strings.ReplaceAll(escape(strings.ReplaceAll(f.Usage, "\n", " ")), "|", `\|`)))
	}
	cmd.LocalFlags().VisitAll(add)
	if len(rows) > 0 {
		slices.Sort(rows)
		fmt.Fprintf(out, "\n| Flag | Default | Meaning |\n|---|---|---|\n%s\n", strings.Join(rows, "\n"))
	}
}

// escape keeps what a reader is to put in from being taken for HTML.
func escape(text string) string { return strings.NewReplacer("<", "&lt;", ">", "&gt;").Replace(text) }
