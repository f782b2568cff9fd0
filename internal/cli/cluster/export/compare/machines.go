package compare

import (
	"strings"

	hyperv1 "github.com/hypershift-on-azure/hypershift/api/v1beta1"
	"github.com/hypershift-on-azure/hypershift/internal/kube"
)

// Labels and annotations that programs write to HostedClusters and NodePools; all others are a person's. One that ends with a slash stands
// for all of its domain.
var (
	labelsOfMachines      = []string{hyperv1.AutoInfraLabel}
	annotationsOfMachines = []string{
		hyperv1.HasBeenAvailableAnnotation, kube.DesiredHashPrefix, "kubectl.kubernetes.io/last-applied-configuration",
		hyperv1.NodePoolCurrentConfigAnnotation, hyperv1.NodePoolCurrentConfigVersionAnnotation, hyperv1.NodePoolTargetConfigVersionAnnotation,
		hyperv1.NodePoolPlatformMachineTemplateAnnotation,
	}
)

// OwnLabels are a person's.
func OwnLabels(all map[string]string) map[string]string { return without(all, labelsOfMachines) }

// OwnAnnotations are a person's.
func OwnAnnotations(all map[string]string) map[string]string {
	return without(all, annotationsOfMachines)
}

func without(all map[string]string, machines []string) map[string]string {
	own := map[string]string{}
	for key, value := range all {
		isOwn := true
		for _, theirs := range machines {
			isOwn = isOwn && key != theirs && !(strings.HasSuffix(theirs, "/") && strings.HasPrefix(key, theirs))
		}
		if isOwn {
			own[key] = value
		}
	}
	return own
}
