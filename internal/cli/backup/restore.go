package backup

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hypershift-on-azure/hypershift/api/v1beta1"
	"github.com/hypershift-on-azure/hypershift/internal/azure"
	"github.com/hypershift-on-azure/hypershift/internal/azure/vault"
	"github.com/hypershift-on-azure/hypershift/internal/cli/command"
	"github.com/hypershift-on-azure/hypershift/internal/cli/flagfile"
	"github.com/hypershift-on-azure/hypershift/internal/cli/management"
	"github.com/hypershift-on-azure/hypershift/internal/cli/progress"
	"github.com/hypershift-on-azure/hypershift/internal/wholefile"
)

const (
	urlFile, keyFile = "backup.url", "backup.key"
	// A delegated signature ends after seven days at most.
	maxValidity     = 7 * 24 * time.Hour
	defaultValidity = 6 * time.Hour
)

// restoration is what restore was asked for.
type restoration struct {
	target
	backupName, credentials, outputDir string
	validFor                           time.Duration
	// managementFile is the saved management side of a cluster to take over; snapshotURL another backup than its own.
	managementFile, snapshotURL string
	// place: the hosted cluster itself goes back to the backup. ask puts that to a person.
	place, dryRun, yes, wait bool
	timeout                  time.Duration
	ask                      func() (yes, asked bool)
	// sign makes an address that may be read without signing in.
	sign func(ctx context.Context, cloud, address string, now time.Time, life time.Duration) (string, error)
	// hosted is the hosted cluster, once it has been asked.
	hosted *management.Hosted
	// leases are those of the hosted cluster's nodes.
	leases func(ctx context.Context, hc *hyperv1.HostedCluster) ([]coordinationv1.Lease, error)
}

func newRestoreCommand() *cobra.Command {
	r := &restoration{}
	r.sign, r.leases = r.signed, r.nodeLeases
	cmd := r.verb(&cobra.Command{
		Use: "restore NAME", Short: "Send a hosted cluster back to a backup, or prepare the files that another one begins with it with",
		Long: `With --in-place the hosted cluster itself goes back to the backup: its API server and etcd end, every member of etcd takes the
backup's data in the place of its own, and the API server starts again. Nodes and pods keep running. What has been written since the backup is
lost, so save it first where that is still possible; the keys of encrypted Secrets must be those of the time of the backup.

With --management-file this management cluster takes over a hosted cluster whose own one is lost: its objects come back, its etcd begins with
the backup, and its workers, which run on in Azure, connect to it; no machine is made. The hosted cluster must have host names
(--external-dns-domain), and ExternalDNS runs here with the owner of the former one (install --external-dns-txt-owner-id).

Otherwise it writes two files, which only their owner can read: the address of a backup, signed for some hours, and the key that its Secrets are
encrypted with. create cluster azure takes them, and the line to type is printed. Where a key vault has the key, its address is in that line.`,
		Example: `  hypershift backup restore demo --in-place --azure-creds azure-credentials.json --wait
  hypershift backup restore demo --management-file demo-management.yaml --azure-creds azure-credentials.json --wait
  hypershift backup restore demo --azure-creds azure-credentials.json
  hypershift backup restore demo --backup demo-20260102-030405 --azure-creds azure-credentials.json --output-dir restored`,
	}, func(cmd *cobra.Command) error {
		r.ask = func() (bool, bool) { return command.Ask(cmd, "Go on? Type yes: ") }
		return r.run(cmd.Context(), cmd.OutOrStdout(), progress.Line(cmd))
	})
	flags := cmd.Flags()
	flags.StringVar(&r.backupName, "backup", "", "name of the backup; the newest good one when empty")
	flags.StringVar(&r.credentials, "azure-creds", "", "Azure credentials file of an identity that may read the container and delegate that: role Storage Blob Data Reader or more")
	flags.DurationVar(&r.validFor, "valid-for", defaultValidity, "how long the signed address can be read, at most 168h")
	flags.StringVar(&r.outputDir, "output-dir", ".", "folder of the files")
	flags.BoolVar(&r.place, "in-place", false, "send the hosted cluster itself back to the backup")
	flags.StringVar(&r.managementFile, "management-file", "", "take the hosted cluster over from a management cluster that is lost: the file that backup create wrote")
	flags.StringVar(&r.snapshotURL, "snapshot-url", "", "with --management-file: address of a newer backup, not signed, than the one of the file")
	flags.BoolVar(&r.dryRun, "dry-run", false, "with --in-place or --management-file: say what would be done, and write nothing")
	flags.BoolVar(&r.yes, "yes", false, "with --in-place or --management-file: do not ask")
	flags.BoolVar(&r.wait, "wait", false, "with --in-place or --management-file: wait until the hosted cluster is available, with its workers")
	flags.DurationVar(&r.timeout, "timeout", waitLimit, "how long to wait")
	cmd.MarkFlagsMutuallyExclusive("in-place", "output-dir", "management-file")
	cmd.MarkFlagsMutuallyExclusive("backup", "management-file")
	_ = cmd.MarkFlagRequired("azure-creds")
	return cmd
}

