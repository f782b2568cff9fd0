package phase1

import (
	"context"
	"crypto/rsa"
	"crypto/x509"
	"encoding/pem"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/go-jose/go-jose/v4/jwt"

	"github.com/hypershift-on-azure/hypershift/internal/azure"
	"github.com/hypershift-on-azure/hypershift/internal/azure/failure"
	"github.com/hypershift-on-azure/hypershift/internal/pki/signing"
	"github.com/hypershift-on-azure/hypershift/internal/provision"
	"github.com/hypershift-on-azure/hypershift/internal/provision/iam"
	"github.com/hypershift-on-azure/hypershift/internal/provision/issuer"
	"github.com/hypershift-on-azure/hypershift/internal/stack"
	"github.com/hypershift-on-azure/hypershift/sandbox/azure/fault"
)

const capiSubject = "system:serviceaccount:kube-system:capi-provider"

// rotor is a hosted cluster's issuer in the embedded Azure, whose key is changed.
type rotor struct {
	t       *testing.T
	session *azure.Session
	client  string
	url     string
	dir     string
	now     time.Time
	options provision.RotateOptions
	faults  *fault.Injector
}

func newRotor(t *testing.T) *rotor {
	t.Helper()
	w := startWorld(t, t.TempDir())
	session, err := w.signIn()
	must(t, err)
	r := &rotor{t: t, session: session, dir: t.TempDir(), now: time.Now()}
	r.newKey("private")
	r.newKey("next.private") // the pair that the rotation would make, of a size that is quickly made
	quiet := func(stack.Event) {}
	o := issuer.Options{Name: "demo", ResourceGroup: "common", Location: "eastus", KeyDirectory: r.dir}
	issuer, err := issuer.Create(context.Background(), session, o, quiet)
	must(t, err)
	r.url = issuer.URL
	identities, err := iam.Create(context.Background(), session, iam.Options{Name: "demo", InfraID: "demo-1", ResourceGroup: "common", Location: "eastus", IssuerURL: issuer.URL}, quiet)
	must(t, err)
	r.client = identities.NodePoolManagement.ClientID
	r.options = provision.RotateOptions{Issuer: o, TokenLifetime: time.Hour, KeyWait: 15 * time.Minute, NoWait: true, Say: t.Logf, Now: func() time.Time { return r.now },
		Sleep: func(_ context.Context, d time.Duration) error { r.now = r.now.Add(d); return nil }}
	r.faults = w.server.Faults()
	return r
}

func (r *rotor) file(name string) string { return filepath.Join(r.dir, "serviceaccount-signer."+name) }

func (r *rotor) newKey(name string) {
	raw, err := newSigner()
	must(r.t, err)
	must(r.t, os.WriteFile(r.file(name), raw, 0o600))
}

func (r *rotor) key(name string) *rsa.PrivateKey {
	raw, err := os.ReadFile(r.file(name))
	must(r.t, err)
	block, _ := pem.Decode(raw)
	key, err := x509.ParsePKCS1PrivateKey(block.Bytes)
	must(r.t, err)
	return key
}

// exchange presents a token that the key has signed.
func (r *rotor) exchange(key *rsa.PrivateKey) error {
	id, err := signing.KeyID(&key.PublicKey)
	must(r.t, err)
	signer, err := jose.NewSigner(jose.SigningKey{Algorithm: jose.RS256, Key: jose.JSONWebKey{Key: key, KeyID: id}}, nil)
	must(r.t, err)
	as, err := r.session.As(r.client, func(context.Context) (string, error) {
		return jwt.Signed(signer).Claims(jwt.Claims{Issuer: r.url, Subject: capiSubject, Audience: jwt.Audience{"openshift"},
			IssuedAt: jwt.NewNumericDate(time.Now()), Expiry: jwt.NewNumericDate(time.Now().Add(time.Minute))}).Serialize()
	})
	must(r.t, err)
	return as.SignIn(context.Background())
}

func (r *rotor) rotate(want string) {
	r.t.Helper()
	got, err := provision.RotateIssuer(context.Background(), r.session, r.options)
	if err != nil || got.Phase != want {
		r.t.Fatalf("%+v, %v; want %s", got, err, want)
	}
}

