// Package recovery has a member of a highly available etcd replaced that cannot start, by a Job that asks the other members first.
package recovery

import (
	"context"
	"fmt"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hypershift-on-azure/hypershift/api/v1beta1"
	"github.com/hypershift-on-azure/hypershift/internal/component"
	"github.com/hypershift-on-azure/hypershift/internal/contract"
	"github.com/hypershift-on-azure/hypershift/internal/kube"
	"github.com/hypershift-on-azure/hypershift/internal/kube/rbac"
)

const (
	helperBinary = "/usr/bin/etcd-helper"
	// attempts of the Job, beside those after which somebody has to look at once.
	attempts                = 10
	clientDir, authorityDir = "/etc/etcd/tls/client", "/etc/etcd/tls/ca"
)

// Recovery is one look at etcd.
type Recovery struct {
	component.Writer
	Settings component.Settings

	status          metav1.ConditionStatus // "" where nothing is ever repaired
	reason, message string
}

// Run has a member repaired that cannot start, and takes the Job away once it has done its work. It remembers what Tell tells:
//
//  1. no member fails and there is no Job: nothing to do;
//  2. a member fails: its Job begins;
//  3. the Job runs: wait;
//  4. it has done its work, or all members are ready again: it goes, with its rights;
//  5. it has failed, and etcd is not well: it stays, and somebody has to look.
func (r *Recovery) Run(ctx context.Context) error {
	r.status = ""
	if !component.HighlyAvailable(r.HCP) || r.HCP.Spec.Etcd.ManagementType == hyperv1.Unmanaged || !r.HCP.Status.Initialized {
		return nil
	}
	job, found, err := r.read(ctx)
	if err != nil {
		return err
	}
	failing, err := r.failing(ctx)
	if err != nil {
		return err
	}
	switch {
	case !found && len(failing) == 0:
		r.says(metav1.ConditionFalse, hyperv1.AsExpectedReason, "")
		return nil
	case !found:
		r.says(metav1.ConditionTrue, hyperv1.AsExpectedReason, "etcd of "+strings.Join(failing, ", ")+" ends again and again; Job "+contract.EtcdRecovery+" asks the other members whether it can be replaced")
		return r.begin(ctx)
	}
	return r.follow(ctx, job)
}

func (r *Recovery) says(status metav1.ConditionStatus, reason, message string) {
	r.status, r.reason, r.message = status, reason, message
}

// Tell sets the condition.
func (r *Recovery) Tell(set kube.ConditionSetter) {
	if r.status == "" {
		set.Remove(hyperv1.EtcdRecoveryActive)
		return
	}
	set.Set(hyperv1.EtcdRecoveryActive, r.status, r.reason, r.message)
}

func (r *Recovery) read(ctx context.Context) (*batchv1.Job, bool, error) {
	job := &batchv1.Job{}
	err := r.Client.Get(ctx, client.ObjectKey{Namespace: r.HCP.Namespace, Name: contract.EtcdRecovery}, job)
	if apierrors.IsNotFound(err) {
		return nil, false, nil
	}
	if err != nil {
		return nil, false, fmt.Errorf("read Job %s: %w", contract.EtcdRecovery, err)
	}
	return job, true, nil
}

// failing are the members that cannot start; none while there are fewer pods than members, since then not all are known.
func (r *Recovery) failing(ctx context.Context) ([]string, error) {
	pods := &corev1.PodList{}
	if err := r.Client.List(ctx, pods, client.InNamespace(r.HCP.Namespace), client.MatchingLabels{component.LabelApp: contract.Etcd}); err != nil {
		return nil, fmt.Errorf("list the pods of etcd: %w", err)
	}
	if len(pods.Items) < len(r.members()) {
		return nil, nil
	}
	return contract.FailingMembers(pods.Items), nil
}

// follow tells what the Job does, and ends what is over.
func (r *Recovery) follow(ctx context.Context, job *batchv1.Job) error {
	end := ending(job)
	if end == nil {
		r.says(metav1.ConditionTrue, hyperv1.AsExpectedReason, "Job "+job.Name+" repairs etcd; its log says how far it is")
		return nil
	}
	if end.Type == batchv1.JobFailed {
		well, err := r.well(ctx)
		if err != nil {
			return err
		}
		if !well {
			words, err := r.lastWords(ctx)
			if words == "" {
				words = end.Message
			}
			r.says(metav1.ConditionFalse, hyperv1.EtcdRecoveryJobFailedReason, "somebody has to look: "+words)
			return err
		}
	}
	r.says(metav1.ConditionFalse, hyperv1.AsExpectedReason, "")
	return r.end(ctx)
}

func ending(job *batchv1.Job) *batchv1.JobCondition {
	at := slices.IndexFunc(job.Status.Conditions, func(c batchv1.JobCondition) bool {
		return c.Status == corev1.ConditionTrue && (c.Type == batchv1.JobComplete || c.Type == batchv1.JobFailed)
	})
	if at < 0 {
		return nil
	}
	return &job.Status.Conditions[at]
}

// well tells whether every member is ready.
func (r *Recovery) well(ctx context.Context) (bool, error) {
	set := &appsv1.StatefulSet{}
	if err := r.Client.Get(ctx, client.ObjectKey{Namespace: r.HCP.Namespace, Name: contract.Etcd}, set); err != nil {
		return false, fmt.Errorf("read StatefulSet %s: %w", contract.Etcd, err)
	}
	return set.Status.ReadyReplicas >= ptr.Deref(set.Spec.Replicas, 1), nil
}

