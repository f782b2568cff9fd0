package controlplane

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hypershift-on-azure/hypershift/api/v1beta1"
	"github.com/hypershift-on-azure/hypershift/internal/contract"
	"github.com/hypershift-on-azure/hypershift/internal/controlplane/ignitionserver"
	"github.com/hypershift-on-azure/hypershift/internal/controlplane/ingressoperator"
	"github.com/hypershift-on-azure/hypershift/internal/hostedcluster/operators"
	"github.com/hypershift-on-azure/hypershift/internal/kube/kubetest"
)

const (
	groupHypershift = "hypershift.openshift.io"
	groupCluster    = "cluster.x-k8s.io"
)

// accountCalls are the calls that the programs of a control plane make to the management cluster, by component and occasion. Reads go
// through caches, which list and watch. What the sandbox's programs call is seen in an audit log of its management cluster; the
// autoscaler's is what Cluster API's provider publishes for it.
var accountCalls = map[string]map[string][]kubetest.Right{
	"hosted-cluster-config-operator": {
		"what the guest is to be":            slices.Concat(watched(groupHypershift, "hostedcontrolplanes"), cached("", "secrets"), watched("", "configmaps")),
		"the guest's version and conditions": slices.Concat(watched(groupHypershift, "controlplanecomponents"), kubetest.Rights(groupHypershift, "hostedcontrolplanes/status", "update")),
		"labels and taints of nodes":         watched(groupCluster, "machines"),
		"nodes that are changed in place":    slices.Concat(kubetest.Rights(groupCluster, "machinesets", "list", "watch", "patch"), kubetest.Rights(groupCluster, "machines", "patch")),
		"webhooks that call its Services":    watched("", "services"),
		"how far a re-encryption is":         kubetest.Rights("", "configmaps", "create", "patch"),
	},
	"machine-approver": {
		"which machines exist": watched(groupCluster, "machines"),
	},
	"ignition-server": {
		"what payloads are made of": slices.Concat(cached("", "secrets"), watched("", "configmaps"), watched(groupHypershift, "hostedcontrolplanes")),
		"which tokens there are":    watched("rbac.authorization.k8s.io", "roles"),
		"a payload was sent":        kubetest.Rights("events.k8s.io", "events", "create", "patch"),
	},
	"ingress-operator": {
		"which domain, its finalizer and condition": slices.Concat(watched(groupHypershift, "hostedcontrolplanes"),
			kubetest.Rights(groupHypershift, "hostedcontrolplanes", "patch"), kubetest.Rights(groupHypershift, "hostedcontrolplanes/status", "update")),
		"which records are its own": kubetest.Rights("", "configmaps", "get", "patch"),
	},
	"etcd": {
		"one of its members is defragmented at a time": kubetest.Rights("coordination.k8s.io", "leases", "create", "get", "update"),
	},
	"cluster-autoscaler": {
		"node groups and their machines, with the mark of what is to go": slices.Concat(cached(groupCluster, "machinedeployments", "update"),
			cached(groupCluster, "machinesets", "update"), cached(groupCluster, "machines", "update")),
		"their sizes":                           slices.Concat(kubetest.Rights(groupCluster, "machinedeployments/scale", "get", "update"), kubetest.Rights(groupCluster, "machinesets/scale", "get", "update")),
		"a kind of node group, when served":     cached(groupCluster, "machinepools"),
		"what a node of an empty group is like": cached("infrastructure.cluster.x-k8s.io", "azuremachinetemplates"),
	},
	// Not a program of the control plane: OpenShift's monitoring finds its pods.
	"prometheus": {
		"targets": slices.Concat(cached("", "pods"), cached("", "services"), cached("", "endpoints"), cached("discovery.k8s.io", "endpointslices")),
	},
}

// unseenCalls are rights of the control-plane-operator that the calls of its test do not take.
var unseenCalls = map[string][]kubetest.Right{
	"the kinds that its manager watches": slices.Concat(watched("", "serviceaccounts"), watched("", "pods"),
		watched("rbac.authorization.k8s.io", "roles"), watched("rbac.authorization.k8s.io", "rolebindings")),
	"what it gives to the Job that replaces a member of etcd": slices.Concat(kubetest.Rights("", "pods", "delete"),
		kubetest.Rights("", "persistentvolumeclaims", "get", "list", "delete")),
	"OpenShift asks who gives a Route a host name": kubetest.Rights("route.openshift.io", "routes/custom-host", "create", "update"),
}

func watched(group, resource string) []kubetest.Right {
	return kubetest.Rights(group, resource, "list", "watch")
}

// cached are the reads of programs that look past their caches as well.
func cached(group, resource string, more ...string) []kubetest.Right {
	return kubetest.Rights(group, resource, append([]string{"get", "list", "watch"}, more...)...)
}

