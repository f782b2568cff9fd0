package machines

import (
	"errors"

	corev1 "k8s.io/api/core/v1"

	hyperv1 "github.com/hypershift-on-azure/hypershift/api/v1beta1"
	"github.com/hypershift-on-azure/hypershift/internal/cli/printing"
)

// Problem returns the message of the condition that says most about why machines are missing.
func Problem(np *hyperv1.NodePool) string {
	for _, name := range []string{
		hyperv1.NodePoolValidReleaseImage, hyperv1.NodePoolValidPlatformImage, hyperv1.NodePoolValidPlatformConfig, hyperv1.NodePoolValidArchPlatform,
		hyperv1.NodePoolSupportedVersionSkew, hyperv1.NodePoolValidMachineConfig, hyperv1.NodePoolValidGeneratedPayload,
		hyperv1.NodePoolReachedIgnitionEndpoint, hyperv1.NodePoolAllMachinesReady, hyperv1.NodePoolAllNodesHealthy,
	} {
		for _, c := range np.Status.Conditions {
			if c.Type == name && c.Status == corev1.ConditionFalse {
				return c.Reason + ": " + printing.OneLine(errors.New(c.Message))
			}
		}
	}
	return ""
}
