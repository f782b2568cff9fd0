package main

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/hypershift-on-azure/hypershift/test/chaos/history"
)

// result is a run as it is reported.
type result struct {
	Cluster    string
	Seed       uint64
	Lasted     time.Duration
	Operations []history.Operation
	Watches    []history.Watch
	// Calm is a run without faults, in which a call that fails is made once more. FailedTwice counts those that then failed again.
	// Where calls MayFail, none is made once more, and no figure is told.
	Calm, MayFail bool
	FailedTwice   int
	Faults        []made
	// NotMade are the kinds of faults for which there was no time.
	NotMade    []string
	Violations []history.Violation
	// Recovered is how long after the last fault every status was that of a cluster without faults, and true; Broken says which one is not.
	Recovered time.Duration
	Broken    string
	// Findings are what every status said in the end, beside what was there.
	Findings []finding
}

func (r result) failed() bool { return len(r.Violations) > 0 || r.Broken != "" || r.FailedTwice > 0 }

// write prints the page.
func (r result) write(w io.Writer) error {
	var b strings.Builder
	verdict := "nothing that was acknowledged was lost, and nobody was told anything wrong."
	if r.failed() {
		verdict = fmt.Sprintf("FAILED: %d violations; %d calls failed twice; %s", len(r.Violations), r.FailedTwice, r.Broken)
	}
	fmt.Fprintf(&b, "# Clients of %s\n\n%s\n\nIt lasted %s, with seed %d.\n\n", r.Cluster, verdict, r.Lasted.Round(time.Second), r.Seed)
	b.WriteString("| Clients | Calls | Answered | Not answered | Longest time without an answer | Slowest answer |\n|---|---|---|---|---|---|\n")
	for _, write := range []bool{true, false} {
		total, answered, gap, slowest := r.sums(write)
		name := map[bool]string{true: "writers", false: "readers"}[write]
		fmt.Fprintf(&b, "| %s | %d | %d | %d | %s | %s |\n", name, total, answered, total-answered, round(gap), round(slowest))
	}
	b.WriteString("\n| Watch | Events | Listed anew |\n|---|---|---|\n")
	for _, one := range r.Watches {
		fmt.Fprintf(&b, "| %s | %d | %d times |\n", one.Name, len(one.Events), len(one.Gaps))
	}
	if r.Broken == "" && !r.Calm {
		fmt.Fprintf(&b, "\nEvery status was that of a cluster without faults, and true, %s after the last fault.\n", round(r.Recovered))
	}
	if len(r.Violations) > 0 {
		b.WriteString("\n## Violations\n\n")
		for _, v := range r.Violations {
			fmt.Fprintf(&b, "- %s: %s\n", v.Key, v.What)
		}
	}
	switch {
	case !r.Calm:
		r.writeFaults(&b)
	case !r.MayFail:
		_, _, gap, _ := r.sums(false)
		fmt.Fprintf(&b, "\nfigure: longest time in which no reader was answered: %.1f s, may take %d s\n", gap.Seconds(), mostGap)
	}
	r.writeFindings(&b)
	_, err := io.WriteString(w, b.String())
	return err
}

func (r result) writeFaults(b *strings.Builder) {
	b.WriteString("\n## What was done\n\n| After | For | Fault | Hit |\n|---|---|---|---|\n")
	for _, f := range r.Faults {
		fmt.Fprintf(b, "| %s | %s | %s | %s |\n", f.At.Round(time.Second), round(f.For), f.Name, f.Hit)
	}
	if len(r.NotMade) > 0 {
		fmt.Fprintf(b, "\nNot made, since the time was over: %s.\n", strings.Join(r.NotMade, "; "))
	}
}

// writeFindings prints what every status said in the end.
func (r result) writeFindings(b *strings.Builder) {
	if len(r.Findings) == 0 {
		return
	}
	b.WriteString("\n## What was told in the end\n\n| What | Status | There is | |\n|---|---|---|---|\n")
	for _, f := range r.Findings {
		verdict := "true"
		if f.Wrong {
			verdict = "WRONG"
		}
		fmt.Fprintf(b, "| %s | %s | %s | %s |\n", f.What, strings.ReplaceAll(f.Says, "|", "/"), f.Is, verdict)
	}
}

// sums of one kind of call: how many, how many were answered, the longest time between two answers, and the slowest.
func (r result) sums(write bool) (total, answered int, gap, slowest time.Duration) {
	var answers []time.Duration
	for _, o := range r.Operations {
		if o.Write != write {
			continue
		}
		total++
		if o.Acknowledged {
			answers, slowest = append(answers, o.Return), max(slowest, o.Return-o.Call)
		}
	}
	slices.Sort(answers)
	for i := 1; i < len(answers); i++ {
		gap = max(gap, answers[i]-answers[i-1])
	}
	return total, len(answers), gap, slowest
}

func round(d time.Duration) time.Duration { return d.Round(10 * time.Millisecond) }
