package backup

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	hyperv1 "github.com/hypershift-on-azure/hypershift/api/v1beta1"
	"github.com/hypershift-on-azure/hypershift/internal/cli/flagfile"
	"github.com/hypershift-on-azure/hypershift/internal/cli/management"
	"github.com/hypershift-on-azure/hypershift/internal/cli/progress"
	"github.com/hypershift-on-azure/hypershift/internal/kube"
)

const (
	// credentialsSecret names the identity in the control plane's namespace. It holds no secret.
	credentialsSecret = "etcd-backup-azure-credentials"
	credentialsKey    = "cloud"
	nameFormat        = "20060102-150405"
	waitPeriod        = time.Second
	waitLimit         = 20 * time.Minute
)

// creation is what create was asked for.
type creation struct {
	target
	backupName, account, container, prefix, clientID, tenantID string
	dryRun, wait                                               bool
	managementFile                                             string
	timeout                                                    time.Duration
}

func newCreateCommand() *cobra.Command {
	c := &creation{}
	cmd := c.verb(&cobra.Command{
		Use: "create NAME", Short: "Save the etcd of a hosted cluster in a container of a storage account",
		Long: `Saves the etcd of a hosted cluster in a container of a storage account, as an HCPEtcdBackup in the namespace of its control plane.

The identity has role Storage Blob Data Contributor on the container, and a federated credential for the issuer of the hosted cluster, subject
system:serviceaccount:kube-system:etcd-backup and audience openshift. Nobody has a secret of it. Storage, prefix and identity of the newest
backup are taken where no flag says them.

A backup has everything but the keys: keep the Secrets of the hosted cluster's namespace, or its key in the key vault, too. With
--management-file they are saved beside it, with all else that another management cluster needs to take the hosted cluster over when this one
is lost. That file opens everything in the hosted cluster: keep it as you keep the cluster itself.`,
		Example: `  hypershift backup create demo --storage-account backups --container etcd --client-id 11111111-2222-4333-8444-555555555555 --wait
  hypershift backup create demo`,
	}, func(cmd *cobra.Command) error {
		return c.run(cmd.Context(), cmd.OutOrStdout(), progress.Line(cmd))
	})
	flags := cmd.Flags()
	flags.StringVar(&c.backupName, "name", "", "name of the backup; the hosted cluster's with the time when empty")
	flags.StringVar(&c.account, "storage-account", "", "storage account; that of the newest backup when empty")
	flags.StringVar(&c.container, "container", "", "container of the storage account, which exists; that of the newest backup when empty")
	flags.StringVar(&c.prefix, "key-prefix", "", "what the blob's name begins with; that of the newest backup when empty, else NAMESPACE/NAME")
	flags.StringVar(&c.clientID, "client-id", "", "client id of the identity that writes; that of the newest backup when empty")
	flags.StringVar(&c.tenantID, "tenant-id", "", "its tenant, where it is not the hosted cluster's")
	flags.BoolVar(&c.dryRun, "dry-run", false, "print the objects as YAML and write nothing")
	flags.BoolVar(&c.wait, "wait", false, "wait until the backup has ended")
	flags.StringVar(&c.managementFile, "management-file", "", "wait, and save in this file what the management cluster has of the hosted cluster, keys and machines included: another one takes it over with that")
	cmd.MarkFlagsMutuallyExclusive("dry-run", "management-file")
	flags.DurationVar(&c.timeout, "timeout", waitLimit, "how long to wait")
	return cmd
}

func (c *creation) run(ctx context.Context, out io.Writer, say func(string, ...any)) error {
	hc, err := c.read(ctx)
	if err != nil {
		return err
	}
	if c.managementFile != "" {
		if err := errors.Join(flagfile.CheckWritable("--management-file", c.managementFile), movable(hc)); err != nil {
			return err
		}
	}
	backup, secret, err := c.objects(ctx)
	if err != nil {
		return err
	}
	if c.dryRun {
		return render(out, secret, backup)
	}
	if secret != nil {
		if err := kube.Apply(ctx, c.client, management.FieldManager, secret); err != nil {
			return err
		}
	}
	if err := c.client.Create(ctx, backup); err != nil {
		if apierrors.IsAlreadyExists(err) {
			return fmt.Errorf("HCPEtcdBackup %s/%s is there already; choose another --name", backup.Namespace, backup.Name)
		}
		return notServed(fmt.Errorf("create HCPEtcdBackup %s/%s: %w", backup.Namespace, backup.Name, err))
	}
	if !c.wait && c.managementFile == "" {
		_, err := fmt.Fprintf(out, "%s is asked for; follow it with: hypershift backup list %s --namespace %s\n", backup.Name, c.name, c.namespace)
		return err
	}
	if err := c.await(ctx, backup, out, say); err != nil || c.managementFile == "" {
		return err
	}
	return c.saveBelongings(ctx, hc, backup, c.managementFile)
}

