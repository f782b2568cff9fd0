package install

import (
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hypershift-on-azure/hypershift/api/v1beta1"
	"github.com/hypershift-on-azure/hypershift/internal/contract"
	"github.com/hypershift-on-azure/hypershift/internal/kube/rbac"
)

const (
	operatorName     = "operator"
	operatorRoleName = contract.Operator
	pullSecretName   = contract.PullSecret
	trustBundleName  = contract.UserCABundle
	// ReleaseKeysKey is its key.
	ReleaseKeysKey = "keys.pem"
	// managedTrustName is where controllers look for the management cluster's certificate authorities.
	managedTrustName = contract.ManagedTrust
	injectTrustLabel = contract.InjectTrustLabel
	componentLabel   = "hypershift.openshift.io/operator-component"
	operatorPriority = contract.Operator
)

// Objects returns everything but the definitions, in the order in which it is applied.
func (o *Options) Objects() []client.Object {
	objs := priorityClasses()
	objs = append(objs, o.namespace())
	objs = append(objs, o.access()...)
	objs = append(objs, o.adminAccess()...)
	objs = append(objs, o.files()...)
	objs = append(objs, o.externalDNS()...)
	objs = append(objs, o.router()...)
	objs = append(objs, o.dashboard()...)
	objs = append(objs, o.operatorDeployment(), o.operatorService())
	if o.replicas() > 1 {
		objs = append(objs, o.disruptionBudget(operatorName))
	}
	objs = append(objs, o.metricsPolicy(), o.featureGate())
	objs = append(objs, o.monitoring()...)
	return append(objs, o.admission()...)
}

func priorityClasses() []client.Object {
	class := func(name string, value int32, policy *corev1.PreemptionPolicy, description string) client.Object {
		return &schedulingv1.PriorityClass{
			TypeMeta:         metav1.TypeMeta{APIVersion: "scheduling.k8s.io/v1", Kind: "PriorityClass"},
			ObjectMeta:       metav1.ObjectMeta{Name: name},
			Value:            value,
			PreemptionPolicy: policy,
			Description:      description,
		}
	}
	never := new(corev1.PreemptNever)
	return []client.Object{
		class(contract.PriorityControlPlane, 100000000, never, "Components of a hosted control plane."),
		class(contract.PriorityEtcd, 100002000, never, "Storage of a hosted control plane."),
		class(contract.PriorityAPICritical, 100001000, never, "What serves the API of a hosted control plane."),
		class(operatorPriority, 100003000, nil, "The operator of hosted clusters."),
	}
}

func (o *Options) namespace() client.Object {
	labels := map[string]string{
		"hypershift.openshift.io/component":  "operator",
		"hypershift.openshift.io/monitoring": "true",
	}
	if o.monitored() {
		labels[contract.ClusterMonitoringLabel] = "true"
	}
	if o.Router {
		// The network policies of control planes admit namespaces of this group.
		labels[contract.PolicyGroupLabel] = "ingress"
	}
	return &corev1.Namespace{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "Namespace"},
		ObjectMeta: metav1.ObjectMeta{Name: o.Namespace, Labels: labels},
	}
}

// access returns the operator's service account and rights.
func (o *Options) access() []client.Object {
	return []client.Object{
		o.serviceAccount(operatorName),
		clusterRole(operatorRoleName, operatorRules()),
		clusterRoleBinding(operatorRoleName, o.subjects(operatorName)...),
		&rbacv1.Role{
			TypeMeta:   metav1.TypeMeta{APIVersion: rbacv1.SchemeGroupVersion.String(), Kind: "Role"},
			ObjectMeta: metav1.ObjectMeta{Namespace: o.Namespace, Name: operatorRoleName},
			Rules:      []rbacv1.PolicyRule{rbac.Rule("coordination.k8s.io", rbac.All, "leases")},
		},
		&rbacv1.RoleBinding{
			TypeMeta:   metav1.TypeMeta{APIVersion: rbacv1.SchemeGroupVersion.String(), Kind: "RoleBinding"},
			ObjectMeta: metav1.ObjectMeta{Namespace: o.Namespace, Name: operatorRoleName},
			RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: operatorRoleName},
			Subjects:   o.subjects(operatorName),
		},
		&rbacv1.RoleBinding{
			TypeMeta:   metav1.TypeMeta{APIVersion: rbacv1.SchemeGroupVersion.String(), Kind: "RoleBinding"},
			ObjectMeta: metav1.ObjectMeta{Namespace: metav1.NamespaceSystem, Name: "hypershift:extension-apiserver-authentication-reader"},
			RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: contract.AuthenticationReader},
			Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.GroupKind, Name: "system:serviceaccounts"}},
		},
	}
}

