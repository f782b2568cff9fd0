package backup

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	hyperv1 "github.com/hypershift-on-azure/hypershift/api/v1beta1"
	"github.com/hypershift-on-azure/hypershift/internal/survey/surveytest"
)

const canary = "32 bytes that nobody may print.."

func objects(more ...client.Object) []client.Object {
	demo := surveytest.Cluster("demo", func(hc *hyperv1.HostedCluster) {
		hc.Spec.SecretEncryption = &hyperv1.SecretEncryptionSpec{Type: hyperv1.AESCBC, AESCBC: &hyperv1.AESCBCSpec{ActiveKey: corev1.LocalObjectReference{Name: "demo-key"}}}
	})
	return append(more, demo,
		&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "clusters-demo", Annotations: map[string]string{hyperv1.HostedClusterAnnotation: "clusters/demo"}}},
		&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "clusters", Name: "demo-key"}, Data: map[string][]byte{"key": []byte(canary)}})
}

// made is a backup of so many hours ago.
func made(name string, hours int, reason string) *hyperv1.HCPEtcdBackup {
	b := &hyperv1.HCPEtcdBackup{ObjectMeta: metav1.ObjectMeta{Namespace: "clusters-demo", Name: name, CreationTimestamp: metav1.NewTime(surveytest.Now.Add(-time.Duration(hours) * time.Hour))},
		Spec: hyperv1.HCPEtcdBackupSpec{Storage: hyperv1.HCPEtcdBackupStorage{StorageType: "AzureBlob", AzureBlob: &hyperv1.HCPEtcdBackupAzureBlob{
			StorageAccount: "account", Container: "etcd", KeyPrefix: "mine", Credentials: hyperv1.HCPEtcdBackupCredentials{Name: credentialsSecret}}}}}
	ends(b, reason)
	return b
}

func ends(b *hyperv1.HCPEtcdBackup, reason string) {
	status := metav1.ConditionFalse
	if reason == hyperv1.BackupSucceededReason {
		status, b.Status.SnapshotURL = metav1.ConditionTrue, "https://account.blob.core.windows.net/etcd/mine/"+b.Name+".db"
	}
	b.Status.Conditions = []metav1.Condition{{Type: hyperv1.BackupCompleted, Status: status, Reason: reason, Message: "because of " + b.Name}}
}

func of(c client.Client) target {
	return target{namespace: "clusters", name: "demo", client: c, now: func() time.Time { return surveytest.Now }}
}

func silent(string, ...any) {}

func refuses(t *testing.T, what string, err error, want string) {
	t.Helper()
	if err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("%s: %v, want %q", what, err, want)
	}
}

// TestCreate: flags become the object; what no flag says is the newest backup's; a dry run writes nothing.
func TestCreate(t *testing.T) {
	c := surveytest.Client(objects()...).Build()
	full := func() *creation {
		return &creation{target: of(c), account: "account", container: "etcd", clientID: "writer", tenantID: "other"}
	}
	read := func(name string) *hyperv1.HCPEtcdBackup {
		t.Helper()
		b := &hyperv1.HCPEtcdBackup{}
		if err := c.Get(t.Context(), client.ObjectKey{Namespace: "clusters-demo", Name: name}, b); err != nil {
			t.Fatal(err)
		}
		return b
	}
	var out bytes.Buffer
	dry := full()
	dry.dryRun = true
	if err := dry.run(t.Context(), &out, silent); err != nil {
		t.Fatal(err)
	}
	for _, part := range []string{"kind: Secret", "kind: HCPEtcdBackup", "storageAccount: account", "container: etcd", "keyPrefix: clusters/demo", "name: demo-20260102-030405", "namespace: clusters-demo"} {
		if !strings.Contains(out.String(), part) {
			t.Errorf("the dry run lacks %q:\n%s", part, out.String())
		}
	}
	if all, err := dry.backups(t.Context()); err != nil || len(all) != 0 {
		t.Errorf("the dry run made %d backups: %v", len(all), err)
	}

	for name, change := range map[string]func(*creation){
		"--storage-account and --container": func(c *creation) { c.account = "" },
		"--client-id is needed":             func(c *creation) { c.clientID, c.tenantID = "", "" },
		"--tenant-id says whose":            func(c *creation) { c.clientID = "" },
		"no control plane yet":              func(c *creation) { c.name = "young" },
	} {
		wrong := full()
		change(wrong)
		if wrong.name == "young" {
			wrong.client = surveytest.Client(surveytest.Cluster("young")).Build()
		}
		refuses(t, name, wrong.run(t.Context(), &out, silent), name)
	}

	out.Reset()
	if err := full().run(t.Context(), &out, silent); err != nil || !strings.Contains(out.String(), "hypershift backup list demo --namespace clusters") {
		t.Fatalf("%v, %s", err, out.String())
	}
	secret := &corev1.Secret{}
	if err := c.Get(t.Context(), client.ObjectKey{Namespace: "clusters-demo", Name: credentialsSecret}, secret); err != nil || string(secret.Data["cloud"]) != "AZURE_CLIENT_ID=writer\nAZURE_TENANT_ID=other\n" {
		t.Errorf("the identity: %v, %v", secret.Data, err)
	}
	refuses(t, "again", full().run(t.Context(), &out, silent), "choose another --name")
	if err := (&creation{target: of(c), backupName: "second", prefix: "p"}).run(t.Context(), &out, silent); err != nil {
		t.Fatal(err)
	}
	if blob := read("second").Spec.Storage.AzureBlob; blob.StorageAccount != "account" || blob.Container != "etcd" || blob.KeyPrefix != "p" || blob.Credentials.Name != credentialsSecret {
		t.Errorf("the second one goes to %+v", blob)
	}
}