// asOperator does each request as the control-plane-operator of its namespace, with the rights that the HostedCluster controller gives
// it and no others, and remembers which were used.
type asOperator struct {
	http.RoundTripper
	calls *kubetest.Calls
}

func (a asOperator) RoundTrip(request *http.Request) (*http.Response, error) {
	a.calls.Record(request)
	namespace := ""
	if parts := strings.Split(request.URL.Path, "/"); slices.Contains(parts, "namespaces") {
		namespace = parts[min(slices.Index(parts, "namespaces")+1, len(parts)-1)]
	}
	request = request.Clone(request.Context())
	request.Header.Set("Impersonate-User", "system:serviceaccount:"+namespace+":control-plane-operator")
	request.Header["Impersonate-Group"] = []string{"system:serviceaccounts", "system:serviceaccounts:" + namespace, "system:authenticated"}
	return a.RoundTripper.RoundTrip(request)
}

func (f *fixture) operator(config *rest.Config, scheme *runtime.Scheme) client.WithWatch {
	f.Helper()
	config = rest.CopyConfig(config)
	config.Wrap(func(next http.RoundTripper) http.RoundTripper { return asOperator{next, &f.calls} })
	c, err := client.NewWithWatch(config, client.Options{Scheme: scheme})
	if err != nil {
		f.Fatal(err)
	}
	return c
}

// rights of an account in the control-plane namespace; ok is false when it has none.
func (f *fixture) rights(account string) (held []kubetest.Right, ok bool) {
	f.Helper()
	roles := &rbacv1.RoleList{}
	f.list(roles)
	for _, role := range roles.Items {
		if role.Name == account {
			return kubetest.Expand(role.Rules), true
		}
	}
	return nil, false
}

// compare lists the rights that nothing uses, and those that are missing.
func (f *fixture) compare(account string, held, needed []kubetest.Right) {
	f.Helper()
	for _, right := range held {
		if !kubetest.Covers(needed, right) {
			f.Errorf("%s: nothing uses the right to %s", account, right)
		}
	}
	for _, right := range needed {
		if !kubetest.Covers(held, right) {
			f.Errorf("%s: the right to %s is needed and not held", account, right)
		}
	}
}

// TestRights follows a control plane with every component, all of whose tests run with the control-plane-operator's rights alone, to
// its end, and lists each right of an account that nothing uses.
func TestRights(t *testing.T) {
	f := newFixture(t)
	kubetest.InstallPodMonitors(t, server.Config(t))
	f.hcp = inNamespace("rights")
	published[planeRouteHostname](f.hcp)
	f.withPayload("cluster-autoscaler")
	f.begin()
	f.publishedPasses()
	f.pass()
	f.becomeAvailable("True")
	f.pass()
	f.create(f.apiServerPod())
	f.reconciler.Probe = misnamed
	f.roll()
	f.pass()
	f.checkAccounts()
	f.checkTokens()

	held, granted := f.rights("control-plane-operator")
	if !granted {
		t.Fatal("the control-plane-operator has no rights")
	}
	needed := kubetest.Expand(operators.ContractRules())
	for account := range accountCalls {
		theirs, _ := f.rights(account)
		needed = append(needed, theirs...)
	}
	f.annotate(hyperv1.DisableMachineManagementAnnotation, "")
	f.pass()
	if err := f.client.Delete(t.Context(), f.hcp); err != nil {
		t.Fatal(err)
	}
	if _, err := f.reconciler.Reconcile(t.Context(), ctrl.Request{NamespacedName: client.ObjectKeyFromObject(f.hcp)}); err != nil {
		t.Fatal(err)
	}
	for _, calls := range unseenCalls {
		needed = append(needed, calls...)
	}
	f.compare("control-plane-operator", held, append(needed, f.calls.Used()...))
}

// containersWithToken of the pod's account that is projected, and not mounted everywhere.
func containersWithToken(spec corev1.PodSpec) []string {
	projected := map[string]bool{}
	for _, volume := range spec.Volumes {
		projected[volume.Name] = volume.Projected != nil && slices.ContainsFunc(volume.Projected.Sources, func(source corev1.VolumeProjection) bool {
			return source.ServiceAccountToken != nil
		})
	}
	var names []string
	for _, container := range slices.Concat(spec.InitContainers, spec.Containers) {
		if slices.ContainsFunc(container.VolumeMounts, func(mount corev1.VolumeMount) bool { return projected[mount.Name] }) {
			names = append(names, container.Name)
		}
	}
	return names
}

// readersOfSecrets are the accounts that may read Secrets, and whether they are held to those of certain names.
var readersOfSecrets = map[string]bool{"control-plane-operator": false, "ignition-server": true, "hosted-cluster-config-operator": true}

