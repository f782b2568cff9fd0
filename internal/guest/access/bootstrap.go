package access

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/hypershift-on-azure/hypershift/internal/contract"
	"github.com/hypershift-on-azure/hypershift/internal/guest/inside"
	"github.com/hypershift-on-azure/hypershift/internal/kube"
)

// Identities that client certificates of the control plane carry.
const (
	ConfigOperatorUser = "system:hosted-cluster-config"
	apiServerUser      = "system:kube-apiserver"
)

// BootstrapManager owns the rights that the config operator starts with.
const BootstrapManager = contract.ControlPlaneOperator

// Bootstrap gives the programs of the control plane their rights in the guest, the config operator first: most waits for it. The
// control-plane-operator calls it with an administrator's client once the API server answers: none of them ever holds that credential.
func Bootstrap(ctx context.Context, admin client.Client) error {
	objects := append([]client.Object{Bind(ConfigOperatorAccess, contract.ClusterAdmin, user(ConfigOperatorUser))}, ControlPlane(nil)...)
	if err := kube.Apply(ctx, admin, BootstrapManager, objects...); err != nil {
		return fmt.Errorf("let the control plane into the guest: %w", err)
	}
	return nil
}

// Nodes lets nodes in, renews their certificates, and lets the API server reach kubelets.
func Nodes(*inside.Facts) []client.Object {
	bootstrapper := rbacv1.Subject{Kind: rbacv1.ServiceAccountKind, Namespace: contract.BootstrapNamespace, Name: contract.BootstrapAccount}
	return []client.Object{
		&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: inside.KubeSystem, Labels: map[string]string{
			"pod-security.kubernetes.io/enforce": "privileged",
			"pod-security.kubernetes.io/audit":   "privileged",
			"pod-security.kubernetes.io/warn":    "privileged",
			contract.PodSecuritySyncLabel:        "false",
		}}},
		Bind("create-csrs-for-bootstrapping", "system:node-bootstrapper", bootstrapper),
		Bind("system-bootstrap-node-renewal", "system:certificates.k8s.io:certificatesigningrequests:selfnodeclient", group("system:nodes")),
		Bind("hypershift:kube-apiserver-to-kubelet", "system:kubelet-api-admin", user(apiServerUser)),
	}
}
