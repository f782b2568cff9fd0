package printing

import (
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/hypershift-on-azure/hypershift/internal/field"
)

// Suggest is field.Suggest, for commands.
func Suggest(typed string, known []string) string { return field.Suggest(typed, known) }

// SuggestFlag adds to the error of an unknown flag the one that was meant.
func SuggestFlag(cmd *cobra.Command, err error) error {
	_, name, unknown := strings.Cut(err.Error(), "unknown flag: --")
	if !unknown {
		return err
	}
	var known []string
	add := func(f *pflag.Flag) {
		if !f.Hidden {
			known = append(known, "--"+f.Name)
		}
	}
	cmd.Flags().VisitAll(add)
	cmd.InheritedFlags().VisitAll(add)
	if meant := Suggest("--"+name, known); meant != "" {
		return &misspelt{err, meant}
	}
	return err
}

type misspelt struct {
	error
	meant string
}

// Error implements error.
func (m *misspelt) Error() string { return m.error.Error() + m.meant }

// Unwrap is the error of the flag library.
func (m *misspelt) Unwrap() error { return m.error }
