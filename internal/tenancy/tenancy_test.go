package tenancy

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	hyperv1 "github.com/hypershift-on-azure/hypershift/api/v1beta1"
)

func TestRead(t *testing.T) {
	scheme := runtime.NewScheme()
	if err := clientgoscheme.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	made := func(name, reference, uid string) *corev1.Namespace {
		namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{
			Name: name, Labels: map[string]string{hyperv1.HostedControlPlaneLabel: "true"}, Annotations: map[string]string{hyperv1.HostedClusterAnnotation: reference},
		}}
		if uid != "" {
			namespace.Annotations[hyperv1.HostedClusterUIDAnnotation] = uid
		}
		return namespace
	}
	all := fake.NewClientBuilder().WithScheme(scheme).WithObjects(
		&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "acme"}},
		made("acme-dev-prod", "acme-dev/prod", "1"), made("acme-former", "acme/former", "1"), made("acme-older", "acme/older", ""),
		&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "acme-mine"}},
	).Build()
	empty := fake.NewClientBuilder().WithScheme(scheme).Build()
	for name, test := range map[string]struct {
		tenant  Tenant
		found   bool
		refused bool
	}{
		"its own":                              {Tenant{"acme-dev", "prod", "1"}, true, false},
		"the same name by another way":         {Tenant{"acme", "dev-prod", "2"}, false, true},
		"a dot for a dash":                     {Tenant{"acme-dev", "pr.od", "2"}, false, false},
		"a former cluster's":                   {Tenant{"acme", "former", "2"}, false, true},
		"its own, the cluster is gone":         {Tenant{"acme", "former", ""}, true, false},
		"somebody's, the cluster is gone":      {Tenant{"acme", "dev-prod", ""}, false, true},
		"its own, made by an older operator":   {Tenant{"acme", "older", "2"}, true, false},
		"somebody's without any annotation":    {Tenant{"acme", "mine", "2"}, false, true},
		"none":                                 {Tenant{"acme", "new", "2"}, false, false},
		"a HostedCluster of a control plane's": {Tenant{"acme-dev-prod", "inner", "3"}, false, true},
	} {
		for _, cached := range []client.Reader{all, empty} {
			if cached == empty && test.tenant.Namespace == "acme-dev-prod" {
				continue // the cache has the namespace of an object that it has
			}
			found, err := Read(t.Context(), cached, all, test.tenant)
			if IsRefusal(err) != test.refused || (err == nil && (found != nil) != test.found) {
				t.Errorf("%s: %v, %v", name, found, err)
			}
		}
	}
}
