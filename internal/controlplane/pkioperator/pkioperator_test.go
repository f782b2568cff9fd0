package pkioperator

import (
	"context"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	certificatesv1 "k8s.io/api/certificates/v1"
	corev1 "k8s.io/api/core/v1"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hypershift-on-azure/hypershift/api/v1beta1"
	"github.com/hypershift-on-azure/hypershift/internal/contract"
	"github.com/hypershift-on-azure/hypershift/internal/controlplane/planetest"
	"github.com/hypershift-on-azure/hypershift/internal/kube/kubetest"
	"github.com/hypershift-on-azure/hypershift/internal/pki"
)

// world is a real API server as the management cluster, with the API servers of a hosted cluster as far as they matter: each trusts what was
// in total-client-ca when it was last told.
type world struct {
	*testing.T
	plane string
	*revocations
	requests *requests
	clock    time.Time
	servers  []*x509.CertPool
}

var server kubetest.Server

func TestMain(m *testing.M) {
	code := m.Run()
	if err := server.Stop(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

func newWorld(t *testing.T) *world {
	t.Helper()
	scheme := runtime.NewScheme()
	if err := errors.Join(clientgoscheme.AddToScheme(scheme), hyperv1.AddToScheme(scheme)); err != nil {
		t.Fatal(err)
	}
	c, err := client.New(server.Config(t), client.Options{Scheme: scheme})
	if err != nil {
		t.Fatal(err)
	}
	plane := "clusters-" + strings.ToLower(t.Name())
	w := &world{T: t, plane: plane, clock: time.Now(), servers: make([]*x509.CertPool, 3)}
	now := func() time.Time { return w.clock }
	hcp := planetest.Plane()
	hcp.Namespace = plane
	k := &keeper{client: c, namespace: plane, name: hcp.Name, day: 24 * time.Hour, now: now}
	w.revocations = &revocations{keeper: k, servers: w.ask}
	w.requests = &requests{client: c, namespace: plane, now: now}
	for _, obj := range []client.Object{&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: plane}}, hcp} {
		w.must(c.Create(t.Context(), obj))
	}
	w.must(k.Keep(t.Context()))
	w.reload(3)
	return w
}

func (w *world) must(err error) {
	w.Helper()
	if err != nil {
		w.Fatal(err)
	}
}

// reload tells the first servers what they trust now.
func (w *world) reload(n int) {
	w.Helper()
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(w.trusted())
	for i := range n {
		w.servers[i] = pool
	}
}

func (w *world) trusted() []byte {
	w.Helper()
	bundle := &corev1.ConfigMap{}
	w.must(w.client.Get(w.Context(), client.ObjectKey{Namespace: w.plane, Name: contract.TotalClientCA}, bundle))
	return []byte(bundle.Data["ca-bundle.crt"])
}

func (w *world) ask(_ context.Context, certificate, _ []byte) (accepted, refused int, err error) {
	leaf, err := pki.ParseCertificate(certificate)
	if err != nil {
		return 0, 0, err
	}
	for _, roots := range w.servers {
		if _, err := leaf.Verify(x509.VerifyOptions{Roots: roots, KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}, CurrentTime: w.clock}); err != nil {
			refused++
		} else {
			accepted++
		}
	}
	return accepted, refused, nil
}

func (w *world) secret(name string) map[string][]byte {
	w.Helper()
	s := &corev1.Secret{}
	w.must(w.client.Get(w.Context(), client.ObjectKey{Namespace: w.plane, Name: name}, s))
	return s.Data
}

func (w *world) csr(name string, class class, request []byte) *certificatesv1.CertificateSigningRequest {
	w.Helper()
	csr := &certificatesv1.CertificateSigningRequest{ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: certificatesv1.CertificateSigningRequestSpec{Request: request, SignerName: class.signerName(w.plane), Usages: usages}}
	w.must(w.client.Create(w.Context(), csr))
	return csr
}

// reconcile takes a request further and reads it.
func (w *world) reconcile(csr *certificatesv1.CertificateSigningRequest) {
	w.Helper()
	key := client.ObjectKeyFromObject(csr)
	_, err := w.requests.Reconcile(w.Context(), ctrl.Request{NamespacedName: key})
	w.must(err)
	w.must(w.client.Get(w.Context(), key, csr))
}

func (w *world) approve(name string) {
	w.Helper()
	approval := kind(approvalKind.Kind)
	approval.SetNamespace(w.plane)
	approval.SetName(name)
	w.must(w.client.Create(w.Context(), approval))
}

