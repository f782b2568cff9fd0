package access

import (
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/hypershift-on-azure/hypershift/internal/contract"
	"github.com/hypershift-on-azure/hypershift/internal/guest/inside"
	"github.com/hypershift-on-azure/hypershift/internal/kube/rbac"
)

// infraNamespace has the accounts of controllers that watch over namespaces and images.
const infraNamespace = contract.InfraNamespace

var tellEvents = rbac.Rule("", "create,patch,update", "events")

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
			rbac.Rule("certificates.k8s.io", rbac.Read, "certificatesigningrequests"),
			rbac.Rule("certificates.k8s.io", "update", "certificatesigningrequests/approval"),
			rbac.Named(rbac.Rule("certificates.k8s.io", "approve", "signers"), "kubernetes.io/kube-apiserver-client"), tellEvents}},
		{"system:openshift:controller:namespace-security-allocation-controller", "namespace-security-allocation-controller", []rbacv1.PolicyRule{
			rbac.Rule("", "update,patch,"+rbac.Read, "namespaces"),
			rbac.Rule("security.internal.openshift.io", "get,create,update", "rangeallocations"), tellEvents}},
		{"system:openshift:controller:podsecurity-admission-label-syncer-controller", "podsecurity-admission-label-syncer-controller", []rbacv1.PolicyRule{
			rbac.Rule("", "update,patch,"+rbac.Read, "namespaces"), rbac.Rule("", rbac.Read, "serviceaccounts"),
			rbac.Rule(rbacv1.GroupName, rbac.Read, "roles", "rolebindings", "clusterroles", "clusterrolebindings"),
			rbac.Rule("security.openshift.io", rbac.Read, "securitycontextconstraints"), tellEvents}},
		{"system:openshift:controller:privileged-namespaces-psa-label-syncer", "privileged-namespaces-psa-label-syncer", []rbacv1.PolicyRule{
			rbac.Rule("", "update,patch,"+rbac.Read, "namespaces")}},
		{"system:openshift:openshift-controller-manager:ingress-to-route-controller", "ingress-to-route-controller", []rbacv1.PolicyRule{
			rbac.Rule("", rbac.Read, "secrets", "services"), rbac.Rule("networking.k8s.io", rbac.Read, "ingresses", "ingressclasses"),
			rbac.Rule("networking.k8s.io", "update", "ingresses/status"),
			rbac.Rule("route.openshift.io", "create,update,patch,delete,"+rbac.Read, "routes"),
			rbac.Rule("route.openshift.io", "create,update", "routes/custom-host"), tellEvents}},
		{"system:openshift:openshift-controller-manager:image-trigger-controller", "image-trigger-controller", []rbacv1.PolicyRule{
			rbac.Rule("image.openshift.io", "list,watch", "imagestreams"),
			rbac.Rule("apps", "update,"+rbac.Read, "deployments", "daemonsets", "statefulsets"),
			rbac.Rule("batch", "update,"+rbac.Read, "cronjobs"),
			rbac.Rule("apps.openshift.io", "update,"+rbac.Read, "deploymentconfigs"),
			rbac.Rule("build.openshift.io", "update,"+rbac.Read, "buildconfigs"),
			rbac.Rule("build.openshift.io", "create", "buildconfigs/instantiate"), tellEvents}},
		// Whoever gives the deployers of every namespace this role must have what is in it.
		{"system:deployer", "default-rolebindings-controller", []rbacv1.PolicyRule{
			rbac.Rule("", "update,delete,"+rbac.Read, "replicationcontrollers"), rbac.Rule("", "get,update", "replicationcontrollers/scale"),
			rbac.Rule("", "create,"+rbac.Read, "pods"), rbac.Rule("", "get", "pods/log"),
			rbac.Rule("", "create,list", "events"),
			rbac.Rule("image.openshift.io", "create,update", "imagestreamtags", "imagetags")}},
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
const routeSpace = contract.RouteManager

// users are the rights of who has a token of the OAuth server, who makes Routes, and who shares the controller manager's lock.
func users(owners, routing rbacv1.Subject, locking ...rbacv1.Subject) []client.Object {
	const (
		tokens    = "system:openshift:useroauthaccesstoken-manager"
		lock      = "system:openshift:leader-election-lock-kube-controller-manager"
		routes    = contract.RouteControllers
		resources = "hypershift-metrics-resources-reader"
	)
	leases := func(name string) []rbacv1.PolicyRule {
		return []rbacv1.PolicyRule{rbac.Rule("coordination.k8s.io", "create", "leases"), rbac.Named(rbac.Rule("coordination.k8s.io", "get,update,patch", "leases"), name)}
	}
	return []client.Object{
		// People see and end their own sessions; the API shows nobody those of others.
		ClusterRole(tokens, rbac.Rule("oauth.openshift.io", "delete,"+rbac.Read, "useroauthaccesstokens")),
		Bind(tokens, tokens, owners),
		// What a scheduler publishes of pods' requests and limits, beside its own metrics.
		ClusterRole(resources, rbacv1.PolicyRule{NonResourceURLs: []string{"/metrics/resources"}, Verbs: []string{"get"}}),
		Bind(resources, resources, user(metricsUser)),
		Role(inside.KubeSystem, lock, leases(contract.ControllerManager)...),
		BindRole(inside.KubeSystem, lock, lock, locking...),
		Role(routeSpace, routes, leases(routes)...),
		BindRole(routeSpace, routes, routes, routing),
		// Aggregated API servers of users learn from it whose certificates they are shown; there is no secret in it.
		BindRole(inside.KubeSystem, "authentication-reader-for-authenticated-users", contract.AuthenticationReader, group("system:authenticated")),
	}
}
