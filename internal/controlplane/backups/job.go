package backups

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/go-jose/go-jose/v4/jwt"
	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hypershift-on-azure/hypershift/api/v1beta1"
	"github.com/hypershift-on-azure/hypershift/internal/component"
	"github.com/hypershift-on-azure/hypershift/internal/contract"
	"github.com/hypershift-on-azure/hypershift/internal/kube"
	"github.com/hypershift-on-azure/hypershift/internal/pki"
)

const (
	helperBinary = "/usr/bin/etcd-helper"

	jobDeadline = 15 * time.Minute
	jobLife     = 10 * time.Minute
	// maxName keeps the Job's name, which its pods' labels repeat, below 63 characters.
	maxName = 40
	// workSize is for the largest database that etcd supports, and its hash.
	workSize = "9Gi"

	credentialsKey = "cloud"
	clientIDLine   = contract.AzureClientIDEnv
	tenantIDLine   = contract.AzureTenantIDEnv

	clientDir, authorityDir = "/etc/etcd/tls/client", "/etc/etcd/tls/ca"
	assertionDir            = "/var/run/secrets/backup"
	assertionKey            = "token"
	workDir                 = "/var/lib/backup"

	backupNameLabel = "hypershift.openshift.io/backup-name"
)

// account is the guest's account whose tokens the identity is federated with.
var account = component.Token{Namespace: metav1.NamespaceSystem, ServiceAccount: contract.EtcdBackup}

// plan is what a Job needs to know.
type plan struct {
	hcp                *hyperv1.HostedControlPlane
	clientID, tenantID string
	// assertion is the federated token; it lives as long as the Job may run.
	assertion string
}

// plan says what the Job of the backup does, or why there is none.
func (r *Reconciler) plan(ctx context.Context, backup *hyperv1.HCPEtcdBackup) (plan, string, error) {
	storage := backup.Spec.Storage
	switch {
	case storage.AzureBlob == nil:
		return plan{}, "spec.storage.storageType " + storage.StorageType + " is not supported on Azure; use AzureBlob", nil
	case storage.AzureBlob.EncryptionKeyURL != "":
		return plan{}, "spec.storage.azureBlob.encryptionKeyURL cannot be used: Azure takes the name of an encryption scope with a blob, no key. Give the key to the storage account (az storage account update --encryption-key-source) and leave the field out", nil
	}
	planes := &hyperv1.HostedControlPlaneList{}
	if err := r.Client.List(ctx, planes, client.InNamespace(backup.Namespace)); err != nil {
		return plan{}, "", fmt.Errorf("list the hosted control planes of namespace %s: %w", backup.Namespace, err)
	}
	if len(planes.Items) != 1 {
		return plan{}, fmt.Sprintf("namespace %s has %d hosted control planes, and a backup is of one: make it in the namespace of a control plane", backup.Namespace, len(planes.Items)), nil
	}
	p := plan{hcp: &planes.Items[0]}
	switch {
	case !p.hcp.DeletionTimestamp.IsZero():
		return plan{}, "the hosted cluster is being deleted", nil
	case p.hcp.Spec.Etcd.ManagementType == hyperv1.Unmanaged:
		return plan{}, "etcd is the user's own (spec.etcd.managementType Unmanaged): save it with its own tools", nil
	case p.hcp.Spec.Platform.Azure == nil:
		return plan{}, "the hosted cluster is not on Azure, whose identities a backup needs", nil
	}
	refused, err := r.identify(ctx, backup, &p)
	return p, refused, err
}

