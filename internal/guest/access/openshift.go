package access

import (
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/hypershift-on-azure/hypershift/internal/guest/inside"
	"github.com/hypershift-on-azure/hypershift/internal/kube/rbac"
)

// autoUpdate has API servers of OpenShift complete a role or a binding that they know.
const autoUpdate = "rbac.authorization.kubernetes.io/autoupdate"

// autoUpdated are names of roles, and of their bindings, with it; of the first the binding alone.
var autoUpdated = map[string]bool{
	"system:openshift:controller:cluster-csr-approver-controller": false, "system:openshift:controller:podsecurity-admission-label-syncer-controller": true,
	"system:openshift:controller:privileged-namespaces-psa-label-syncer": true, "system:deployer": true, "system:openshift:useroauthaccesstoken-manager": true,
}

// OpenShiftControllers are the rights of the controllers of a payload of OpenShift's, as its programs were written for.
func OpenShiftControllers(*inside.Facts) []client.Object {
	namespaces := rbac.Rule("", "update,patch,"+rbac.Read, "namespaces")
	ranges := rbacv1.PolicyRule{APIGroups: []string{"security.openshift.io", "security.internal.openshift.io"}, Resources: []string{"rangeallocations"}, Verbs: []string{"create", "get", "update"}}
	tags := rbacv1.PolicyRule{APIGroups: []string{"", "image.openshift.io"}, Resources: []string{"imagestreamtags", "imagetags"}, Verbs: []string{"create", "update"}}
	const change = "update," + rbac.Read
	return autoUpdating(rightsOf([]controller{
		{"system:openshift:controller:cluster-csr-approver-controller", "cluster-csr-approver-controller", []rbacv1.PolicyRule{
			rbac.Rule("certificates.k8s.io", rbac.Read, "certificatesigningrequests"), rbac.Rule("certificates.k8s.io", "update", "certificatesigningrequests/approval"),
			rbac.Named(rbac.Rule("certificates.k8s.io", "approve", "signers"), "kubernetes.io/kube-apiserver-client"), tellEvents}},
		{"system:openshift:controller:namespace-security-allocation-controller", "namespace-security-allocation-controller", []rbacv1.PolicyRule{ranges, namespaces, tellEvents}},
		{"system:openshift:controller:podsecurity-admission-label-syncer-controller", "podsecurity-admission-label-syncer-controller", []rbacv1.PolicyRule{
			namespaces, tellEvents, rbac.Rule("", rbac.Read, "serviceaccounts"), rbac.Rule("security.openshift.io", rbac.Read, "securitycontextconstraints"),
			rbac.Rule(rbacv1.GroupName, rbac.Read, "clusterroles", "clusterrolebindings", "roles", "rolebindings")}},
		{"system:openshift:controller:privileged-namespaces-psa-label-syncer", "privileged-namespaces-psa-label-syncer", []rbacv1.PolicyRule{
			rbac.Rule("", rbac.Read, "namespaces"), rbac.Named(rbac.Rule("", "patch", "namespaces"), "default", metav1.NamespaceSystem, "kube-public")}},
		{"system:openshift:openshift-controller-manager:ingress-to-route-controller", "ingress-to-route-controller", []rbacv1.PolicyRule{
			rbac.Rule("", rbac.Read, "secrets", "services"),
			// In the singular, as OpenShift has it.
			rbac.Rule("networking.k8s.io", rbac.Read, "ingress"), rbac.Rule("networking.k8s.io", "update", "ingresses/status"),
			rbac.Rule("route.openshift.io", "create,delete,patch,update,"+rbac.Read, "routes"),
			rbac.Rule("route.openshift.io", "create,update", "routes/custom-host"), tellEvents}},
		{"system:openshift:openshift-controller-manager:image-trigger-controller", "image-trigger-controller", []rbacv1.PolicyRule{
			rbac.Rule("apps.openshift.io", change, "deploymentconfigs"), rbac.Rule("build.openshift.io", change, "buildconfigs"),
			rbac.Rule("apps", change, "deployments", "daemonsets", "statefulsets"), rbac.Rule("batch", change, "cronjobs")}},
		{"system:deployer", "default-rolebindings-controller", []rbacv1.PolicyRule{
			rbac.Rule("", "update,patch,delete,"+rbac.Read, "replicationcontrollers"), rbac.Rule("", "get,update", "replicationcontrollers/scale"),
			rbac.Rule("", "create,"+rbac.Read, "pods"), rbac.Rule("", "get", "pods/log"), rbac.Rule("", "create,list", "events"), tags}},
	}))
}

// OpenShiftUsers are those of who has a token of the OAuth server, and of programs that speak for users.
func OpenShiftUsers(*inside.Facts) []client.Object {
	return autoUpdating(users(group("system:authenticated:oauth"), inInfra("ingress-to-route-controller"),
		user("system:kube-controller-manager"), inInfra("namespace-security-allocation-controller")))
}

func autoUpdating(objects []client.Object) []client.Object {
	for _, obj := range objects {
		role, known := autoUpdated[obj.GetName()]
		if _, binding := obj.(*rbacv1.ClusterRoleBinding); known && (role || binding) {
			obj.SetAnnotations(map[string]string{autoUpdate: "true"})
		}
	}
	return objects
}
