package change

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"math/big"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	hyperv1 "github.com/hypershift-on-azure/hypershift/api/v1beta1"
	"github.com/hypershift-on-azure/hypershift/internal/survey/surveytest"
)

const localKey = "demo-etcd-encryption-key"

// encrypted is a cluster with a local key, which is in use.
func encrypted(hc *hyperv1.HostedCluster) {
	hc.Spec.InfraID = "demo-x"
	hc.Spec.SecretEncryption = &hyperv1.SecretEncryptionSpec{Type: hyperv1.AESCBC, AESCBC: &hyperv1.AESCBCSpec{ActiveKey: corev1.LocalObjectReference{Name: localKey}}}
	takeUp(hc, &hyperv1.SecretEncryptionKeyStatus{Provider: "AESCBC", AESCBC: &hyperv1.AESCBCKeyStatus{Secret: corev1.LocalObjectReference{Name: localKey}, DataHash: "h"}})
}

// takeUp is what the control plane tells at the end of a rotation.
func takeUp(hc *hyperv1.HostedCluster, key *hyperv1.SecretEncryptionKeyStatus) {
	hc.Status.SecretEncryption = &hyperv1.SecretEncryptionStatus{ActiveKey: key}
	meta.SetStatusCondition(&hc.Status.Conditions, metav1.Condition{Type: hyperv1.EtcdDataEncryptionUpToDate, Status: metav1.ConditionTrue, Reason: "AsExpected"})
}

// vaulted is a cluster with a key in a key vault, which is in use.
func vaulted(hc *hyperv1.HostedCluster) {
	key := hyperv1.AzureKMSKey{KeyVaultName: "keeper", KeyName: "etcd", KeyVersion: "v1"}
	hc.Spec.SecretEncryption = &hyperv1.SecretEncryptionSpec{Type: hyperv1.KMS, KMS: &hyperv1.KMSSpec{Provider: "Azure", Azure: &hyperv1.AzureKMSSpec{ActiveKey: key}}}
	takeUp(hc, &hyperv1.SecretEncryptionKeyStatus{Provider: "Azure", Azure: &key})
}

func keySecrets(t *testing.T, c client.Client) []corev1.Secret {
	t.Helper()
	list := &corev1.SecretList{}
	if err := c.List(t.Context(), list, client.InNamespace("clusters"), client.HasLabels{hyperv1.AutoInfraLabel}); err != nil {
		t.Fatal(err)
	}
	return list.Items
}

func TestRotateLocalKey(t *testing.T) {
	c := surveytest.Client(surveytest.Cluster("demo", encrypted)).Build()
	to := of(t, c, false, "demo")
	var out bytes.Buffer
	refuses(t, "--key-version", to.rotateKey(t.Context(), "v2", surveytest.Now, &out), "--key-version is for keys in a key vault")
	refuses(t, "rotate", to.rotateKey(t.Context(), "", surveytest.Now, &out), "")
	secrets, hc := keySecrets(t, c), cluster(t, c)
	if len(secrets) != 1 || len(secrets[0].Data["key"]) != 32 || secrets[0].Labels[hyperv1.AutoInfraLabel] != "demo-x" || hc.Spec.SecretEncryption.AESCBC.ActiveKey.Name != secrets[0].Name {
		t.Fatalf("%v, %v", secrets, hc.Spec.SecretEncryption.AESCBC)
	}
	// Again, while it is under way: no other key.
	refuses(t, "again", to.rotateKey(t.Context(), "", surveytest.Now.Add(time.Hour), &out), "")
	if n := len(keySecrets(t, c)); n != 1 {
		t.Errorf("%d keys", n)
	}
	to.wait, to.timeout = true, time.Millisecond
	refuses(t, "--wait", to.rotateKey(t.Context(), "", surveytest.Now, &out), "has not come after 1ms")
	takeUp(hc, &hyperv1.SecretEncryptionKeyStatus{Provider: "AESCBC", AESCBC: &hyperv1.AESCBCKeyStatus{Secret: corev1.LocalObjectReference{Name: secrets[0].Name}, DataHash: "h"}})
	if err := c.Update(t.Context(), hc); err != nil {
		t.Fatal(err)
	}
	to.dryRun, to.timeout = true, time.Minute
	refuses(t, "--dry-run", to.rotateKey(t.Context(), "", surveytest.Now.Add(time.Hour), &out), "")
	if !strings.Contains(out.String(), "would be encrypted with the key in Secret") {
		t.Error(out.String())
	}
}

// A key that nothing came to use does not stay.
func TestUnusedKeyGoes(t *testing.T) {
	c := surveytest.Client(surveytest.Cluster("demo", encrypted)).WithInterceptorFuncs(interceptor.Funcs{Patch: func(context.Context, client.WithWatch, client.Object, client.Patch, ...client.PatchOption) error {
		return errors.New("denied")
	}}).Build()
	refuses(t, "denied", of(t, c, false, "demo").rotateKey(t.Context(), "", surveytest.Now, &bytes.Buffer{}), "denied")
	if left := keySecrets(t, c); len(left) != 0 {
		t.Errorf("left %v", left)
	}
}

