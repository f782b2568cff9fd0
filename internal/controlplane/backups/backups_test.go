package backups

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/go-jose/go-jose/v4/jwt"
	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hypershift-on-azure/hypershift/api/v1beta1"
	"github.com/hypershift-on-azure/hypershift/internal/component"
	"github.com/hypershift-on-azure/hypershift/internal/contract"
	"github.com/hypershift-on-azure/hypershift/internal/controlplane/planetest"
	"github.com/hypershift-on-azure/hypershift/internal/kube"
	"github.com/hypershift-on-azure/hypershift/internal/kube/kubetest"
	"github.com/hypershift-on-azure/hypershift/internal/pki"
)

type fixture struct {
	*testing.T
	client     client.Client
	reconciler *Reconciler
	hcp        *hyperv1.HostedControlPlane
	namespace  string
}

// newFixture is a control plane with an etcd of three ready members, and an identity that may write.
func newFixture(t *testing.T) *fixture {
	t.Helper()
	config := kubetest.Start(t)
	kubetest.InstallTechPreview(t, config)
	scheme := runtime.NewScheme()
	if err := errors.Join(clientgoscheme.AddToScheme(scheme), hyperv1.AddToScheme(scheme)); err != nil {
		t.Fatal(err)
	}
	c, err := client.New(config, client.Options{Scheme: scheme})
	if err != nil {
		t.Fatal(err)
	}
	f := &fixture{T: t, client: c, hcp: planetest.Plane(), namespace: "clusters-demo"}
	f.reconciler = &Reconciler{Client: c, Live: c, Settings: component.Settings{Image: "quay.io/cpo@sha256:1"}, Keep: 2, Now: time.Now}
	f.create(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: f.namespace}})
	f.control()
	return f
}

func (f *fixture) control() {
	f.Helper()
	key, err := pki.EnsureServiceAccountKey(nil)
	if err != nil {
		f.Fatal(err)
	}
	f.create(f.hcp,
		&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: pki.ServiceAccountSecret, Namespace: f.namespace}, Data: key},
		&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "writer", Namespace: f.namespace},
			StringData: map[string]string{"cloud": "AZURE_SUBSCRIPTION_ID=s\nAZURE_CLIENT_ID=writer-id\n"}})
	labels := map[string]string{"app": "etcd"}
	f.create(&appsv1.StatefulSet{ObjectMeta: metav1.ObjectMeta{Name: "etcd", Namespace: f.namespace}, Spec: appsv1.StatefulSetSpec{
		Replicas: ptr.To[int32](3), Selector: &metav1.LabelSelector{MatchLabels: labels},
		Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels}, Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "etcd", Image: "e"}}}}}})
	f.members(3)
}

func (f *fixture) members(ready int32) {
	f.Helper()
	set := &appsv1.StatefulSet{}
	f.get(set, "etcd")
	set.Status = appsv1.StatefulSetStatus{Replicas: 3, ReadyReplicas: ready}
	if err := f.client.Status().Update(f.Context(), set); err != nil {
		f.Fatal(err)
	}
}

func (f *fixture) create(objects ...client.Object) {
	f.Helper()
	for _, obj := range objects {
		if err := f.client.Create(f.Context(), obj); err != nil {
			f.Fatalf("%T %s: %v", obj, obj.GetName(), err)
		}
	}
}

func (f *fixture) get(obj client.Object, name string) {
	f.Helper()
	if err := f.client.Get(f.Context(), client.ObjectKey{Namespace: f.namespace, Name: name}, obj); err != nil {
		f.Fatal(err)
	}
}

func (f *fixture) asked(name string, change func(*hyperv1.HCPEtcdBackup)) {
	f.Helper()
	backup := &hyperv1.HCPEtcdBackup{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: f.namespace}, Spec: hyperv1.HCPEtcdBackupSpec{
		Storage: hyperv1.HCPEtcdBackupStorage{StorageType: "AzureBlob", AzureBlob: &hyperv1.HCPEtcdBackupAzureBlob{
			Container: "backups", StorageAccount: "account", KeyPrefix: "demo/", Credentials: hyperv1.HCPEtcdBackupCredentials{Name: "writer"}}}}}
	if change != nil {
		change(backup)
	}
	f.create(backup)
}

