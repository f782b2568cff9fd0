package progress

import (
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"github.com/hypershift-on-azure/hypershift/internal/azure/failure"
	"github.com/hypershift-on-azure/hypershift/internal/stack"
)

// OfStack prints one line per finished step on stderr, with the time since the command began.
func OfStack(cmd *cobra.Command) stack.Progress {
	begin, sofar, waits := time.Now(), JourneyOf(cmd.Context()), waiting{}
	return func(e stack.Event) {
		sofar.note(e)
		interrupted := e.Err != nil && cmd.Context().Err() != nil // told once, at the end
		begins := e.Phase == stack.Applying || e.Phase == stack.Deleting
		if begins && !is(cmd, flagVerbose, "true") || interrupted {
			return
		}
		words := ""
		switch {
		case e.Phase == stack.Waiting:
			if words = waits.words(e); words == "" {
				return
			}
		case e.Err != nil:
			words = ": " + e.Err.Error()
		}
		tell(cmd, begin, entry{Phase: string(e.Phase), Kind: e.Node.Kind, Name: e.Node.Name, Message: strings.TrimLeft(words, ":, ")},
			fmt.Sprintf("%-8s %s %s%s", e.Phase, e.Node.Kind, e.Node.Name, words))
	}
}

// tellEvery is how often a person is told that the same is still waited for.
const tellEvery = 15 * time.Second

// waiting knows what was told of each node that waits. The zero value works.
type waiting struct {
	mu   sync.Mutex
	told map[*stack.Node]told
}

type told struct {
	what string // is waited for, and why
	at   time.Duration
}

// words say what a node waits for: with the reason at first and when that changes, then how long already, now and then; else "".
func (w *waiting) words(e stack.Event) string {
	w.mu.Lock()
	defer w.mu.Unlock()
	before, again := w.told[e.Node]
	reason := e.Wait.For + failure.CodeOf(e.Err)
	if again && before.what == reason && e.Elapsed-before.at < tellEvery {
		return ""
	}
	if w.told == nil {
		w.told = map[*stack.Node]told{}
	}
	w.told[e.Node] = told{reason, e.Elapsed}
	words := ""
	if e.Wait.For != "" {
		words = " for " + e.Wait.For
	}
	words += fmt.Sprintf(", %d s so far, up to %s", int(e.Wait.SoFar.Seconds()), limit(e.Wait.Limit))
	if again && before.what == reason {
		return words
	}
	return words + ": " + e.Err.Error()
}

// limit is a time as people say it.
func limit(d time.Duration) string {
	if d%time.Minute == 0 {
		return fmt.Sprintf("%d min", int(d.Minutes()))
	}
	return d.String()
}

// Line prints a sentence with the elapsed time.
func Line(cmd *cobra.Command) func(format string, args ...any) {
	begin, sofar := time.Now(), JourneyOf(cmd.Context())
	return func(format string, args ...any) {
		sentence := fmt.Sprintf(format, args...)
		sofar.said(sentence)
		tell(cmd, begin, entry{Message: sentence}, sentence)
	}
}