func (r *restoration) signed(ctx context.Context, cloud, address string, now time.Time, life time.Duration) (string, error) {
	credentials, err := azure.ReadCredentials(r.credentials)
	if err != nil {
		return "", err
	}
	session, err := azure.NewSession(credentials, cloud)
	if err != nil {
		return "", err
	}
	return session.SignBlobURL(ctx, address, now, life)
}

func (r *restoration) run(ctx context.Context, out io.Writer, say func(string, ...any)) error {
	if r.validFor <= 0 || r.validFor > maxValidity {
		return fmt.Errorf("--valid-for %s: use more than 0 and at most %s", r.validFor, maxValidity)
	}
	if !r.place && r.managementFile == "" && (r.dryRun || r.yes || r.wait) {
		return errors.New("--dry-run, --yes and --wait are for --in-place and --management-file: without them two files are written and nothing else")
	}
	if r.snapshotURL != "" && r.managementFile == "" {
		return errors.New("--snapshot-url says what a cluster of --management-file begins with: give both")
	}
	if r.managementFile != "" {
		return r.takeOver(ctx, out, say)
	}
	if r.place {
		return r.back(ctx, out, say)
	}
	return r.files(ctx, out)
}

// back sends the hosted cluster itself back to a backup.
func (r *restoration) back(ctx context.Context, out io.Writer, say func(string, ...any)) error {
	hc, err := r.read(ctx)
	if err != nil {
		return err
	}
	if err := r.restorable(hc); err != nil {
		return err
	}
	backup, address, err := r.addressed(ctx, hc)
	if err != nil {
		return err
	}
	return r.inPlace(ctx, hc, backup, address, out, say)
}

// addressed is the chosen backup with its signed address.
func (r *restoration) addressed(ctx context.Context, hc *hyperv1.HostedCluster) (*hyperv1.HCPEtcdBackup, string, error) {
	backup, err := r.chosen(ctx)
	if err != nil {
		return nil, "", err
	}
	cloud := ""
	if hc.Spec.Platform.Azure != nil {
		cloud = hc.Spec.Platform.Azure.Cloud
	}
	address, err := r.sign(ctx, cloud, backup.Status.SnapshotURL, r.now(), r.validFor)
	return backup, address, err
}

