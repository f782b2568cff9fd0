package kube

import (
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// ConditionSetter writes conditions of one object, each with the generation that was looked at.
type ConditionSetter struct {
	conditions *[]metav1.Condition
	generation int64
}

// Conditions returns a setter for the conditions of an object of the given generation.
func Conditions(conditions *[]metav1.Condition, generation int64) ConditionSetter {
	return ConditionSetter{conditions: conditions, generation: generation}
}

// True sets the condition to True.
func (s ConditionSetter) True(conditionType, reason, message string) {
	s.Set(conditionType, metav1.ConditionTrue, reason, message)
}

// False sets the condition to False.
func (s ConditionSetter) False(conditionType, reason, message string) {
	s.Set(conditionType, metav1.ConditionFalse, reason, message)
}

// Unknown sets the condition to Unknown.
func (s ConditionSetter) Unknown(conditionType, reason, message string) {
	s.Set(conditionType, metav1.ConditionUnknown, reason, message)
}

// Set writes one condition, of the message no more than MessageLimit; the transition time moves only when the status changes.
func (s ConditionSetter) Set(conditionType string, status metav1.ConditionStatus, reason, message string) {
	meta.SetStatusCondition(s.conditions, metav1.Condition{
		Type: conditionType, Status: status, Reason: reason, Message: Shorten(message, MessageLimit), ObservedGeneration: s.generation,
	})
}

// SetSince is Set with the time of the transition given: for a condition that says since when something is waited for.
func (s ConditionSetter) SetSince(since metav1.Time, conditionType string, status metav1.ConditionStatus, reason, message string) {
	meta.SetStatusCondition(s.conditions, metav1.Condition{
		Type: conditionType, Status: status, Reason: reason, Message: Shorten(message, MessageLimit), ObservedGeneration: s.generation, LastTransitionTime: since,
	})
}

// Copy takes over a condition of another object under the same type, or sets it Unknown with the given reason when the
// other object does not report it yet.
func (s ConditionSetter) Copy(from []metav1.Condition, conditionType, missingReason, missingMessage string) {
	if c := meta.FindStatusCondition(from, conditionType); c != nil {
		s.Set(conditionType, c.Status, c.Reason, c.Message)
		return
	}
	s.Unknown(conditionType, missingReason, missingMessage)
}

// Remove deletes a condition.
func (s ConditionSetter) Remove(conditionType string) {
	meta.RemoveStatusCondition(s.conditions, conditionType)
}

// IsTrue tells whether the condition is set and True.
func IsTrue(conditions []metav1.Condition, conditionType string) bool {
	return meta.IsStatusConditionTrue(conditions, conditionType)
}

// Find returns the condition, or nil.
func Find(conditions []metav1.Condition, conditionType string) *metav1.Condition {
	return meta.FindStatusCondition(conditions, conditionType)
}

// KeepTransitions gives conditions that end with the status and reason they began with the time of their transition back: one that was
// True and False by turns within a pass has not changed.
func KeepTransitions(before, after []metav1.Condition) {
	for i := range after {
		if old := meta.FindStatusCondition(before, after[i].Type); old != nil && old.Status == after[i].Status && old.Reason == after[i].Reason {
			after[i].LastTransitionTime = old.LastTransitionTime
		}
	}
}