func TestRotationRefusesNoToken(t *testing.T) {
	r := newRotor(t)
	old, next := r.key("private"), r.key("next.private")
	accepted := func(phase string, keys ...*rsa.PrivateKey) {
		t.Helper()
		for i, key := range keys {
			if err := r.exchange(key); err != nil {
				t.Fatalf("%s: token of key %d is refused: %v", phase, i, err)
			}
		}
	}
	accepted("before", old)
	if r.exchange(next) == nil {
		t.Fatal("a key that is not published is accepted: this test proves nothing")
	}
	r.rotate(provision.RotationPublished)
	accepted("published", old, next)
	r.rotate(provision.RotationPublished) // stopped and run again
	accepted("published again", old, next)

	given := 0
	r.options.UpdateCluster = func(_ context.Context, private, oldPublic []byte) error {
		if given++; given == 1 {
			accepted("while switching", old, next)
		}
		if (oldPublic == nil) != (given == 2) {
			t.Errorf("call %d: old public key given: %v", given, oldPublic != nil)
		}
		return nil
	}
	r.rotate(provision.RotationSwitched)
	accepted("switched", old, next)
	r.now = r.now.Add(30 * time.Minute)
	r.options.Finish = true
	r.rotate(provision.RotationSwitched) // too early
	accepted("too early", old, next)

	r.now = r.now.Add(31 * time.Minute)
	r.rotate(provision.RotationRetired)
	accepted("retired", next)
	if r.exchange(old) == nil {
		t.Error("a token of the retired key is accepted")
	}
	if given != 2 {
		t.Errorf("the hosted cluster was given keys %d times", given)
	}
	if !r.key("private").Equal(next) {
		t.Error("the new key is not in its place")
	}
	if _, err := provision.RotateIssuer(context.Background(), r.session, r.options); err == nil {
		t.Error("--finish began another rotation")
	}
}

// TestRotationGoesOnAfterAStop puts back what a stop at each point between the files would leave.
func TestRotationGoesOnAfterAStop(t *testing.T) {
	r := newRotor(t)
	old, next := r.key("private"), r.key("next.private")
	nextPEM, err := os.ReadFile(r.file("next.private"))
	must(t, err)
	oldPEM, err := os.ReadFile(r.file("private"))
	must(t, err)
	r.rotate(provision.RotationPublished)
	// Stopped after the old public key was kept and before the new private one took its place.
	must(t, os.WriteFile(r.file("private"), oldPEM, 0o600))
	must(t, os.WriteFile(r.file("next.private"), nextPEM, 0o600))
	r.rotate(provision.RotationPublished)
	if !r.key("private").Equal(next) {
		t.Fatal("the new key is not in its place")
	}
	for _, key := range []*rsa.PrivateKey{old, next} {
		if err := r.exchange(key); err != nil {
			t.Fatal(err)
		}
	}
	r.options.Updated = true
	r.rotate(provision.RotationSwitched)
	r.now = r.now.Add(2 * time.Hour)
	r.rotate(provision.RotationRetired)
	if r.exchange(old) == nil || r.exchange(next) != nil {
		t.Error("not exactly the new key is accepted")
	}
}

// TestRotationWaitsForEntrasKeys has the token service not know the new key for a while, and for good.
func TestRotationWaitsForEntrasKeys(t *testing.T) {
	r := newRotor(t)
	old := r.key("private")
	given := 0
	r.options.UpdateCluster = func(context.Context, []byte, []byte) error { given++; return nil }
	stale := fault.Rule{Plane: fault.Entra, Method: "POST", Path: "**", Status: 400, Code: "700027", Message: "The key was not found."}
	_, err := r.faults.Add(stale)
	must(t, err)
	began := r.now
	_, err = provision.RotateIssuer(t.Context(), r.session, r.options)
	if err == nil || !strings.Contains(err.Error(), "goes on signing with the old one") || failure.CodeOf(err) != "AADSTS700027" || given != 0 {
		t.Fatalf("the cluster was given keys %d times; it ended with %v", given, err)
	}
	if took := r.now.Sub(began); took != r.options.KeyWait {
		t.Errorf("it waited for %s", took)
	}
	must(t, r.faults.Clear())
	must(t, r.exchange(old))
	stale.Count = 3
	_, err = r.faults.Add(stale)
	must(t, err)
	began = r.now
	r.rotate(provision.RotationSwitched)
	if took := r.now.Sub(began); took != 70*time.Second || given != 1 { // 10, 20 and 40 s
		t.Errorf("it waited for %s, and the cluster was given keys %d times", took, given)
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
