// Package component is the framework of hosted control planes: what a component is, the defaults every workload carries,
// how it is applied, and how its rollout becomes the status of a ControlPlaneComponent.
package component

import (
	"cmp"
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hypershift-on-azure/hypershift/api/v1beta1"
	"github.com/hypershift-on-azure/hypershift/internal/contract"
	"github.com/hypershift-on-azure/hypershift/internal/kube"
	"github.com/hypershift-on-azure/hypershift/internal/release"
)

// APIServer is the component nearly everything depends on.
const APIServer = contract.APIServer

// Labels and annotations of pods and workloads.
const (
	LabelApp              = "app"
	LabelComponent        = hyperv1.ControlPlaneComponentLabel
	LabelControlPlane     = hyperv1.HostedControlPlaneLabel
	LabelManagementAccess = hyperv1.NeedManagementKASAccessLabel
	LabelRequestServing   = hyperv1.RequestServingComponentLabel
	LabelManagedBy        = hyperv1.ManagedByLabel

	AnnotationConfigHash   = hyperv1.ComponentConfigHashAnnotation
	AnnotationRestartDate  = hyperv1.RestartDateAnnotation
	AnnotationReleaseImage = hyperv1.ReleaseImageAnnotation
	// AnnotationRelease on a workload is the release version its desired state was made for: the order of an upgrade reads it.
	AnnotationRelease = "component.hypershift.openshift.io/release-version"

	// annotationResources on a workload is what this operator itself wanted of its containers' resources.
	annotationResources = "component.hypershift.openshift.io/desired-resources"

	// annotationSafeToEvict, of the cluster autoscaler, names the volumes of a pod that may be lost.
	annotationSafeToEvict = "cluster-autoscaler.kubernetes.io/safe-to-evict-local-volumes"
	// annotationEvictable keeps an autoscaler of the management cluster from the pod's node.
	annotationEvictable = "cluster-autoscaler.kubernetes.io/safe-to-evict"

	annotationRequestOverride = hyperv1.ResourceRequestOverridePrefix + "/"
)

// FieldManager of everything the control-plane-operator applies.
const FieldManager = contract.ControlPlaneOperator

// PullSecret is the copy of the user's pull secret in the control-plane namespace.
const PullSecret = contract.PullSecret

// Priority is the class of a workload; annotations of the hosted control plane replace each of them.
type Priority string

// The priority classes that install creates.
const (
	PriorityControlPlane Priority = contract.PriorityControlPlane
	PriorityAPICritical  Priority = contract.PriorityAPICritical
	PriorityEtcd         Priority = contract.PriorityEtcd
)

// Traits are the facts from which the defaults of a workload follow.
type Traits struct {
	// App labels the pods; it is the component's name unless Services or network policies know them by another.
	App string
	// Replicas when the control plane is HighlyAvailable; SingleReplica always means one. Zero means one.
	Replicas int32
	// Idle, when set, tells when the workload has nothing to do: it exists then, without a pod.
	Idle func(*hyperv1.HostedControlPlane) bool
	// Priority defaults to PriorityControlPlane.
	Priority Priority
	// RequestServing marks what end users' requests pass through; three replicas then roll one at a time without surge.
	RequestServing bool
	// Budget makes a PodDisruptionBudget: it lets evictions take one pod at a time when there are several, and those that are not healthy always.
	Budget bool
	// ManagementAccess mounts the pod's own service account token.
	ManagementAccess bool
	// ReachesCloud stamps the proxy and the trust bundle on every container.
	ReachesCloud bool
	// Recreate stops the old pod before the new one starts.
	Recreate bool
	// OwnTmp names containers that read what their image has below /tmp: no volume is mounted over it.
	OwnTmp []string
	// WaitFor prepends an init container that waits until the named endpoint answers; empty means none.
	WaitFor WaitTarget
}

// Component is one workload of the control plane with the objects around it.
type Component struct {
	Name string
	// Kind is the kind of payload with which the component exists; empty means every kind. Two components of different kinds may share a name.
	Kind release.Kind
	// ImageKeys are the payload images without which the component cannot exist.
	ImageKeys []string
	// Optional tells that a release without those images is valid all the same: it has no such component.
	Optional bool
	// DependsOn names components that must have rolled out the desired version before an existing workload moves to it.
	DependsOn []string
	// Enabled, when set, decides whether the component exists at all, with a payload of its kind.
	Enabled func(*Context) bool
	Traits
	// Runs says what the workload is where it is neither a Deployment nor a StatefulSet.
	Runs Shape
	// Reloads names the Secrets and ConfigMaps that the pods follow by themselves: a change of them must not restart anything.
	Reloads func(*Context) []string
	// Check, when set, tells what of the user's configuration the component leaves out; it runs all the same.
	Check func(*Context) error
	// Operands, when set, are what the component's program makes beside it.
	Operands func(*Context) []Operand
	// Objects returns everything the component owns; its workload is the Deployment, StatefulSet, Job or CronJob of the component's name.
	Objects func(*Context) ([]client.Object, error)
}