// TestCreateWaits until the backup has ended, and repeats its reason where it failed.
func TestCreateWaits(t *testing.T) {
	for reason, want := range map[string]string{
		hyperv1.BackupSucceededReason: "", hyperv1.BackupFailedReason: "BackupFailed: because of one", hyperv1.BackupRejectedReason: "BackupRejected", hyperv1.BackupInProgressReason: "has not ended: BackupInProgress",
	} {
		c := surveytest.Client(objects()...).WithInterceptorFuncs(interceptor.Funcs{Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, obj client.Object, opts ...client.GetOption) error {
			err := c.Get(ctx, key, obj, opts...)
			if b, ok := obj.(*hyperv1.HCPEtcdBackup); ok && err == nil {
				ends(b, reason)
			}
			return err
		}}).Build()
		var out bytes.Buffer
		var said []string
		asked := &creation{target: of(c), backupName: "one", account: "account", container: "etcd", clientID: "writer", wait: true, timeout: time.Millisecond}
		err := asked.run(t.Context(), &out, func(format string, args ...any) { said = append(said, fmt.Sprintf(format, args...)) })
		if (err != nil) != (want != "") || err != nil && !strings.Contains(err.Error(), want) || len(said) != 1 {
			t.Errorf("%s: %v; said %q", reason, err, said)
		}
		if err == nil && out.String() != "https://account.blob.core.windows.net/etcd/mine/one.db\n" {
			t.Errorf("printed %q", out.String())
		}
	}
}

func TestList(t *testing.T) {
	c := surveytest.Client(objects(made("old", 30, hyperv1.BackupSucceededReason), made("new", 2, hyperv1.BackupFailedReason))...).Build()
	var out, messages bytes.Buffer
	l := &listing{target: of(c)}
	if err := l.run(t.Context(), &out, &messages); err != nil {
		t.Fatal(err)
	}
	want := "NAME   AGE   STATE             URL OR REASON\n" +
		"new    120m   BackupFailed      because of new\n" +
		"old    30h    BackupSucceeded   https://account.blob.core.windows.net/etcd/mine/old.db\n"
	if strings.Join(strings.Fields(out.String()), " ") != strings.Join(strings.Fields(want), " ") {
		t.Errorf("got\n%s\nwant\n%s", out.String(), want)
	}
	out.Reset()
	l.output = "json"
	if err := l.run(t.Context(), &out, &messages); err != nil || !strings.Contains(out.String(), `"name": "old"`) {
		t.Errorf("%v, %s", err, out.String())
	}
	l.output = "wide"
	refuses(t, "--output wide", l.run(t.Context(), &out, &messages), "--output")
	l.namespace = "elsewhere"
	l.output = ""
	refuses(t, "--namespace elsewhere", l.run(t.Context(), &out, &messages), "elsewhere")
	none := &listing{target: of(surveytest.Client(objects()...).Build())}
	if err := none.run(t.Context(), &out, &messages); err != nil || !strings.Contains(messages.String(), "hypershift backup create demo") {
		t.Errorf("%v, %s", err, messages.String())
	}
}

