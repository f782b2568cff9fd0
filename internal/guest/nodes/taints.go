package nodes

import (
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
)

func contains(list []string, item string) bool { return slices.Contains(list, item) }

func sortedKeys(m map[string]string) []string { return slices.Sorted(maps.Keys(m)) }

func taintKey(taint corev1.Taint) string { return taint.Key + ":" + string(taint.Effect) }

func hasTaint(list []corev1.Taint, wanted corev1.Taint) bool {
	return slices.ContainsFunc(list, func(taint corev1.Taint) bool { return taintKey(taint) == taintKey(wanted) })
}

// inOrder sorts taints as they were before, so that an unchanged set is an unchanged list; new ones follow.
func inOrder(before, now []corev1.Taint) []corev1.Taint {
	position := func(taint corev1.Taint) int {
		if i := slices.IndexFunc(before, func(known corev1.Taint) bool { return taintKey(known) == taintKey(taint) }); i >= 0 {
			return i
		}
		return len(before)
	}
	slices.SortStableFunc(now, func(a, b corev1.Taint) int { return position(a) - position(b) })
	return now
}
