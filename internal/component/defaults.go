package component

import (
	"fmt"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hypershift-on-azure/hypershift/api/v1beta1"
	"github.com/hypershift-on-azure/hypershift/internal/contract"
)

const (
	secretMode    = int32(0o640)
	configMapMode = int32(0o644)

	controlPlaneKey = hyperv1.ControlPlaneNodeLabel
	clusterKey      = hyperv1.ClusterNodeLabel
)

// priorityAnnotations lets the user replace a class.
var priorityAnnotations = map[Priority]string{
	PriorityControlPlane: hyperv1.ControlPlanePriorityClassAnnotation,
	PriorityAPICritical:  hyperv1.APICriticalPriorityClassAnnotation,
	PriorityEtcd:         hyperv1.EtcdPriorityClassAnnotation,
}

// Stamp completes a workload of the control plane with the defaults of every component.
// It is pure, and what the component has set itself wins wherever Kubernetes has a zero value for "unset".
func Stamp(hcp *hyperv1.HostedControlPlane, settings Settings, name string, traits Traits, obj client.Object) error {
	template, err := templateOf(obj)
	if err != nil {
		return err
	}
	Own(hcp, obj)
	manage(obj)

	if traits.WaitFor != "" {
		waiter := AvailabilityProber(settings.Image, traits.WaitFor)
		template.Spec.InitContainers = append([]corev1.Container{waiter}, template.Spec.InitContainers...)
		addVolumes(&template.Spec, traits.WaitFor.volumes()...)
	}
	stampWorkload(hcp, name, traits, obj)
	stampPod(hcp, settings, name, traits, template)
	stampEviction(template)
	return stampRequests(hcp, name, &template.Spec)
}

// StampJob completes a Job of the control plane likewise. Its pod is not moved: what it has done would be lost. The owner is the caller's.
func StampJob(hcp *hyperv1.HostedControlPlane, settings Settings, name string, traits Traits, job *batchv1.Job) error {
	manage(job)
	stampPod(hcp, settings, name, traits, &job.Spec.Template)
	job.Spec.Template.Annotations[annotationEvictable] = "false"
	return stampRequests(hcp, name, &job.Spec.Template.Spec)
}

// manage labels an object as the control plane operator's.
func manage(obj client.Object) {
	labels := obj.GetLabels()
	if labels == nil {
		labels = map[string]string{}
	}
	labels[LabelManagedBy] = contract.ControlPlaneOperator
	obj.SetLabels(labels)
}

func stampPod(hcp *hyperv1.HostedControlPlane, settings Settings, name string, traits Traits, template *corev1.PodTemplateSpec) {
	stampTemplate(hcp, name, traits, template)
	stampScheduling(hcp, name, traits, &template.Spec)
	stampSecurity(settings, traits, &template.Spec)
	if traits.ReachesCloud && settings.Cloud != nil {
		settings.Cloud(template)
	}
}

// Own makes the hosted control plane the controlling owner.
func Own(hcp *hyperv1.HostedControlPlane, obj client.Object) {
	obj.SetOwnerReferences([]metav1.OwnerReference{{
		APIVersion: hyperv1.GroupVersion.String(), Kind: "HostedControlPlane", Name: hcp.Name, UID: hcp.UID,
		Controller: ptr.To(true), BlockOwnerDeletion: ptr.To(true),
	}})
}

func templateOf(obj client.Object) (*corev1.PodTemplateSpec, error) {
	switch w := obj.(type) {
	case *appsv1.Deployment:
		return &w.Spec.Template, nil
	case *appsv1.StatefulSet:
		return &w.Spec.Template, nil
	case *batchv1.Job:
		return &w.Spec.Template, nil
	case *batchv1.CronJob:
		return &w.Spec.JobTemplate.Spec.Template, nil
	}
	return nil, fmt.Errorf("%T is not a workload of a control plane: only Deployment, StatefulSet, Job and CronJob are", obj)
}

func stampWorkload(hcp *hyperv1.HostedControlPlane, name string, traits Traits, obj client.Object) {
	replicas := traits.ReplicasOf(hcp)
	if scaledDownForDebugging(hcp, name) {
		replicas = 0
	}
	selector := &metav1.LabelSelector{MatchLabels: map[string]string{LabelApp: traits.appOf(name)}}
	switch w := obj.(type) {
	case *appsv1.Deployment:
		w.Spec.Replicas, w.Spec.RevisionHistoryLimit = &replicas, ptr.To[int32](2)
		if w.Spec.Selector == nil {
			w.Spec.Selector = selector
		}
		w.Spec.Strategy = strategyOf(traits, replicas)
	case *appsv1.StatefulSet:
		w.Spec.Replicas, w.Spec.RevisionHistoryLimit = &replicas, ptr.To[int32](2)
		if w.Spec.Selector == nil {
			w.Spec.Selector = selector
		}
	}
}

func scaledDownForDebugging(hcp *hyperv1.HostedControlPlane, name string) bool {
	list := hcp.Annotations[hyperv1.DebugDeploymentsAnnotation]
	return list != "" && slices.Contains(strings.Split(list, ","), name)
}

