package access

import (
	"testing"

	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/hypershift-on-azure/hypershift/internal/contract"
	"github.com/hypershift-on-azure/hypershift/internal/kube"
	"github.com/hypershift-on-azure/hypershift/internal/kube/kubetest"
	"github.com/hypershift-on-azure/hypershift/internal/pki"
)

// TestDiskAccess: what both halves of the driver of disks may do in the guest, asked of a real API server.
func TestDiskAccess(t *testing.T) {
	admin, err := client.New(kubetest.Start(t), client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: contract.DriverNamespace}}
	objects := append([]client.Object{namespace}, append(DiskDriver(nil), DiskNodes(nil)...)...)
	if err := kube.Apply(t.Context(), admin, "test", objects...); err != nil {
		t.Fatal(err)
	}
	controller, node := pki.DiskDriver.User(), "system:serviceaccount:"+contract.DriverNamespace+":"+DiskNodesAccount
	for what, test := range map[string]struct {
		user    string
		ask     authorizationv1.ResourceAttributes
		allowed bool
	}{
		"controller: makes volumes":           {controller, authorizationv1.ResourceAttributes{Verb: "create", Resource: "persistentvolumes"}, true},
		"controller: tells of an attachment":  {controller, authorizationv1.ResourceAttributes{Verb: "patch", Group: storageGroup, Resource: "volumeattachments", Subresource: "status"}, true},
		"controller: its identity's token":    {controller, authorizationv1.ResourceAttributes{Verb: "create", Resource: "serviceaccounts", Subresource: "token", Namespace: contract.DriverNamespace, Name: pki.DiskDriver.Name}, true},
		"controller: the token of file's":     {controller, authorizationv1.ResourceAttributes{Verb: "create", Resource: "serviceaccounts", Subresource: "token", Namespace: contract.DriverNamespace, Name: "azure-file-csi-driver-controller-sa"}, false},
		"controller: secrets":                 {controller, authorizationv1.ResourceAttributes{Verb: "get", Resource: "secrets", Namespace: contract.DriverNamespace}, false},
		"controller: pods":                    {controller, authorizationv1.ResourceAttributes{Verb: "create", Resource: "pods", Namespace: "default"}, false},
		"controller: classes are the guest's": {controller, authorizationv1.ResourceAttributes{Verb: "delete", Group: storageGroup, Resource: "storageclasses"}, false},
		"node: its Node":                      {node, authorizationv1.ResourceAttributes{Verb: "get", Resource: "nodes"}, true},
		"node: changes a Node":                {node, authorizationv1.ResourceAttributes{Verb: "patch", Resource: "nodes"}, false},
		"node: volumes":                       {node, authorizationv1.ResourceAttributes{Verb: "list", Resource: "persistentvolumes"}, false},
		"node: tokens":                        {node, authorizationv1.ResourceAttributes{Verb: "create", Resource: "serviceaccounts", Subresource: "token", Namespace: contract.DriverNamespace}, false},
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
