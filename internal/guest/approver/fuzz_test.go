package approver

import (
	"slices"
	"testing"

	certificatesv1 "k8s.io/api/certificates/v1"
)

// FuzzRequest: whatever is sent as a request for a certificate, one is given for a machine that there is, and for its own names.
func FuzzRequest(f *testing.F) {
	f.Add(request{subject: node("np-1")}.encode(f), false)
	f.Add(request{subject: node("np-1"), dns: []string{"np-1"}}.encode(f), true)
	f.Add(request{subject: node("np-1"), dns: []string{"np-1", "kubernetes.default"}}.encode(f), true)
	f.Add(request{subject: node("np-2")}.encode(f), false)
	f.Add([]byte("-----BEGIN CERTIFICATE REQUEST-----\nMAA=\n-----END CERTIFICATE REQUEST-----\n"), false)
	m := machine{name: "np-1", nodeNames: []string{"np-1"}, addresses: []string{"10.0.0.4"}}
	f.Fuzz(func(t *testing.T, encoded []byte, forServing bool) {
		csr := clientCSR()
		if forServing {
			csr = servingCSR("np-1")
		}
		csr.Spec.Request = encoded
		subject := subjectOf(csr)
		if decide(csr, []machine{m}, nil) != nil {
			return
		}
		approved, err := parse(encoded)
		if err != nil || subject != nodeUserPrefix+"np-1" || !slices.Equal(approved.Subject.Organization, []string{nodeGroup}) {
			t.Fatalf("%q is approved (%v)", subject, err)
		}
		for _, name := range names(approved) {
			if csr.Spec.SignerName != certificatesv1.KubeletServingSignerName || !slices.Contains([]string{"np-1", "10.0.0.4"}, name) {
				t.Errorf("name %q is approved", name)
			}
		}
	})
}
