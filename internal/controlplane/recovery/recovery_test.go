package recovery

import (
	"errors"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hypershift-on-azure/hypershift/api/v1beta1"
	"github.com/hypershift-on-azure/hypershift/internal/component"
	"github.com/hypershift-on-azure/hypershift/internal/contract"
	"github.com/hypershift-on-azure/hypershift/internal/controlplane/planetest"
	"github.com/hypershift-on-azure/hypershift/internal/kube"
	"github.com/hypershift-on-azure/hypershift/internal/kube/kubetest"
)

const namespace = "clusters-demo"

type fixture struct {
	*testing.T
	client   client.Client
	recovery *Recovery
}

// newFixture is a control plane that has been available, with three members of etcd.
func newFixture(t *testing.T) *fixture {
	t.Helper()
	config := kubetest.Start(t)
	scheme := runtime.NewScheme()
	if err := errors.Join(clientgoscheme.AddToScheme(scheme), hyperv1.AddToScheme(scheme)); err != nil {
		t.Fatal(err)
	}
	c, err := client.New(config, client.Options{Scheme: scheme})
	if err != nil {
		t.Fatal(err)
	}
	hcp := planetest.Plane()
	hcp.Spec.ControllerAvailabilityPolicy, hcp.Status.Initialized = hyperv1.HighlyAvailable, true
	f := &fixture{T: t, client: c, recovery: &Recovery{
		Writer: component.Writer{Client: c, Keeper: &kube.Keeper{}, HCP: hcp}, Settings: component.Settings{Image: "quay.io/cpo@sha256:1"}}}
	hcp.UID = "a-uid"
	labels := map[string]string{"app": "etcd"}
	template := corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels}, Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "etcd", Image: "e"}}}}
	f.create(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}},
		&appsv1.StatefulSet{ObjectMeta: metav1.ObjectMeta{Name: "etcd", Namespace: namespace}, Spec: appsv1.StatefulSetSpec{
			Replicas: ptr.To[int32](3), Selector: &metav1.LabelSelector{MatchLabels: labels}, Template: template}})
	for _, name := range f.recovery.members() {
		f.create(&corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: namespace, Labels: labels}, Spec: template.Spec})
	}
	f.ready(3)
	return f
}

func (f *fixture) create(objects ...client.Object) {
	f.Helper()
	for _, obj := range objects {
		if err := f.client.Create(f.Context(), obj); err != nil {
			f.Fatal(err)
		}
	}
}

func (f *fixture) get(obj client.Object, name string) bool {
	f.Helper()
	err := f.client.Get(f.Context(), client.ObjectKey{Namespace: namespace, Name: name}, obj)
	if client.IgnoreNotFound(err) != nil {
		f.Fatal(err)
	}
	return err == nil && obj.GetDeletionTimestamp().IsZero()
}

func (f *fixture) ready(members int32) {
	f.Helper()
	set := &appsv1.StatefulSet{}
	f.get(set, "etcd")
	set.Status = appsv1.StatefulSetStatus{Replicas: 3, ReadyReplicas: members}
	if err := f.client.Status().Update(f.Context(), set); err != nil {
		f.Fatal(err)
	}
}

// fails has etcd of a member wait for its next start, after so many of them.
func (f *fixture) fails(name string, restarts int32) {
	f.Helper()
	pod := &corev1.Pod{}
	f.get(pod, name)
	state := corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "CrashLoopBackOff"}}
	pod.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: "etcd", RestartCount: restarts, State: state}}
	if err := f.client.Status().Update(f.Context(), pod); err != nil {
		f.Fatal(err)
	}
}

// ends plays the Job controller.
func (f *fixture) ends(kind batchv1.JobConditionType) {
	f.Helper()
	job := &batchv1.Job{}
	f.get(job, contract.EtcdRecovery)
	now, before := metav1.Now(), batchv1.JobFailureTarget
	job.Status = batchv1.JobStatus{StartTime: &now}
	if kind == batchv1.JobComplete {
		before, job.Status.CompletionTime, job.Status.Succeeded = batchv1.JobSuccessCriteriaMet, &now, 1
	}
	for _, each := range []batchv1.JobConditionType{before, kind} {
		job.Status.Conditions = append(job.Status.Conditions, batchv1.JobCondition{Type: each, Status: corev1.ConditionTrue, LastTransitionTime: now, Message: "the Job's own words"})
	}
	if err := f.client.Status().Update(f.Context(), job); err != nil {
		f.Fatal(err)
	}
}

