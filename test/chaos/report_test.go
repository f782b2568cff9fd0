package main

import (
	"strings"
	"testing"
	"time"

	"github.com/hypershift-on-azure/hypershift/test/chaos/history"
)

// TestReport: a page says what was done, how long nobody was answered, and what went wrong.
func TestReport(t *testing.T) {
	r := result{Cluster: "clusters/demo", Seed: 7, Lasted: time.Minute, Recovered: 3 * time.Second, Operations: []history.Operation{
		{Write: true, Acknowledged: true, Call: time.Second, Return: 2 * time.Second}, {Write: true, Call: 3 * time.Second, Return: 4 * time.Second},
		{Write: true, Acknowledged: true, Call: 9 * time.Second, Return: 9500 * time.Millisecond}, {Acknowledged: true, Call: 1, Return: 2},
	}, Watches: []history.Watch{{Name: "first", Events: make([]history.Event, 2), Gaps: make([]history.Gap, 1)}},
		Faults: []made{{5 * time.Second, time.Second, "a node dies", "management-1"}}, NotMade: []string{"a disk is full", "a disk is slow"}}
	page := func() string {
		var b strings.Builder
		if err := r.write(&b); err != nil {
			t.Fatal(err)
		}
		return b.String()
	}
	for _, part := range []string{"# Clients of clusters/demo", "nothing that was acknowledged was lost", "seed 7", "| writers | 3 | 2 | 1 | 7.5s | 1s |", "| readers | 1 | 1 | 0 |",
		"| first | 2 | 1 times |", "true, 3s after the last fault", "| 5s | 1s | a node dies | management-1 |", "Not made, since the time was over: a disk is full; a disk is slow."} {
		if !strings.Contains(page(), part) {
			t.Errorf("the page lacks %q:\n%s", part, page())
		}
	}
	r.Violations = []history.Violation{{Key: "key-1", What: "it is lost"}}
	if text := page(); !r.failed() || !strings.Contains(text, "FAILED: 1 violations") || !strings.Contains(text, "- key-1: it is lost") {
		t.Errorf("a violation is not told:\n%s", text)
	}
	r.Violations, r.Broken = nil, "a node is not Ready"
	if text := page(); !r.failed() || !strings.Contains(text, "a node is not Ready") || strings.Contains(text, "after the last fault") {
		t.Errorf("a cluster that stays broken is not told:\n%s", text)
	}
	r.Broken, r.Calm, r.FailedTwice = "", true, 2
	if text := page(); !r.failed() || !strings.Contains(text, "2 calls failed twice") || !strings.Contains(text, "figure: longest time in which no reader was answered: 0.0 s, may take 2 s") {
		t.Errorf("calls that failed twice are not told:\n%s", text)
	}
	r.FailedTwice, r.MayFail = 0, true
	if text := page(); r.failed() || strings.Contains(text, "figure: ") || strings.Contains(text, "What was done") {
		t.Errorf("where calls may fail, the page tells a figure or faults:\n%s", text)
	}
}
