package encryption

import (
	"bytes"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	hyperv1 "github.com/hypershift-on-azure/hypershift/api/v1beta1"
)

var (
	oldKey = []byte("0123456789abcdef0123456789abcdef")
	newKey = []byte("fedcba9876543210fedcba9876543210")
	third  = bytes.Repeat([]byte("k"), KeySize)
)

func counted() []byte {
	key := make([]byte, KeySize)
	for i := range key {
		key[i] = byte(i)
	}
	return key
}

func local(name string, content []byte) *Key {
	return &Key{Provider: AESCBC, AESCBC: &hyperv1.AESCBCKeyStatus{Secret: corev1.LocalObjectReference{Name: name}, DataHash: dataHash(content)}}
}

func vault(version string) *Key {
	return &Key{Provider: Azure, Azure: &hyperv1.AzureKMSKey{KeyVaultName: "keeper", KeyName: "etcd", KeyVersion: version}}
}

// Ciphertext in etcd carries these names: they can be computed elsewhere, and must never change.
func TestNamesOfKeys(t *testing.T) {
	for _, c := range []struct{ got, want string }{
		{localKeyName(counted()), "key-3283587397"},
		{localKeyName(third), "key-2371282149"},
		{azureProviderName(vault("v1").Azure, ""), "azure-3564959b"},
		{azureProviderName(vault("v1").Azure, "KeyVault"), "azure-3564959b"},
		{azureProviderName(vault("v1").Azure, "ManagedHSM"), "azure-162c4e19"},
	} {
		if c.got != c.want {
			t.Errorf("name %s, want %s", c.got, c.want)
		}
	}
}

func TestWantedNamesWhatIsWrong(t *testing.T) {
	contents := map[string][]byte{"good": oldKey, "short": oldKey[:16]}
	material := func(name string) ([]byte, bool) { key, ok := contents[name]; return key, ok }
	spec := func(active, backup string) *hyperv1.SecretEncryptionSpec {
		s := &hyperv1.SecretEncryptionSpec{Type: hyperv1.AESCBC, AESCBC: &hyperv1.AESCBCSpec{ActiveKey: corev1.LocalObjectReference{Name: active}}}
		if backup != "" {
			s.AESCBC.BackupKey = &corev1.LocalObjectReference{Name: backup}
		}
		return s
	}
	for name, c := range map[string]struct {
		active, backup string
		mentions       []string
	}{
		"missing":        {"gone", "", []string{`"gone"`, `"key"`, "activeKey"}},
		"short":          {"short", "", []string{`"short"`, `"key"`, "16 bytes", "32"}},
		"missing backup": {"good", "gone", []string{`"gone"`, "backupKey"}},
	} {
		_, err := Wanted(spec(c.active, c.backup), material)
		if err == nil {
			_, err = Backup(spec(c.active, c.backup), material)
		}
		for _, text := range c.mentions {
			if err == nil || !strings.Contains(err.Error(), text) {
				t.Errorf("%s: %v does not mention %s", name, err, text)
			}
		}
	}
	if key, err := Wanted(spec("good", ""), material); err != nil || !Same(key, local("another name", oldKey)) {
		t.Errorf("good key: %+v, %v", key, err)
	}
	if _, err := Wanted(&hyperv1.SecretEncryptionSpec{Type: hyperv1.KMS}, material); err == nil {
		t.Error("type kms without a key is accepted")
	}
}

func render(t *testing.T, write, read *Key) string {
	t.Helper()
	config, err := Render(write, read, "", ByHash([][]byte{oldKey, newKey}))
	if err != nil {
		t.Fatal(err)
	}
	return string(config)
}

const head = "apiVersion: apiserver.config.k8s.io/v1\nkind: EncryptionConfiguration\nresources:\n"

