package progress

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/hypershift-on-azure/hypershift/internal/cli/printing"
)

// Forms of progress.
const (
	Plain = "plain"
	JSON  = "json"
	None  = "none"
)

const (
	flagForm    = "progress"
	flagQuiet   = "quiet"
	flagVerbose = "verbose"
)

// form is the value of --progress.
type form string

// String is of pflag's interface.
func (f *form) String() string { return string(*f) }

// Type is of pflag's interface.
func (f *form) Type() string { return "string" }

// Set is of pflag's interface.
func (f *form) Set(text string) error {
	switch text {
	case Plain, JSON, None:
		*f = form(text)
		return nil
	}
	return fmt.Errorf("use %s, %s or %s%s", Plain, JSON, None, printing.Suggest(text, []string{Plain, JSON, None}))
}

// AddFlags gives a command and all below it the flags that say how progress is told.
func AddFlags(cmd *cobra.Command) {
	told := form(Plain)
	flags := cmd.PersistentFlags()
	flags.Var(&told, flagForm, "how progress is told on stderr: plain lines, json (an object on each line) or none")
	flags.BoolP(flagQuiet, "q", false, "tell no progress; warnings and errors are told")
	flags.BoolP(flagVerbose, "v", false, "tell each step when it begins, too")
	_ = cmd.RegisterFlagCompletionFunc(flagForm, cobra.FixedCompletions([]string{Plain, JSON, None}, cobra.ShellCompDirectiveNoFileComp))
}

// is tells whether a flag of AddFlags has a value. A command that stands alone, as in a test, has none of them.
func is(cmd *cobra.Command, flag, value string) bool {
	f := cmd.Flag(flag)
	return f != nil && f.Value.String() == value
}

// Line of progress, as programs read it.
type entry struct {
	// Time is when it was told, Elapsed the seconds since the command began.
	Time    time.Time `json:"time"`
	Elapsed float64   `json:"elapsed"`
	// Phase, Kind and Name are of a step of a stack; Message is a sentence, or why a step waits or has failed.
	Phase   string `json:"phase,omitempty"`
	Kind    string `json:"kind,omitempty"`
	Name    string `json:"name,omitempty"`
	Message string `json:"message,omitempty"`
}

// tell prints an entry in the form that is asked for; plain is its line.
func tell(cmd *cobra.Command, begin time.Time, e entry, plain string) {
	e.Time = time.Now().UTC()
	passed := e.Time.Sub(begin)
	e.Elapsed = float64(passed.Milliseconds()) / 1000
	switch {
	case is(cmd, flagQuiet, "true") || is(cmd, flagForm, None):
	case is(cmd, flagForm, JSON):
		raw, _ := json.Marshal(e) // it is data
		fmt.Fprintf(cmd.ErrOrStderr(), "%s\n", raw)
	default:
		fmt.Fprintf(cmd.ErrOrStderr(), "%6.1fs  %s\n", passed.Seconds(), plain)
	}
}