// pass reconciles once and returns the backup's condition.
func (f *fixture) pass(name string) metav1.Condition {
	f.Helper()
	if _, err := f.reconciler.Reconcile(f.Context(), ctrl.Request{NamespacedName: client.ObjectKey{Namespace: f.namespace, Name: name}}); err != nil {
		f.Fatal(err)
	}
	backup := &hyperv1.HCPEtcdBackup{}
	f.get(backup, name)
	done := kube.Find(backup.Status.Conditions, hyperv1.BackupCompleted)
	if done == nil {
		f.Fatalf("backup %s has no condition", name)
	}
	return *done
}

func (f *fixture) expect(name, reason string, says ...string) {
	f.Helper()
	done := f.pass(name)
	if done.Reason != reason || (done.Status == metav1.ConditionTrue) != (reason == hyperv1.BackupSucceededReason) {
		f.Errorf("%s: %s %s: %s; want %s", name, done.Status, done.Reason, done.Message, reason)
	}
	for _, words := range says {
		if !strings.Contains(done.Message, words) {
			f.Errorf("%s: %q does not say %q", name, done.Message, words)
		}
	}
}

func (f *fixture) jobOf(name string) *batchv1.Job {
	f.Helper()
	jobs := &batchv1.JobList{}
	if err := f.client.List(f.Context(), jobs, client.InNamespace(f.namespace), client.MatchingLabels{backupNameLabel: name}); err != nil || len(jobs.Items) != 1 {
		f.Fatalf("backup %s has %d Jobs: %v", name, len(jobs.Items), err)
	}
	return &jobs.Items[0]
}

// ends plays the kubelet and the Job controller.
func (f *fixture) ends(name string, kind batchv1.JobConditionType, words string) {
	f.Helper()
	job := f.jobOf(name)
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: job.Name, Namespace: f.namespace, Labels: map[string]string{batchv1.JobNameLabel: job.Name}}, Spec: job.Spec.Template.Spec}
	pod.Spec.ServiceAccountName, pod.Spec.PriorityClassName = "", ""
	f.create(pod)
	pod.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: contract.EtcdBackup, State: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{Message: words}}}}
	now := metav1.Now()
	before := batchv1.JobFailureTarget
	job.Status = batchv1.JobStatus{StartTime: &now}
	if kind == batchv1.JobComplete {
		before, job.Status.CompletionTime, job.Status.Succeeded = batchv1.JobSuccessCriteriaMet, &now, 1
	}
	for _, each := range []batchv1.JobConditionType{before, kind} {
		job.Status.Conditions = append(job.Status.Conditions, batchv1.JobCondition{Type: each, Status: corev1.ConditionTrue, LastTransitionTime: now, Message: "the Job's own words"})
	}
	if err := errors.Join(f.client.Status().Update(f.Context(), pod), f.client.Status().Update(f.Context(), job)); err != nil {
		f.Fatal(err)
	}
}

func (f *fixture) succeeds(name string) {
	f.Helper()
	f.expect(name, hyperv1.BackupInProgressReason)
	words, err := json.Marshal(contract.BackupResult{URL: "https://account.blob.core.windows.net/backups/demo/" + name + ".db", SHA256: "ab", Bytes: 7, Revision: 5, Keys: 3})
	if err != nil {
		f.Fatal(err)
	}
	f.ends(name, batchv1.JobComplete, string(words))
	f.expect(name, hyperv1.BackupSucceededReason, "3 keys", "revision 5", "SHA-256 ab")
}

// TestBackups walks the states of a backup.
func TestBackups(t *testing.T) {
	f := newFixture(t)

	// A member is not ready: it waits, and begins when all are.
	f.members(2)
	f.asked("first", nil)
	f.expect("first", hyperv1.BackupEtcdUnhealthyReason, "2 of 3 members")
	f.members(3)
	f.expect("first", hyperv1.BackupInProgressReason)
	f.asked("second", nil)
	f.expect("second", hyperv1.BackupRejectedReason, f.jobOf("first").Name)
	// A member that goes away meanwhile does not hide what the Job does.
	f.members(2)
	f.succeeds("first")
	f.members(3)
	backup := &hyperv1.HCPEtcdBackup{}
	if f.get(backup, "first"); backup.Status.SnapshotURL != "https://account.blob.core.windows.net/backups/demo/first.db" {
		t.Errorf("the URL is %q", backup.Status.SnapshotURL)
	}
	// A rejected one stays so.
	f.expect("second", hyperv1.BackupRejectedReason)

	f.asked("third", nil)
	f.expect("third", hyperv1.BackupInProgressReason)
	f.ends("third", batchv1.JobFailed, "upload https://account...: AuthorizationPermissionMismatch")
	f.expect("third", hyperv1.BackupFailedReason, "AuthorizationPermissionMismatch")

	f.asked("fourth", nil)
	f.expect("fourth", hyperv1.BackupInProgressReason)
	if err := f.client.Delete(t.Context(), f.jobOf("fourth"), client.PropagationPolicy(metav1.DeletePropagationBackground)); err != nil {
		t.Fatal(err)
	}
	f.expect("fourth", hyperv1.BackupFailedReason, "its Job is gone")
	f.checkMirror()
	f.checkRetention()
}

