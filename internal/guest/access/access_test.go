package access

import (
	"testing"

	authorizationv1 "k8s.io/api/authorization/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/hypershift-on-azure/hypershift/internal/contract"
	"github.com/hypershift-on-azure/hypershift/internal/kube/kubetest"
	"github.com/hypershift-on-azure/hypershift/internal/pki"
)

// TestControlPlaneAccess: what programs that look at guests' objects may do there, asked of a real API server.
func TestControlPlaneAccess(t *testing.T) {
	admin, err := client.New(kubetest.Start(t), client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for range 2 { // the second time changes nothing and must not fail either
		if err := Bootstrap(t.Context(), admin); err != nil {
			t.Fatal(err)
		}
	}
	approver, controller := pki.MachineApprover.User(), pki.CloudControllerManager.User()
	ask := func(verb, group, resource, subresource, namespace, name string) authorizationv1.ResourceAttributes {
		return authorizationv1.ResourceAttributes{Verb: verb, Group: group, Resource: resource, Subresource: subresource, Namespace: namespace, Name: name}
	}
	const certificates = "certificates.k8s.io"
	for what, test := range map[string]struct {
		user    string
		ask     authorizationv1.ResourceAttributes
		allowed bool
	}{
		"approver: kubelets' serving certificates": {approver, ask("approve", certificates, "signers", "", "", "kubernetes.io/kubelet-serving"), true},
		"approver: kubelets' client certificates":  {approver, ask("approve", certificates, "signers", "", "", "kubernetes.io/kube-apiserver-client-kubelet"), true},
		"approver: anybody's client certificates":  {approver, ask("approve", certificates, "signers", "", "", "kubernetes.io/kube-apiserver-client"), false},
		"approver: its own wait":                   {approver, ask("get", "rbac.authorization.k8s.io", "clusterrolebindings", "", "", MachineApproverAccess), true},
		"approver: secrets":                        {approver, ask("list", "", "secrets", "", "", ""), false},
		"approver: nodes":                          {approver, ask("list", "", "nodes", "", "", ""), true},
		"approver: changes nodes":                  {approver, ask("patch", "", "nodes", "", "", "n"), false},
		"controller: load balancers":               {controller, ask("patch", "", "services", "status", "x", "y"), true},
		"controller: takes nodes away":             {controller, ask("delete", "", "nodes", "", "", "n"), true},
		"controller: its identity's token":         {controller, ask("create", "", "serviceaccounts", "token", "kube-system", CloudProviderAccount), true},
		"controller: the machine provider's token": {controller, ask("create", "", "serviceaccounts", "token", "kube-system", "capi-provider"), false},
		"controller: a namesake's token":           {controller, ask("create", "", "serviceaccounts", "token", "default", CloudProviderAccount), false},
		"controller: its lease":                    {controller, ask("update", "coordination.k8s.io", "leases", "", contract.CloudControllerNamespace, "l"), true},
		"controller: the lock of load balancers":   {controller, ask("update", "coordination.k8s.io", "leases", "", "kube-system", cloudResourceLock), true},
		"controller: makes the lock":               {controller, ask("create", "coordination.k8s.io", "leases", "", "kube-system", ""), true},
		"controller: leases of others":             {controller, ask("update", "coordination.k8s.io", "leases", "", "kube-system", "l"), false},
		"controller: secrets":                      {controller, ask("get", "", "secrets", "", "kube-system", "azure-cloud-provider"), false},
		"controller: pods":                         {controller, ask("create", "", "pods", "", "default", ""), false},
	} {
		review := &authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{User: test.user, ResourceAttributes: &test.ask}}
		if err := admin.Create(t.Context(), review); err != nil {
			t.Fatal(err)
		}
		if review.Status.Allowed != test.allowed {
			t.Errorf("%s: allowed %t, want %t (%s)", what, review.Status.Allowed, test.allowed, review.Status.Reason)
		}
	}
}
