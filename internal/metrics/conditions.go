package metrics

import (
	hyperv1 "github.com/hypershift-on-azure/hypershift/api/v1beta1"
	"github.com/hypershift-on-azure/hypershift/internal/metrics/health"
)

// failures counts failed conditions by platform.
type failures struct {
	conditions map[string]health.Rule
	count      map[string]map[string]int
}

// newFailures begins with the platforms that this operator serves, so that a rule finds a zero and not an absent series.
func newFailures(conditions map[string]health.Rule) failures {
	f := failures{conditions, map[string]map[string]int{}}
	for _, platform := range []hyperv1.PlatformType{hyperv1.AzurePlatform, hyperv1.NonePlatform} {
		f.platform(string(platform))
	}
	return f
}

func (f failures) platform(name string) map[string]int {
	if f.count[name] == nil {
		f.count[name] = map[string]int{}
		for condition, h := range f.conditions {
			f.count[name][h.Name(condition)] = 0
		}
	}
	return f.count[name]
}

func (f failures) add(platform, condition, status string) {
	if h, known := f.conditions[condition]; known && h.Failed(status) {
		f.platform(platform)[h.Name(condition)]++
	}
}
