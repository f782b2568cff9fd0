// Package checklist prints what a look before a first write has found, and ends the command by the worst of it.
package checklist

import (
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/hypershift-on-azure/hypershift/internal/cli/printing"
	"github.com/hypershift-on-azure/hypershift/internal/preflight"
)

// Flags say how a list of checks is printed and judged.
type Flags struct {
	Output string
	Strict bool
}

// Add defines the flags.
func (f *Flags) Add(cmd *cobra.Command) {
	cmd.Flags().BoolVar(&f.Strict, "strict", false, "a warning is a failure")
	cmd.Flags().StringVarP(&f.Output, "output", "o", "", "json or yaml; a table by default")
}

// Print prints the checks. The error, which is exit status 1, tells that one has failed, or warned where that is a failure.
func (f *Flags) Print(out io.Writer, checks []preflight.Check) error {
	var err error
	if f.Output != "" {
		err = printing.Object(out, f.Output, checks)
	} else {
		err = table(checks).Print(out, printing.PainterFor(out))
	}
	if err != nil {
		return err
	}
	switch worst := preflight.Worst(checks); {
	case worst == preflight.Fail:
		return fmt.Errorf("%d of %d checks failed", count(checks, preflight.Fail), len(checks))
	case worst == preflight.Warn && f.Strict:
		return errors.New("a check warns, and --strict takes that for a failure")
	}
	return nil
}

func count(checks []preflight.Check, status preflight.Status) int {
	n := 0
	for _, c := range checks {
		if c.Status == status {
			n++
		}
	}
	return n
}

func table(checks []preflight.Check) printing.Table {
	t := printing.Table{Head: []string{"RESULT", "CHECK", "FOUND"}}
	tones := map[preflight.Status]printing.Tone{preflight.Pass: printing.Good, preflight.Warn: printing.Warning, preflight.Fail: printing.Bad}
	for _, c := range checks {
		row := printing.Plain(string(c.Status), c.Name, c.Detail)
		row[0].Tone = tones[c.Status]
		if c.Remedy != "" {
			row[2].Text += "; to do: " + c.Remedy
		}
		t.Rows = append(t.Rows, row)
	}
	return t
}
