package kube

import (
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestKeepTransitions(t *testing.T) {
	long := metav1.NewTime(time.Now().Add(-time.Hour))
	before := []metav1.Condition{
		{Type: "Swung", Status: metav1.ConditionFalse, Reason: "Broken", LastTransitionTime: long},
		{Type: "Changed", Status: metav1.ConditionFalse, LastTransitionTime: long},
	}
	var after []metav1.Condition
	after = append(after, before...)
	setter := Conditions(&after, 1)
	setter.True("Swung", "Fine", "")
	setter.False("Swung", "Broken", "")
	setter.True("Changed", "Fine", "")
	setter.True("New", "Fine", "")
	KeepTransitions(before, after)
	for name, kept := range map[string]bool{"Swung": true, "Changed": false, "New": false} {
		if got := meta.FindStatusCondition(after, name).LastTransitionTime; got.Equal(&long) != kept {
			t.Errorf("%s: transition at %v, kept: want %v", name, got, kept)
		}
	}
}
