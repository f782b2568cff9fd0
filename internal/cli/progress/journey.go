// Package progress tells a person what a command does while it runs, and what it has done when it is interrupted.
package progress

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"

	"github.com/hypershift-on-azure/hypershift/internal/azure/failure"
	"github.com/hypershift-on-azure/hypershift/internal/cli/printing"
	"github.com/hypershift-on-azure/hypershift/internal/stack"
)

// InterruptedStatus is what a shell reports of a program that an interrupt has ended: 128 and the number of the signal.
const InterruptedStatus = 130

// Journey is what a command line has done so far, for the person who interrupts it.
type Journey struct {
	args []string

	mu       sync.Mutex
	counts   map[stack.Phase]int
	underWay []string // steps that have begun and not ended, in the order in which they began
	last     string   // the last sentence of progress
	next     string   // what to type, where that is not the same command line again
}

type journeyKey struct{}

// WithJourney is a context that carries the journey of a command line.
func WithJourney(ctx context.Context, args []string) (context.Context, *Journey) {
	j := &Journey{args: args, counts: map[stack.Phase]int{}}
	return context.WithValue(ctx, journeyKey{}, j), j
}

// JourneyOf returns the journey of the context, or an unused one when the context has none.
func JourneyOf(ctx context.Context) *Journey {
	if j, ok := ctx.Value(journeyKey{}).(*Journey); ok {
		return j
	}
	_, j := WithJourney(ctx, nil)
	return j
}

// note takes a step of a stack.
func (j *Journey) note(e stack.Event) {
	j.mu.Lock()
	defer j.mu.Unlock()
	name := e.Node.Kind + " " + e.Node.Name
	j.underWay = slices.DeleteFunc(j.underWay, func(other string) bool { return other == name })
	switch e.Phase {
	case stack.Applying, stack.Deleting, stack.Waiting:
		j.underWay = append(j.underWay, name)
	default:
		j.counts[e.Phase]++
	}
}

// said takes a sentence of progress.
func (j *Journey) said(sentence string) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.last = sentence
}

// Advise says what to type after an interrupt; without it, it is the same command line again.
func (j *Journey) Advise(next string) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.next = next
}

// Typed is the command line as a person would type it, with more words at its end.
func (j *Journey) Typed(more ...string) string {
	words := []string{"hypershift"}
	for _, word := range append(slices.Clone(j.args), more...) {
		words = append(words, quoted(word))
	}
	return strings.Join(words, " ")
}

// quoted is a word as a shell takes it.
func quoted(word string) string {
	plain := func(r rune) bool {
		return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("-_./:=,@%+", r)
	}
	if word != "" && strings.IndexFunc(word, func(r rune) bool { return !plain(r) }) < 0 {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}

// ReportInterrupt says in three lines what was under way, what is done, and what to type.
func (j *Journey) ReportInterrupt(w io.Writer, err error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	fmt.Fprintln(w, "aborted: interrupted"+j.during()+failuresOf(err))
	fmt.Fprintln(w, "so far: "+j.soFar())
	next := j.next
	if next == "" {
		next = "to go on, type the same command again: " + j.Typed()
	}
	fmt.Fprintln(w, "next: "+next)
}

// namedSteps is how many steps under way are named.
const namedSteps = 3

func (j *Journey) during() string {
	named := j.underWay[:min(len(j.underWay), namedSteps)]
	switch more := len(j.underWay) - len(named); {
	case len(named) == 0 && j.last != "":
		return " after: " + printing.Shorten(j.last)
	case len(named) == 0:
		return ""
	case more > 0:
		return fmt.Sprintf(" during %s and %d more", strings.Join(named, ", "), more)
	}
	return " during " + strings.Join(named, ", ")
}

func (j *Journey) soFar() string {
	var parts []string
	for _, phase := range []stack.Phase{stack.Kept, stack.Applied, stack.Deleted} {
		if n := j.counts[phase]; n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, phase))
		}
	}
	if len(parts) == 0 {
		return "no resource in Azure was created or deleted"
	}
	if len(j.underWay) > 0 {
		parts = append(parts, fmt.Sprintf("%d begun, which Azure may still finish", len(j.underWay)))
	}
	return strings.Join(parts, ", ")
}

// failuresOf are the words of what failed beside the interrupt, such as a file that could not be written.
func failuresOf(err error) string {
	var words []string
	for _, failure := range notInterrupted(err) {
		words = append(words, printing.OneLine(failure))
	}
	if len(words) == 0 {
		return ""
	}
	return "; beside that: " + printing.Shorten(strings.Join(words, "; "))
}

// notInterrupted are the errors of a tree that no interrupt caused.
func notInterrupted(err error) []error {
	if !errors.Is(err, context.Canceled) && !failure.IsUnanswered(err) {
		if err == nil {
			return nil
		}
		return []error{err}
	}
	switch tree := err.(type) { //nolint:errorlint // each branch is looked at
	case *failure.Error:
		return nil
	case interface{ Unwrap() []error }:
		var all []error
		for _, branch := range tree.Unwrap() {
			all = append(all, notInterrupted(branch)...)
		}
		return all
	case interface{ Unwrap() error }:
		return notInterrupted(tree.Unwrap())
	}
	return nil
}
