package pki

import (
	"bytes"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"maps"
	"slices"

	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/hypershift-on-azure/hypershift/internal/contract"
)

// bundles names the authorities in each ConfigMap.
var bundles = map[string][]string{
	contract.RootCA:               {contract.RootCA},
	contract.EtcdCA:               {EtcdSigner},
	contract.EtcdMetricsCA:        {EtcdMetricsSigner},
	contract.KonnectivityCABundle: {KonnectivitySigner},
	contract.AggregatorClientCA:   {AggregatorSigner},
	clientCA:                      {AdminSigner, contract.ControlPlaneSigner, KubeletClientSigner, HCCOSigner, BootstrapSigner, contract.CSRSigner},
	// What kubelets trust in clients, and what the API server trusts in kubelets.
	contract.KubeletClientCA: {KubeletClientSigner, contract.CSRSigner},
	contract.KubeletCA:       {contract.CSRSigner},
}

const clientCA = contract.ClientCA

// Bundles are the ConfigMaps with trusted authorities, predecessors among them, by name, for key ca.crt; one whose authorities are not all there yet is left
// out. more, PEM, joins the bundles of these names.
func Bundles(have Secrets, more map[string][]byte) map[string][]byte {
	trusted, optional := map[string][]byte{}, map[string]bool{}
	for _, a := range Authorities() {
		trusted[a.Secret], optional[a.Secret] = a.trusted(have[a.Secret]), a.Kind != ""
	}
	out := map[string][]byte{}
	for name, members := range bundles {
		var text []byte
		for _, member := range members {
			if len(trusted[member]) == 0 && optional[member] {
				continue
			}
			if len(trusted[member]) == 0 {
				text = nil
				break
			}
			text = append(text, trusted[member]...)
		}
		if len(text) > 0 {
			out[name] = text
		}
	}
	for name, given := range more {
		if extra := bytes.TrimSpace(given); len(extra) > 0 && len(out[name]) > 0 {
			out[name] = append(append(out[name], extra...), '\n')
		}
	}
	return out
}

// Trusted is an authority with its predecessors that are still trusted, PEM.
func Trusted(have Secrets, authority string) []byte {
	for _, a := range Authorities() {
		if a.Secret == authority {
			return a.trusted(have[authority])
		}
	}
	return nil
}

// Addresses of the API server inside the control plane.
const (
	serviceURL = "https://kube-apiserver:6443"
	localURL   = "https://localhost:6443"

	bootstrapKubeconfig = contract.BootstrapKubeconfig

	// APIBootstrapKubeconfig is of who brings the first objects of an OpenShift payload into the guest, APIBootstrapClient its certificate.
	APIBootstrapKubeconfig = "kas-bootstrap-container-kubeconfig"
	APIBootstrapClient     = "kas-bootstrap-container-client"
)

// Kubeconfig is one Secret with a kubeconfig.
type Kubeconfig struct {
	Secret string
	// Key defaults to "kubeconfig".
	Key    string
	Server string
	// Client is the Secret of the client certificate.
	Client string
	// ServerCA, PEM, is what the server's certificate is trusted by besides the root CA.
	ServerCA []byte
}

// Scope is from where the kubeconfig works: from everywhere, from the control plane, or for machines that join.
func (k Kubeconfig) Scope() string {
	switch {
	case k.Secret == bootstrapKubeconfig:
		return "bootstrap"
	case k.Server == serviceURL || k.Server == localURL:
		return "local"
	}
	return "external"
}

// KeyName is the Secret's key of the kubeconfig.
func (k Kubeconfig) KeyName() string {
	if k.Key == "" {
		return contract.KubeconfigKey
	}
	return k.Key
}

