// Package restoration sends the etcd of a control plane that runs back to a backup: nothing may write or read it meanwhile, and no member
// may start with the former data.
package restoration

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hypershift-on-azure/hypershift/api/v1beta1"
	"github.com/hypershift-on-azure/hypershift/internal/component"
	"github.com/hypershift-on-azure/hypershift/internal/contract"
	"github.com/hypershift-on-azure/hypershift/internal/kube"
	"github.com/hypershift-on-azure/hypershift/internal/publish"
)

// readers are the components that have connections to etcd and keep what they read of it.
var readers = []string{contract.APIServer, contract.OpenShiftAPIServer, contract.OAuthAPIServer}

// bystanders know nothing of what is in etcd: what reaches the control plane by them keeps its way.
var bystanders = []string{contract.IgnitionServer, publish.IgnitionProxyService, publish.RouterService}

// Restoration is one look at the request, Secret contract.EtcdRestore.
type Restoration struct {
	component.Writer
	Now func() time.Time

	// request is nil where nobody asked; phase is how far it is.
	request *corev1.Secret
	phase   string
	// under way: the phase is not the last one.
	underWay        bool
	status          metav1.ConditionStatus // "" where nobody asked for it
	reason, message string
}

// Run decides which components have no pods in this pass, and remembers what Tell tells:
//
//  1. no request: nothing to do;
//  2. a new one: etcd, its readers and all that follows them end;
//  3. no reader and no member runs any more: etcd's pods come back, whose init container replaces the data;
//  4. every member is ready: the address of the backup goes, and the readers come back;
//  5. they serve (Served): all else comes back.
//
// How far it is stands on the Secret, so that it goes on where it was when the operator is restarted.
func (r *Restoration) Run(ctx context.Context) error {
	r.request, r.phase, r.underWay, r.status = nil, "", false, ""
	request := &corev1.Secret{}
	err := r.Client.Get(ctx, client.ObjectKey{Namespace: r.HCP.Namespace, Name: contract.EtcdRestore}, request)
	if apierrors.IsNotFound(err) || r.HCP.Spec.Etcd.ManagementType == hyperv1.Unmanaged {
		return nil
	}
	if err != nil {
		return fmt.Errorf("read Secret %s: %w", contract.EtcdRestore, err)
	}
	backup := string(request.Data[contract.EtcdRestoreBackup])
	r.request, r.phase = request, request.Annotations[contract.EtcdRestorePhase]
	if key := lacking(request); r.phase == "" && key != "" {
		r.says(metav1.ConditionFalse, hyperv1.InvalidConfigurationReason, "Secret "+contract.EtcdRestore+" lacks "+key+"; etcd runs on as it is")
		return nil
	}
	r.underWay = true
	if r.phase == "" {
		if ended, err := r.begin(ctx, request, backup); !ended || err != nil {
			return err
		}
	}
	if r.phase == contract.EtcdRestoreRefilling {
		ready, err := r.refilled(ctx)
		if err != nil {
			return err
		}
		if !ready {
			r.says(metav1.ConditionFalse, hyperv1.EtcdRestoringReason, "etcd waits for its data from backup "+backup+"; container "+ContainerName+" of its pods says how far it is")
			return nil
		}
		delete(request.Data, contract.EtcdRestoreURL)
		if err := r.note(ctx, request, contract.EtcdRestoreServing); err != nil {
			return err
		}
	}
	if r.phase == contract.EtcdRestoreServing {
		r.says(metav1.ConditionFalse, hyperv1.EtcdRestoringReason, "etcd went back to backup "+backup+"; the API server starts, and what follows it after it")
		return nil
	}
	r.underWay = false
	r.says(metav1.ConditionTrue, hyperv1.AsExpectedReason, "etcd went back to backup "+backup)
	return nil
}

// begin ends the readers and the members, and notes when all have ended.
func (r *Restoration) begin(ctx context.Context, request *corev1.Secret, backup string) (ended bool, err error) {
	running, err := r.running(ctx)
	if err != nil {
		return false, err
	}
	if err := r.endReaders(ctx); err != nil {
		return false, err
	}
	if len(running) > 0 {
		r.says(metav1.ConditionFalse, hyperv1.EtcdRestoringReason, "before etcd goes back to backup "+backup+" these end: "+strings.Join(running, ", "))
		return false, nil
	}
	request.Data[contract.EtcdRestoreRevision] = Revision(r.Now())
	return true, r.note(ctx, request, contract.EtcdRestoreRefilling)
}

// lacking is the key without which a request leads to no backup; empty where it has all. Members would start again with the data they have.
func lacking(request *corev1.Secret) string {
	for _, key := range []string{contract.EtcdRestoreURL, contract.EtcdRestoreID} {
		if len(request.Data[key]) == 0 {
			return key
		}
	}
	return ""
}

// Revision is the one at which an etcd begins that is restored at a time, as contract.EtcdRestoreRevision tells it. An etcd that began so earlier has
// not come as far: it would have had to write a million times a second.
func Revision(at time.Time) []byte { return strconv.AppendInt(nil, at.UnixMicro(), 10) }

