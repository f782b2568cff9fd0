package keys

import (
	"bytes"
	"errors"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	hyperv1 "github.com/hypershift-on-azure/hypershift/api/v1beta1"
	"github.com/hypershift-on-azure/hypershift/internal/component"
	"github.com/hypershift-on-azure/hypershift/internal/contract"
	"github.com/hypershift-on-azure/hypershift/internal/controlplane/planetest"
	"github.com/hypershift-on-azure/hypershift/internal/pki"
	"github.com/hypershift-on-azure/hypershift/internal/publish"
)

// keysOf a hosted control plane whose namespace has the objects, after Read.
func keysOf(t *testing.T, hcp *hyperv1.HostedControlPlane, objects ...client.Object) *Keys {
	t.Helper()
	scheme := runtime.NewScheme()
	if err := errors.Join(clientgoscheme.AddToScheme(scheme), hyperv1.AddToScheme(scheme)); err != nil {
		t.Fatal(err)
	}
	c := fake.NewClientBuilder().WithScheme(scheme).WithObjects(append(objects, hcp)...).Build()
	k := &Keys{Writer: component.Writer{Client: c, HCP: hcp}, Inputs: &component.Inputs{}, Policy: pki.DefaultPolicy(), Now: time.Now}
	if err := k.Read(t.Context()); err != nil {
		t.Fatal(err)
	}
	return k
}

func certified(t *testing.T, k *Keys) {
	t.Helper()
	if err := k.Certify(t.Context(), ForAll, publish.Endpoints{}); err != nil {
		t.Fatal(err)
	}
}

// TestUserClientCA: clients of the user's authority are trusted beside those of the cluster's own, and those alone where it is not there.
func TestUserClientCA(t *testing.T) {
	hcp := configured(`{"clientCA":{"name":"company"}}`)
	company := userCertificate(t, "x.example.com")["ca.crt"]
	mine := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: hcp.Namespace, Name: "company"}, Data: map[string]string{hyperv1.TrustBundleKey: string(company)}}
	for name, test := range map[string]struct {
		hcp     *hyperv1.HostedControlPlane
		objects []client.Object
		want    bool
	}{
		"named":            {hcp, []client.Object{mine}, true},
		"not there yet":    {hcp, nil, false},
		"there, not named": {planetest.Plane(), []client.Object{mine}, false},
	} {
		k := keysOf(t, test.hcp.DeepCopy(), test.objects...)
		certified(t, k)
		bundle := &corev1.ConfigMap{}
		if err := k.Client.Get(t.Context(), client.ObjectKey{Namespace: hcp.Namespace, Name: contract.ClientCA}, bundle); err != nil {
			t.Fatal(err)
		}
		trusted := []byte(bundle.Data[contract.CAKey])
		if got := bytes.Contains(trusted, bytes.TrimSpace(company)); got != test.want {
			t.Errorf("%s: the user's authority is trusted: %t", name, got)
		}
		if own := k.Secrets[pki.AdminSigner][contract.CAKey]; len(own) == 0 || !bytes.Contains(trusted, bytes.TrimSpace(own)) {
			t.Errorf("%s: the cluster's own authority is not trusted", name)
		}
	}
}

// TestSomebodyElsesKeysStay: with the annotation nothing is made, and what is there stays, even what is about to end.
func TestSomebodyElsesKeysStay(t *testing.T) {
	hcp := planetest.Plane()
	k := keysOf(t, hcp)
	certified(t, k)
	delete(k.live, pki.AdminSigner)
	var objects []client.Object
	for _, secret := range k.live {
		secret = secret.DeepCopy()
		secret.ResourceVersion = ""
		objects = append(objects, secret)
	}
	if len(objects) < 20 {
		t.Fatalf("only %d Secrets were made", len(objects))
	}
	for _, disabled := range []bool{false, true} {
		hcp := planetest.Plane()
		if disabled {
			hcp.Annotations = map[string]string{hyperv1.DisablePKIReconciliationAnnotation: ""}
		}
		k := keysOf(t, hcp, objects...)
		k.Now = func() time.Time { return time.Now().AddDate(9, 11, 0) }
		before := map[string]string{}
		for name, secret := range k.live {
			before[name] = secret.ResourceVersion
		}
		certified(t, k)
		if err := k.Read(t.Context()); err != nil {
			t.Fatal(err)
		}
		changed := 0
		for _, object := range objects {
			if k.live[object.GetName()].ResourceVersion != before[object.GetName()] {
				changed++
			}
		}
		_, made := k.live[pki.AdminSigner]
		if disabled && (changed > 0 || made) || !disabled && (changed == 0 || !made) {
			t.Errorf("with the annotation %t: %d Secrets changed, the missing one was made: %t", disabled, changed, made)
		}
	}
}
