package ignitionserver

import (
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	hyperv1 "github.com/hypershift-on-azure/hypershift/api/v1beta1"
	"github.com/hypershift-on-azure/hypershift/internal/contract"
)

// TestOfferedTokens: the config operator may read those Secrets alone that have a configuration, while there are any.
func TestOfferedTokens(t *testing.T) {
	secret := func(name string, token bool, payload string) *corev1.Secret {
		s := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name}, Data: map[string][]byte{}}
		if token {
			s.Annotations = map[string]string{hyperv1.IgnitionConfigAnnotation: "true"}
		}
		if payload != "" {
			s.Data["payload"] = []byte(payload)
		}
		return s
	}
	offered := secret(contract.PoolToken("np", "aaaa"), true, "x")
	c := fake.NewClientBuilder().WithObjects(offered, secret("token-np-bbbb", true, ""), secret("theirs", false, "x")).Build()
	rights := &TokenRights{Client: c, Namespace: "ns"}
	key := client.ObjectKey{Namespace: "ns", Name: contract.InPlaceTokens}
	if _, err := rights.Reconcile(t.Context(), ctrl.Request{}); err != nil {
		t.Fatal(err)
	}
	role, binding := &rbacv1.Role{}, &rbacv1.RoleBinding{}
	if err := c.Get(t.Context(), key, role); err != nil {
		t.Fatal(err)
	}
	if err := c.Get(t.Context(), key, binding); err != nil {
		t.Fatal(err)
	}
	if len(role.Rules) != 1 || !slices.Equal(role.Rules[0].ResourceNames, []string{"token-np-aaaa"}) || !slices.Equal(role.Rules[0].Verbs, []string{"get"}) ||
		binding.Subjects[0].Name != contract.ConfigOperator {
		t.Errorf("%+v, %+v", role.Rules, binding.Subjects)
	}
	server := &rbacv1.Role{}
	if err := c.Get(t.Context(), client.ObjectKey{Namespace: "ns", Name: contract.IgnitionTokens}, server); err != nil || len(server.Rules[0].ResourceNames) != 2 {
		t.Errorf("the server's: %+v, %v", server.Rules, err)
	}
	if err := c.Delete(t.Context(), offered); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if _, err := rights.Reconcile(t.Context(), ctrl.Request{}); err != nil {
			t.Fatal(err)
		}
	}
	if err := c.Get(t.Context(), key, role); !apierrors.IsNotFound(err) {
		t.Errorf("the right stays: %v", err)
	}
}
