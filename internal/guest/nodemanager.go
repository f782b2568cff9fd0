package guest

import (
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// cloudNodeManager initialises nodes from the metadata service: provider id, addresses, zone; then their taint goes.
func cloudNodeManager(facts *Facts) []client.Object {
	if facts.HCP.Spec.Platform.Azure == nil {
		return nil
	}
	container := corev1.Container{
		Name: nodeManagerName, Image: facts.Images["azure-cloud-node-manager"], Command: []string{"/bin/azure-cloud-node-manager"},
		Args: []string{
			"--node-name=$(NODE_NAME)", "--wait-routes=false", "--use-instance-metadata=true",
			"--enable-deprecated-beta-topology-labels=true", "--v=2",
		},
		Env:             append(apiEnv(facts), fieldEnv("NODE_NAME", "spec.nodeName")),
		Resources:       requests("50m", "50Mi"),
		SecurityContext: unprivileged(),
	}
	return []client.Object{
		serviceAccount(nodeManagerName),
		clusterRole(nodeManagerName,
			rule("", []string{"get", "list", "watch", "update", "patch"}, "nodes"),
			rule("", []string{"patch"}, "nodes/status"),
			rule("", []string{"create", "patch", "update"}, "events"),
		),
		bind(nodeManagerName, nodeManagerName, account(nodeManagerName)),
		daemonSet(nodeManagerName, corev1.PodSpec{Containers: []corev1.Container{container}}),
	}
}
