package controlplane

import (
	"context"
	"slices"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hypershift-on-azure/hypershift/api/v1beta1"
	"github.com/hypershift-on-azure/hypershift/internal/component"
	"github.com/hypershift-on-azure/hypershift/internal/contract"
	"github.com/hypershift-on-azure/hypershift/internal/controlplane/apiserver"
	"github.com/hypershift-on-azure/hypershift/internal/controlplane/planetest"
	"github.com/hypershift-on-azure/hypershift/internal/encryption"
	"github.com/hypershift-on-azure/hypershift/internal/kube"
	"github.com/hypershift-on-azure/hypershift/internal/publish"
)

// encrypted makes a control plane whose Secrets are to be encrypted with the key of Secret "etcd-key", and gives it an address.
func encrypted(t *testing.T) *fixture {
	f := newFixture(t)
	f.hcp = inNamespace(strings.ToLower(t.Name()))
	f.hcp.Spec.SecretEncryption = &hyperv1.SecretEncryptionSpec{Type: hyperv1.AESCBC,
		AESCBC: &hyperv1.AESCBCSpec{ActiveKey: corev1.LocalObjectReference{Name: "etcd-key"}}}
	f.begin()
	f.publishedPasses()
	return f
}

func (f *fixture) config() string {
	f.Helper()
	secret := &corev1.Secret{}
	f.get(secret, encryption.ConfigSecret)
	return string(secret.Data[encryption.ConfigKey])
}

func (f *fixture) rotation(state string, providers int) {
	f.Helper()
	if got := f.hcp.Status.SecretEncryption.History[0].State; got != state {
		f.Fatalf("the rotation is in state %s, want %s", got, state)
	}
	if got := strings.Count(f.config(), "aescbc:"); got != providers {
		f.Fatalf("in state %s the configuration has %d keys, want %d", state, got, providers)
	}
}

func TestEncryptionKeyThatIsMissing(t *testing.T) {
	f := encrypted(t)
	f.pass()
	f.condition(hyperv1.ValidHostedControlPlaneConfig, metav1.ConditionFalse, hyperv1.InvalidConfigurationReason)
	c := kube.Find(f.hcp.Status.Conditions, hyperv1.EtcdDataEncryptionUpToDate)
	if c == nil || !strings.Contains(c.Message, `"etcd-key"`) || !strings.Contains(c.Message, `"key"`) {
		t.Errorf("the condition does not name the Secret and its key: %+v", c)
	}
	// Nothing else waits for the key.
	f.get(&appsv1.StatefulSet{}, "etcd")
	f.get(&appsv1.Deployment{}, "kube-scheduler")
	err := f.client.Get(context.Background(), client.ObjectKey{Namespace: f.hcp.Namespace, Name: contract.APIServer}, &appsv1.Deployment{})
	if !apierrors.IsNotFound(err) {
		t.Errorf("the API server starts without its key, and would write clear text: %v", err)
	}
}

func TestEncryptionKeyRotation(t *testing.T) {
	f := encrypted(t)
	ctx := context.Background()
	key := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "etcd-key", Namespace: f.hcp.Namespace}, Data: map[string][]byte{"key": []byte(strings.Repeat("a", 32))}}
	f.create(key)
	f.pass()
	f.roll()
	f.pass()
	f.condition(hyperv1.EtcdDataEncryptionUpToDate, metav1.ConditionTrue, hyperv1.AsExpectedReason)
	server := &appsv1.Deployment{}
	f.get(server, contract.APIServer)
	if !slices.Contains(server.Spec.Template.Spec.Containers[0].Command, "--encryption-provider-config=/etc/kubernetes/config/secret-encryption/config.yaml") {
		t.Error("the API server is not told where its encryption configuration is")
	}
	if len(f.hcp.Status.SecretEncryption.History) != 0 {
		t.Errorf("a new cluster has nothing to rotate: %+v", f.hcp.Status.SecretEncryption)
	}

	// The user replaces the key inside the Secret: its former content is now only in the configuration.
	key.Data["key"] = []byte(strings.Repeat("b", 32))
	if err := f.client.Update(ctx, key); err != nil {
		t.Fatal(err)
	}
	f.pass()
	f.rotation(encryption.ReadOnlyDeploy, 2)
	f.condition(hyperv1.EtcdDataEncryptionUpToDate, metav1.ConditionFalse, hyperv1.ReEncryptionInProgressReason)
	f.pass()
	f.rotation(encryption.ReadOnlyDeploy, 2)
	f.roll()
	f.pass()
	f.rotation(encryption.WritePromote, 2)

	old := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "ending", Namespace: f.hcp.Namespace, Labels: map[string]string{component.LabelApp: contract.APIServer}},
		Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: "i"}}}}
	f.create(old)
	f.roll()
	f.pass()
	f.rotation(encryption.WritePromote, 2)
	if err := f.client.Delete(ctx, old, client.GracePeriodSeconds(0)); err != nil {
		t.Fatal(err)
	}
	f.pass()
	f.rotation(encryption.Migrating, 2)

	report := encryption.Report{ID: "another rotation", Done: true}
	progress := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: encryption.MigrationConfigMap, Namespace: f.hcp.Namespace}, Data: report.Data()}
	f.create(progress)
	f.pass()
	f.rotation(encryption.Migrating, 2)
	report.ID = encryption.Migration(f.hcp.Status.SecretEncryption)
	progress.Data = report.Data()
	if err := f.client.Update(ctx, progress); err != nil {
		t.Fatal(err)
	}
	f.pass()
	f.rotation(encryption.Completed, 1)
	f.roll()
	f.pass()
	f.condition(hyperv1.EtcdDataEncryptionUpToDate, metav1.ConditionTrue, hyperv1.ReEncryptionCompletedReason)
	before := f.writes.Load()
	f.pass()
	if made := f.writes.Load() - before; made != 0 {
		t.Errorf("a pass with nothing to do makes %d writes", made)
	}
}

