package access

import (
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/hypershift-on-azure/hypershift/internal/contract"
	"github.com/hypershift-on-azure/hypershift/internal/guest/inside"
)

// infraNamespace has the accounts of controllers that watch over namespaces and images.
const infraNamespace = "openshift-infra"

var (
	look       = []string{"get", "list", "watch"}
	tellEvents = Rule("", []string{"create", "patch", "update"}, "events")
)

// controller of OpenShift's, its account in infraNamespace, and what it may do.
type controller struct {
	name    string
	account string
	rules   []rbacv1.PolicyRule
}

// Controllers are the rights that OpenShift's controllers outside of the guest find in it, whatever payload it has: who brings such
// a controller to a guest that had none must not wait for somebody to give them.
func Controllers(*inside.Facts) []client.Object {
	return rightsOf([]controller{
		{"system:openshift:controller:cluster-csr-approver-controller", "cluster-csr-approver-controller", []rbacv1.PolicyRule{
			Rule("certificates.k8s.io", look, "certificatesigningrequests"),
			Rule("certificates.k8s.io", []string{"update"}, "certificatesigningrequests/approval"),
			Named(Rule("certificates.k8s.io", []string{"approve"}, "signers"), "kubernetes.io/kube-apiserver-client"), tellEvents}},
		{"system:openshift:controller:namespace-security-allocation-controller", "namespace-security-allocation-controller", []rbacv1.PolicyRule{
			Rule("", append([]string{"update", "patch"}, look...), "namespaces"),
			Rule("security.internal.openshift.io", []string{"get", "create", "update"}, "rangeallocations"), tellEvents}},
		{"system:openshift:controller:podsecurity-admission-label-syncer-controller", "podsecurity-admission-label-syncer-controller", []rbacv1.PolicyRule{
			Rule("", append([]string{"update", "patch"}, look...), "namespaces"), Rule("", look, "serviceaccounts"),
			Rule(rbacv1.GroupName, look, "roles", "rolebindings", "clusterroles", "clusterrolebindings"),
			Rule("security.openshift.io", look, "securitycontextconstraints"), tellEvents}},
		{"system:openshift:controller:privileged-namespaces-psa-label-syncer", "privileged-namespaces-psa-label-syncer", []rbacv1.PolicyRule{
			Rule("", append([]string{"update", "patch"}, look...), "namespaces")}},
		{"system:openshift:openshift-controller-manager:ingress-to-route-controller", "ingress-to-route-controller", []rbacv1.PolicyRule{
			Rule("", look, "secrets", "services"), Rule("networking.k8s.io", look, "ingresses", "ingressclasses"),
			Rule("networking.k8s.io", []string{"update"}, "ingresses/status"),
			Rule("route.openshift.io", append([]string{"create", "update", "patch", "delete"}, look...), "routes"),
			Rule("route.openshift.io", []string{"create", "update"}, "routes/custom-host"), tellEvents}},
		{"system:openshift:openshift-controller-manager:image-trigger-controller", "image-trigger-controller", []rbacv1.PolicyRule{
			Rule("image.openshift.io", []string{"list", "watch"}, "imagestreams"),
			Rule("apps", append([]string{"update"}, look...), "deployments", "daemonsets", "statefulsets"),
			Rule("batch", append([]string{"update"}, look...), "cronjobs"),
			Rule("apps.openshift.io", append([]string{"update"}, look...), "deploymentconfigs"),
			Rule("build.openshift.io", append([]string{"update"}, look...), "buildconfigs"),
			Rule("build.openshift.io", []string{"create"}, "buildconfigs/instantiate"), tellEvents}},
		// Whoever gives the deployers of every namespace this role must have what is in it.
		{"system:deployer", "default-rolebindings-controller", []rbacv1.PolicyRule{
			Rule("", append([]string{"update", "delete"}, look...), "replicationcontrollers"), Rule("", []string{"get", "update"}, "replicationcontrollers/scale"),
			Rule("", append([]string{"create"}, look...), "pods"), Rule("", []string{"get"}, "pods/log"),
			Rule("", []string{"create", "list"}, "events"),
			Rule("image.openshift.io", []string{"create", "update"}, "imagestreamtags", "imagetags")}},
	})
}

func rightsOf(controllers []controller) []client.Object {
	var out []client.Object
	for _, c := range controllers {
		out = append(out, ClusterRole(c.name, c.rules...), Bind(c.name, c.name, inInfra(c.account)))
	}
	return append(out,
		// The template of pods that clean volumes of the controller manager runs under it.
		&corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: infraNamespace, Name: "pv-recycler-controller"}})
}

// inInfra is an account of infraNamespace as a subject.
func inInfra(name string) rbacv1.Subject {
	return rbacv1.Subject{Kind: rbacv1.ServiceAccountKind, Namespace: infraNamespace, Name: name}
}

// Users are those of users and of programs that speak for them.
func Users(*inside.Facts) []client.Object {
	return users(group("system:authenticated"), rbacv1.Subject{Kind: rbacv1.ServiceAccountKind, Namespace: routeSpace, Name: "route-controller-manager-sa"},
		user("system:kube-controller-manager"))
}

// routeSpace has the lease of the controller that makes Routes of Ingresses.
const routeSpace = "openshift-route-controller-manager"

// users are the rights of who has a token of the OAuth server, who makes Routes, and who shares the controller manager's lock.
func users(owners, routing rbacv1.Subject, locking ...rbacv1.Subject) []client.Object {
	const (
		tokens    = "system:openshift:useroauthaccesstoken-manager"
		lock      = "system:openshift:leader-election-lock-kube-controller-manager"
		routes    = "openshift-route-controllers"
		resources = "hypershift-metrics-resources-reader"
	)
	leases := func(name string) []rbacv1.PolicyRule {
		return []rbacv1.PolicyRule{Rule("coordination.k8s.io", []string{"create"}, "leases"), Named(Rule("coordination.k8s.io", []string{"get", "update", "patch"}, "leases"), name)}
	}
	return []client.Object{
		// People see and end their own sessions; the API shows nobody those of others.
		ClusterRole(tokens, Rule("oauth.openshift.io", append([]string{"delete"}, look...), "useroauthaccesstokens")),
		Bind(tokens, tokens, owners),
		// What a scheduler publishes of pods' requests and limits, beside its own metrics.
		ClusterRole(resources, rbacv1.PolicyRule{NonResourceURLs: []string{"/metrics/resources"}, Verbs: []string{"get"}}),
		Bind(resources, resources, user(metricsUser)),
		Role(inside.KubeSystem, lock, leases(contract.ControllerManager)...),
		BindRole(inside.KubeSystem, lock, lock, locking...),
		Role(routeSpace, routes, leases(routes)...),
		BindRole(routeSpace, routes, routes, routing),
		// Aggregated API servers of users learn from it whose certificates they are shown; there is no secret in it.
		BindRole(inside.KubeSystem, "authentication-reader-for-authenticated-users", "extension-apiserver-authentication-reader", group("system:authenticated")),
	}
}
