package guest

import (
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// infraNamespace has the accounts of controllers that watch over namespaces and images.
const infraNamespace = "openshift-infra"

var (
	look       = []string{"get", "list", "watch"}
	tellEvents = rule("", []string{"create", "patch", "update"}, "events")
)

// controllerRights are the rights that OpenShift's controllers outside of the guest find in it, whatever payload it has: who brings such
// a controller to a guest that had none must not wait for somebody to give them.
func controllerRights(*Facts) []client.Object {
	var out []client.Object
	for _, controller := range []struct {
		name    string
		account string
		rules   []rbacv1.PolicyRule
	}{
		{"system:openshift:controller:cluster-csr-approver-controller", "cluster-csr-approver-controller", []rbacv1.PolicyRule{
			rule("certificates.k8s.io", look, "certificatesigningrequests"),
			rule("certificates.k8s.io", []string{"update"}, "certificatesigningrequests/approval"),
			named(rule("certificates.k8s.io", []string{"approve"}, "signers"), "kubernetes.io/kube-apiserver-client"), tellEvents}},
		{"system:openshift:controller:namespace-security-allocation-controller", "namespace-security-allocation-controller", []rbacv1.PolicyRule{
			rule("", append([]string{"update", "patch"}, look...), "namespaces"),
			rule("security.internal.openshift.io", []string{"get", "create", "update"}, "rangeallocations"), tellEvents}},
		{"system:openshift:controller:podsecurity-admission-label-syncer-controller", "podsecurity-admission-label-syncer-controller", []rbacv1.PolicyRule{
			rule("", append([]string{"update", "patch"}, look...), "namespaces"), rule("", look, "serviceaccounts"),
			rule(rbacv1.GroupName, look, "roles", "rolebindings", "clusterroles", "clusterrolebindings"),
			rule("security.openshift.io", look, "securitycontextconstraints"), tellEvents}},
		{"system:openshift:controller:privileged-namespaces-psa-label-syncer", "privileged-namespaces-psa-label-syncer", []rbacv1.PolicyRule{
			rule("", append([]string{"update", "patch"}, look...), "namespaces")}},
		{"system:openshift:openshift-controller-manager:ingress-to-route-controller", "ingress-to-route-controller", []rbacv1.PolicyRule{
			rule("", look, "secrets", "services"), rule("networking.k8s.io", look, "ingresses", "ingressclasses"),
			rule("networking.k8s.io", []string{"update"}, "ingresses/status"),
			rule("route.openshift.io", append([]string{"create", "update", "patch", "delete"}, look...), "routes"),
			rule("route.openshift.io", []string{"create", "update"}, "routes/custom-host"), tellEvents}},
		{"system:openshift:openshift-controller-manager:image-trigger-controller", "image-trigger-controller", []rbacv1.PolicyRule{
			rule("image.openshift.io", []string{"list", "watch"}, "imagestreams"),
			rule("apps", append([]string{"update"}, look...), "deployments", "daemonsets", "statefulsets"),
			rule("batch", append([]string{"update"}, look...), "cronjobs"),
			rule("apps.openshift.io", append([]string{"update"}, look...), "deploymentconfigs"),
			rule("build.openshift.io", append([]string{"update"}, look...), "buildconfigs"),
			rule("build.openshift.io", []string{"create"}, "buildconfigs/instantiate"), tellEvents}},
		// Whoever gives the deployers of every namespace this role must have what is in it.
		{"system:deployer", "default-rolebindings-controller", []rbacv1.PolicyRule{
			rule("", append([]string{"update", "delete"}, look...), "replicationcontrollers"), rule("", []string{"get", "update"}, "replicationcontrollers/scale"),
			rule("", append([]string{"create"}, look...), "pods"), rule("", []string{"get"}, "pods/log"),
			rule("", []string{"create", "list"}, "events"),
			rule("image.openshift.io", []string{"create", "update"}, "imagestreamtags", "imagetags")}},
	} {
		subject := rbacv1.Subject{Kind: rbacv1.ServiceAccountKind, Namespace: infraNamespace, Name: controller.account}
		out = append(out, clusterRole(controller.name, controller.rules...), bind(controller.name, controller.name, subject))
	}
	return append(out,
		// The template of pods that clean volumes of the controller manager runs under it.
		&corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: infraNamespace, Name: "pv-recycler-controller"}})
}

// commonRights are those of users and of programs that speak for them.
func commonRights(*Facts) []client.Object {
	const (
		tokens     = "system:openshift:useroauthaccesstoken-manager"
		lock       = "system:openshift:leader-election-lock-kube-controller-manager"
		routes     = "openshift-route-controllers"
		routeSpace = "openshift-route-controller-manager"
		resources  = "hypershift-metrics-resources-reader"
	)
	everybody := group("system:authenticated")
	leases := func(name string) []rbacv1.PolicyRule {
		return []rbacv1.PolicyRule{rule("coordination.k8s.io", []string{"create"}, "leases"), named(rule("coordination.k8s.io", []string{"get", "update", "patch"}, "leases"), name)}
	}
	return []client.Object{
		// People see and end their own sessions; the API shows nobody those of others.
		clusterRole(tokens, rule("oauth.openshift.io", append([]string{"delete"}, look...), "useroauthaccesstokens")),
		bind(tokens, tokens, everybody),
		// What a scheduler publishes of pods' requests and limits, beside its own metrics.
		clusterRole(resources, rbacv1.PolicyRule{NonResourceURLs: []string{"/metrics/resources"}, Verbs: []string{"get"}}),
		bind(resources, resources, user(metricsUser)),
		role(kubeSystem, lock, leases("kube-controller-manager")...),
		bindRole(kubeSystem, lock, lock, user("system:kube-controller-manager")),
		role(routeSpace, routes, leases(routes)...),
		bindRole(routeSpace, routes, routes, rbacv1.Subject{Kind: rbacv1.ServiceAccountKind, Namespace: routeSpace, Name: "route-controller-manager-sa"}),
		// Aggregated API servers of users learn from it whose certificates they are shown; there is no secret in it.
		bindRole(kubeSystem, "authentication-reader-for-authenticated-users", "extension-apiserver-authentication-reader", everybody),
	}
}
