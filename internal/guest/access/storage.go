package access

import (
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/hypershift-on-azure/hypershift/internal/contract"
	"github.com/hypershift-on-azure/hypershift/internal/guest/inside"
	"github.com/hypershift-on-azure/hypershift/internal/kube/rbac"
	"github.com/hypershift-on-azure/hypershift/internal/pki"
)

const storageGroup, snapshotGroup = "storage.k8s.io", "snapshot.storage.k8s.io"

// DiskDriver is what the driver's controller, which runs outside, may do in the guest: volumes, their attachments and snapshots, and
// no Secret. The only token that it can ask for is that of its own account, which it exchanges at Azure.
func DiskDriver(*inside.Facts) []client.Object {
	identity := pki.DiskDriver
	subject := user(identity.User())
	const write = "create,update,patch,delete," + rbac.Read
	objects := []client.Object{
		&corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: identity.Namespace, Name: identity.Name}},
		Role(contract.DriverNamespace, DiskDriverAccess,
			rbac.Named(rbac.Rule("", "create", "serviceaccounts/token"), identity.Name),
			rbac.Rule("coordination.k8s.io", write, "leases")),
		BindRole(contract.DriverNamespace, DiskDriverAccess, DiskDriverAccess, subject),
	}
	return append(objects, access(DiskDriverAccess, identity,
		rbac.Rule("", write, "persistentvolumes"),
		rbac.Rule("", "update,patch,"+rbac.Read, "persistentvolumeclaims"),
		rbac.Rule("", "update,patch", "persistentvolumeclaims/status"),
		rbac.Rule("", rbac.Read, "nodes", "pods"),
		rbac.Rule(storageGroup, rbac.Read, "storageclasses", "csinodes", "volumeattributesclasses"),
		rbac.Rule(storageGroup, "update,patch,"+rbac.Read, "volumeattachments"),
		rbac.Rule(storageGroup, "update,patch", "volumeattachments/status"),
		rbac.Rule(snapshotGroup, rbac.Read, "volumesnapshotclasses"),
		rbac.Rule(snapshotGroup, write, "volumesnapshots", "volumesnapshotcontents"),
		rbac.Rule(snapshotGroup, "update,patch", "volumesnapshots/status", "volumesnapshotcontents/status"),
		rbac.Rule("", "get,list,watch,create,patch,update", "events"),
	)...)
}

// DiskNodes is the account of the driver's pods on nodes, which look at their own Node and at what is to be attached.
func DiskNodes(*inside.Facts) []client.Object {
	return []client.Object{
		&corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: contract.DriverNamespace, Name: DiskNodesAccount}},
		ClusterRole(DiskNodesAccess, rbac.Rule("", "get", "nodes"), rbac.Rule(storageGroup, "get", "csinodes"), rbac.Rule(storageGroup, rbac.Read, "volumeattachments")),
		Bind(DiskNodesAccess, DiskNodesAccess, rbacv1.Subject{Kind: rbacv1.ServiceAccountKind, Namespace: contract.DriverNamespace, Name: DiskNodesAccount}),
	}
}

// DiskNodesAccount is the driver's account on nodes, and DiskNodesAccess what binds it.
const (
	DiskNodesAccount = "azure-disk-csi-driver-node-sa"
	DiskNodesAccess  = "hypershift:azure-disk-csi-driver-node"
)
