package approver

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"net"
	"net/url"
	"testing"

	certificatesv1 "k8s.io/api/certificates/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/hypershift-on-azure/hypershift/internal/guest/plane"
)

type request struct {
	subject pkix.Name
	dns     []string
	ips     []net.IP
	uris    []*url.URL
	raw     []byte
}

func (r request) encode(t testing.TB) []byte {
	t.Helper()
	if r.raw != nil {
		return r.raw
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	der, err := x509.CreateCertificateRequest(rand.Reader, &x509.CertificateRequest{Subject: r.subject, DNSNames: r.dns, IPAddresses: r.ips, URIs: r.uris}, key)
	if err != nil {
		t.Fatal(err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE REQUEST", Bytes: der})
}

func node(name string) pkix.Name {
	return pkix.Name{CommonName: "system:node:" + name, Organization: []string{"system:nodes"}}
}

func clientCSR() *certificatesv1.CertificateSigningRequest {
	csr := &certificatesv1.CertificateSigningRequest{}
	csr.Name = "csr-1"
	csr.Spec.SignerName = certificatesv1.KubeAPIServerClientKubeletSignerName
	csr.Spec.Username = bootstrapUser
	csr.Spec.Groups = []string{serviceAccounts, "system:serviceaccounts", "system:authenticated"}
	csr.Spec.Usages = []certificatesv1.KeyUsage{certificatesv1.UsageDigitalSignature, certificatesv1.UsageClientAuth}
	return csr
}

func servingCSR(name string) *certificatesv1.CertificateSigningRequest {
	csr := &certificatesv1.CertificateSigningRequest{}
	csr.Spec.SignerName = certificatesv1.KubeletServingSignerName
	csr.Spec.Username = "system:node:" + name
	csr.Spec.Groups = []string{"system:nodes", "system:authenticated"}
	csr.Spec.Usages = []certificatesv1.KeyUsage{certificatesv1.UsageDigitalSignature, certificatesv1.UsageServerAuth, certificatesv1.UsageKeyEncipherment}
	return csr
}

func TestDecide(t *testing.T) {
	machines := []machine{
		{name: "np-1", nodeNames: []string{"np-1"}},
		{name: "np-2", nodeNames: []string{"np-2"}, nodeRef: "np-2", addresses: []string{"10.0.0.5", "np-2"}},
		{name: "np-3", nodeNames: []string{"np-3"}, deleting: true},
		{name: "np-4", nodeNames: []string{"np-4"}},
	}
	nodes := map[string]bool{"np-2": true, "np-4": true}
	foreign := clientCSR()
	foreign.Spec.Username = "system:serviceaccount:default:default"
	wrongGroups := clientCSR()
	wrongGroups.Spec.Groups = []string{"system:authenticated"}
	signing := clientCSR()
	signing.Spec.Usages = append(signing.Spec.Usages, certificatesv1.UsageCertSign)
	tests := map[string]struct {
		csr     *certificatesv1.CertificateSigningRequest
		request request
		approve bool
	}{
		"first certificate of a machine":  {clientCSR(), request{subject: node("np-1")}, true},
		"unknown machine":                 {clientCSR(), request{subject: node("stranger")}, false},
		"machine that has its node":       {clientCSR(), request{subject: node("np-2")}, false},
		"machine on its way out":          {clientCSR(), request{subject: node("np-3")}, false},
		"name of a registered node":       {clientCSR(), request{subject: node("np-4")}, false},
		"other requestor":                 {foreign, request{subject: node("np-1")}, false},
		"requestor without groups":        {wrongGroups, request{subject: node("np-1")}, false},
		"more usages":                     {signing, request{subject: node("np-1")}, false},
		"administrator group":             {clientCSR(), request{subject: pkix.Name{CommonName: "system:node:np-1", Organization: []string{"system:nodes", "system:masters"}}}, false},
		"no node name":                    {clientCSR(), request{subject: pkix.Name{CommonName: "admin", Organization: []string{"system:nodes"}}}, false},
		"client certificate with a name":  {clientCSR(), request{subject: node("np-1"), dns: []string{"kubernetes.default"}}, false},
		"not PEM":                         {clientCSR(), request{raw: []byte("garbage")}, false},
		"serving with name and address":   {servingCSR("np-2"), request{subject: node("np-2"), dns: []string{"np-2"}, ips: []net.IP{net.IPv4(10, 0, 0, 5)}}, true},
		"serving, address not known yet":  {servingCSR("np-4"), request{subject: node("np-4"), dns: []string{"np-4"}, ips: []net.IP{net.IPv4(10, 0, 0, 7)}}, false},
		"serving for a foreign name":      {servingCSR("np-2"), request{subject: node("np-2"), dns: []string{"np-2", "kubernetes"}}, false},
		"serving for a URI":               {servingCSR("np-2"), request{subject: node("np-2"), dns: []string{"np-2"}, uris: []*url.URL{{Scheme: "spiffe", Host: "x"}}}, false},
		"serving without names":           {servingCSR("np-2"), request{subject: node("np-2")}, false},
		"serving asked by another node":   {servingCSR("np-1"), request{subject: node("np-2"), dns: []string{"np-2"}}, false},
		"serving of a node not of a pool": {servingCSR("stranger"), request{subject: node("stranger"), dns: []string{"stranger"}}, false},
		"serving asked by the bootstrapper": {func() *certificatesv1.CertificateSigningRequest {
			csr := servingCSR("np-2")
			csr.Spec.Username = bootstrapUser
			return csr
		}(), request{subject: node("np-2"), dns: []string{"np-2"}}, false},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			test.csr.Spec.Request = test.request.encode(t)
			err := decide(test.csr, machines, nodes)
			if (err == nil) != test.approve {
				t.Errorf("approve = %v (%v), want %v", err == nil, err, test.approve)
			}
		})
	}
}

func TestReconcileApprovesOnlyOurs(t *testing.T) {
	machine := &unstructured.Unstructured{Object: map[string]any{
		"metadata": map[string]any{"name": "np-1", "namespace": "clusters-demo"},
		"spec":     map[string]any{"infrastructureRef": map[string]any{"name": "np-1"}},
	}}
	machine.SetGroupVersionKind(plane.MachineKind)
	ours := clientCSR()
	ours.Spec.Request = request{subject: node("np-1")}.encode(t)
	renewal := clientCSR()
	renewal.Name, renewal.Spec.Username, renewal.Spec.Groups = "csr-2", "system:node:np-1", []string{"system:nodes", "system:authenticated"}
	renewal.Spec.Request = request{subject: node("np-1")}.encode(t)

	scheme := runtime.NewScheme()
	if err := clientgoscheme.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	r := &reconciler{
		guest:      fake.NewClientBuilder().WithScheme(scheme).WithObjects(ours, renewal).WithStatusSubresource(ours).Build(),
		management: fake.NewClientBuilder().WithScheme(scheme).WithObjects(machine).Build(),
		namespace:  "clusters-demo",
	}
	for name, want := range map[string]bool{"csr-1": true, "csr-2": false} {
		if _, err := r.Reconcile(t.Context(), ctrl.Request{NamespacedName: client.ObjectKey{Name: name}}); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		got := &certificatesv1.CertificateSigningRequest{}
		if err := r.guest.Get(t.Context(), client.ObjectKey{Name: name}, got); err != nil {
			t.Fatal(err)
		}
		if approved := len(got.Status.Conditions) == 1 && got.Status.Conditions[0].Type == certificatesv1.CertificateApproved; approved != want {
			t.Errorf("%s approved = %v, want %v", name, approved, want)
		}
	}
}

// TestFlood: what waits for one node and requestor holds up that one alone, however much it is.
func TestFlood(t *testing.T) {
	scheme := runtime.NewScheme()
	if err := clientgoscheme.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	machineNamed := func(name string) *unstructured.Unstructured {
		machine := &unstructured.Unstructured{Object: map[string]any{
			"metadata": map[string]any{"name": name, "namespace": "clusters-demo"}, "spec": map[string]any{"infrastructureRef": map[string]any{"name": name}},
		}}
		machine.SetGroupVersionKind(plane.MachineKind)
		return machine
	}
	np1, np2 := request{subject: node("np-1")}.encode(t), request{subject: node("np-2")}.encode(t)
	for name, test := range map[string]struct {
		flood func(*certificatesv1.CertificateSigningRequest)
		count int
		holds bool
	}{
		"130 serving requests of another kubelet": {func(csr *certificatesv1.CertificateSigningRequest) {
			csr.Spec = servingCSR("np-2").Spec
			csr.Spec.Request = np2
		}, 130, false},
		"130 of the bootstrapper for another machine": {func(csr *certificatesv1.CertificateSigningRequest) { csr.Spec.Request = np2 }, 130, false},
		"130 of the bootstrapper for nobody":          {func(csr *certificatesv1.CertificateSigningRequest) { csr.Spec.Request = []byte("garbage") }, 130, false},
		"for another signer": {func(csr *certificatesv1.CertificateSigningRequest) {
			csr.Spec.Request, csr.Spec.SignerName = np1, "example.com/signer"
		}, 130, false},
		"of somebody else for this machine": {func(csr *certificatesv1.CertificateSigningRequest) {
			csr.Spec.Request, csr.Spec.Username = np1, "system:serviceaccount:default:default"
		}, 130, false},
		"for this machine, as many as wait now and then": {func(csr *certificatesv1.CertificateSigningRequest) { csr.Spec.Request = np1 }, maxPending - 1, false},
		"for this machine": {func(csr *certificatesv1.CertificateSigningRequest) { csr.Spec.Request = np1 }, maxPending, true},
	} {
		t.Run(name, func(t *testing.T) {
			objects := []client.Object{}
			for i := range test.count {
				waiting := clientCSR()
				waiting.Name = fmt.Sprint("waiting-", i)
				test.flood(waiting)
				objects = append(objects, waiting)
			}
			ours := clientCSR()
			ours.Spec.Request = np1
			r := &reconciler{
				guest:      fake.NewClientBuilder().WithScheme(scheme).WithObjects(append(objects, ours)...).WithStatusSubresource(ours).Build(),
				management: fake.NewClientBuilder().WithScheme(scheme).WithObjects(machineNamed("np-1"), machineNamed("np-2")).Build(),
				namespace:  "clusters-demo",
			}
			result, err := r.Reconcile(t.Context(), ctrl.Request{NamespacedName: client.ObjectKeyFromObject(ours)})
			if err != nil {
				t.Fatal(err)
			}
			if (result.RequeueAfter > 0) != test.holds {
				t.Errorf("looks again after %s", result.RequeueAfter)
			}
			if err := r.guest.Get(t.Context(), client.ObjectKeyFromObject(ours), ours); err != nil || pending(ours) != test.holds {
				t.Errorf("pending = %v (%v)", pending(ours), err)
			}
		})
	}
}
