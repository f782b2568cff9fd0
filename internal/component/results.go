package component

import (
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Results of the components of one pass.
type Results []Result

// Of is the result of a component; one that had no turn is not available.
func (r Results) Of(name string) Result {
	if i := slices.IndexFunc(r, func(one Result) bool { return one.Name == name }); i >= 0 {
		return r[i]
	}
	return Result{Name: name}
}

// Has tells whether a component had a turn.
func (r Results) Has(name string) bool {
	return slices.ContainsFunc(r, func(one Result) bool { return one.Name == name })
}

// Available tells whether a component serves.
func (r Results) Available(name string) bool {
	return r.Of(name).Available.Status == metav1.ConditionTrue
}