// Kubeconfigs is HyperShift's table of kubeconfigs. externalURL is empty until the endpoint is published.
func Kubeconfigs(infraID, externalURL string) []Kubeconfig {
	list := []Kubeconfig{
		{Secret: contract.ServiceKubeconfig, Server: serviceURL, Client: contract.AdminClient},
		{Secret: contract.LocalhostKubeconfig, Server: localURL, Client: contract.AdminClient},
		{Secret: contract.ConfigOperatorKubeconfig, Server: serviceURL, Client: "hcco-client"},
		{Secret: contract.SchedulerKubeconfig, Server: serviceURL, Client: "kube-scheduler-client"},
		{Secret: contract.ControllerManagerKubeconfig, Server: serviceURL, Client: contract.ControllerManager},
		{Secret: WebhookKubeconfig, Server: localURL, Client: WebhookClient},
		{Secret: APIBootstrapKubeconfig, Server: localURL, Client: APIBootstrapClient},
		{Secret: infraID + "-kubeconfig", Key: contract.ValueKey, Server: serviceURL, Client: contract.AdminClient},
	}
	list = append(list, identityKubeconfigs(serviceURL)...)
	if externalURL != "" {
		list = append(list,
			Kubeconfig{Secret: contract.AdminKubeconfig, Server: externalURL, Client: contract.AdminClient},
			Kubeconfig{Secret: bootstrapKubeconfig, Server: externalURL, Client: "kas-bootstrap-client"})
	}
	return list
}

// Complete tells whether have carries what the kubeconfig embeds.
func (k Kubeconfig) Complete(have Secrets) bool {
	return len(have[contract.RootCA][contract.CAKey]) > 0 && len(have[k.Client][corev1.TLSPrivateKeyKey]) > 0
}

// Render writes the kubeconfig with the root CA and the client certificate embedded.
func (k Kubeconfig) Render(have Secrets) ([]byte, error) {
	config := clientcmdapi.Config{
		Clusters: map[string]*clientcmdapi.Cluster{"cluster": {
			Server: k.Server, CertificateAuthorityData: append(Trusted(have, contract.RootCA), k.ServerCA...)}},
		AuthInfos: map[string]*clientcmdapi.AuthInfo{"admin": {
			ClientCertificateData: have[k.Client][corev1.TLSCertKey], ClientKeyData: have[k.Client][corev1.TLSPrivateKeyKey]}},
		Contexts:       map[string]*clientcmdapi.Context{"admin": {Cluster: "cluster", AuthInfo: "admin", Namespace: "default"}},
		CurrentContext: "admin",
	}
	text, err := clientcmd.Write(config)
	if err != nil {
		return nil, fmt.Errorf("kubeconfig %s: %w", k.Secret, err)
	}
	return text, nil
}

// ServiceAccountSecret holds the key pair that signs service account tokens.
const ServiceAccountSecret = contract.SigningKey

// EnsureServiceAccountKey returns the pair to write, or nil when have carries a usable one: a key the user supplied stays.
func EnsureServiceAccountKey(have map[string][]byte) (map[string][]byte, error) {
	if _, err := ParsePrivateKey(have[contract.SigningPrivateKey]); err == nil && len(have[contract.SigningPublicKey]) > 0 {
		return nil, nil
	}
	if len(have[contract.SigningPrivateKey]) > 0 {
		if _, err := ParsePrivateKey(have[contract.SigningPrivateKey]); err != nil {
			return nil, fmt.Errorf("Secret %s holds an unusable key; supply a PEM RSA private key: %w", ServiceAccountSecret, err)
		}
	}
	key, err := rsa.GenerateKey(rand.Reader, keyBits)
	if err != nil {
		return nil, fmt.Errorf("generate service account key: %w", err)
	}
	public, err := x509.MarshalPKIXPublicKey(key.Public())
	if err != nil {
		return nil, fmt.Errorf("encode service account public key: %w", err)
	}
	return map[string][]byte{
		contract.SigningPrivateKey: pem.EncodeToMemory(&pem.Block{Type: "RSA PRIVATE KEY", Bytes: x509.MarshalPKCS1PrivateKey(key)}),
		contract.SigningPublicKey:  pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: public}),
	}, nil
}

// Names of the Secrets in the order they should be written.
func (s Secrets) Names() []string { return slices.Sorted(maps.Keys(s)) }