func TestRenderLocalKeys(t *testing.T) {
	want := head + `- providers:
  - aescbc:
      keys:
      - name: ` + localKeyName(newKey) + `
        secret: ZmVkY2JhOTg3NjU0MzIxMGZlZGNiYTk4NzY1NDMyMTA=
  - aescbc:
      keys:
      - name: ` + localKeyName(oldKey) + `
        secret: MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY=
  - identity: {}
  resources:
  - secrets
`
	if got := render(t, local("new", newKey), local("old", oldKey)); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

// From clear text: the first provider writes, so identity comes first until every API server can read.
func TestRenderReadsTheFirstKeyBeforeItWrites(t *testing.T) {
	got := render(t, nil, local("new", newKey))
	if !strings.HasPrefix(got, head+"- providers:\n  - identity: {}\n  - aescbc:") || strings.Count(got, "identity") != 1 {
		t.Errorf("got\n%s", got)
	}
}

// Between a local key and a vault ConfigMaps are encrypted on one side only.
func TestRenderChangeOfType(t *testing.T) {
	name := azureProviderName(vault("v1").Azure, "")
	kms := "  - kms:\n      apiVersion: v2\n      endpoint: unix:///opt/azurekmsbackup.socket\n      name: " + name + "\n      timeout: 35s\n"
	got := render(t, local("old", oldKey), vault("v1"))
	if !strings.Contains(got, kms+"  - identity: {}\n  resources:\n  - secrets\n") || !strings.Contains(got, "- providers:\n  - identity: {}\n"+kms+"  resources:\n  - configmaps\n") {
		t.Errorf("got\n%s", got)
	}
	if got := render(t, vault("v2"), vault("v1")); strings.Count(got, "- providers:") != 1 || !strings.Contains(got, "azurekmsactive") || !strings.Contains(got, "azurekmsbackup") {
		t.Errorf("two keys of a vault:\n%s", got)
	}
}

// The content of a key that the user replaced inside its Secret is found in the configuration in use.
func TestReplacedKeyIsKept(t *testing.T) {
	keys, err := KeysIn([]byte(render(t, local("k", oldKey), nil)))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Render(local("k", newKey), local("k", oldKey), "", ByHash(append(keys, newKey))); err != nil {
		t.Error(err)
	}
	if _, err := Render(local("k", newKey), local("k", third), "", ByHash(append(keys, newKey))); err == nil || !strings.Contains(err.Error(), `"k"`) {
		t.Errorf("a key without content: %v", err)
	}
}

func TestRotation(t *testing.T) {
	a, b, c := local("a", oldKey), local("b", newKey), local("c", third)
	now := time.Date(2026, 1, 2, 3, 4, 5, 6, time.UTC)
	step := func(status *Status, f Facts) *Status {
		f.Now = now
		return Advance(status, f)
	}
	state := func(s *Status) string {
		if len(s.History) == 0 {
			return ""
		}
		return s.History[0].State
	}
	want := func(what string, s *Status, in string, write, read *Key) {
		t.Helper()
		w, r := Keys(s)
		if state(s) != in || !Same(w, write) || !Same(r, read) {
			t.Fatalf("%s: state %q, writes %+v, reads %+v", what, state(s), w, r)
		}
	}
	fresh := step(nil, Facts{Wanted: a, Fresh: true})
	want("new cluster", fresh, "", a, nil)
	want("nothing changes", step(fresh, Facts{Wanted: a}), "", a, nil)
	want("backup key of a new cluster", step(nil, Facts{Wanted: b, Backup: a, Fresh: true}), "", a, nil)
	want("cluster in clear text", step(nil, Facts{Wanted: a}), ReadOnlyDeploy, nil, a)

	begun := step(fresh, Facts{Wanted: b, Converged: true, Migrated: true})
	want("begun", begun, ReadOnlyDeploy, a, b)
	want("not everywhere", step(begun, Facts{Wanted: b, Migrated: true}), ReadOnlyDeploy, a, b)
	promoted := step(begun, Facts{Wanted: b, Converged: true})
	want("promoted", promoted, WritePromote, b, a)
	if Migration(promoted) != "" {
		t.Error("migrates while the old key may still write")
	}
	migrating := step(promoted, Facts{Wanted: b, Converged: true, Migrated: true})
	want("migrating", migrating, Migrating, b, a)
	if Migration(migrating) != "2026-01-02T03:04:05Z/"+dataHash(newKey) {
		t.Errorf("migration %q", Migration(migrating))
	}
	want("not migrated", step(migrating, Facts{Wanted: b, Converged: true}), Migrating, b, a)
	done := step(migrating, Facts{Wanted: b, Migrated: true})
	want("completed", done, Completed, b, nil)
	if h := done.History[0]; h.CompletionTime == nil || h.From.Fingerprint != dataHash(oldKey) || h.To.Fingerprint != dataHash(newKey) {
		t.Errorf("history %+v", h)
	}

	interrupted := step(begun, Facts{Wanted: c, Converged: true})
	want("interrupted", interrupted, Interrupted, a, nil)
	want("another", step(interrupted, Facts{Wanted: c}), ReadOnlyDeploy, a, c)
	turned := step(migrating, Facts{Wanted: a})
	want("turned round", turned, WritePromote, a, b)
	if len(turned.History) != 2 || turned.History[1].State != Interrupted {
		t.Errorf("history %+v", turned.History)
	}
	want("a third key waits", step(promoted, Facts{Wanted: c}), WritePromote, b, a)
	want("until the second is done", step(migrating, Facts{Wanted: c, Migrated: true}), Completed, b, nil)
	for range 2 * historyKept {
		done = step(step(done, Facts{Wanted: c}), Facts{Wanted: b})
	}
	if len(done.History) != historyKept {
		t.Errorf("the history has %d entries, the API takes %d", len(done.History), historyKept)
	}
}