// expect looks once and compares the condition; want is "STATUS REASON", or empty for none.
func (f *fixture) expect(want, says string) {
	f.Helper()
	if err := f.recovery.Run(f.Context()); err != nil {
		f.Fatal(err)
	}
	f.recovery.Tell(kube.Conditions(&f.recovery.HCP.Status.Conditions, 1))
	got := ""
	told := kube.Find(f.recovery.HCP.Status.Conditions, hyperv1.EtcdRecoveryActive)
	if told != nil {
		got = string(told.Status) + " " + told.Reason
	}
	if got != want || told != nil && !strings.Contains(told.Message, says) {
		f.Errorf("condition %q: %+v; want %q with %q", got, told, want, says)
	}
}

// gone tells whether nothing of the repair is left.
func (f *fixture) gone() bool {
	f.Helper()
	return !f.get(&batchv1.Job{}, contract.EtcdRecovery) && !f.get(&rbacv1.Role{}, contract.EtcdRecovery) &&
		!f.get(&rbacv1.RoleBinding{}, contract.EtcdRecovery) && !f.get(&corev1.ServiceAccount{}, contract.EtcdRecoveryAccount)
}

// TestRecovery walks the states of a repair.
func TestRecovery(t *testing.T) {
	f := newFixture(t)
	f.expect("False AsExpected", "")
	f.fails("etcd-1", 0) // it starts for the first time
	f.expect("False AsExpected", "")
	if !f.gone() {
		t.Error("there is a Job although no member fails")
	}

	f.ready(2)
	f.fails("etcd-1", 1)
	f.expect("True AsExpected", "etcd-1")
	f.expect("True AsExpected", "Job etcd-recovery repairs")
	f.checkJob()
	f.ends(batchv1.JobComplete)
	f.expect("False AsExpected", "")
	if !f.gone() {
		t.Error("the Job has done its work and is left")
	}

	// A Job that fails stays, until all members are ready again.
	f.expect("True AsExpected", "etcd-1")
	f.ends(batchv1.JobFailed)
	f.expect("False EtcdRecoveryJobFailed", "the Job's own words")
	f.expect("False EtcdRecoveryJobFailed", "somebody has to look")
	f.ready(3)
	f.expect("False AsExpected", "")
	if !f.gone() {
		t.Error("etcd is well and the Job is left")
	}
}

// checkJob: it reaches etcd with a client's certificate and the management cluster with its own account, and ends for good when nothing can
// be repaired.
func (f *fixture) checkJob() {
	f.Helper()
	job := &batchv1.Job{}
	f.get(job, contract.EtcdRecovery)
	pod := job.Spec.Template
	command := strings.Join(pod.Spec.Containers[0].Command, " ")
	for _, part := range []string{"/usr/bin/etcd-helper replace-member", "--namespace=clusters-demo", "--endpoint=etcd-2=https://etcd-2.etcd-discovery.clusters-demo.svc:2379"} {
		if !strings.Contains(command, part) {
			f.Errorf("the command lacks %q: %s", part, command)
		}
	}
	if pod.Spec.ServiceAccountName != contract.EtcdRecoveryAccount || pod.Labels[component.LabelManagementAccess] != "true" || !*pod.Spec.AutomountServiceAccountToken {
		f.Errorf("account %s, labels %v", pod.Spec.ServiceAccountName, pod.Labels)
	}
	if codes := job.Spec.PodFailurePolicy.Rules[0].OnExitCodes.Values; len(codes) != 1 || codes[0] != contract.EtcdUnrecoverable || *job.Spec.BackoffLimit != 10 {
		f.Errorf("it ends at %v, and after %d attempts", codes, *job.Spec.BackoffLimit)
	}
}

// TestNothingToRecover: one member has no others, somebody else's etcd is not looked at, and one that never was is not lost.
func TestNothingToRecover(t *testing.T) {
	f := newFixture(t)
	f.fails("etcd-1", 1)
	plane := f.recovery.HCP.DeepCopy()
	for name, change := range map[string]func(*hyperv1.HostedControlPlane){
		"single replica": func(hcp *hyperv1.HostedControlPlane) { hcp.Spec.ControllerAvailabilityPolicy = hyperv1.SingleReplica },
		"unmanaged":      func(hcp *hyperv1.HostedControlPlane) { hcp.Spec.Etcd.ManagementType = hyperv1.Unmanaged },
		"begins":         func(hcp *hyperv1.HostedControlPlane) { hcp.Status.Initialized = false },
	} {
		f.recovery.HCP = plane.DeepCopy()
		change(f.recovery.HCP)
		if f.expect("", ""); !f.gone() {
			t.Errorf("%s: there is a Job", name)
		}
	}
}