func TestAccessForEmergencies(t *testing.T) {
	w := newWorld(t)
	csr := w.csr("alice", customer, encoded(t, named("system:customer-break-glass:alice")))
	w.reconcile(csr)
	if len(csr.Status.Conditions) > 0 || len(csr.Status.Certificate) > 0 {
		t.Fatalf("without an approval: %+v", csr.Status)
	}
	w.approve("alice")
	w.reconcile(csr)
	if !is(csr, certificatesv1.CertificateApproved) || csr.Status.Conditions[0].Reason != "ApprovalPresent" {
		t.Fatalf("with an approval: %+v", csr.Status)
	}
	w.reconcile(csr)
	if accepted, refused, err := w.ask(t.Context(), csr.Status.Certificate, nil); accepted != 3 || refused != 0 || err != nil {
		t.Errorf("the signed certificate: %d API servers accept it, %d refuse it, %v", accepted, refused, err)
	}
	cert, err := pki.ParseCertificate(csr.Status.Certificate)
	w.must(err)
	if life := cert.NotAfter.Sub(w.clock); life.Round(time.Minute) != longestLife || cert.Subject.CommonName != "system:customer-break-glass:alice" || cert.IsCA {
		t.Errorf("it lives %s, is of %s", life, cert.Subject)
	}

	forged := w.csr("forged", sre, encoded(t, named("system:admin")))
	w.approve("forged")
	w.reconcile(forged)
	w.reconcile(forged)
	i := len(forged.Status.Conditions) - 1
	if last := forged.Status.Conditions[i]; last.Type != certificatesv1.CertificateFailed || last.Reason != "SignerValidationFailure" || len(forged.Status.Certificate) > 0 {
		t.Errorf("of another name: %+v", forged.Status)
	}
	other := w.csr("other", customer, encoded(t, named("system:customer-break-glass:alice")))
	elsewhere := &requests{client: w.client, namespace: "clusters-other", now: w.requests.now}
	if _, err := elsewhere.Reconcile(t.Context(), ctrl.Request{NamespacedName: client.ObjectKeyFromObject(other)}); err != nil {
		t.Error(err)
	}
	w.approve("other")
	w.must(w.client.Get(t.Context(), client.ObjectKeyFromObject(other), other))
	if len(other.Status.Conditions) > 0 {
		t.Errorf("another control plane's program answers: %+v", other.Status)
	}
}

func TestSignersAreKept(t *testing.T) {
	w := newWorld(t)
	for _, c := range classes {
		authority, err := pki.ParseCertificate(w.secret(string(c) + "-system-admin-signer")["tls.crt"])
		w.must(err)
		administrator, err := pki.ParseCertificate(w.secret(string(c) + "-system-admin-client-cert-key")["tls.crt"])
		w.must(err)
		if life := authority.NotAfter.Sub(w.clock); life.Round(time.Hour) != 7*24*time.Hour || !authority.IsCA {
			t.Errorf("signer of %s lives %s", c, life)
		}
		name := administrator.Subject
		if life := administrator.NotAfter.Sub(w.clock); life.Round(time.Hour) != longestLife || !strings.HasPrefix(name.CommonName, "system:"+string(c)) || name.Organization[0] != "system:masters" {
			t.Errorf("administrator %s lives %s", name, life)
		}
	}
	before := w.secret("sre-system-admin-client-cert-key")["tls.crt"]
	w.must(w.Keep(t.Context()))
	if string(w.secret("sre-system-admin-client-cert-key")["tls.crt"]) != string(before) {
		t.Error("a certificate is made anew for nothing")
	}
	w.clock = w.clock.Add(31 * time.Hour)
	w.must(w.Keep(t.Context()))
	after := w.secret("sre-system-admin-client-cert-key")["tls.crt"]
	first, err := pki.ParseCertificate(before)
	w.must(err)
	second, err := pki.ParseCertificate(after)
	w.must(err)
	if string(after) == string(before) || first.Subject.CommonName != second.Subject.CommonName {
		t.Errorf("with five hours left: %s then %s", first.Subject, second.Subject)
	}
	w.clock = w.clock.Add(5 * 24 * time.Hour)
	w.must(w.Keep(t.Context()))
	if blocks := certificatesIn(w.trusted()); blocks != 4 {
		t.Errorf("after the signers have changed, %d authorities are trusted, want both of either class", blocks)
	}
}

func certificatesIn(text []byte) int {
	n := 0
	for block, rest := pem.Decode(text); block != nil; block, rest = pem.Decode(rest) {
		n++
	}
	return n
}

func (w *world) revoke(name, class string) client.ObjectKey {
	w.Helper()
	request := kind(revocationKind.Kind)
	request.SetNamespace(w.plane)
	request.SetName(name)
	request.Object["spec"] = map[string]any{"signerClass": class}
	w.must(w.client.Create(w.Context(), request))
	return client.ObjectKeyFromObject(request)
}