func strategyOf(traits Traits, replicas int32) appsv1.DeploymentStrategy {
	rolling := func(surge, unavailable intstr.IntOrString) appsv1.DeploymentStrategy {
		return appsv1.DeploymentStrategy{Type: appsv1.RollingUpdateDeploymentStrategyType,
			RollingUpdate: &appsv1.RollingUpdateDeployment{MaxSurge: &surge, MaxUnavailable: &unavailable}}
	}
	switch {
	case traits.Recreate:
		return appsv1.DeploymentStrategy{Type: appsv1.RecreateDeploymentStrategyType}
	case traits.RequestServing && replicas > 2:
		return rolling(intstr.FromInt32(0), intstr.FromInt32(1))
	case replicas == 2:
		return rolling(intstr.FromInt32(1), intstr.FromInt32(0))
	}
	return rolling(intstr.FromString("25%"), intstr.FromString("25%"))
}

func stampTemplate(hcp *hyperv1.HostedControlPlane, name string, traits Traits, t *corev1.PodTemplateSpec) {
	if t.Labels == nil {
		t.Labels = map[string]string{}
	}
	for key, value := range hcp.Spec.Labels {
		if !decidesOnReach(key) {
			t.Labels[key] = value
		}
	}
	t.Labels[LabelApp], t.Labels[LabelComponent], t.Labels[LabelControlPlane] = traits.appOf(name), name, hcp.Namespace
	if traits.ManagementAccess {
		t.Labels[LabelManagementAccess] = "true"
	}
	if traits.RequestServing {
		t.Labels[LabelRequestServing] = "true"
	}
	if t.Annotations == nil {
		t.Annotations = map[string]string{}
	}
	t.Annotations[AnnotationReleaseImage] = hcp.Spec.ReleaseImage
	if date := hcp.Annotations[AnnotationRestartDate]; date != "" {
		t.Annotations[AnnotationRestartDate] = date
	}
	spec := &t.Spec
	spec.PriorityClassName = priorityOf(hcp, traits)
	spec.AutomountServiceAccountToken = ptr.To(traits.ManagementAccess)
	spec.EnableServiceLinks = ptr.To(false)
	spec.ImagePullSecrets = []corev1.LocalObjectReference{{Name: PullSecret}}
	if spec.ServiceAccountName == "" {
		spec.ServiceAccountName = name
	}
	for i := range spec.Volumes {
		v := &spec.Volumes[i]
		if v.Secret != nil && v.Secret.DefaultMode == nil {
			v.Secret.DefaultMode = ptr.To(secretMode)
		}
		if v.ConfigMap != nil && v.ConfigMap.DefaultMode == nil {
			v.ConfigMap.DefaultMode = ptr.To(configMapMode)
		}
	}
}

// decidesOnReach: network policies let pods with these labels reach the management cluster's API, and be reached by the router.
func decidesOnReach(label string) bool {
	return label == LabelManagementAccess || label == LabelRequestServing
}

func priorityOf(hcp *hyperv1.HostedControlPlane, traits Traits) string {
	class := traits.Priority
	if class == "" {
		class = PriorityControlPlane
	}
	if override := hcp.Annotations[priorityAnnotations[class]]; override != "" {
		return override
	}
	return string(class)
}

func stampScheduling(hcp *hyperv1.HostedControlPlane, name string, traits Traits, spec *corev1.PodSpec) {
	spec.Tolerations = append(spec.Tolerations,
		corev1.Toleration{Key: controlPlaneKey, Operator: corev1.TolerationOpEqual, Value: "true", Effect: corev1.TaintEffectNoSchedule},
		corev1.Toleration{Key: clusterKey, Operator: corev1.TolerationOpEqual, Value: hcp.Namespace, Effect: corev1.TaintEffectNoSchedule})
	spec.Tolerations = append(spec.Tolerations, hcp.Spec.Tolerations...)
	spec.NodeSelector = hcp.Spec.NodeSelector

	preferNode := func(weight int32, key, value string) corev1.PreferredSchedulingTerm {
		return corev1.PreferredSchedulingTerm{Weight: weight, Preference: corev1.NodeSelectorTerm{
			MatchExpressions: []corev1.NodeSelectorRequirement{{Key: key, Operator: corev1.NodeSelectorOpIn, Values: []string{value}}}}}
	}
	affinity := &corev1.Affinity{
		NodeAffinity: &corev1.NodeAffinity{PreferredDuringSchedulingIgnoredDuringExecution: []corev1.PreferredSchedulingTerm{
			preferNode(50, controlPlaneKey, "true"), preferNode(100, clusterKey, hcp.Namespace)}},
		PodAffinity: &corev1.PodAffinity{PreferredDuringSchedulingIgnoredDuringExecution: []corev1.WeightedPodAffinityTerm{{
			Weight: 100, PodAffinityTerm: corev1.PodAffinityTerm{TopologyKey: corev1.LabelHostname,
				LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{LabelControlPlane: hcp.Namespace}}}}}},
	}
	if traits.ReplicasOf(hcp) > 1 {
		apart := func(topology string) corev1.PodAffinityTerm {
			return corev1.PodAffinityTerm{TopologyKey: topology,
				LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{LabelApp: traits.appOf(name), LabelControlPlane: hcp.Namespace}}}
		}
		affinity.PodAntiAffinity = &corev1.PodAntiAffinity{RequiredDuringSchedulingIgnoredDuringExecution: []corev1.PodAffinityTerm{
			apart(corev1.LabelTopologyZone), apart(corev1.LabelHostname)}}
	}
	spec.Affinity = affinity
}

