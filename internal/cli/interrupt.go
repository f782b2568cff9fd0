package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"

	"github.com/hypershift-on-azure/hypershift/internal/azure"
	"github.com/hypershift-on-azure/hypershift/internal/stack"
)

// interruptedStatus is what a shell reports of a program that an interrupt has ended: 128 and the number of the signal.
const interruptedStatus = 130

// journey is what a command line has done so far, for the person who interrupts it.
type journey struct {
	args []string

	mu       sync.Mutex
	counts   map[stack.Phase]int
	underWay []string // steps that have begun and not ended, in the order in which they began
	last     string   // the last sentence of progress
	next     string   // what to type, where that is not the same command line again
}

type journeyKey struct{}

func withJourney(ctx context.Context, args []string) (context.Context, *journey) {
	j := &journey{args: args, counts: map[stack.Phase]int{}}
	return context.WithValue(ctx, journeyKey{}, j), j
}

// journeyOf is the command line's; where there is none, one that nobody looks at.
func journeyOf(ctx context.Context) *journey {
	if j, ok := ctx.Value(journeyKey{}).(*journey); ok {
		return j
	}
	_, j := withJourney(ctx, nil)
	return j
}

// note takes a step of a stack.
func (j *journey) note(e stack.Event) {
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
func (j *journey) said(sentence string) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.last = sentence
}

// advise says what to type after an interrupt; without it, it is the same command line again.
func (j *journey) advise(next string) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.next = next
}

// typed is the command line as a person would type it, with more words at its end.
func (j *journey) typed(more ...string) string {
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

// reportInterrupt says in three lines what was under way, what is done, and what to type.
func (j *journey) reportInterrupt(w io.Writer, err error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	fmt.Fprintln(w, "aborted: interrupted"+j.during()+failuresOf(err))
	fmt.Fprintln(w, "so far: "+j.soFar())
	next := j.next
	if next == "" {
		next = "to go on, type the same command again: " + j.typed()
	}
	fmt.Fprintln(w, "next: "+next)
}

// namedSteps is how many steps under way are named.
const namedSteps = 3

func (j *journey) during() string {
	named := j.underWay[:min(len(j.underWay), namedSteps)]
	switch more := len(j.underWay) - len(named); {
	case len(named) == 0 && j.last != "":
		return " after: " + shortened(j.last)
	case len(named) == 0:
		return ""
	case more > 0:
		return fmt.Sprintf(" during %s and %d more", strings.Join(named, ", "), more)
	}
	return " during " + strings.Join(named, ", ")
}

func (j *journey) soFar() string {
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
		words = append(words, oneLine(failure))
	}
	if len(words) == 0 {
		return ""
	}
	return "; beside that: " + shortened(strings.Join(words, "; "))
}

// notInterrupted are the errors of a tree that no interrupt caused.
func notInterrupted(err error) []error {
	if !errors.Is(err, context.Canceled) && !azure.IsUnanswered(err) {
		if err == nil {
			return nil
		}
		return []error{err}
	}
	switch tree := err.(type) { //nolint:errorlint // each branch is looked at
	case *azure.Error:
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

// lineLimit keeps a line readable on a terminal.
const lineLimit = 400

func shortened(text string) string {
	if runes := []rune(text); len(runes) > lineLimit {
		return string(runes[:lineLimit]) + " …"
	}
	return text
}