// serviceAccount pulls with the installation's pull secret where one is given: the operator's image may lie in a registry
// that the nodes have no access to.
func (o *Options) serviceAccount(name string) *corev1.ServiceAccount {
	sa := &corev1.ServiceAccount{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "ServiceAccount"},
		ObjectMeta: metav1.ObjectMeta{Namespace: o.Namespace, Name: name},
	}
	sa.ImagePullSecrets = o.imagePullSecrets()
	return sa
}

func (o *Options) imagePullSecrets() []corev1.LocalObjectReference {
	if len(o.PullSecret) == 0 {
		return nil
	}
	return []corev1.LocalObjectReference{{Name: pullSecretName}}
}

func (o *Options) subjects(serviceAccount string) []rbacv1.Subject {
	return []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: o.Namespace, Name: serviceAccount}}
}

func clusterRole(name string, rules []rbacv1.PolicyRule) *rbacv1.ClusterRole {
	return &rbacv1.ClusterRole{
		TypeMeta:   metav1.TypeMeta{APIVersion: rbacv1.SchemeGroupVersion.String(), Kind: "ClusterRole"},
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Rules:      rules,
	}
}

func clusterRoleBinding(role string, subjects ...rbacv1.Subject) client.Object {
	return &rbacv1.ClusterRoleBinding{
		TypeMeta:   metav1.TypeMeta{APIVersion: rbacv1.SchemeGroupVersion.String(), Kind: "ClusterRoleBinding"},
		ObjectMeta: metav1.ObjectMeta{Name: role},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: role},
		Subjects:   subjects,
	}
}

// files returns the pull secret and the trust bundles.
func (o *Options) files() []client.Object {
	var objs []client.Object
	if len(o.PullSecret) > 0 {
		objs = append(objs, &corev1.Secret{
			TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Secret"},
			ObjectMeta: metav1.ObjectMeta{
				Namespace: o.Namespace, Name: pullSecretName, Labels: map[string]string{hyperv1.DeleteWithClusterLabel: "true"},
			},
			Type: corev1.SecretTypeDockerConfigJson,
			Data: map[string][]byte{corev1.DockerConfigJsonKey: o.PullSecret},
		})
	}
	if len(o.TrustBundle) > 0 {
		objs = append(objs, configMap(o.Namespace, trustBundleName, nil, map[string]string{hyperv1.TrustBundleKey: string(o.TrustBundle)}))
	}
	if len(o.ReleaseSignatureKeys) > 0 {
		objs = append(objs, configMap(o.Namespace, contract.ReleaseSignatureKeys, nil, map[string]string{ReleaseKeysKey: string(o.ReleaseSignatureKeys)}))
	}
	objs = append(objs, configMap(o.Namespace, managedTrustName, map[string]string{injectTrustLabel: "true"}, nil))
	if o.Proxy.TrustBundle != "" {
		objs = append(objs, o.Proxy.TrustBundleConfigMap(o.Namespace))
	}
	return objs
}

func (o *Options) featureGate() client.Object {
	enabled := "false"
	if o.TechPreview {
		enabled = "true"
	}
	return configMap(o.Namespace, contract.FeatureGate, nil, map[string]string{"TechPreviewEnabled": enabled})
}

func configMap(namespace, name string, labels, data map[string]string) client.Object {
	return &corev1.ConfigMap{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "ConfigMap"},
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, Labels: labels},
		Data:       data,
	}
}
