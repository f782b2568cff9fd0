package access

import (
	certificatesv1 "k8s.io/api/certificates/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hypershift-on-azure/hypershift/api/v1beta1"
	"github.com/hypershift-on-azure/hypershift/internal/contract"
	"github.com/hypershift-on-azure/hypershift/internal/guest/inside"
	"github.com/hypershift-on-azure/hypershift/internal/guest/observed"
	"github.com/hypershift-on-azure/hypershift/internal/kube/rbac"
	"github.com/hypershift-on-azure/hypershift/internal/pki"
	"github.com/hypershift-on-azure/hypershift/internal/release"
)

// Bindings that give programs of the control plane their rights in the guest; their pods wait for them.
const (
	ConfigOperatorAccess  = "hypershift:hosted-cluster-config-operator"
	MachineApproverAccess = "hypershift:machine-approver"
	CloudControllerAccess = "hypershift:cloud-controller-manager"
	DiskDriverAccess      = "hypershift:azure-disk-csi-driver-controller"
)

const (
	// CloudProviderAccount of kube-system is whom the cloudProvider identity is federated with.
	CloudProviderAccount = "azure-cloud-provider"
	// cloudResourceLock is the Lease of kube-system that the cloud-controller-manager takes while it changes load balancers; the name is
	// the program's own.
	cloudResourceLock = "aks-managed-resource-locker"
)

// ControlPlane is what programs of the control plane may do in the guest, besides the config operator, which keeps these
// objects. Of each program the ClusterRoleBinding comes last: it is what the program's pod waits for.
func ControlPlane(*inside.Facts) []client.Object {
	return append(machineApproverAccess(), cloudControllerAccess()...)
}

// machineApproverAccess: the approver lets kubelets in, and could let nobody else in.
func machineApproverAccess() []client.Object {
	approve := rbac.Named(rbac.Rule("certificates.k8s.io", "approve", "signers"), certificatesv1.KubeletServingSignerName, certificatesv1.KubeAPIServerClientKubeletSignerName)
	return access(MachineApproverAccess, pki.MachineApprover,
		rbac.Rule("certificates.k8s.io", rbac.Read, "certificatesigningrequests"),
		rbac.Rule("certificates.k8s.io", "update", "certificatesigningrequests/approval"),
		approve,
		rbac.Rule("", rbac.Read, "nodes"),
	)
}

// cloudControllerAccess: load balancers of Services, and Nodes whose machine is gone; no Secrets. The token of the identity that it
// exchanges at Azure is the only one it can ask for.
func cloudControllerAccess() []client.Object {
	token := rbac.Named(rbac.Rule("", "create", "serviceaccounts/token"), CloudProviderAccount)
	lease := rbac.Rule("coordination.k8s.io", "get,create,update", "leases")
	lock := rbac.Named(rbac.Rule("coordination.k8s.io", "get,update", "leases"), cloudResourceLock)
	// A right to create cannot name what is created.
	newLock := rbac.Rule("coordination.k8s.io", "create", "leases")
	subject := user(pki.CloudControllerManager.User())
	objects := []client.Object{
		&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: contract.CloudControllerNamespace}},
		ServiceAccount(CloudProviderAccount),
		Role(inside.KubeSystem, CloudControllerAccess, token, lock, newLock),
		BindRole(inside.KubeSystem, CloudControllerAccess, CloudControllerAccess, subject),
		BindRole(inside.KubeSystem, CloudControllerAccess+"-authentication", contract.AuthenticationReader, subject),
		Role(contract.CloudControllerNamespace, CloudControllerAccess, lease),
		BindRole(contract.CloudControllerNamespace, CloudControllerAccess, CloudControllerAccess, subject),
		Bind(CloudControllerAccess+"-authentication", "system:auth-delegator", subject),
	}
	return append(objects, access(CloudControllerAccess, pki.CloudControllerManager,
		rbac.Rule("", "get,list,watch,update,patch", "services"),
		rbac.Rule("", "update,patch", "services/status"),
		rbac.Rule("", "get,list,watch,update,patch,delete", "nodes"),
		rbac.Rule("", "patch", "nodes/status"),
		rbac.Rule("discovery.k8s.io", rbac.Read, "endpointslices"),
		rbac.Rule("", "create,patch,update", "events"),
		rbac.Rule("events.k8s.io", "create,patch,update", "events"),
	)...)
}

// access gives an identity its rights, and lets it see that it has them.
func access(name string, identity pki.Identity, rules ...rbacv1.PolicyRule) []client.Object {
	itself := rbac.Named(rbac.Rule(rbacv1.GroupName, "get", "clusterrolebindings"), name)
	return []client.Object{ClusterRole(name, append(rules, itself)...), Bind(name, name, user(identity.User()))}
}

// ConfigOperatorSecrets are the Secrets of the control-plane namespace that the config operator reads, with a payload of the kind.
func ConfigOperatorSecrets(hcp *hyperv1.HostedControlPlane, kind release.Kind) []string {
	return append(inside.SecretsRead(hcp, kind), contract.InPlaceUpdates)
}

// ConfigOperatorRights are those in the control-plane namespace that the config operator has with a kind of payload alone.
func ConfigOperatorRights(kind release.Kind) []rbacv1.PolicyRule {
	return map[release.Kind][]rbacv1.PolicyRule{
		release.KindOpenShift: {
			// The guest's hash of a password is noted on the password, and what the guest has no more has no copy.
			rbac.Named(rbac.Rule("", "patch", "secrets"), contract.KubeadminPassword),
			rbac.Named(rbac.Rule("", "delete", "configmaps"), observed.Names(kind)...),
		},
	}[kind]
}