// identify reads who writes into the storage, and signs a token for it.
func (r *Reconciler) identify(ctx context.Context, backup *hyperv1.HCPEtcdBackup, p *plan) (string, error) {
	name := backup.Spec.Storage.AzureBlob.Credentials.Name
	where := "Secret " + backup.Namespace + "/" + name + " of spec.storage.azureBlob.credentials"
	secret := &corev1.Secret{}
	err := r.Client.Get(ctx, client.ObjectKey{Namespace: backup.Namespace, Name: name}, secret)
	if apierrors.IsNotFound(err) {
		return where + " is missing; it needs key cloud with the line AZURE_CLIENT_ID=...", nil
	}
	if err != nil {
		return "", fmt.Errorf("read %s: %w", where, err)
	}
	lines := settings(secret.Data[credentialsKey])
	p.clientID, p.tenantID = lines[clientIDLine], cmp.Or(lines[tenantIDLine], p.hcp.Spec.Platform.Azure.TenantID)
	switch {
	case lines["AZURE_CLIENT_SECRET"] != "":
		return where + " has a client secret, which is not used: give AZURE_CLIENT_ID alone, of an identity with a federated credential for " + subject(), nil
	case p.clientID == "":
		return where + " has no line AZURE_CLIENT_ID=... in key cloud, and other credentials than a workload identity are not used", nil
	}
	signing := &corev1.Secret{}
	if err := r.Client.Get(ctx, client.ObjectKey{Namespace: backup.Namespace, Name: pki.ServiceAccountSecret}, signing); err != nil {
		return "", fmt.Errorf("read the key that signs the hosted cluster's tokens: %w", err)
	}
	p.assertion, err = pki.ServiceAccountToken(signing.Data[contract.SigningPrivateKey], jwt.Claims{
		Issuer: p.hcp.Spec.IssuerURL, Subject: subject(), Audience: jwt.Audience{component.CloudAudience}}, r.Now(), jobDeadline)
	return "", err
}

func subject() string {
	return "system:serviceaccount:" + account.Namespace + ":" + account.ServiceAccount
}

// settings are lines NAME=VALUE.
func settings(text []byte) map[string]string {
	found := map[string]string{}
	lines := bufio.NewScanner(bytes.NewReader(text))
	for lines.Scan() {
		if name, value, ok := strings.Cut(lines.Text(), "="); ok {
			found[strings.TrimSpace(name)] = strings.Trim(strings.TrimSpace(value), `"'`)
		}
	}
	return found
}

// etcdWaits says why no snapshot is taken now; empty when every member is ready.
func (r *Reconciler) etcdWaits(ctx context.Context, namespace string) (string, error) {
	set := &appsv1.StatefulSet{}
	err := r.Client.Get(ctx, client.ObjectKey{Namespace: namespace, Name: contract.Etcd}, set)
	if client.IgnoreNotFound(err) != nil {
		return "", fmt.Errorf("read StatefulSet %s/%s: %w", namespace, contract.Etcd, err)
	}
	wanted := ptr.Deref(set.Spec.Replicas, 1)
	if err != nil || wanted == 0 || set.Status.ReadyReplicas < wanted {
		return fmt.Sprintf("%d of %d members of etcd are ready; the backup begins when all are", set.Status.ReadyReplicas, wanted), nil
	}
	return "", nil
}

// begin makes the Job and the token that it signs in with, which both end with the backup.
func (r *Reconciler) begin(ctx context.Context, backup *hyperv1.HCPEtcdBackup, p plan) (outcome, error) {
	job, err := r.job(backup, p)
	if err != nil {
		return failed("%v", err), nil
	}
	token := r.assertion(backup)
	token.StringData = map[string]string{assertionKey: p.assertion}
	helper := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: contract.EtcdBackup, Namespace: backup.Namespace},
		ImagePullSecrets: []corev1.LocalObjectReference{{Name: component.PullSecret}}}
	component.Own(p.hcp, helper)
	for _, obj := range []client.Object{helper, token, job} {
		if err := r.Client.Create(ctx, obj); err != nil && !apierrors.IsAlreadyExists(err) {
			return outcome{}, fmt.Errorf("begin the backup: create %s: %w", kube.Describe(obj), err)
		}
	}
	return outcome{reason: hyperv1.BackupInProgressReason, message: "Job " + job.Name + " runs", again: lookAgain}, nil
}

// jobName is the same for one object, and another for one of the same name that comes later.
func jobName(backup *hyperv1.HCPEtcdBackup) string {
	name := strings.TrimRight(backup.Name[:min(len(backup.Name), maxName)], ".-")
	return contract.EtcdBackup + "-" + strings.ReplaceAll(name, ".", "-") + "-" + string(backup.UID[:min(len(backup.UID), 5)])
}

