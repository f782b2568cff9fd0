package addons

import (
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/hypershift-on-azure/hypershift/internal/contract"
	"github.com/hypershift-on-azure/hypershift/internal/guest/access"
	"github.com/hypershift-on-azure/hypershift/internal/guest/inside"
	"github.com/hypershift-on-azure/hypershift/internal/kube/rbac"
)

// cloudNodeManager initialises nodes from the metadata service: provider id, addresses, zone; then their taint goes.
func cloudNodeManager(facts *inside.Facts) []client.Object {
	if facts.HCP.Spec.Platform.Azure == nil {
		return nil
	}
	container := corev1.Container{
		Name: NodeManagerName, Image: facts.Images[contract.AzureNodeManager], Command: []string{"/bin/azure-cloud-node-manager"},
		Args: []string{
			"--node-name=$(NODE_NAME)", "--wait-routes=false", "--use-instance-metadata=true",
			"--enable-deprecated-beta-topology-labels=true", "--v=2",
		},
		Env:             append(apiEnv(facts), fieldEnv(contract.NodeNameEnv, "spec.nodeName")),
		Resources:       requests("50m", "50Mi"),
		SecurityContext: unprivileged(),
	}
	return []client.Object{
		access.ServiceAccount(NodeManagerName),
		access.ClusterRole(NodeManagerName,
			rbac.Rule("", "get,list,watch,update,patch", "nodes"),
			rbac.Rule("", "patch", "nodes/status"),
			rbac.Rule("", "create,patch,update", "events"),
		),
		access.Bind(NodeManagerName, NodeManagerName, access.Account(NodeManagerName)),
		daemonSet(NodeManagerName, corev1.PodSpec{Containers: []corev1.Container{container}}),
	}
}
