package credential

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	certificatesv1 "k8s.io/api/certificates/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/hypershift-on-azure/hypershift/internal/pki"
)

// made is a certificate that ends an hour after now.
func made(t *testing.T, now time.Time) *Credential {
	t.Helper()
	authority := pki.Authority{Secret: "signer", CN: "signer", OU: "openshift", CertKey: "ca.crt", KeyKey: "ca.key"}
	policy := pki.Policy{AuthorityValidity: 24 * time.Hour, LeafValidity: time.Hour, Renewal: time.Minute}
	have, err := pki.EnsureAuthorities(nil, []pki.Authority{authority}, policy, now)
	if err != nil {
		t.Fatal(err)
	}
	leaf := pki.Leaf{Secret: "leaf", Signer: "signer", CN: "x", Usages: pki.ClientUsages()}
	leaves, err := pki.EnsureLeavesOf(have, []pki.Authority{authority}, []pki.Leaf{leaf}, policy, now)
	if err != nil {
		t.Fatal(err)
	}
	c, err := of(leaves["leaf"]["tls.crt"], leaves["leaf"]["tls.key"])
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// TestKept: the same question gets the same certificate while it lives long enough, in a file that nobody else can read; every other gets its own.
func TestKept(t *testing.T) {
	folder := t.TempDir()
	t.Setenv("XDG_CACHE_HOME", folder)
	now, issued := time.Now(), 0
	var messages bytes.Buffer
	ask := func(now time.Time, question ...string) {
		t.Helper()
		answer, err := Kept(question, now, &messages, func() (*Credential, error) { issued++; return made(t, now), nil })
		if err != nil || answer.Ends.Sub(now) < reserve {
			t.Fatalf("%v, %v", answer, err)
		}
	}
	files := func() []string {
		paths, err := filepath.Glob(filepath.Join(folder, "hypershift", "credentials", "*"))
		if err != nil {
			t.Fatal(err)
		}
		return paths
	}
	expect := func(what string, n int) {
		t.Helper()
		if issued != n {
			t.Errorf("%s: %d certificates were made, want %d", what, issued, n)
		}
	}
	ask(now, "demo")
	ask(now, "demo")
	expect("the same question", 1)
	ask(now, "demo", "")
	expect("another question", 2)
	ask(now)
	expect("a person's question", 3)
	if paths := files(); len(paths) != 2 {
		t.Fatalf("%v", paths)
	}
	ask(now.Add(time.Hour-reserve), "demo")
	expect("at its end", 4)
	if paths := files(); len(paths) != 2 {
		t.Errorf("what has ended stays: %v", paths)
	}
	for _, path := range files() {
		if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%s: %v %v", path, info.Mode(), err)
		}
		if err := os.Chmod(path, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	ask(now, "demo")
	expect("laid open", 5)
	for _, path := range files() {
		if err := os.WriteFile(path, []byte("{}"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	ask(now, "demo")
	expect("damaged", 6)
	if messages.Len() > 0 {
		t.Errorf("messages: %s", messages.String())
	}
}

// TestKeptNowhere: a certificate that cannot be kept is handed out all the same, with a warning; one that cannot be had is an error.
func TestKeptNowhere(t *testing.T) {
	occupied := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(occupied, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("XDG_CACHE_HOME", occupied)
	var messages bytes.Buffer
	now := time.Now()
	if _, err := Kept([]string{"demo"}, now, &messages, func() (*Credential, error) { return made(t, now), nil }); err != nil || !strings.Contains(messages.String(), "warning: the certificate is not kept") {
		t.Errorf("%v, %q", err, messages.String())
	}
	refused := errors.New("refused")
	if _, err := Kept([]string{"demo"}, now, &messages, func() (*Credential, error) { return nil, refused }); !errors.Is(err, refused) {
		t.Errorf("%v", err)
	}
}

// TestAsked: what kubectl says is part of the question; a kubectl that reads another version is told.
func TestAsked(t *testing.T) {
	for text, want := range map[string]string{
		"":  "",
		"{": "cannot be read",
		`{"kind":"ExecCredential","apiVersion":"client.authentication.k8s.io/v1beta1"}`: "answered in client.authentication.k8s.io/v1 only",
		`{"kind":"ExecCredential","apiVersion":"client.authentication.k8s.io/v1"}`:      "",
	} {
		t.Setenv(execInfo, text)
		got, err := Asked()
		if want == "" && (err != nil || got != text) || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: %q, %v", text, got, err)
		}
	}
}

// TestUnsigned: a request that is failed, denied, or looked at by nobody is an error that says so.
func TestUnsigned(t *testing.T) {
	scheme := runtime.NewScheme()
	if err := certificatesv1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	for kind, want := range map[certificatesv1.RequestConditionType]string{
		certificatesv1.CertificateFailed: "CertificateSigningRequest r of the hosted cluster is not signed: Failed: Broken: no signer",
		certificatesv1.CertificateDenied: "Denied: Broken: no signer",
		"":                               "CertificateSigningRequest r is not signed after 30s",
	} {
		synctest.Test(t, func(t *testing.T) {
			csr := &certificatesv1.CertificateSigningRequest{ObjectMeta: metav1.ObjectMeta{Name: "r"}}
			if kind != "" {
				csr.Status.Conditions = []certificatesv1.CertificateSigningRequestCondition{{Type: kind, Reason: "Broken", Message: "no signer"}}
			}
			guest := fake.NewClientBuilder().WithScheme(scheme).WithObjects(csr).Build()
			if err := await(t.Context(), guest, csr.DeepCopy()); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%v", err)
			}
			ended, cancel := context.WithCancel(t.Context())
			cancel()
			if err := await(ended, guest, csr.DeepCopy()); !errors.Is(err, context.Canceled) && kind == "" {
				t.Errorf("interrupted: %v", err)
			}
		})
	}
}

func TestLife(t *testing.T) {
	for life, ok := range map[time.Duration]bool{Shortest - time.Second: false, Shortest: true, Usual: true, Longest: true, Longest + time.Second: false} {
		if err := CheckLife(life); (err == nil) != ok {
			t.Errorf("%s: %v", life, err)
		}
	}
}