// files writes what another hosted cluster begins with.
func (r *restoration) files(ctx context.Context, out io.Writer) error {
	addressFile, secretFile := filepath.Join(r.outputDir, urlFile), filepath.Join(r.outputDir, keyFile)
	if err := errors.Join(flagfile.CheckWritable("--output-dir", addressFile), flagfile.CheckWritable("--output-dir", secretFile)); err != nil {
		return err
	}
	hc, err := r.read(ctx)
	if err != nil {
		return err
	}
	key, keyFlag, err := r.key(ctx, hc, secretFile)
	if err != nil {
		return err
	}
	backup, address, err := r.addressed(ctx, hc)
	if err != nil {
		return err
	}
	if err := wholefile.ReplaceSecret(addressFile, []byte(address+"\n")); err != nil {
		return err
	}
	if key != nil {
		if err := wholefile.ReplaceSecret(secretFile, key); err != nil {
			return err
		}
	}
	_, err = fmt.Fprintf(out, "Backup %s can be read until %s. Give its files to a new hosted cluster:\n  hypershift create cluster azure --restore-snapshot-url-file %s %s ...\n",
		backup.Name, r.now().Add(r.validFor).UTC().Format(time.RFC3339), addressFile, keyFlag)
	return err
}

// chosen is the backup that was named, or the newest good one.
func (r *restoration) chosen(ctx context.Context) (*hyperv1.HCPEtcdBackup, error) {
	all, err := r.backups(ctx)
	if err != nil {
		return nil, err
	}
	for i := range all {
		switch b := &all[i]; {
		case r.backupName == "" && succeeded(b):
			return b, nil
		case r.backupName != "" && b.Name == r.backupName && succeeded(b):
			return b, nil
		case r.backupName != "" && b.Name == r.backupName:
			reason, message := stateOf(b)
			return nil, fmt.Errorf("--backup %s has no snapshot: %s: %s", b.Name, reason, message)
		}
	}
	if r.backupName != "" {
		return nil, fmt.Errorf("--backup %s: HostedCluster %s/%s has no such backup; see: hypershift backup list %s --namespace %s", r.backupName, r.namespace, r.name, r.name, r.namespace)
	}
	return nil, fmt.Errorf("HostedCluster %s/%s has no good backup; see: hypershift backup list %s --namespace %s", r.namespace, r.name, r.name, r.namespace)
}

// key is what the Secrets in the backup are encrypted with, and the flag that gives it to another hosted cluster; nil where it is in a
// key vault.
func (r *restoration) key(ctx context.Context, hc *hyperv1.HostedCluster, file string) ([]byte, string, error) {
	switch e := hc.Spec.SecretEncryption; {
	case e != nil && e.Type == hyperv1.AESCBC && e.AESCBC != nil:
		secret := &corev1.Secret{}
		if err := r.client.Get(ctx, client.ObjectKey{Namespace: hc.Namespace, Name: e.AESCBC.ActiveKey.Name}, secret); err != nil {
			return nil, "", fmt.Errorf("read the key that etcd's Secrets are encrypted with, Secret %s/%s: %w", hc.Namespace, e.AESCBC.ActiveKey.Name, err)
		}
		key := secret.Data[hyperv1.AESCBCKeySecretKey]
		if len(key) == 0 {
			return nil, "", fmt.Errorf("Secret %s/%s has no key %s, which etcd's Secrets are encrypted with", hc.Namespace, e.AESCBC.ActiveKey.Name, hyperv1.AESCBCKeySecretKey)
		}
		return key, "--encryption-key-file " + file, nil
	case e != nil && e.Type == hyperv1.KMS && e.KMS != nil && e.KMS.Azure != nil:
		active := e.KMS.Azure.ActiveKey
		id, err := vault.Key{Vault: active.KeyVaultName, Name: active.KeyName, Version: active.KeyVersion, ManagedHSM: e.KMS.Azure.KeyVaultType == "ManagedHSM",
			Cloud: hc.Spec.Platform.Azure.Cloud}.ID()
		return nil, "--encryption-key-id " + id, err
	}
	return nil, "", fmt.Errorf("HostedCluster %s/%s encrypts no Secrets (spec.secretEncryption), and create cluster makes none that does not: write the manifest of the new one by hand", hc.Namespace, hc.Name)
}
