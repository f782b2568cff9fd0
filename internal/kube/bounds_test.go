package kube

import (
	"strings"
	"testing"
	"unicode/utf8"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestShortenKeepsCharactersWhole(t *testing.T) {
	for limit := 3; limit < 12; limit++ {
		got := Shorten(strings.Repeat("ä", 20), limit)
		if len(got) > limit || !utf8.ValidString(got) || !strings.HasSuffix(got, "…") {
			t.Errorf("limit %d: %q", limit, got)
		}
	}
	if got := Shorten("whole", 5); got != "whole" {
		t.Errorf("%q", got)
	}
	if got := Shorten("a\xffb", 100); !utf8.ValidString(got) {
		t.Errorf("%q is no text", got)
	}
}

func TestFitKeepsTheFirst(t *testing.T) {
	list := []string{"aaaa", "bbbb", "cccc"} // six bytes of JSON each
	for _, test := range []struct{ count, bytes, want int }{{3, 18, 3}, {2, 18, 2}, {3, 17, 2}, {3, 5, 0}} {
		if got := Fit(list, test.count, test.bytes); len(got) != test.want {
			t.Errorf("%d entries, %d bytes: %v", test.count, test.bytes, got)
		}
	}
}

func TestBoundConditions(t *testing.T) {
	hostile := []metav1.Condition{
		{Type: "Good", Status: "Maybe", Reason: "not a reason", Message: strings.Repeat("x", 1<<20), ObservedGeneration: -1},
		{Type: "Good", Status: metav1.ConditionTrue, Reason: "Twice"},
		{Type: "no type"},
	}
	for i := range 300 {
		hostile = append(hostile, metav1.Condition{Type: "T" + strings.Repeat("x", i), Status: metav1.ConditionTrue, Reason: "R"})
	}
	got := BoundConditions(hostile)
	if len(got) != conditionLimit {
		t.Errorf("%d conditions", len(got))
	}
	first := got[0]
	if first.Status != metav1.ConditionUnknown || first.Reason != unreadableReason || len(first.Message) > MessageLimit || first.ObservedGeneration != 0 || first.LastTransitionTime.IsZero() {
		t.Errorf("%+v", first)
	}
}

func TestEachObjectHasItsOwnPace(t *testing.T) {
	var paces Paces
	for i := range 3 * PaceBurst {
		if allowed := paces.Allow("flood"); allowed != (i < PaceBurst) {
			t.Errorf("write %d: %t", i, allowed)
		}
	}
	if !paces.Allow("another") {
		t.Error("a flood of one object holds up another")
	}
	paces.Forget("flood")
	if !paces.Allow("flood") {
		t.Error("an object of the same name has no pace of its own")
	}
}