// Names is what a component names without looking at the control plane.
func Names(names ...string) func(*Context) []string {
	return func(*Context) []string { return names }
}

// Decorator changes a pod template: internal/kube/proxyenv in production.
type Decorator func(*corev1.PodTemplateSpec)

// Settings are facts of the process, the same for every pass.
type Settings struct {
	// Image runs the in-pod helpers: the control-plane-operator's own.
	Image string
	// UID is what pods run as on a management cluster without SecurityContextConstraints; nil leaves it to the cluster.
	UID *int64
	// CertificateScale, when set, is how long a day of certificates lasts (contract.CertificateScaleEnv).
	CertificateScale string
	// ReleaseMirrors, when set, tells programs that read release payloads where they may lie (release.MirrorsEnv).
	ReleaseMirrors string
	// Cloud stamps proxy and trust on components that reach the cloud; nil stamps nothing.
	Cloud Decorator
}

// ReleaseEnv is the environment of programs that read release payloads.
func (s Settings) ReleaseEnv() []corev1.EnvVar {
	if s.ReleaseMirrors == "" {
		return nil
	}
	return []corev1.EnvVar{{Name: release.MirrorsEnv, Value: s.ReleaseMirrors}}
}

// Context is what a component sees of one reconcile pass.
type Context struct {
	context.Context
	Client client.Client
	HCP    *hyperv1.HostedControlPlane
	// Payload is the kind of the release's payload; empty while none has been read.
	Payload release.Kind
	Version string
	Images  map[string]string
	// GuestVersion and GuestImages are those of the hosted cluster's own release, which is another one where the control plane has one of its own.
	GuestVersion string
	// ReleaseImage and GuestReleaseImage are the release images themselves, by digest.
	ReleaseImage, GuestReleaseImage string
	GuestImages                     map[string]string
	Settings                        Settings
	// Keeper applies the objects and holds them as they were applied; nil applies those whose desired state changed.
	Keeper *kube.Keeper
	// Catalog finds the image of a catalog of operators, by digest.
	Catalog func(name string) (string, error)
	// Inputs holds the Secrets and ConfigMaps this pass already knows.
	Inputs *Inputs
}

// Namespace is the control-plane namespace.
func (c *Context) Namespace() string { return c.HCP.Namespace }

// Image returns the pull spec of a payload key; Reconcile has checked the declared keys before Objects runs.
func (c *Context) Image(key string) string { return c.Images[key] }

// GuestImage returns the pull spec of a payload key of the hosted cluster's own release: what runs on its nodes.
func (c *Context) GuestImage(key string) string { return c.GuestImages[key] }

// HighlyAvailable tells the availability policy of the control plane; the API defaults to highly available.
func (c *Context) HighlyAvailable() bool { return HighlyAvailable(c.HCP) }

// HighlyAvailable tells the availability policy of a control plane; the API defaults to highly available.
func HighlyAvailable(hcp *hyperv1.HostedControlPlane) bool {
	return hcp.Spec.ControllerAvailabilityPolicy != hyperv1.SingleReplica
}

// ReplicasOf is the replica count of a workload with these traits.
func (t Traits) ReplicasOf(hcp *hyperv1.HostedControlPlane) int32 {
	if t.Idle != nil && t.Idle(hcp) {
		return 0
	}
	if !HighlyAvailable(hcp) || t.Replicas == 0 {
		return 1
	}
	return t.Replicas
}

// appOf is the label of a component's pods.
func (t Traits) appOf(name string) string { return cmp.Or(t.App, name) }

// exists tells whether there is the component in the control plane: its payload is of the component's kind, and the component is wanted.
func (c Component) exists(ctx *Context) bool {
	return c.ExistsFor(ctx.Payload) && (c.Enabled == nil || c.Enabled(ctx))
}

// ExistsFor tells whether the component can exist with a payload of the kind.
func (c Component) ExistsFor(kind release.Kind) bool { return c.Kind == "" || c.Kind == kind }

// Named finds the component of the name that exists for the kind of payload, otherwise any of the name.
func Named(all []Component, name string, kind release.Kind) (Component, bool) {
	first := -1
	for i, c := range all {
		if c.Name != name {
			continue
		}
		if c.ExistsFor(kind) {
			return c, true
		}
		if first < 0 {
			first = i
		}
	}
	if first < 0 {
		return Component{}, false
	}
	return all[first], true
}

// MissingImages lists the component's keys that the payload lacks.
func (c Component) MissingImages(images map[string]string) []string {
	var missing []string
	for _, key := range c.ImageKeys {
		if images[key] == "" {
			missing = append(missing, key)
		}
	}
	return missing
}

// workloadOf picks the workload out of a component's objects.
func (c Component) workloadOf(objects []client.Object) (client.Object, error) {
	for _, obj := range objects {
		if _, err := templateOf(obj); err == nil && obj.GetName() == c.Name {
			return obj, nil
		}
	}
	return nil, fmt.Errorf("component %s declares no workload of its name", c.Name)
}