// checkMirror: the control plane tells of the newest backup that began.
func (f *fixture) checkMirror() {
	f.Helper()
	list := &hyperv1.HCPEtcdBackupList{}
	if err := f.client.List(f.Context(), list); err != nil {
		f.Fatal(err)
	}
	set := kube.Conditions(&f.hcp.Status.Conditions, 1)
	for i := range list.Items {
		// The clock of the API server counts seconds.
		list.Items[i].CreationTimestamp = metav1.NewTime(time.Unix(int64(slices.Index([]string{"first", "third", "fourth", "second"}, list.Items[i].Name)), 0))
	}
	Tell(list.Items, "", set)
	if told := kube.Find(f.hcp.Status.Conditions, hyperv1.EtcdBackupSucceeded); told == nil || told.Reason != hyperv1.BackupFailedReason || !strings.Contains(told.Message, "HCPEtcdBackup fourth") {
		f.Errorf("the control plane tells %+v", told)
	}
	Tell(slices.DeleteFunc(list.Items, func(b hyperv1.HCPEtcdBackup) bool { return b.Name != "first" }), "", set)
	if told := kube.Find(f.hcp.Status.Conditions, hyperv1.EtcdBackupSucceeded); told.Status != metav1.ConditionTrue || !strings.Contains(told.Message, "/backups/demo/first.db") {
		f.Errorf("the control plane tells %+v", told)
	}
	Tell(nil, "", set)
	if told := kube.Find(f.hcp.Status.Conditions, hyperv1.EtcdBackupSucceeded); told != nil {
		f.Errorf("without backups: %+v", told)
	}
}

// checkRetention: the oldest successes beyond the number go, failures stay.
func (f *fixture) checkRetention() {
	f.Helper()
	for i := range 3 {
		name := fmt.Sprintf("kept-%d", i)
		f.asked(name, nil)
		f.succeeds(name)
		job := f.jobOf(name)
		if err := f.client.Delete(f.Context(), job, client.PropagationPolicy(metav1.DeletePropagationBackground)); err != nil {
			f.Fatal(err)
		}
	}
	f.pass("kept-2")
	list := &hyperv1.HCPEtcdBackupList{}
	if err := f.client.List(f.Context(), list); err != nil {
		f.Fatal(err)
	}
	good, bad := 0, 0
	for i := range list.Items {
		if Succeeded(&list.Items[i]) {
			good++
		} else {
			bad++
		}
	}
	if good != 2 || bad != 3 {
		f.Errorf("%d successful and %d other backups stay, want 2 and 3", good, bad)
	}
	if err := f.client.Get(f.Context(), client.ObjectKey{Namespace: f.namespace, Name: "first"}, &hyperv1.HCPEtcdBackup{}); !apierrors.IsNotFound(err) {
		f.Errorf("the oldest stays: %v", err)
	}
}

