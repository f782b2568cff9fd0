package cluster

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	hyperv1 "github.com/hypershift-on-azure/hypershift/api/v1beta1"
	"github.com/hypershift-on-azure/hypershift/internal/cli/clitest"
)

// restoreInputs are the flags of a cluster that begins with a snapshot.
func restoreInputs(t *testing.T, address string) []string {
	t.Helper()
	dir := t.TempDir()
	key, url := filepath.Join(dir, "key"), filepath.Join(dir, "url")
	for path, content := range map[string]string{key: strings.Repeat("k", 32), url: address} {
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return append(clitest.Inputs(t), "--name", "copy", "--infra-id", "copy-abcde", "--render-sensitive", "--restore-snapshot-url-file", url, "--encryption-key-file", key)
}

func TestCreateClusterFromSnapshot(t *testing.T) {
	const address = "https://a.blob.core.windows.net/backups/demo.db?sp=r&sig=a%2Bb"
	out, err := createCluster(restoreInputs(t, address+"\n")...)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"restoreSnapshotURL:\n        - " + address, "key: a2tra2tra2tra2tra2tra2tra2tra2tra2tra2tra2s="} {
		if !strings.Contains(out, want) {
			t.Errorf("%q is missing in\n%s", want, out)
		}
	}
}

// An address may be signed: a message that refuses it must not show it.
func TestCreateClusterRefusesAddress(t *testing.T) {
	for _, address := range []string{"http://a.example.com/x?sig=hidden", `"https://a.example.com/x?sig=hidden"`, "s3://bucket/hidden", "https://a.example.com/hidden two", "https://a.example.com/hidden" + strings.Repeat("x", 1024)} {
		_, err := createCluster(restoreInputs(t, address)...)
		if err == nil || !strings.Contains(err.Error(), "holds no https address") || strings.Contains(err.Error(), "hidden") {
			t.Errorf("%s: %v", address, err)
		}
	}
	_, err := createCluster(append(restoreInputs(t, "https://a.example.com/x"), "--encryption-key-id", "https://v.vault.azure.net/keys/a/b")...)
	if err == nil || !strings.Contains(err.Error(), "encryption-key-file encryption-key-id") {
		t.Errorf("both keys: %v", err)
	}
}

func TestGivenKeyIsNotReplaced(t *testing.T) {
	live := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "clusters", Name: "copy-etcd-encryption-key"},
		Data: map[string][]byte{hyperv1.AESCBCKeySecretKey: []byte("of an earlier run")}}
	f := restoreFlags{encryptionKey: "copy.key"}
	if _, err := f.keptEncryptionKey(live, []byte("given")); err == nil || !strings.Contains(err.Error(), "holds another key than --encryption-key-file") {
		t.Errorf("another key was taken: %v", err)
	}
	live.Data[hyperv1.AESCBCKeySecretKey] = []byte("given")
	if key, err := f.keptEncryptionKey(live, []byte("given")); err != nil || string(key) != "given" {
		t.Errorf("the same key: %q, %v", key, err)
	}
}
