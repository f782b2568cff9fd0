package access

import (
	rbacv1 "k8s.io/api/rbac/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/hypershift-on-azure/hypershift/internal/guest/inside"
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
	namespaces := Rule("", append([]string{"update", "patch"}, look...), "namespaces")
	ranges := rbacv1.PolicyRule{APIGroups: []string{"security.openshift.io", "security.internal.openshift.io"}, Resources: []string{"rangeallocations"}, Verbs: []string{"create", "get", "update"}}
	tags := rbacv1.PolicyRule{APIGroups: []string{"", "image.openshift.io"}, Resources: []string{"imagestreamtags", "imagetags"}, Verbs: []string{"create", "update"}}
	change := append([]string{"update"}, look...)
	return autoUpdating(rightsOf([]controller{
		{"system:openshift:controller:cluster-csr-approver-controller", "cluster-csr-approver-controller", []rbacv1.PolicyRule{
			Rule("certificates.k8s.io", look, "certificatesigningrequests"), Rule("certificates.k8s.io", []string{"update"}, "certificatesigningrequests/approval"),
			Named(Rule("certificates.k8s.io", []string{"approve"}, "signers"), "kubernetes.io/kube-apiserver-client"), tellEvents}},
		{"system:openshift:controller:namespace-security-allocation-controller", "namespace-security-allocation-controller", []rbacv1.PolicyRule{ranges, namespaces, tellEvents}},
		{"system:openshift:controller:podsecurity-admission-label-syncer-controller", "podsecurity-admission-label-syncer-controller", []rbacv1.PolicyRule{
			namespaces, tellEvents, Rule("", look, "serviceaccounts"), Rule("security.openshift.io", look, "securitycontextconstraints"),
			Rule(rbacv1.GroupName, look, "clusterroles", "clusterrolebindings", "roles", "rolebindings")}},
		{"system:openshift:controller:privileged-namespaces-psa-label-syncer", "privileged-namespaces-psa-label-syncer", []rbacv1.PolicyRule{
			Rule("", look, "namespaces"), Named(Rule("", []string{"patch"}, "namespaces"), "default", "kube-system", "kube-public")}},
		{"system:openshift:openshift-controller-manager:ingress-to-route-controller", "ingress-to-route-controller", []rbacv1.PolicyRule{
			Rule("", look, "secrets", "services"),
			// In the singular, as OpenShift has it.
			Rule("networking.k8s.io", look, "ingress"), Rule("networking.k8s.io", []string{"update"}, "ingresses/status"),
			Rule("route.openshift.io", append([]string{"create", "delete", "patch", "update"}, look...), "routes"),
			Rule("route.openshift.io", []string{"create", "update"}, "routes/custom-host"), tellEvents}},
		{"system:openshift:openshift-controller-manager:image-trigger-controller", "image-trigger-controller", []rbacv1.PolicyRule{
			Rule("apps.openshift.io", change, "deploymentconfigs"), Rule("build.openshift.io", change, "buildconfigs"),
			Rule("apps", change, "deployments", "daemonsets", "statefulsets"), Rule("batch", change, "cronjobs")}},
		{"system:deployer", "default-rolebindings-controller", []rbacv1.PolicyRule{
			Rule("", append([]string{"update", "patch", "delete"}, look...), "replicationcontrollers"), Rule("", []string{"get", "update"}, "replicationcontrollers/scale"),
			Rule("", append([]string{"create"}, look...), "pods"), Rule("", []string{"get"}, "pods/log"), Rule("", []string{"create", "list"}, "events"), tags}},
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