// endReaders stops what reads etcd at once: what its clients are told until it ends is lost with the data, and nobody is served meanwhile.
func (r *Restoration) endReaders(ctx context.Context) error {
	for _, name := range readers {
		workload := &appsv1.Deployment{}
		found, err := r.read(ctx, name, workload)
		if err != nil {
			return err
		}
		if !found || !workload.DeletionTimestamp.IsZero() || ptr.Deref(workload.Spec.Replicas, 1) == 0 {
			continue
		}
		if err := component.EndAtOnce(ctx, r.Client, r.HCP.Namespace, name); err != nil {
			return err
		}
	}
	return nil
}

// ContainerName is the init container of etcd's pods that replaces the data.
const ContainerName = "restore-in-place"

// Serving tells whether the readers may run and what follows them waits.
func (r *Restoration) Serving() bool { return r.phase == contract.EtcdRestoreServing }

// Served ends the request: what follows the API server comes back with the next pass.
func (r *Restoration) Served(ctx context.Context) error {
	return r.note(ctx, r.request, contract.EtcdRestoreDone)
}

// Holds tells whether a component has no pods for now.
func (r *Restoration) Holds(name string) bool {
	switch {
	case !r.underWay || slices.Contains(bystanders, name):
		return false
	case name == contract.Etcd:
		return r.phase == ""
	case slices.Contains(readers, name):
		return r.phase != contract.EtcdRestoreServing
	}
	return true
}

// Hold gives a component that is held no pods.
func (r *Restoration) Hold(c component.Component) component.Component {
	if r.Holds(c.Name) {
		c.Idle = func(*hyperv1.HostedControlPlane) bool { return true }
	}
	return c
}

// Correct has a held component count as what it is: its workload is content without pods.
func (r *Restoration) Correct(result component.Result) component.Result {
	if r.Holds(result.Name) && !result.Absent {
		result.Available = metav1.Condition{Type: hyperv1.ControlPlaneComponentAvailable, Status: metav1.ConditionFalse, Reason: hyperv1.EtcdRestoringReason, Message: r.message}
	}
	return result
}

func (r *Restoration) says(status metav1.ConditionStatus, reason, message string) {
	r.status, r.reason, r.message = status, reason, message
}

// Tell sets the condition.
func (r *Restoration) Tell(set kube.ConditionSetter) {
	if r.status == "" {
		set.Remove(hyperv1.EtcdRestoredInPlace)
		return
	}
	set.Set(hyperv1.EtcdRestoredInPlace, r.status, r.reason, r.message)
}

// note writes the phase on the request. A request that has been replaced meanwhile is looked at in the next pass.
func (r *Restoration) note(ctx context.Context, request *corev1.Secret, phase string) error {
	if request.Annotations == nil {
		request.Annotations = map[string]string{}
	}
	request.Annotations[contract.EtcdRestorePhase], r.phase = phase, phase
	err := r.Client.Update(ctx, request)
	if apierrors.IsConflict(err) {
		return component.ErrBehind
	}
	if err != nil {
		return fmt.Errorf("note on Secret %s how far the restore is: %w", contract.EtcdRestore, err)
	}
	return nil
}

// running are the workloads of etcd and its readers that have pods, or may make some.
func (r *Restoration) running(ctx context.Context) ([]string, error) {
	var running []string
	set := &appsv1.StatefulSet{}
	if found, err := r.read(ctx, contract.Etcd, set); err != nil {
		return nil, err
	} else if found && hasPods(set, set.Spec.Replicas, set.Status.ObservedGeneration, set.Status.Replicas) {
		running = append(running, contract.Etcd)
	}
	for _, name := range readers {
		workload := &appsv1.Deployment{}
		found, err := r.read(ctx, name, workload)
		if err != nil {
			return nil, err
		}
		if found && hasPods(workload, workload.Spec.Replicas, workload.Status.ObservedGeneration, workload.Status.Replicas) {
			running = append(running, name)
		}
	}
	// A Deployment does not count pods that are ending.
	for _, app := range []string{contract.Etcd, contract.APIServer} {
		pods := &corev1.PodList{}
		if err := r.Client.List(ctx, pods, client.InNamespace(r.HCP.Namespace), client.MatchingLabels{component.LabelApp: app}); err != nil {
			return nil, fmt.Errorf("list the pods of %s: %w", app, err)
		}
		if len(pods.Items) > 0 && !slices.Contains(running, app) {
			running = append(running, app)
		}
	}
	return running, nil
}

// hasPods tells whether a workload has pods, or may make some: what it says of itself counts only once it has seen what is wanted of it.
func hasPods(workload client.Object, wanted *int32, observed int64, present int32) bool {
	return ptr.Deref(wanted, 1) != 0 || observed != workload.GetGeneration() || present != 0
}

// refilled tells whether every member of etcd runs, which none does before its init containers have ended.
func (r *Restoration) refilled(ctx context.Context) (bool, error) {
	set := &appsv1.StatefulSet{}
	found, err := r.read(ctx, contract.Etcd, set)
	wanted := ptr.Deref(set.Spec.Replicas, 1)
	return found && wanted > 0 && set.Status.ObservedGeneration == set.Generation && set.Status.UpdatedReplicas == wanted && set.Status.ReadyReplicas == wanted, err
}

func (r *Restoration) read(ctx context.Context, name string, into client.Object) (bool, error) {
	err := r.Client.Get(ctx, client.ObjectKey{Namespace: r.HCP.Namespace, Name: name}, into)
	if apierrors.IsNotFound(err) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("read the workload of %s: %w", name, err)
	}
	return true, nil
}