// TestRestoreWritesFiles: the newest good backup is signed; address and key go into files of their owner's alone, and are printed nowhere.
func TestRestoreWritesFiles(t *testing.T) {
	all := objects(made("oldest", 30, hyperv1.BackupSucceededReason), made("good", 20, hyperv1.BackupSucceededReason), made("new", 2, hyperv1.BackupFailedReason))
	begin := func(name string) *restoration {
		return &restoration{target: of(surveytest.Client(all...).Build()), backupName: name, outputDir: t.TempDir(), validFor: time.Hour,
			sign: func(_ context.Context, _, address string, now time.Time, life time.Duration) (string, error) {
				if !now.Equal(surveytest.Now) || life != time.Hour {
					return "", errors.New("another time")
				}
				return address + "?sig=topsecret", nil
			}}
	}
	for name, from := range map[string]string{"": "good", "oldest": "oldest"} {
		r := begin(name)
		var out bytes.Buffer
		if err := r.run(t.Context(), &out, silent); err != nil {
			t.Fatal(err)
		}
		for file, content := range map[string]string{urlFile: "https://account.blob.core.windows.net/etcd/mine/" + from + ".db?sig=topsecret\n", keyFile: canary} {
			path := filepath.Join(r.outputDir, file)
			raw, err := os.ReadFile(path)
			if err != nil || string(raw) != content {
				t.Errorf("%s: %q, %v", file, raw, err)
			}
			if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
				t.Errorf("%s: %v, %v", file, info, err)
			}
			if !strings.Contains(out.String(), path) {
				t.Errorf("%q does not name %s", out.String(), path)
			}
		}
		if strings.Contains(out.String(), "topsecret") || strings.Contains(out.String(), canary) || !strings.Contains(out.String(), "until 2026-01-02T04:04:05Z") {
			t.Errorf("printed %q", out.String())
		}
	}
	for want, change := range map[string]func(*restoration){
		"--backup new has no snapshot: BackupFailed": func(r *restoration) { r.backupName = "new" },
		"no such backup":     func(r *restoration) { r.backupName = "nobody" },
		"--valid-for":        func(r *restoration) { r.validFor = 200 * time.Hour },
		"has no good backup": func(r *restoration) { r.client = surveytest.Client(objects()...).Build() },
		"--output-dir":       func(r *restoration) { r.outputDir = filepath.Join(r.outputDir, "gone") },
		"another time":       func(r *restoration) { r.validFor = time.Minute },
	} {
		r := begin("")
		change(r)
		var out bytes.Buffer
		refuses(t, want, r.run(t.Context(), &out, silent), want)
		if found, err := os.ReadDir(r.outputDir); len(found) != 0 {
			t.Errorf("%s: %d files were written: %v", want, len(found), err)
		}
	}
	vault := begin("")
	vault.client = surveytest.Client(append(all[:3:3], all[4], surveytest.Cluster("demo", func(hc *hyperv1.HostedCluster) {
		hc.Spec.SecretEncryption = &hyperv1.SecretEncryptionSpec{Type: hyperv1.KMS, KMS: &hyperv1.KMSSpec{Provider: "Azure", Azure: &hyperv1.AzureKMSSpec{
			ActiveKey: hyperv1.AzureKMSKey{KeyVaultName: "vault", KeyName: "key", KeyVersion: "1"}}}}
	}))...).Build()
	var out bytes.Buffer
	if err := vault.run(t.Context(), &out, silent); err != nil || !strings.Contains(out.String(), "--encryption-key-id https://vault.vault.azure.net/keys/key/1") {
		t.Errorf("with a key vault: %v, %s", err, out.String())
	}
}

// TestCredentials: without a file of credentials nothing is signed.
func TestCredentials(t *testing.T) {
	r := &restoration{credentials: filepath.Join(t.TempDir(), "missing.json")}
	if _, err := r.signed(t.Context(), "", "https://account.blob.core.windows.net/etcd/a.db", surveytest.Now, time.Hour); err == nil || !strings.Contains(err.Error(), "missing.json") {
		t.Errorf("%v", err)
	}
	cmd := newRestoreCommand()
	cmd.SetArgs([]string{"demo"})
	cmd.SilenceUsage, cmd.SilenceErrors = true, true
	refuses(t, "without --azure-creds", cmd.ExecuteContext(t.Context()), `"azure-creds"`)
}