func stampSecurity(settings Settings, traits Traits, spec *corev1.PodSpec) {
	if spec.SecurityContext == nil {
		spec.SecurityContext = &corev1.PodSecurityContext{}
	}
	pod := spec.SecurityContext
	pod.RunAsNonRoot = ptr.To(true)
	pod.SeccompProfile = &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeRuntimeDefault}
	if settings.UID != nil {
		// The group makes the 0640 files of Secrets readable.
		pod.RunAsUser, pod.FSGroup = settings.UID, settings.UID
		pod.FSGroupChangePolicy = ptr.To(corev1.FSGroupChangeOnRootMismatch)
	}
	for _, containers := range [][]corev1.Container{spec.InitContainers, spec.Containers} {
		for i := range containers {
			stampContainer(&containers[i], slices.Contains(traits.OwnTmp, containers[i].Name))
		}
	}
	addVolumes(spec, corev1.Volume{Name: "tmp", VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}})
}

func stampContainer(c *corev1.Container, ownTmp bool) {
	c.SecurityContext = &corev1.SecurityContext{
		AllowPrivilegeEscalation: ptr.To(false), ReadOnlyRootFilesystem: ptr.To(true),
		Capabilities: &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}},
	}
	c.TerminationMessagePolicy = corev1.TerminationMessageFallbackToLogsOnError
	c.ImagePullPolicy = corev1.PullIfNotPresent
	if strings.HasSuffix(c.Image, ":latest") {
		c.ImagePullPolicy = corev1.PullAlways
	}
	if !ownTmp && !slices.ContainsFunc(c.VolumeMounts, func(m corev1.VolumeMount) bool { return m.MountPath == "/tmp" }) {
		c.VolumeMounts = append(c.VolumeMounts, corev1.VolumeMount{Name: "tmp", MountPath: "/tmp"})
	}
}

// addVolumes adds the volumes whose names the pod does not have yet.
func addVolumes(spec *corev1.PodSpec, volumes ...corev1.Volume) {
	for _, v := range volumes {
		if !slices.ContainsFunc(spec.Volumes, func(have corev1.Volume) bool { return have.Name == v.Name }) {
			spec.Volumes = append(spec.Volumes, v)
		}
	}
}

// stampEviction tells an autoscaler of the management cluster that nothing is lost with what the pod keeps on its node: it moves the
// pod to a node that stays, where it would otherwise leave the emptiest node alone.
func stampEviction(t *corev1.PodTemplateSpec) {
	var local []string
	for _, v := range t.Spec.Volumes {
		if v.EmptyDir != nil || v.HostPath != nil {
			local = append(local, v.Name)
		}
	}
	if len(local) > 0 {
		t.Annotations[annotationSafeToEvict] = strings.Join(local, ",")
	}
}

// stampRequests applies the resource-request-override annotations; a value that does not parse is the user's error and named.
func stampRequests(hcp *hyperv1.HostedControlPlane, name string, spec *corev1.PodSpec) error {
	for _, c := range lasting(spec) {
		key := annotationRequestOverride + name + "." + c.Name
		value, ok := hcp.Annotations[key]
		if !ok {
			continue
		}
		for _, pair := range strings.Split(value, ",") {
			resourceName, amount, found := strings.Cut(strings.TrimSpace(pair), "=")
			quantity, err := resource.ParseQuantity(amount)
			if !found || err != nil {
				return fmt.Errorf("annotation %s=%q: %q is not of the form cpu=QUANTITY or memory=QUANTITY", key, value, pair)
			}
			if c.Resources.Requests == nil {
				c.Resources.Requests = corev1.ResourceList{}
			}
			c.Resources.Requests[corev1.ResourceName(resourceName)] = quantity
		}
	}
	return nil
}

// lasting are the containers that run as long as the pod does: the native side-cars, which Kubernetes lists among the init containers, too.
func lasting(spec *corev1.PodSpec) []*corev1.Container {
	var all []*corev1.Container
	for i := range spec.Containers {
		all = append(all, &spec.Containers[i])
	}
	for i := range spec.InitContainers {
		if p := spec.InitContainers[i].RestartPolicy; p != nil && *p == corev1.ContainerRestartPolicyAlways {
			all = append(all, &spec.InitContainers[i])
		}
	}
	return all
}
