package scheduler

import (
	"encoding/json"
	"fmt"

	"k8s.io/apimachinery/pkg/runtime"
	schedulerv1 "k8s.io/kube-scheduler/config/v1"
	"k8s.io/utils/ptr"

	"github.com/hypershift-on-azure/hypershift/internal/kube"
)

// profilesOf is how pods are placed, by the name that spec.configuration.scheduler has for it.
func profilesOf(name string) ([]schedulerv1.KubeSchedulerProfile, error) {
	profile := schedulerv1.KubeSchedulerProfile{SchedulerName: ptr.To("default-scheduler")}
	switch name {
	case "", "LowNodeUtilization":
	case "HighNodeUtilization":
		fit, err := fullestFirst()
		if err != nil {
			return nil, err
		}
		profile.Plugins = &schedulerv1.Plugins{Score: schedulerv1.PluginSet{
			Disabled: []schedulerv1.Plugin{{Name: "NodeResourcesBalancedAllocation"}},
			Enabled:  []schedulerv1.Plugin{{Name: "NodeResourcesFit", Weight: ptr.To[int32](5)}},
		}}
		profile.PluginConfig = []schedulerv1.PluginConfig{fit}
	case "NoScoring":
		off := schedulerv1.PluginSet{Disabled: []schedulerv1.Plugin{{Name: "*"}}}
		profile.Plugins = &schedulerv1.Plugins{Score: off, PreScore: off}
	default:
		return nil, fmt.Errorf("spec.configuration.scheduler.profile is %q; it must be LowNodeUtilization, HighNodeUtilization or NoScoring", name)
	}
	return []schedulerv1.KubeSchedulerProfile{profile}, nil
}

// fullestFirst has the node with the least room score highest.
func fullestFirst() (schedulerv1.PluginConfig, error) {
	const name = "NodeResourcesFit"
	args := &schedulerv1.NodeResourcesFitArgs{ScoringStrategy: &schedulerv1.ScoringStrategy{
		Type: schedulerv1.MostAllocated, Resources: []schedulerv1.ResourceSpec{{Name: "cpu", Weight: 1}, {Name: "memory", Weight: 1}},
	}}
	args.SetGroupVersionKind(schedulerv1.SchemeGroupVersion.WithKind(name + "Args"))
	fields, err := kube.Compact(args)
	if err != nil {
		return schedulerv1.PluginConfig{}, err
	}
	raw, err := json.Marshal(fields)
	if err != nil {
		return schedulerv1.PluginConfig{}, fmt.Errorf("render the arguments of %s: %w", name, err)
	}
	return schedulerv1.PluginConfig{Name: name, Args: runtime.RawExtension{Raw: raw}}, nil
}