// The providers reach the cloud through the proxy, the API server beside them does not.
func TestKeyVaultProviders(t *testing.T) {
	hcp := planetest.Plane()
	key := func(version string) *hyperv1.AzureKMSKey {
		return &hyperv1.AzureKMSKey{KeyVaultName: "keeper", KeyName: "etcd", KeyVersion: version}
	}
	hcp.Spec.SecretEncryption = &hyperv1.SecretEncryptionSpec{Type: hyperv1.KMS, KMS: &hyperv1.KMSSpec{Provider: "Azure", Azure: &hyperv1.AzureKMSSpec{
		ActiveKey: *key("2"), WorkloadIdentity: &hyperv1.WorkloadIdentity{ClientID: "11111111-2222-4333-8444-555555555555"}}}}
	hcp.Status.SecretEncryption = &hyperv1.SecretEncryptionStatus{
		ActiveKey: &encryption.Key{Provider: encryption.Azure, Azure: key("1")}, TargetKey: &encryption.Key{Provider: encryption.Azure, Azure: key("2")},
		History: []hyperv1.SecretEncryptionRotation{{State: encryption.WritePromote}}}
	view := planetest.View(hcp)
	view.Settings = component.Settings{Image: "cpo", Cloud: func(template *corev1.PodTemplateSpec) {
		for i := range template.Spec.Containers {
			template.Spec.Containers[i].Env = append(template.Spec.Containers[i].Env, corev1.EnvVar{Name: "HTTPS_PROXY", Value: "http://proxy"})
		}
	}}
	objects, err := apiserver.Component(publish.Endpoints{}).Objects(view)
	if err != nil {
		t.Fatal(err)
	}
	pod := objects[len(objects)-1].(*appsv1.Deployment).Spec.Template.Spec
	if path := pod.Containers[0].LivenessProbe.HTTPGet.Path; path != "/livez?exclude=etcd&exclude=kms-providers" {
		t.Errorf("a vault that is down restarts the API server: %s", path)
	}
	proxied := map[string]bool{"kube-apiserver": false, "azure-kms-provider-active": true, "azure-kms-provider-backup": true, "azure-kms-token-minter": false}
	for _, c := range pod.Containers {
		want, known := proxied[c.Name]
		got := slices.ContainsFunc(c.Env, func(e corev1.EnvVar) bool { return e.Name == "HTTPS_PROXY" })
		if !known || got != want {
			t.Errorf("container %s: proxied %t", c.Name, got)
		}
		delete(proxied, c.Name)
		switch c.Name {
		case "azure-kms-provider-active":
			mustContain(t, c.Command, "--key-version=2", "--listen-addr=unix:///opt/azurekmsactive.socket", "--healthz-port=8787", "--metrics-addr=8095")
		case "azure-kms-provider-backup":
			mustContain(t, c.Command, "--key-version=1", "--listen-addr=unix:///opt/azurekmsbackup.socket", "--healthz-port=8788", "--metrics-addr=8096")
		case "azure-kms-token-minter":
			mustContain(t, c.Command, "--service-account-namespace=kube-system", "--service-account-name=kms-provider", "--token-audience=openshift")
		}
	}
	if len(proxied) > 0 {
		t.Errorf("containers that are missing: %v", proxied)
	}
}
