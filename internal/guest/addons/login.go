package addons

import (
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/hypershift-on-azure/hypershift/internal/contract"
	"github.com/hypershift-on-azure/hypershift/internal/guest/access"
	"github.com/hypershift-on-azure/hypershift/internal/guest/inside"
	"github.com/hypershift-on-azure/hypershift/internal/kube/rbac"
)

// ServiceTrust is a ConfigMap in the namespace of contract.OpenShiftControllerManager that OpenShift's operator of the authority of Services fills.
const ServiceTrust = "openshift-service-ca"

// login tells everybody in the guest what the OAuth server's certificate is signed by.
func login(facts *inside.Facts) []client.Object {
	if facts.LoginCA == "" {
		return nil
	}
	const (
		name  = "oauth-serving-cert"
		trust = "system:openshift:oauth-servercert-trust"
	)
	everybody := rbacv1.Subject{Kind: rbacv1.GroupKind, APIGroup: rbacv1.GroupName, Name: "system:authenticated"}
	return []client.Object{
		&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: contract.ManagedNamespace, Name: name,
			Annotations: map[string]string{"openshift.io/owning-component": "apiserver-auth"}}, Data: map[string]string{contract.CABundleKey: facts.LoginCA}},
		access.Role(contract.ManagedNamespace, trust, rbac.Named(rbac.Rule("", rbac.Read, "configmaps"), name)),
		access.BindRole(contract.ManagedNamespace, trust, trust, everybody),
	}
}

// kubeadmin lets the first administrator in, until there is no password of theirs.
func kubeadmin(facts *inside.Facts) []client.Object {
	if facts.KubeadminHash == "" {
		return nil
	}
	return []client.Object{&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: inside.KubeSystem, Name: inside.Kubeadmin}, Type: corev1.SecretTypeOpaque,
		Data: map[string][]byte{inside.Kubeadmin: []byte(facts.KubeadminHash)}}}
}

// serviceTrust asks for the authority of the guest's Services, for the controllers of builds.
func serviceTrust(*inside.Facts) []client.Object {
	return []client.Object{&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: contract.OpenShiftControllerManager, Name: ServiceTrust,
		Annotations: map[string]string{"service.beta.openshift.io/inject-cabundle": "true"}}}}
}