// checkSecrets: who reads some Secrets of the control plane has no right to the keys of its authorities.
func (f *fixture) checkSecrets() {
	f.Helper()
	roles := &rbacv1.RoleList{}
	f.list(roles)
	for _, role := range roles.Items {
		for _, rule := range role.Rules {
			if !slices.Contains(rule.Resources, "secrets") {
				continue
			}
			named, ok := readersOfSecrets[role.Name]
			if !ok || named && (len(rule.ResourceNames) == 0 || slices.ContainsFunc(rule.ResourceNames, f.isAuthority)) {
				f.Errorf("%s reads Secrets: %v", role.Name, rule)
			}
		}
	}
}

// checkTokens: the ignition server has rights on the tokens of node pools, one by one, and the control-plane-operator may give them.
func (f *fixture) checkTokens() {
	f.Helper()
	tokens := &ignitionserver.TokenRights{Client: f.client, Namespace: f.hcp.Namespace}
	names := func() []string {
		f.Helper()
		if _, err := tokens.Reconcile(f.Context(), ctrl.Request{}); err != nil {
			f.Fatal(err)
		}
		role := &rbacv1.Role{}
		if err := f.client.Get(f.Context(), client.ObjectKey{Namespace: f.hcp.Namespace, Name: contract.IgnitionTokens}, role); err != nil {
			f.Fatal(err)
		}
		var all []string
		for _, rule := range role.Rules {
			if len(rule.ResourceNames) == 0 {
				f.Errorf("a right to every Secret: %v", rule)
			}
			all = append(all, rule.ResourceNames...)
		}
		return all
	}
	if none := names(); len(none) > 0 {
		f.Errorf("without tokens it reads %v", none)
	}
	token := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: f.hcp.Namespace, Name: "token-demo", Annotations: map[string]string{hyperv1.IgnitionConfigAnnotation: "true"}}}
	if err := f.client.Create(f.Context(), token); err != nil {
		f.Fatal(err)
	}
	if one := names(); !slices.Equal(one, []string{"token-demo"}) {
		f.Errorf("with a token it reads %v", one)
	}
	if err := f.client.Delete(f.Context(), token); err != nil {
		f.Fatal(err)
	}
	if none := names(); len(none) > 0 {
		f.Errorf("with its last token gone it reads %v", none)
	}
}

// isAuthority tells whether the Secret has the key of an authority, of service accounts, or of an administrator.
func (f *fixture) isAuthority(name string) bool {
	return strings.HasSuffix(name, "-ca") || slices.Contains([]string{"cluster-signer-ca", "sa-signing-key", "admin-kubeconfig", "service-network-admin-kubeconfig"}, name)
}

// checkAccounts: whoever has rights has exactly those that he uses, and a token to use them with; whoever has none has no token.
func (f *fixture) checkAccounts() {
	f.Helper()
	for account, calls := range accountCalls {
		held, ok := f.rights(account)
		if !ok {
			f.Errorf("%s has no Role", account)
		}
		var needed []kubetest.Right
		for _, some := range calls {
			needed = append(needed, some...)
		}
		f.compare(account, held, needed)
	}
	bindings := &rbacv1.RoleBindingList{}
	f.list(bindings)
	bound := map[string]bool{}
	for _, b := range bindings.Items {
		for _, subject := range b.Subjects {
			if subject.Namespace == f.hcp.Namespace {
				bound[subject.Name] = true
				if b.RoleRef.Kind != "Role" || b.RoleRef.Name != subject.Name {
					f.Errorf("%s is bound to %s %s", subject.Name, b.RoleRef.Kind, b.RoleRef.Name)
				}
			}
		}
	}
	for key, w := range f.workloads() {
		spec := w.template.Spec
		alone := containersWithToken(spec)
		if token := *spec.AutomountServiceAccountToken || len(alone) > 0; token != bound[spec.ServiceAccountName] {
			f.Errorf("%s: its pods get a token: %t; account %s has rights: %t", key, token, spec.ServiceAccountName, bound[spec.ServiceAccountName])
		}
		if len(alone) > 1 || slices.Contains(alone, strings.TrimPrefix(key, "StatefulSet/")) {
			f.Errorf("%s: the token of one container is mounted into %v", key, alone)
		}
	}
	f.checkSecrets()
	record := &rbacv1.Role{}
	f.get(record, ingressoperator.Name)
	for _, rule := range record.Rules {
		if slices.Contains(rule.Resources, "configmaps") && len(rule.ResourceNames) != 1 {
			f.Errorf("the ingress operator writes any ConfigMap: %v", rule)
		}
	}
	for _, account := range []string{"default", "kube-apiserver", "router"} {
		if bound[account] {
			f.Errorf("account %s has rights on the management cluster", account)
		}
	}
	accounts := &corev1.ServiceAccountList{}
	f.list(accounts)
	if len(accounts.Items) < len(f.workloads()) {
		f.Errorf("%d accounts for %d workloads: somebody shares one", len(accounts.Items), len(f.workloads()))
	}
}
