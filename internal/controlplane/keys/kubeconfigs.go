package keys

import (
	"context"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	hyperv1 "github.com/hypershift-on-azure/hypershift/api/v1beta1"
	"github.com/hypershift-on-azure/hypershift/internal/clusterconfig"
	"github.com/hypershift-on-azure/hypershift/internal/contract"
	"github.com/hypershift-on-azure/hypershift/internal/kube"
	"github.com/hypershift-on-azure/hypershift/internal/pki"
	"github.com/hypershift-on-azure/hypershift/internal/publish"
)

// customKubeconfigSecret is for the name that the user gives the API server, spec.kubeAPIServerDNSName.
const customKubeconfigSecret = contract.CustomAdminKubeconfig

// kubeconfigsOf are those of the control plane, as far as their addresses are known.
func kubeconfigsOf(hcp *hyperv1.HostedControlPlane, endpoints publish.Endpoints, secrets pki.Secrets) []pki.Kubeconfig {
	if !endpoints.APIServer.Known() {
		return pki.Kubeconfigs(hcp.Spec.InfraID, "")
	}
	list := pki.Kubeconfigs(hcp.Spec.InfraID, endpoints.APIServer.URL())
	if name := hcp.Spec.KubeAPIServerDNSName; name != "" {
		list = append(list, pki.Kubeconfig{
			Secret: customKubeconfigSecret, Server: fmt.Sprintf("https://%s:%d", name, endpoints.APIServer.Port),
			Client: contract.AdminClient, ServerCA: trustOf(hcp, secrets, name),
		})
	}
	return list
}

// trustOf is what verifies the certificate that the user supplies for a name: its authority where the Secret has it, else the
// certificates themselves.
func trustOf(hcp *hyperv1.HostedControlPlane, secrets pki.Secrets, name string) []byte {
	config, err := clusterconfig.APIServerOf(hcp)
	if err != nil {
		return nil
	}
	for _, c := range config.Serving() {
		data := secrets[c.ServingCertificate.Name]
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
func (k *Keys) dropCustomKubeconfig(ctx context.Context) error {
	stale := k.live[customKubeconfigSecret]
	if stale == nil || k.HCP.Spec.KubeAPIServerDNSName != "" {
		return nil
	}
	delete(k.live, customKubeconfigSecret)
	delete(k.Secrets, customKubeconfigSecret)
	return kube.DeleteIfExists(ctx, k.Client, stale)
}

// TellKubeconfigs names in the status the kubeconfigs that users get, once they are written.
func TellKubeconfigs(hcp *hyperv1.HostedControlPlane, endpoints publish.Endpoints, secrets pki.Secrets) {
	status := &hcp.Status
	// Written by the certificates step, which comes after the endpoints.
	if !endpoints.APIServer.Known() || secrets[contract.AdminClient] == nil {
		return
	}
	status.KubeConfig = &hyperv1.KubeconfigSecretRef{Name: contract.AdminKubeconfig, Key: hyperv1.KubeconfigKey}
	status.CustomKubeconfig = nil
	if hcp.Spec.KubeAPIServerDNSName != "" {
		status.CustomKubeconfig = &hyperv1.KubeconfigSecretRef{Name: customKubeconfigSecret, Key: hyperv1.KubeconfigKey}
	}
}

func kubeconfigSecret(hcp *hyperv1.HostedControlPlane, config pki.Kubeconfig, text []byte) *corev1.Secret {
	s := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Name: config.Secret, Namespace: hcp.Namespace, Labels: map[string]string{hyperv1.KubeconfigScopeLabel: config.Scope()}},
		Data:       map[string][]byte{config.KeyName(): text},
	}
	if config.KeyName() == contract.ValueKey {
		// What Cluster API looks for.
		s.Type = "cluster.x-k8s.io/secret"
		s.Labels[contract.ClusterNameLabel] = hcp.Spec.InfraID
	}
	return s
}
