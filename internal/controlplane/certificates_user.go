package controlplane

import (
	"context"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	hyperv1 "github.com/hypershift-on-azure/hypershift/api/v1beta1"
	"github.com/hypershift-on-azure/hypershift/internal/clusterconfig"
	"github.com/hypershift-on-azure/hypershift/internal/kube"
	"github.com/hypershift-on-azure/hypershift/internal/pki"
)

// customKubeconfigSecret is for the name that the user gives the API server, spec.kubeAPIServerDNSName.
const customKubeconfigSecret = "custom-admin-kubeconfig"

// kubeconfigs are those of the control plane, as far as their addresses are known.
func (p *pass) kubeconfigs() []pki.Kubeconfig {
	if !p.endpoints.APIServer.Known() {
		return pki.Kubeconfigs(p.hcp.Spec.InfraID, "")
	}
	list := pki.Kubeconfigs(p.hcp.Spec.InfraID, p.endpoints.APIServer.URL())
	if name := p.hcp.Spec.KubeAPIServerDNSName; name != "" {
		list = append(list, pki.Kubeconfig{
			Secret: customKubeconfigSecret, Server: fmt.Sprintf("https://%s:%d", name, p.endpoints.APIServer.Port),
			Client: "system-admin-client", ServerCA: p.trustOf(name),
		})
	}
	return list
}

// trustOf is what verifies the certificate that the user supplies for a name: its authority where the Secret has it, else the
// certificates themselves.
func (p *pass) trustOf(name string) []byte {
	config, err := clusterconfig.APIServerOf(p.hcp)
	if err != nil {
		return nil
	}
	for _, c := range config.Serving() {
		data := p.secrets[c.ServingCertificate.Name]
		if !covers(c.Names, data[corev1.TLSCertKey], name) {
			continue
		}
		if authority := data[corev1.ServiceAccountRootCAKey]; len(authority) > 0 {
			return authority
		}
		return data[corev1.TLSCertKey]
	}
	return nil
}

// covers tells whether a certificate is shown to who asks for the name: the API server goes by the names the user lists, else by
// those in the certificate.
func covers(names []string, certificate []byte, name string) bool {
	block, _ := pem.Decode(certificate)
	if block == nil {
		return false
	}
	cert, err := x509.ParseCertificate(block.Bytes)
	if err != nil {
		return false
	}
	if len(names) == 0 {
		return cert.VerifyHostname(name) == nil
	}
	_, parent, _ := strings.Cut(name, ".")
	return slices.Contains(names, name) || slices.Contains(names, "*."+parent)
}

// dropCustomKubeconfig takes away what was written for a name that the user has given up.
func (p *pass) dropCustomKubeconfig(ctx context.Context) error {
	stale := p.live[customKubeconfigSecret]
	if stale == nil || p.hcp.Spec.KubeAPIServerDNSName != "" {
		return nil
	}
	delete(p.live, customKubeconfigSecret)
	delete(p.secrets, customKubeconfigSecret)
	return kube.DeleteIfExists(ctx, p.Client, stale)
}

// setKubeconfigs names the kubeconfigs that users get.
func (p *pass) setKubeconfigs() {
	status := &p.hcp.Status
	// Written by the certificates step, which comes after the endpoints.
	if !p.endpoints.APIServer.Known() || p.secrets["system-admin-client"] == nil {
		return
	}
	status.KubeConfig = &hyperv1.KubeconfigSecretRef{Name: "admin-kubeconfig", Key: hyperv1.KubeconfigKey}
	status.CustomKubeconfig = nil
	if p.hcp.Spec.KubeAPIServerDNSName != "" {
		status.CustomKubeconfig = &hyperv1.KubeconfigSecretRef{Name: customKubeconfigSecret, Key: hyperv1.KubeconfigKey}
	}
}