func TestRotateVaultKey(t *testing.T) {
	c := surveytest.Client(surveytest.Cluster("demo", vaulted)).Build()
	to := of(t, c, false, "demo")
	var out bytes.Buffer
	refuses(t, "no version", to.rotateKey(t.Context(), "", surveytest.Now, &out), "az keyvault key rotate --vault-name keeper --name etcd")
	refuses(t, "the same", to.rotateKey(t.Context(), "V1", surveytest.Now, &out), "encrypts Secrets already")
	refuses(t, "rotate", to.rotateKey(t.Context(), "v2", surveytest.Now, &out), "")
	if key := cluster(t, c).Spec.SecretEncryption.KMS.Azure.ActiveKey; key != (hyperv1.AzureKMSKey{KeyVaultName: "keeper", KeyName: "etcd", KeyVersion: "v2"}) || len(keySecrets(t, c)) != 0 {
		t.Errorf("%+v", key)
	}
	none := surveytest.Client(surveytest.Cluster("demo")).Build()
	refuses(t, "no encryption", of(t, none, false, "demo").rotateKey(t.Context(), "", surveytest.Now, &out), "no spec.secretEncryption")
}

// kubeconfig has a client certificate that was made at a time.
func kubeconfig(t *testing.T, made time.Time) *corev1.Secret {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotBefore: made.Add(-5 * time.Minute), NotAfter: made.Add(time.Hour)}
	raw, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	config, err := clientcmd.Write(clientcmdapi.Config{AuthInfos: map[string]*clientcmdapi.AuthInfo{"admin": {ClientCertificateData: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: raw})}}})
	if err != nil {
		t.Fatal(err)
	}
	return &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "clusters", Name: "demo-admin-kubeconfig"}, Data: map[string][]byte{"kubeconfig": config}}
}

func TestRotateCertificates(t *testing.T) {
	now := surveytest.Now
	component := &hyperv1.ControlPlaneComponent{ObjectMeta: metav1.ObjectMeta{Namespace: "clusters-demo", Name: "kube-apiserver"}}
	published := func(hc *hyperv1.HostedCluster) {
		hc.Status.KubeConfig = &corev1.LocalObjectReference{Name: "demo-admin-kubeconfig"}
	}
	c := surveytest.Client(surveytest.Cluster("demo", published), kubeconfig(t, now.Add(-time.Hour)), component).Build()
	to := of(t, c, false, "demo")
	var out bytes.Buffer
	asked := func() string { return cluster(t, c).Annotations[hyperv1.RotateAuthoritiesAnnotation] }
	rolledOut := func(status metav1.ConditionStatus) {
		meta.SetStatusCondition(&component.Status.Conditions, metav1.Condition{Type: hyperv1.ControlPlaneComponentRolloutComplete, Status: status, Reason: "x"})
		if err := c.Update(t.Context(), component); err != nil {
			t.Fatal(err)
		}
	}
	refuses(t, "while it rolls out", to.rotateCertificates(t.Context(), now, &out), "kube-apiserver is rolling out")
	rolledOut(metav1.ConditionTrue)
	to.dryRun = true
	refuses(t, "--dry-run", to.rotateCertificates(t.Context(), now, &out), "")
	to.dryRun = false
	refuses(t, "rotate", to.rotateCertificates(t.Context(), now, &out), "")
	if asked() != now.UTC().Format(time.RFC3339) {
		t.Errorf("asked for %q", asked())
	}
	// Again, while it is under way, it is the same rotation.
	to.wait, to.timeout = true, time.Millisecond
	refuses(t, "old kubeconfig", to.rotateCertificates(t.Context(), now.Add(time.Minute), &out), "the kubeconfig is not of the new authorities yet")
	if err := c.Update(t.Context(), kubeconfig(t, now.Add(time.Second))); err != nil {
		t.Fatal(err)
	}
	rolledOut(metav1.ConditionFalse)
	refuses(t, "rolling out", to.rotateCertificates(t.Context(), now.Add(time.Minute), &out), "rolls out with new certificates: kube-apiserver")
	if asked() != now.UTC().Format(time.RFC3339) {
		t.Errorf("asked for %q", asked())
	}
	// Ended: the next one is another.
	rolledOut(metav1.ConditionTrue)
	to.wait = false
	refuses(t, "another", to.rotateCertificates(t.Context(), now.Add(time.Hour), &out), "")
	if asked() != now.Add(time.Hour).UTC().Format(time.RFC3339) {
		t.Errorf("asked for %q", asked())
	}
	foreign := surveytest.Client(surveytest.Cluster("demo", func(hc *hyperv1.HostedCluster) {
		hc.Annotations = map[string]string{hyperv1.DisablePKIReconciliationAnnotation: ""}
	})).Build()
	refuses(t, "certificates of somebody else", of(t, foreign, false, "demo").rotateCertificates(t.Context(), now, &out), "made by somebody else")
}