func (r *Reconciler) assertion(backup *hyperv1.HCPEtcdBackup) *corev1.Secret {
	return &corev1.Secret{ObjectMeta: r.owned(backup)}
}

func (r *Reconciler) owned(backup *hyperv1.HCPEtcdBackup) metav1.ObjectMeta {
	return metav1.ObjectMeta{Name: jobName(backup), Namespace: backup.Namespace, OwnerReferences: []metav1.OwnerReference{
		*metav1.NewControllerRef(backup, hyperv1.GroupVersion.WithKind("HCPEtcdBackup"))}}
}

// forgetAssertion deletes the token of a backup that has ended.
func (r *Reconciler) forgetAssertion(ctx context.Context, backup *hyperv1.HCPEtcdBackup) error {
	token := r.assertion(backup)
	if err := r.Client.Get(ctx, client.ObjectKeyFromObject(token), token); err != nil {
		return client.IgnoreNotFound(err)
	}
	return kube.DeleteIfExists(ctx, r.Client, token)
}

func (r *Reconciler) job(backup *hyperv1.HCPEtcdBackup, p plan) (*batchv1.Job, error) {
	job := &batchv1.Job{
		ObjectMeta: r.owned(backup),
		Spec: batchv1.JobSpec{
			BackoffLimit: ptr.To[int32](0), ActiveDeadlineSeconds: ptr.To(int64(jobDeadline.Seconds())), TTLSecondsAfterFinished: ptr.To(int32(jobLife.Seconds())),
			Template: corev1.PodTemplateSpec{Spec: corev1.PodSpec{
				RestartPolicy: corev1.RestartPolicyNever,
				Containers:    []corev1.Container{r.container(backup, p)},
				Volumes: []corev1.Volume{
					component.SecretVolume("client-tls", contract.EtcdClientCertificate), component.ConfigMapVolume("ca", contract.EtcdCA),
					component.SecretVolume("assertion", jobName(backup)),
					{Name: "work", VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{SizeLimit: ptr.To(resource.MustParse(workSize))}}},
				},
			}},
		},
	}
	job.Labels = map[string]string{component.LabelApp: contract.EtcdBackup, backupNameLabel: backup.Name[:min(len(backup.Name), 63)]}
	if err := component.StampJob(p.hcp, r.Settings, contract.EtcdBackup, component.Traits{ReachesCloud: true}, job); err != nil {
		return nil, err
	}
	return job, nil
}

func (r *Reconciler) container(backup *hyperv1.HCPEtcdBackup, p plan) corev1.Container {
	blob := backup.Spec.Storage.AzureBlob
	name := strings.Trim(blob.KeyPrefix, "/") + "/" + strconv.FormatInt(r.Now().Unix(), 10) + ".db"
	return corev1.Container{
		Name: contract.EtcdBackup, Image: r.Settings.Image,
		Command: []string{helperBinary, contract.CommandBackUp,
			fmt.Sprintf("--endpoint=https://%s.%s.svc:2379", contract.EtcdClientService, backup.Namespace),
			"--trusted-ca-file=" + authorityDir + "/ca.crt", "--cert-file=" + clientDir + "/etcd-client.crt", "--key-file=" + clientDir + "/etcd-client.key",
			"--work-dir=" + workDir, "--assertion-file=" + assertionDir + "/" + assertionKey,
			"--azure-cloud=" + p.hcp.Spec.Platform.Azure.Cloud, "--azure-tenant-id=" + p.tenantID, "--azure-client-id=" + p.clientID,
			"--azure-storage-account=" + blob.StorageAccount, "--azure-container=" + blob.Container, "--blob=" + strings.TrimPrefix(name, "/"),
			"--result-file=" + corev1.TerminationMessagePathDefault},
		Resources: component.Requests("50m", "100Mi"),
		VolumeMounts: []corev1.VolumeMount{
			component.Mount("client-tls:" + clientDir), component.Mount("ca:" + authorityDir), component.Mount("assertion:" + assertionDir),
			{Name: "work", MountPath: workDir},
		},
	}
}
