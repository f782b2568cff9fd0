package addons

import (
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/hypershift-on-azure/hypershift/internal/guest/access"
	"github.com/hypershift-on-azure/hypershift/internal/guest/inside"
)

// cloudNodeManager initialises nodes from the metadata service: provider id, addresses, zone; then their taint goes.
func cloudNodeManager(facts *inside.Facts) []client.Object {
	if facts.HCP.Spec.Platform.Azure == nil {
		return nil
	}
	container := corev1.Container{
		Name: NodeManagerName, Image: facts.Images["azure-cloud-node-manager"], Command: []string{"/bin/azure-cloud-node-manager"},
		Args: []string{
			"--node-name=$(NODE_NAME)", "--wait-routes=false", "--use-instance-metadata=true",
			"--enable-deprecated-beta-topology-labels=true", "--v=2",
		},
		Env:             append(apiEnv(facts), fieldEnv("NODE_NAME", "spec.nodeName")),
		Resources:       requests("50m", "50Mi"),
		SecurityContext: unprivileged(),
	}
	return []client.Object{
		access.ServiceAccount(NodeManagerName),
		access.ClusterRole(NodeManagerName,
			access.Rule("", []string{"get", "list", "watch", "update", "patch"}, "nodes"),
			access.Rule("", []string{"patch"}, "nodes/status"),
			access.Rule("", []string{"create", "patch", "update"}, "events"),
		),
		access.Bind(NodeManagerName, NodeManagerName, access.Account(NodeManagerName)),
		daemonSet(NodeManagerName, corev1.PodSpec{Containers: []corev1.Container{container}}),
	}
}
