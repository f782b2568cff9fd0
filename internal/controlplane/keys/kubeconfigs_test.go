package keys

import (
	"maps"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/runtime"

	hyperv1 "github.com/hypershift-on-azure/hypershift/api/v1beta1"
	"github.com/hypershift-on-azure/hypershift/internal/controlplane/planetest"
	"github.com/hypershift-on-azure/hypershift/internal/pki"
	"github.com/hypershift-on-azure/hypershift/internal/publish"
)

func configured(apiServer string) *hyperv1.HostedControlPlane {
	hcp := planetest.Plane()
	hcp.Spec.Configuration = &hyperv1.ClusterConfiguration{APIServer: &runtime.RawExtension{Raw: []byte(apiServer)}}
	return hcp
}

// userCertificate is one of an authority of the user's own.
func userCertificate(t *testing.T, host string) map[string][]byte {
	t.Helper()
	authorities := []pki.Authority{{Secret: "authority", CN: "company", CertKey: "ca.crt", KeyKey: "ca.key"}}
	have, err := pki.EnsureAuthorities(nil, authorities, pki.DefaultPolicy(), time.Now())
	if err != nil {
		t.Fatal(err)
	}
	leaves, err := pki.EnsureLeavesOf(have, authorities, []pki.Leaf{{Secret: "leaf", Signer: "authority", CN: host, Hosts: []string{host}}}, pki.DefaultPolicy(), time.Now())
	if err != nil {
		t.Fatal(err)
	}
	return leaves["leaf"]
}

func TestCustomKubeconfig(t *testing.T) {
	certificate := userCertificate(t, "api.example.com")
	without := maps.Clone(certificate)
	delete(without, "ca.crt")
	for name, test := range map[string]struct {
		hcp    *hyperv1.HostedControlPlane
		data   map[string][]byte
		dns    string
		wanted string
	}{
		"no certificate of the user's": {planetest.Plane(), nil, "api.example.com", ""},
		"its authority":                {configured(`{"servingCerts":{"namedCertificates":[{"servingCertificate":{"name":"mine"}}]}}`), certificate, "api.example.com", string(certificate["ca.crt"])},
		"itself":                       {configured(`{"servingCerts":{"namedCertificates":[{"servingCertificate":{"name":"mine"}}]}}`), without, "api.example.com", string(certificate["tls.crt"])},
		"another name":                 {configured(`{"servingCerts":{"namedCertificates":[{"servingCertificate":{"name":"mine"}}]}}`), certificate, "other.example.com", ""},
		"listed names":                 {configured(`{"servingCerts":{"namedCertificates":[{"names":["*.example.com"],"servingCertificate":{"name":"mine"}}]}}`), certificate, "other.example.com", string(certificate["ca.crt"])},
		"names that replace":           {configured(`{"servingCerts":{"namedCertificates":[{"names":["x.test"],"servingCertificate":{"name":"mine"}}]}}`), certificate, "api.example.com", ""},
	} {
		test.hcp.Spec.KubeAPIServerDNSName = test.dns
		endpoints, secrets := publish.Endpoints{}, pki.Secrets{"mine": test.data}
		endpoints.APIServer = publish.Endpoint{Host: "198.18.16.3", Port: 7443}
		list := kubeconfigsOf(test.hcp, endpoints, secrets)
		custom := list[len(list)-1]
		if custom.Secret != customKubeconfigSecret || custom.Server != "https://"+test.dns+":7443" || string(custom.ServerCA) != test.wanted {
			t.Errorf("%s: %s leads to %s, trusts\n%s", name, custom.Secret, custom.Server, custom.ServerCA)
		}
		endpoints.APIServer = publish.Endpoint{}
		if list := kubeconfigsOf(test.hcp, endpoints, secrets); strings.Contains(list[len(list)-1].Secret, "custom") {
			t.Errorf("%s: written before the port is known", name)
		}
	}
}