// TestBackupJob: the Job has what it needs and no more, no secret among its arguments, and its token is the guest's account's and goes
// with the end of the backup.
func TestBackupJob(t *testing.T) {
	f := newFixture(t)
	f.asked("one", nil)
	f.expect("one", hyperv1.BackupInProgressReason)
	job := f.jobOf("one")
	pod := job.Spec.Template.Spec
	command := strings.Join(pod.Containers[0].Command, " ")
	for _, part := range []string{"/usr/bin/etcd-helper back-up", "--endpoint=https://etcd-client.clusters-demo.svc:2379", "--azure-client-id=writer-id", "--azure-tenant-id=tenant",
		"--azure-storage-account=account", "--azure-container=backups", "--blob=demo/"} {
		if !strings.Contains(command, part) {
			t.Errorf("the command %q lacks %q", command, part)
		}
	}
	if *job.Spec.BackoffLimit != 0 || *job.Spec.ActiveDeadlineSeconds != 900 || *job.Spec.TTLSecondsAfterFinished != 600 || pod.RestartPolicy != corev1.RestartPolicyNever {
		t.Errorf("the Job is %+v", job.Spec)
	}
	if *pod.AutomountServiceAccountToken || !*pod.SecurityContext.RunAsNonRoot || pod.ServiceAccountName != contract.EtcdBackup {
		t.Errorf("the pod is %+v", pod)
	}
	secret := &corev1.Secret{}
	f.get(secret, job.Name)
	token, err := jwt.ParseSigned(string(secret.Data[assertionKey]), []jose.SignatureAlgorithm{jose.RS256})
	var claims jwt.Claims
	if err := errors.Join(err, token.UnsafeClaimsWithoutVerification(&claims)); err != nil {
		t.Fatal(err)
	}
	if claims.Subject != "system:serviceaccount:kube-system:etcd-backup" || claims.Issuer != f.hcp.Spec.IssuerURL || !claims.Audience.Contains("openshift") ||
		time.Until(claims.Expiry.Time()) > jobDeadline {
		t.Errorf("the token says %+v", claims)
	}
	if strings.Contains(command, string(secret.Data[assertionKey])) {
		t.Error("the token is an argument")
	}
	f.ends("one", batchv1.JobFailed, "no")
	f.expect("one", hyperv1.BackupFailedReason)
	f.pass("one")
	if err := f.client.Get(t.Context(), client.ObjectKeyFromObject(secret), secret); !apierrors.IsNotFound(err) {
		t.Errorf("the token stays: %v", err)
	}
}

// TestBackupsThatCannotBe end at once with their reason.
func TestBackupsThatCannotBe(t *testing.T) {
	f := newFixture(t)
	secret := func(name string, data map[string]string) {
		f.create(&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: f.namespace}, StringData: data})
	}
	secret("old", map[string]string{"cloud": "AZURE_CLIENT_ID=a\nAZURE_CLIENT_SECRET=b"})
	secret("file", map[string]string{"credentials": `{"clientSecret":"topsecret"}`})
	with := func(name string) func(*hyperv1.HCPEtcdBackup) {
		return func(b *hyperv1.HCPEtcdBackup) { b.Spec.Storage.AzureBlob.Credentials.Name = name }
	}
	for name, test := range map[string]struct {
		change func(*hyperv1.HCPEtcdBackup)
		says   string
	}{
		"no-secret":     {with("gone"), "Secret clusters-demo/gone of spec.storage.azureBlob.credentials is missing"},
		"client-secret": {with("old"), "has a client secret, which is not used"},
		"no-identity":   {with("file"), "no line AZURE_CLIENT_ID"},
		"key": {func(b *hyperv1.HCPEtcdBackup) {
			b.Spec.Storage.AzureBlob.EncryptionKeyURL = "https://v.vault.azure.net/keys/k"
		}, "encryptionKeyURL cannot be used"},
		"s3": {func(b *hyperv1.HCPEtcdBackup) {
			b.Spec.Storage = hyperv1.HCPEtcdBackupStorage{StorageType: "S3", S3: &runtime.RawExtension{Raw: []byte(`{"bucket":"b"}`)}}
		}, "S3 is not supported on Azure"},
		"elsewhere": {func(b *hyperv1.HCPEtcdBackup) {
			b.Namespace = "default"
		}, "0 hosted control planes"},
	} {
		f.namespace = "clusters-demo"
		if name == "elsewhere" {
			f.namespace = "default"
		}
		f.asked(name, test.change)
		f.expect(name, hyperv1.BackupFailedReason, test.says)
	}
	f.namespace = "clusters-demo"
	if err := f.client.Delete(t.Context(), f.hcp); err != nil {
		t.Fatal(err)
	}
	f.hcp = planetest.Plane()
	f.hcp.Spec.Etcd = hyperv1.EtcdSpec{ManagementType: hyperv1.Unmanaged, Unmanaged: &hyperv1.UnmanagedEtcdSpec{
		Endpoint: "https://e:2379", TLS: hyperv1.EtcdTLSConfig{ClientSecret: corev1.LocalObjectReference{Name: "t"}}}}
	f.create(f.hcp)
	f.asked("unmanaged", nil)
	f.expect("unmanaged", hyperv1.BackupFailedReason, "etcd is the user's own")
	jobs := &batchv1.JobList{}
	if err := f.client.List(t.Context(), jobs); err != nil || len(jobs.Items) != 0 {
		t.Errorf("%d Jobs were made: %v", len(jobs.Items), err)
	}
}
