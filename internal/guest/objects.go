package guest

import (
	"strconv"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hypershift-on-azure/hypershift/api/v1beta1"
)

// addon is one part of the guest that exists when the payload has its images.
type addon struct {
	images  []string
	objects func(*Facts) []client.Object
}

var addons = []addon{
	{nil, clusterRBAC},
	{nil, definitions},
	{nil, controlPlaneAccess},
	{nil, metricsAccess},
	{nil, namespaces},
	{nil, controllerRights},
	{nil, commonRights},
	{nil, installFacts},
	{nil, installConfig},
	{nil, reachability},
	{[]string{"apiserver-network-proxy"}, konnectivityAgent},
	{[]string{checkerImage}, connectionChecker},
	{[]string{"azure-cloud-node-manager"}, cloudNodeManager},
	{[]string{webhookName}, workloadIdentityWebhook},
	{nil, cloudCredentials},
	{[]string{routerImage}, defaultIngress},
	{[]string{"kube-proxy"}, kubeProxy},
	{[]string{flannelName}, networkPlugin},
	{[]string{"coredns"}, coreDNS},
}

// operators own add-ons of the same purpose in an OpenShift payload.
var operatorOf = map[string]string{
	"kube-proxy": "cluster-network-operator", "flannel": "cluster-network-operator", "coredns": "cluster-dns-operator",
	routerImage: "cluster-ingress-operator",
}

// Objects is everything the operator keeps in the guest.
func Objects(facts *Facts) []client.Object {
	var out []client.Object
	for _, part := range addons {
		if !wanted(part, facts.Images) {
			continue
		}
		out = append(out, part.objects(facts)...)
	}
	for _, obj := range out {
		labels := obj.GetLabels()
		if labels == nil {
			labels = map[string]string{}
		}
		labels[hyperv1.ManagedByLabel] = managedBy
		obj.SetLabels(labels)
	}
	return out
}

func wanted(part addon, images map[string]string) bool {
	for _, key := range part.images {
		if images[key] == "" || (operatorOf[key] != "" && images[operatorOf[key]] != "") {
			return false
		}
	}
	return true
}

func meta(name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Namespace: kubeSystem, Name: name, Labels: map[string]string{"k8s-app": name}}
}

func serviceAccount(name string) *corev1.ServiceAccount {
	return &corev1.ServiceAccount{ObjectMeta: meta(name)}
}

func configMap(name string, data map[string]string) *corev1.ConfigMap {
	return &corev1.ConfigMap{ObjectMeta: meta(name), Data: data}
}

func clusterRole(name string, rules ...rbacv1.PolicyRule) *rbacv1.ClusterRole {
	return &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: name}, Rules: rules}
}

func rule(group string, verbs []string, resources ...string) rbacv1.PolicyRule {
	return rbacv1.PolicyRule{APIGroups: []string{group}, Resources: resources, Verbs: verbs}
}

func bind(name, role string, subjects ...rbacv1.Subject) *rbacv1.ClusterRoleBinding {
	return &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: role},
		Subjects:   subjects,
	}
}

func account(name string) rbacv1.Subject {
	return rbacv1.Subject{Kind: rbacv1.ServiceAccountKind, Namespace: kubeSystem, Name: name}
}

func user(name string) rbacv1.Subject {
	return rbacv1.Subject{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: name}
}

func group(name string) rbacv1.Subject {
	return rbacv1.Subject{APIGroup: rbacv1.GroupName, Kind: rbacv1.GroupKind, Name: name}
}

// daemonSet is a pod on every node, from the moment the node registers: it tolerates everything.
func daemonSet(name string, pod corev1.PodSpec) *appsv1.DaemonSet {
	labels := map[string]string{"k8s-app": name}
	pod.ServiceAccountName = name
	pod.PriorityClassName = "system-node-critical"
	pod.HostNetwork = true
	pod.Tolerations = []corev1.Toleration{{Operator: corev1.TolerationOpExists}}
	for i := range pod.Containers {
		pod.Containers[i].TerminationMessagePolicy = corev1.TerminationMessageFallbackToLogsOnError
	}
	return &appsv1.DaemonSet{
		ObjectMeta: meta(name),
		Spec: appsv1.DaemonSetSpec{
			Selector: &metav1.LabelSelector{MatchLabels: labels},
			UpdateStrategy: appsv1.DaemonSetUpdateStrategy{
				Type:          appsv1.RollingUpdateDaemonSetStrategyType,
				RollingUpdate: &appsv1.RollingUpdateDaemonSet{MaxUnavailable: ptr.To(intstr.FromString("10%"))},
			},
			Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels}, Spec: pod},
		},
	}
}

func requests(cpu, memory string) corev1.ResourceRequirements {
	return corev1.ResourceRequirements{Requests: corev1.ResourceList{
		corev1.ResourceCPU: resource.MustParse(cpu), corev1.ResourceMemory: resource.MustParse(memory),
	}}
}

// apiEnv leads an in-cluster client to the node-local proxy: the Service address works only after kube-proxy.
func apiEnv(facts *Facts) []corev1.EnvVar {
	return []corev1.EnvVar{
		{Name: "KUBERNETES_SERVICE_HOST", Value: facts.APIAddress},
		{Name: "KUBERNETES_SERVICE_PORT", Value: strconv.Itoa(int(facts.APIPort))},
	}
}

func fieldEnv(name, path string) corev1.EnvVar {
	return corev1.EnvVar{Name: name, ValueFrom: &corev1.EnvVarSource{FieldRef: &corev1.ObjectFieldSelector{APIVersion: "v1", FieldPath: path}}}
}

func hostPath(name, path string) corev1.Volume {
	return corev1.Volume{Name: name, VolumeSource: corev1.VolumeSource{
		HostPath: &corev1.HostPathVolumeSource{Path: path, Type: ptr.To(corev1.HostPathDirectoryOrCreate)},
	}}
}

func configVolume(name, source string) corev1.Volume {
	return corev1.Volume{Name: name, VolumeSource: corev1.VolumeSource{
		ConfigMap: &corev1.ConfigMapVolumeSource{LocalObjectReference: corev1.LocalObjectReference{Name: source}},
	}}
}

func mount(name, path string) corev1.VolumeMount {
	return corev1.VolumeMount{Name: name, MountPath: path}
}

func readOnly(name, path string) corev1.VolumeMount {
	return corev1.VolumeMount{Name: name, MountPath: path, ReadOnly: true}
}
