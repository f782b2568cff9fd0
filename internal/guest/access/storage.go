package access

import (
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/hypershift-on-azure/hypershift/internal/contract"
	"github.com/hypershift-on-azure/hypershift/internal/guest/inside"
	"github.com/hypershift-on-azure/hypershift/internal/pki"
)

const storageGroup, snapshotGroup = "storage.k8s.io", "snapshot.storage.k8s.io"

// DiskDriver is what the driver's controller, which runs outside, may do in the guest: volumes, their attachments and snapshots, and
// no Secret. The only token that it can ask for is that of its own account, which it exchanges at Azure.
func DiskDriver(*inside.Facts) []client.Object {
	identity := pki.DiskDriver
	subject := user(identity.User())
	write := append([]string{"create", "update", "patch", "delete"}, look...)
	objects := []client.Object{
		&corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: identity.Namespace, Name: identity.Name}},
		Role(contract.DriverNamespace, DiskDriverAccess,
			Named(Rule("", []string{"create"}, "serviceaccounts/token"), identity.Name),
			Rule("coordination.k8s.io", write, "leases")),
		BindRole(contract.DriverNamespace, DiskDriverAccess, DiskDriverAccess, subject),
	}
	return append(objects, access(DiskDriverAccess, identity,
		Rule("", write, "persistentvolumes"),
		Rule("", append([]string{"update", "patch"}, look...), "persistentvolumeclaims"),
		Rule("", []string{"update", "patch"}, "persistentvolumeclaims/status"),
		Rule("", look, "nodes", "pods"),
		Rule(storageGroup, look, "storageclasses", "csinodes", "volumeattributesclasses"),
		Rule(storageGroup, append([]string{"update", "patch"}, look...), "volumeattachments"),
		Rule(storageGroup, []string{"update", "patch"}, "volumeattachments/status"),
		Rule(snapshotGroup, look, "volumesnapshotclasses"),
		Rule(snapshotGroup, write, "volumesnapshots", "volumesnapshotcontents"),
		Rule(snapshotGroup, []string{"update", "patch"}, "volumesnapshots/status", "volumesnapshotcontents/status"),
		Rule("", []string{"get", "list", "watch", "create", "patch", "update"}, "events"),
	)...)
}

// DiskNodes is the account of the driver's pods on nodes, which look at their own Node and at what is to be attached.
func DiskNodes(*inside.Facts) []client.Object {
	return []client.Object{
		&corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: contract.DriverNamespace, Name: DiskNodesAccount}},
		ClusterRole(DiskNodesAccess, Rule("", []string{"get"}, "nodes"), Rule(storageGroup, []string{"get"}, "csinodes"), Rule(storageGroup, look, "volumeattachments")),
		Bind(DiskNodesAccess, DiskNodesAccess, rbacv1.Subject{Kind: rbacv1.ServiceAccountKind, Namespace: contract.DriverNamespace, Name: DiskNodesAccount}),
	}
}

// DiskNodesAccount is the driver's account on nodes, and DiskNodesAccess what binds it.
const (
	DiskNodesAccount = "azure-disk-csi-driver-node-sa"
	DiskNodesAccess  = "hypershift:azure-disk-csi-driver-node"
)