// step reconciles the request for revocation as often as it asks to be looked at again at once.
func (w *world) step(key client.ObjectKey) *revocation {
	w.Helper()
	for range 10 {
		result, err := w.Reconcile(w.Context(), ctrl.Request{NamespacedName: key})
		w.must(err)
		if result.RequeueAfter != time.Millisecond {
			break
		}
	}
	obj := kind(revocationKind.Kind)
	w.must(w.client.Get(w.Context(), key, obj))
	one, err := readRevocation(obj)
	w.must(err)
	return one
}

func (w *world) stands(one *revocation, kind, reason string) {
	w.Helper()
	if c := apimeta.FindStatusCondition(one.Status.Conditions, kind); c == nil || c.Reason != reason || (c.Status == metav1.ConditionTrue) != (reason == reasonAsExpected) {
		w.Errorf("condition %s is %+v, want %s", kind, c, reason)
	}
}

func TestRevocation(t *testing.T) {
	w := newWorld(t)
	administrator := w.secret("customer-system-admin-client-cert-key")
	other := w.secret("sre-system-admin-client-cert-key")
	signer := w.secret("customer-system-admin-signer")
	key := w.revoke("leaked", "customer-break-glass")

	one := w.step(key)
	w.stands(one, signerClassValid, reasonAsExpected)
	w.stands(one, rootsRegenerated, reasonAsExpected)
	w.stands(one, newTrusted, reasonWaiting)
	if kept := w.secret(one.Status.PreviousSigner.Name); string(kept["tls.crt"]) != string(signer["tls.crt"]) || one.Status.RevocationTimestamp == nil {
		t.Errorf("the former signer is not kept: %+v", one.Status)
	}
	if name := one.Status.PreviousSigner.Name; name != copyName("leaked") || len(name) > 44 {
		t.Errorf("the copy is named %s", name)
	}
	// Meanwhile nobody is shut out: what is there goes on to be accepted, and what knows only the former authority is given nothing else.
	w.must(w.Keep(t.Context()))
	if string(w.secret("customer-system-admin-client-cert-key")["tls.crt"]) != string(administrator["tls.crt"]) {
		t.Error("the administrator has a certificate that not every API server trusts")
	}
	w.reload(2)
	w.stands(w.step(key), newTrusted, reasonWaiting)
	w.reload(3)
	one = w.step(key)
	w.stands(one, newTrusted, reasonAsExpected)
	w.stands(one, leavesRegenerated, reasonAsExpected)
	w.stands(one, previousRevoked, reasonWaiting)
	renewed := w.secret("customer-system-admin-client-cert-key")
	if accepted, _, _ := w.ask(t.Context(), renewed["tls.crt"], nil); accepted != 3 || string(renewed["tls.crt"]) == string(administrator["tls.crt"]) {
		t.Errorf("%d API servers accept the administrator's new certificate", accepted)
	}
	w.reload(1)
	w.clock = w.clock.Add(11 * time.Minute)
	w.stands(w.step(key), previousRevoked, reasonTimeout)
	w.reload(3)
	w.stands(w.step(key), previousRevoked, reasonAsExpected)
	if accepted, refused, _ := w.ask(t.Context(), administrator["tls.crt"], nil); accepted != 0 || refused != 3 {
		t.Errorf("%d API servers accept what was revoked", accepted)
	}
	if accepted, _, _ := w.ask(t.Context(), other["tls.crt"], nil); accepted != 3 {
		t.Errorf("the other class: %d API servers accept its certificate", accepted)
	}
	done := w.secret("customer-system-admin-signer")
	w.step(key)
	if string(done["tls.crt"]) != string(w.secret("customer-system-admin-signer")["tls.crt"]) {
		t.Error("what is done is done once more")
	}
}

func TestSignerOfARevocationStays(t *testing.T) {
	w := newWorld(t)
	request := kind(revocationKind.Kind)
	w.must(w.client.Get(t.Context(), w.revoke("one", "customer-break-glass"), request))
	request.Object["spec"] = map[string]any{"signerClass": "sre-break-glass"}
	if err := w.client.Update(t.Context(), request); err == nil || !strings.Contains(err.Error(), "immutable") {
		t.Errorf("%v", err)
	}
}

func TestRevocationOfNoSigner(t *testing.T) {
	w := newWorld(t)
	before := w.trusted()
	w.stands(w.step(w.revoke("typo", "customer")), signerClassValid, "SignerClassUnknown")
	if string(before) != string(w.trusted()) {
		t.Error("something is revoked")
	}
}
