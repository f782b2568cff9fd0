package kube

import (
	"encoding/json"
	"regexp"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// MessageLimit is how long the message of a condition may be, in bytes. The schemas take more, but as many of their longest messages as they
// take are more than etcd does.
const MessageLimit = 4096

const (
	// reasonLimit and typeLimit are the schemas' for conditions.
	reasonLimit = 1024
	typeLimit   = 316
	// conditionLimit is how many conditions the schemas take.
	conditionLimit = 100
	// unreadableReason stands for one that the schemas refuse.
	unreadableReason = "StatusUnknown"
)

var (
	reasonPattern = regexp.MustCompile(`^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$`)
	typePattern   = regexp.MustCompile(`^([a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*/)?(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])$`)
)

// Cut returns at most limit bytes of the text, the last of which are the mark where something is left out. No character is cut in two.
func Cut(text string, limit int, mark string) string {
	text = strings.ToValidUTF8(text, "\uFFFD")
	if len(text) <= limit {
		return text
	}
	return strings.ToValidUTF8(text[:max(0, limit-len(mark))], "") + mark
}

// Shorten is Cut with an ellipsis.
func Shorten(text string, limit int) string { return Cut(text, limit, "…") }

// Fit keeps the first of the list: as many as count allows, and as their JSON has bytes for.
func Fit[T any](list []T, count, bytes int) []T {
	for i := range list {
		encoded, err := json.Marshal(list[i])
		if bytes -= len(encoded); err != nil || i >= count || bytes < 0 {
			return list[:i]
		}
	}
	return list
}

// BoundCondition shortens a condition from another writer to what the schemas accept. It does not check the type.
func BoundCondition(c metav1.Condition) metav1.Condition {
	c.Message = Shorten(c.Message, MessageLimit)
	if len(c.Reason) > reasonLimit || !reasonPattern.MatchString(c.Reason) {
		c.Reason = unreadableReason
	}
	switch c.Status {
	case metav1.ConditionTrue, metav1.ConditionFalse, metav1.ConditionUnknown:
	default:
		c.Status = metav1.ConditionUnknown
	}
	c.ObservedGeneration = max(0, c.ObservedGeneration)
	return c
}

// BoundConditions makes a list that the schemas take of conditions that somebody else may have written: those without a valid type, and
// those that are too many, are left out.
func BoundConditions(list []metav1.Condition) []metav1.Condition {
	var out []metav1.Condition
	told := map[string]bool{}
	for _, c := range list {
		if len(out) == conditionLimit || told[c.Type] || len(c.Type) > typeLimit || !typePattern.MatchString(c.Type) {
			continue
		}
		told[c.Type] = true
		if c.LastTransitionTime.IsZero() { // null, which no schema takes
			c.LastTransitionTime = metav1.NewTime(time.Unix(0, 0))
		}
		out = append(out, BoundCondition(c))
	}
	return out
}