// objects are the backup, and the Secret that names its identity unless there is one; flags come before what the newest backup says.
func (c *creation) objects(ctx context.Context) (*hyperv1.HCPEtcdBackup, *corev1.Secret, error) {
	blob := hyperv1.HCPEtcdBackupAzureBlob{KeyPrefix: c.namespace + "/" + c.name, Credentials: hyperv1.HCPEtcdBackupCredentials{Name: credentialsSecret}}
	all, err := c.backups(ctx)
	if err != nil {
		return nil, nil, err
	}
	for i := range all {
		if last := all[i].Spec.Storage.AzureBlob; last != nil {
			blob = *last
			break
		}
	}
	blob.StorageAccount, blob.Container, blob.KeyPrefix = cmp.Or(c.account, blob.StorageAccount), cmp.Or(c.container, blob.Container), cmp.Or(c.prefix, blob.KeyPrefix)
	if blob.StorageAccount == "" || blob.Container == "" {
		return nil, nil, errors.New("--storage-account and --container are needed for the first backup of a hosted cluster")
	}
	secret, err := c.credentials(ctx, &blob)
	if err != nil {
		return nil, nil, err
	}
	backup := &hyperv1.HCPEtcdBackup{
		TypeMeta:   metav1.TypeMeta{APIVersion: hyperv1.GroupVersion.String(), Kind: "HCPEtcdBackup"},
		ObjectMeta: metav1.ObjectMeta{Name: cmp.Or(c.backupName, c.name+"-"+c.now().UTC().Format(nameFormat)), Namespace: c.controlPlane()},
		Spec:       hyperv1.HCPEtcdBackupSpec{Storage: hyperv1.HCPEtcdBackupStorage{StorageType: "AzureBlob", AzureBlob: &blob}},
	}
	return backup, secret, nil
}

// credentials is the Secret to write; nil where the one that is there serves.
func (c *creation) credentials(ctx context.Context, blob *hyperv1.HCPEtcdBackupAzureBlob) (*corev1.Secret, error) {
	if c.clientID == "" {
		if c.tenantID != "" {
			return nil, errors.New("--tenant-id says whose --client-id is: give both")
		}
		err := c.client.Get(ctx, client.ObjectKey{Namespace: c.controlPlane(), Name: blob.Credentials.Name}, &corev1.Secret{})
		if apierrors.IsNotFound(err) {
			return nil, errors.New("--client-id is needed for the first backup of a hosted cluster: the identity that writes into the storage account")
		}
		return nil, err
	}
	blob.Credentials.Name = credentialsSecret
	lines := "AZURE_CLIENT_ID=" + c.clientID + "\n"
	if c.tenantID != "" {
		lines += "AZURE_TENANT_ID=" + c.tenantID + "\n"
	}
	return &corev1.Secret{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "Secret"},
		ObjectMeta: metav1.ObjectMeta{Name: credentialsSecret, Namespace: c.controlPlane()},
		Type:       corev1.SecretTypeOpaque, Data: map[string][]byte{credentialsKey: []byte(lines)},
	}, nil
}

func render(out io.Writer, secret *corev1.Secret, backup *hyperv1.HCPEtcdBackup) error {
	var text bytes.Buffer
	objects := []any{backup}
	if secret != nil {
		objects = []any{secret, backup}
	}
	for _, obj := range objects {
		raw, err := yaml.Marshal(obj)
		if err != nil {
			return fmt.Errorf("print the objects: %w", err)
		}
		text.WriteString("---\n")
		text.Write(raw)
	}
	_, err := text.WriteTo(out)
	return err
}

// await tells what the backup waits for until it has ended.
func (c *creation) await(ctx context.Context, backup *hyperv1.HCPEtcdBackup, out io.Writer, say func(string, ...any)) error {
	said, reason, message := "", "", ""
	err := management.Within(ctx, waitPeriod, c.timeout, func(ctx context.Context) (bool, error) {
		if err := c.client.Get(ctx, client.ObjectKeyFromObject(backup), backup); err != nil {
			return false, err
		}
		reason, message = stateOf(backup)
		if now := reason + ": " + message; now != said {
			said = now
			say("%s", now)
		}
		return succeeded(backup) || reason == hyperv1.BackupFailedReason || reason == hyperv1.BackupRejectedReason, nil
	})
	switch {
	case err != nil:
		return fmt.Errorf("HCPEtcdBackup %s/%s has not ended: %s: %s: %w", backup.Namespace, backup.Name, reason, message, err)
	case !succeeded(backup):
		return fmt.Errorf("HCPEtcdBackup %s/%s: %s: %s", backup.Namespace, backup.Name, reason, message)
	}
	_, err = fmt.Fprintln(out, backup.Status.SnapshotURL)
	return err
}
