package approver

import (
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"slices"
	"strings"

	certificatesv1 "k8s.io/api/certificates/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/hypershift-on-azure/hypershift/internal/contract"
	"github.com/hypershift-on-azure/hypershift/internal/guest/plane"
)

const (
	nodeUserPrefix   = "system:node:"
	nodeGroup        = "system:nodes"
	bootstrapUser    = contract.BootstrapUser
	serviceAccounts  = "system:serviceaccounts:" + contract.BootstrapNamespace
	authenticatedAll = "system:authenticated"
)

// machine is what an approval depends on.
type machine struct {
	name      string
	nodeNames []string
	nodeRef   string
	addresses []string
	deleting  bool
}

func machineOf(obj *unstructured.Unstructured) machine {
	out := machine{name: obj.GetName(), nodeNames: plane.NodeNames(obj), deleting: obj.GetDeletionTimestamp() != nil}
	out.nodeRef, _, _ = unstructured.NestedString(obj.Object, "status", "nodeRef", "name")
	list, _, _ := unstructured.NestedSlice(obj.Object, "status", "addresses")
	for _, item := range list {
		address, ok := item.(map[string]any)
		if !ok {
			continue
		}
		text, _ := address["address"].(string)
		out.addresses = append(out.addresses, text)
		kind, _ := address["type"].(string)
		if out.nodeRef == "" && (kind == string(corev1.NodeInternalDNS) || kind == string(corev1.NodeHostName)) {
			out.nodeNames = append(out.nodeNames, text)
		}
	}
	return out
}

// pending is a request without a verdict and without a certificate.
func pending(csr *certificatesv1.CertificateSigningRequest) bool {
	return len(csr.Status.Conditions) == 0 && len(csr.Status.Certificate) == 0
}

// ours are first client certificates and serving certificates of kubelets. Nodes renew their client certificates themselves, which the
// controller manager approves; other signers have other approvers.
func ours(csr *certificatesv1.CertificateSigningRequest) bool {
	switch csr.Spec.SignerName {
	case certificatesv1.KubeletServingSignerName:
		return true
	case certificatesv1.KubeAPIServerClientKubeletSignerName:
		return !slices.Contains(csr.Spec.Groups, nodeGroup)
	}
	return false
}

// decide returns why a request is not approved, nil when it is.
func decide(csr *certificatesv1.CertificateSigningRequest, machines []machine, nodes map[string]bool) error {
	request, err := parse(csr.Spec.Request)
	if err != nil {
		return err
	}
	name, ok := strings.CutPrefix(request.Subject.CommonName, nodeUserPrefix)
	if !ok || name == "" {
		return fmt.Errorf("common name %q is not of a node", request.Subject.CommonName)
	}
	if !slices.Equal(request.Subject.Organization, []string{nodeGroup}) {
		return fmt.Errorf("organization must be exactly %s", nodeGroup)
	}
	index := slices.IndexFunc(machines, func(m machine) bool { return slices.Contains(m.nodeNames, name) })
	if index < 0 {
		return fmt.Errorf("no Machine has a node %q", name)
	}
	if csr.Spec.SignerName == certificatesv1.KubeletServingSignerName {
		return serving(csr, request, machines[index])
	}
	return bootstrap(csr, request, machines[index], nodes[name])
}

// subjectOf is whom a request is about, as it says itself; empty when it cannot be read.
func subjectOf(csr *certificatesv1.CertificateSigningRequest) string {
	block, _ := pem.Decode(csr.Spec.Request)
	if block == nil {
		return ""
	}
	request, err := x509.ParseCertificateRequest(block.Bytes)
	if err != nil {
		return ""
	}
	return request.Subject.CommonName
}

func parse(encoded []byte) (*x509.CertificateRequest, error) {
	block, rest := pem.Decode(encoded)
	if block == nil || block.Type != "CERTIFICATE REQUEST" || len(strings.TrimSpace(string(rest))) > 0 {
		return nil, errors.New("the request is not one PEM block of type CERTIFICATE REQUEST")
	}
	request, err := x509.ParseCertificateRequest(block.Bytes)
	if err != nil {
		return nil, fmt.Errorf("parse the request: %w", err)
	}
	if err := request.CheckSignature(); err != nil {
		return nil, fmt.Errorf("the request is not signed with its own key: %w", err)
	}
	return request, nil
}

// bootstrap lets a machine in for the first time: afterwards its name is taken, and a second request could be an impostor's.
func bootstrap(csr *certificatesv1.CertificateSigningRequest, request *x509.CertificateRequest, m machine, registered bool) error {
	if csr.Spec.Username != bootstrapUser || !slices.Contains(csr.Spec.Groups, serviceAccounts) || !slices.Contains(csr.Spec.Groups, authenticatedAll) {
		return fmt.Errorf("requestor %q is not the node bootstrapper", csr.Spec.Username)
	}
	if len(names(request)) > 0 {
		return errors.New("a client certificate has no subject alternative names")
	}
	if !exactly(csr.Spec.Usages, certificatesv1.UsageDigitalSignature, certificatesv1.UsageClientAuth) {
		return fmt.Errorf("usages %v are not those of a client certificate", csr.Spec.Usages)
	}
	switch {
	case m.deleting:
		return fmt.Errorf("Machine %s is being deleted", m.name)
	case m.nodeRef != "":
		return fmt.Errorf("Machine %s already has node %s", m.name, m.nodeRef)
	case registered:
		return errors.New("a node of that name is already registered")
	}
	return nil
}

// serving approves a kubelet's own serving certificate for its own names.
func serving(csr *certificatesv1.CertificateSigningRequest, request *x509.CertificateRequest, m machine) error {
	if csr.Spec.Username != request.Subject.CommonName || !slices.Contains(csr.Spec.Groups, nodeGroup) {
		return fmt.Errorf("requestor %q asks for %q", csr.Spec.Username, request.Subject.CommonName)
	}
	if !exactly(csr.Spec.Usages, certificatesv1.UsageDigitalSignature, certificatesv1.UsageServerAuth) {
		return fmt.Errorf("usages %v are not those of a serving certificate", csr.Spec.Usages)
	}
	if len(request.EmailAddresses) > 0 || len(request.URIs) > 0 {
		return errors.New("a serving certificate has host names and addresses only")
	}
	asked := names(request)
	if len(asked) == 0 {
		return errors.New("the request has no subject alternative names")
	}
	allowed := append(slices.Clone(m.addresses), m.nodeNames...)
	for _, name := range asked {
		if !slices.Contains(allowed, name) {
			return fmt.Errorf("%q is no name or address of Machine %s", name, m.name)
		}
	}
	return nil
}

func names(request *x509.CertificateRequest) []string {
	out := slices.Clone(request.DNSNames)
	for _, ip := range request.IPAddresses {
		out = append(out, ip.String())
	}
	out = append(out, request.EmailAddresses...)
	for _, uri := range request.URIs {
		out = append(out, uri.String())
	}
	return out
}

// exactly allows the key encipherment that RSA keys come with.
func exactly(usages []certificatesv1.KeyUsage, wanted ...certificatesv1.KeyUsage) bool {
	rest := slices.DeleteFunc(slices.Clone(usages), func(u certificatesv1.KeyUsage) bool { return u == certificatesv1.UsageKeyEncipherment })
	slices.Sort(rest)
	slices.Sort(wanted)
	return slices.Equal(rest, wanted)
}
