package storageoperator

import (
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/hypershift-on-azure/hypershift/internal/component"
	"github.com/hypershift-on-azure/hypershift/internal/contract"
)

// imageVariables name the images of what the operator makes on Azure, with their payload keys, of the control plane's release. Those of
// other clouds' drivers it reads too, and makes nothing of them here.
var imageVariables = []string{
	"AZURE_DISK_DRIVER_OPERATOR_IMAGE", contract.ImageDiskOperator,
	"AZURE_FILE_DRIVER_OPERATOR_IMAGE", contract.ImageFileOperator,
	"AZURE_DISK_DRIVER_CONTROL_PLANE_IMAGE", contract.DiskDriver,
	"AZURE_FILE_DRIVER_CONTROL_PLANE_IMAGE", contract.FileDriver,
	"PROVISIONER_IMAGE", contract.ImageProvisioner,
	"ATTACHER_IMAGE", contract.ImageAttacher,
	"RESIZER_IMAGE", contract.ImageResizer,
	"SNAPSHOTTER_IMAGE", contract.ImageSnapshotter,
	"LIVENESS_PROBE_CONTROL_PLANE_IMAGE", contract.CSILivenessProbe,
	"KUBE_RBAC_PROXY_CONTROL_PLANE_IMAGE", contract.ImageRBACProxy,
	"VOLUME_DATA_SOURCE_VALIDATOR_IMAGE", "volume-data-source-validator",
	"TOOLS_IMAGE", "tools",
}

// guestImageVariables are those of the release of the nodes, where the pods of these run.
var guestImageVariables = []string{
	"AZURE_DISK_DRIVER_IMAGE", contract.DiskDriver,
	"AZURE_FILE_DRIVER_IMAGE", contract.FileDriver,
	"NODE_DRIVER_REGISTRAR_IMAGE", contract.ImageNodeRegistrar,
	"LIVENESS_PROBE_IMAGE", contract.CSILivenessProbe,
	contract.RBACProxyImageEnv, contract.ImageRBACProxy,
	"CLUSTER_CLOUD_CONTROLLER_MANAGER_OPERATOR_IMAGE", "cluster-cloud-controller-manager-operator",
}

func controlPlaneImages() []string {
	var keys []string
	for i := 1; i < len(imageVariables); i += 2 {
		// A payload before 4.20 has no validator of data sources.
		if key := imageVariables[i]; key != "volume-data-source-validator" && !slices.Contains(keys, key) {
			keys = append(keys, key)
		}
	}
	return keys
}

// images tells the operator what to run. What the release lacks it is not told of: it has a name of its own for it.
func images(ctx *component.Context) []corev1.EnvVar {
	var env []corev1.EnvVar
	add := func(variables []string, image func(string) string) {
		for i := 0; i < len(variables); i += 2 {
			if found := image(variables[i+1]); found != "" {
				env = append(env, corev1.EnvVar{Name: variables[i], Value: found})
			}
		}
	}
	add(imageVariables, ctx.Image)
	add(guestImageVariables, ctx.GuestImage)
	return append(env, corev1.EnvVar{Name: "HYPERSHIFT_IMAGE", Value: ctx.Settings.Image})
}
