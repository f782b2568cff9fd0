package progress

import (
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/hypershift-on-azure/hypershift/internal/stack"
)

// OfStack prints one line per finished step on stderr, with the time since the command began.
func OfStack(cmd *cobra.Command) stack.Progress {
	begin, sofar := time.Now(), JourneyOf(cmd.Context())
	return func(e stack.Event) {
		sofar.note(e)
		interrupted := e.Err != nil && cmd.Context().Err() != nil // told once, at the end
		if e.Phase == stack.Applying || e.Phase == stack.Deleting || interrupted {
			return
		}
		line := fmt.Sprintf("%6.1fs  %-8s %s %s", time.Since(begin).Seconds(), e.Phase, e.Node.Kind, e.Node.Name)
		if e.Err != nil {
			line += ": " + e.Err.Error()
		}
		fmt.Fprintln(cmd.ErrOrStderr(), line)
	}
}

// Line prints a sentence with the elapsed time.
func Line(cmd *cobra.Command) func(format string, args ...any) {
	begin, sofar := time.Now(), JourneyOf(cmd.Context())
	return func(format string, args ...any) {
		sentence := fmt.Sprintf(format, args...)
		sofar.said(sentence)
		fmt.Fprintf(cmd.ErrOrStderr(), "%6.1fs  %s\n", time.Since(begin).Seconds(), sentence)
	}
}
