package pkioperator

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"strings"
	"testing"
	"time"

	certificatesv1 "k8s.io/api/certificates/v1"
)

var usages = []certificatesv1.KeyUsage{certificatesv1.UsageClientAuth, certificatesv1.UsageDigitalSignature}

// encoded is a request for a certificate of the name.
func encoded(t testing.TB, template x509.CertificateRequest) []byte {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	der, err := x509.CreateCertificateRequest(rand.Reader, &template, key)
	if err != nil {
		t.Fatal(err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE REQUEST", Bytes: der})
}

func named(name string) x509.CertificateRequest {
	return x509.CertificateRequest{Subject: pkix.Name{CommonName: name, Organization: []string{"system:masters"}}}
}

func TestValidate(t *testing.T) {
	good := named("system:customer-break-glass:alice")
	withNames, withMail := good, good
	withNames.DNSNames, withMail.EmailAddresses = []string{"kube-apiserver"}, []string{"a@example.com"}
	for name, test := range map[string]struct {
		class   class
		request []byte
		usages  []certificatesv1.KeyUsage
		refused string
	}{
		"a customer's":          {customer, encoded(t, good), usages, ""},
		"by the short name":     {customer, encoded(t, named("system:customer:alice")), usages, ""},
		"with every usage":      {customer, encoded(t, good), allowedUsages, ""},
		"an operator's":         {sre, encoded(t, named("system:sre-break-glass:bob")), usages, ""},
		"of another class":      {sre, encoded(t, good), usages, "common name"},
		"of an administrator":   {customer, encoded(t, named("system:admin")), usages, "common name"},
		"of a server":           {customer, encoded(t, withNames), usages, "alternative names"},
		"with a mail address":   {customer, encoded(t, withMail), usages, "alternative names"},
		"no client's":           {customer, encoded(t, good), usages[1:], "lacks"},
		"a server's usage too":  {customer, encoded(t, good), append([]certificatesv1.KeyUsage{certificatesv1.UsageServerAuth}, usages...), "server auth"},
		"no request":            {customer, []byte("none"), usages, "PEM"},
		"two requests":          {customer, append(encoded(t, good), encoded(t, good)...), usages, "one PEM block"},
		"a request of no sense": {customer, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE REQUEST", Bytes: []byte("x")}), usages, "cannot be read"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := validate(test.class, certificatesv1.CertificateSigningRequestSpec{Request: test.request, Usages: test.usages})
			if (err != nil) != (test.refused != "") || err != nil && !strings.Contains(err.Error(), test.refused) {
				t.Errorf("%v, want %q", err, test.refused)
			}
		})
	}
}

func TestLife(t *testing.T) {
	seconds := func(n int32) certificatesv1.CertificateSigningRequestSpec {
		return certificatesv1.CertificateSigningRequestSpec{ExpirationSeconds: &n}
	}
	for want, spec := range map[time.Duration]certificatesv1.CertificateSigningRequestSpec{
		36 * time.Hour: {}, time.Hour: seconds(3600), 10 * time.Minute: seconds(1),
	} {
		if got := lifeOf(spec); got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
	if got := lifeOf(seconds(1 << 30)); got != longestLife {
		t.Errorf("as long as one likes: %s", got)
	}
}

// FuzzBreakGlassRequest: whatever somebody asks for, only a client of the class is signed.
func FuzzBreakGlassRequest(f *testing.F) {
	f.Add(encoded(f, named("system:customer-break-glass:alice")), "client auth")
	f.Add(encoded(f, named("system:sre-break-glass:bob")), "server auth")
	f.Add([]byte("-----BEGIN CERTIFICATE REQUEST-----\nAAAA\n-----END CERTIFICATE REQUEST-----\n"), "client auth")
	f.Fuzz(func(t *testing.T, request []byte, usage string) {
		parsed, err := validate(customer, certificatesv1.CertificateSigningRequestSpec{Request: request, Usages: []certificatesv1.KeyUsage{certificatesv1.KeyUsage(usage)}})
		if err != nil {
			return
		}
		if !strings.HasPrefix(parsed.Subject.CommonName, "system:customer") || len(parsed.DNSNames) > 0 || usage != string(certificatesv1.UsageClientAuth) {
			t.Errorf("%q of %v is signed for %q", parsed.Subject.CommonName, parsed.DNSNames, usage)
		}
	})
}