// lastWords are the termination message of the Job's newest pod that has one.
func (r *Recovery) lastWords(ctx context.Context) (string, error) {
	pods := &corev1.PodList{}
	if err := r.Client.List(ctx, pods, client.InNamespace(r.HCP.Namespace), client.MatchingLabels{batchv1.JobNameLabel: contract.EtcdRecovery}); err != nil {
		return "", fmt.Errorf("list the pods of Job %s: %w", contract.EtcdRecovery, err)
	}
	slices.SortFunc(pods.Items, func(a, b corev1.Pod) int { return b.CreationTimestamp.Compare(a.CreationTimestamp.Time) })
	for _, pod := range pods.Items {
		for _, c := range pod.Status.ContainerStatuses {
			if c.State.Terminated != nil && c.State.Terminated.Message != "" {
				return c.State.Terminated.Message, nil
			}
		}
	}
	return "", nil
}

// members are the names of etcd's pods.
func (r *Recovery) members() []string {
	var names []string
	for i := range contract.EtcdMembers {
		names = append(names, fmt.Sprintf("%s-%d", contract.Etcd, i))
	}
	return names
}

// access is what the Job may do, in the control plane's namespace and nowhere else.
func (r *Recovery) access() []client.Object {
	objects := component.Access(contract.EtcdRecovery, r.HCP.Namespace,
		rbac.Rule("", "get,list,delete", "pods", "persistentvolumeclaims"), rbac.Rule("apps", "get,list", "statefulsets"))
	for _, obj := range objects {
		if binding, ok := obj.(*rbacv1.RoleBinding); ok {
			binding.Subjects[0].Name = contract.EtcdRecoveryAccount
		}
	}
	objects = append(objects, &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: contract.EtcdRecoveryAccount},
		ImagePullSecrets: []corev1.LocalObjectReference{{Name: component.PullSecret}}})
	for _, obj := range objects {
		obj.SetNamespace(r.HCP.Namespace)
	}
	return objects
}

func (r *Recovery) begin(ctx context.Context) error {
	if err := r.Apply(ctx, r.access()...); err != nil {
		return fmt.Errorf("rights of Job %s: %w", contract.EtcdRecovery, err)
	}
	job, err := r.job()
	if err != nil {
		return err
	}
	if err := r.Client.Create(ctx, job); err != nil && !apierrors.IsAlreadyExists(err) {
		return fmt.Errorf("create Job %s: %w", job.Name, err)
	}
	return nil
}

// end takes the Job and its rights away.
func (r *Recovery) end(ctx context.Context) error {
	job := &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Name: contract.EtcdRecovery, Namespace: r.HCP.Namespace}}
	for _, obj := range append(r.access(), job) {
		if err := kube.DeleteIfExists(ctx, r.Client, obj, client.PropagationPolicy(metav1.DeletePropagationBackground)); err != nil {
			return err
		}
	}
	return nil
}

func (r *Recovery) job() (*batchv1.Job, error) {
	unrecoverable := batchv1.PodFailurePolicyRule{Action: batchv1.PodFailurePolicyActionFailJob,
		OnExitCodes: &batchv1.PodFailurePolicyOnExitCodesRequirement{Operator: batchv1.PodFailurePolicyOnExitCodesOpIn, Values: []int32{contract.EtcdUnrecoverable}}}
	job := &batchv1.Job{
		ObjectMeta: metav1.ObjectMeta{Name: contract.EtcdRecovery, Namespace: r.HCP.Namespace, Labels: map[string]string{component.LabelApp: contract.EtcdRecovery}},
		Spec: batchv1.JobSpec{
			Completions: ptr.To[int32](1), BackoffLimit: ptr.To[int32](attempts), PodFailurePolicy: &batchv1.PodFailurePolicy{Rules: []batchv1.PodFailurePolicyRule{unrecoverable}},
			Template: corev1.PodTemplateSpec{Spec: corev1.PodSpec{
				RestartPolicy: corev1.RestartPolicyNever,
				Containers:    []corev1.Container{r.container()},
				Volumes:       []corev1.Volume{component.SecretVolume("client-tls", contract.EtcdClientCertificate), component.ConfigMapVolume("ca", contract.EtcdCA)},
			}},
		},
	}
	component.Own(r.HCP, job)
	if err := component.StampJob(r.HCP, r.Settings, contract.EtcdRecovery, component.Traits{ManagementAccess: true}, job); err != nil {
		return nil, err
	}
	job.Spec.Template.Spec.ServiceAccountName = contract.EtcdRecoveryAccount
	return job, nil
}

func (r *Recovery) container() corev1.Container {
	command := []string{helperBinary, contract.CommandReplaceMember, "--namespace=" + r.HCP.Namespace,
		"--etcd-ca-cert=" + authorityDir + "/ca.crt", "--etcd-client-cert=" + clientDir + "/etcd-client.crt", "--etcd-client-key=" + clientDir + "/etcd-client.key"}
	for _, name := range r.members() {
		command = append(command, fmt.Sprintf("--endpoint=%s=https://%s.%s.%s.svc:2379", name, name, contract.EtcdDiscoveryService, r.HCP.Namespace))
	}
	return corev1.Container{
		Name: contract.EtcdRecovery, Image: r.Settings.Image, Command: command, Resources: component.Requests("10m", "50Mi"),
		VolumeMounts: []corev1.VolumeMount{component.Mount("client-tls:" + clientDir), component.Mount("ca:" + authorityDir)},
	}
}
