package checks

import (
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/version"

	hyperv1 "github.com/hypershift-on-azure/hypershift/api/v1beta1"
	"github.com/hypershift-on-azure/hypershift/internal/contract"
	"github.com/hypershift-on-azure/hypershift/internal/hostedcluster/cluster"
	"github.com/hypershift-on-azure/hypershift/internal/release"
)

const (
	servingCertificates = "spec.configuration.apiServer.servingCerts.namedCertificates"
	managedHSM          = "ManagedHSM"
	externalOIDC        = "OIDC"
)

// managedHSMRelease is the first release whose encryption provider knows managed HSMs.
var managedHSMRelease = version.MustParseSemantic("4.22.0")

// builtInNames are those under which the control plane itself calls its API server: a certificate of the user's for one of them would
// be served instead of the one that the control plane trusts.
func builtInNames(hc *hyperv1.HostedCluster) []string {
	namespace := contract.ControlPlaneNamespace(hc.Namespace, hc.Name)
	built := []string{"localhost", "127.0.0.1", "::1", "api." + hc.Name + ".hypershift.local",
		contract.APIServer, "kube-apiserver." + namespace + ".svc", "kube-apiserver." + namespace + ".svc.cluster.local"}
	for _, name := range []string{"kubernetes", "openshift"} {
		built = append(built, name, name+".default", name+".default.svc", name+".default.svc.cluster.local")
	}
	return built
}

// conflicting finds the first of the names that is one of the control plane's own.
func conflicting(hc *hyperv1.HostedCluster, names []string) string {
	if _, skip := hc.Annotations[hyperv1.SkipKASConflictSANValidation]; skip {
		return ""
	}
	built := builtInNames(hc)
	for _, name := range names {
		if slices.Contains(built, strings.ToLower(name)) {
			return name
		}
	}
	return ""
}

// invalidCertificates looks at spec.configuration as far as it names no other object.
func invalidCertificates(hc *hyperv1.HostedCluster) []error {
	if hc.Spec.Configuration == nil {
		return nil
	}
	content, err := ConfigurationContent(hc.Spec.Configuration)
	problems := []error{err}
	Walk(content, strings.Split("apiServer.servingCerts.namedCertificates[].names", "."), "spec.configuration", func(field string, value any) {
		if name := conflicting(hc, texts(value)); name != "" {
			problems = append(problems, conflict(field, name))
		}
	})
	return append(problems, invalidAuthentication(content, hc.Spec.IssuerURL)...)
}

func conflict(field, name string) error {
	return fmt.Errorf("%s: %q is a name of the control plane's own API server, whose certificate it must keep; remove the name, or set annotation %s if you know better",
		field, name, hyperv1.SkipKASConflictSANValidation)
}

func texts(value any) []string {
	items, _ := value.([]any)
	var all []string
	for _, item := range items {
		if text, ok := item.(string); ok {
			all = append(all, text)
		}
	}
	return all
}

// ServingCertificate reads the names out of a certificate that the API server is to serve. field is the place in the HostedCluster,
// name that of the Secret with the data; what is in another place is in order.
func ServingCertificate(hc *hyperv1.HostedCluster, field, name string, data map[string][]byte) error {
	if !strings.HasPrefix(field, servingCertificates) {
		return nil
	}
	block, _ := pem.Decode(data[corev1.TLSCertKey])
	if block == nil {
		return fmt.Errorf("%s: Secret %q has no certificate in PEM under key %s; add it", field, name, corev1.TLSCertKey)
	}
	certificate, err := x509.ParseCertificate(block.Bytes)
	if err != nil {
		return fmt.Errorf("%s: the certificate in Secret %q cannot be read: %w", field, name, err)
	}
	names := certificate.DNSNames
	for _, address := range certificate.IPAddresses {
		names = append(names, address.String())
	}
	if name := conflicting(hc, names); name != "" {
		return conflict(field, name)
	}
	return nil
}

// invalidAuthentication checks an external identity provider's settings: with a wrong one nobody could log in any more.
func invalidAuthentication(configuration map[string]any, own string) []error {
	authentication, _ := configuration["authentication"].(map[string]any)
	if authentication["type"] != externalOIDC {
		return nil
	}
	const field = "spec.configuration.authentication.oidcProviders"
	providers, _ := authentication["oidcProviders"].([]any)
	if len(providers) == 0 {
		return []error{errors.New(field + " is required when spec.configuration.authentication.type is OIDC")}
	}
	var problems []error
	seen := map[string]bool{}
	for i, item := range providers {
		provider, _ := item.(map[string]any)
		issuer, _ := provider["issuer"].(map[string]any)
		address, _ := issuer["issuerURL"].(string)
		parsed, err := url.Parse(address)
		if err != nil || parsed.Scheme != "https" || parsed.Host == "" || parsed.RawQuery != "" || parsed.Fragment != "" {
			problems = append(problems, fmt.Errorf("%s[%d].issuer.issuerURL %q is not a URL of the form https://HOST/PATH", field, i, address))
		}
		if len(texts(issuer["audiences"])) == 0 {
			problems = append(problems, fmt.Errorf("%s[%d].issuer.audiences is empty; name the audience of the tokens", field, i))
		}
		if address == own {
			problems = append(problems, fmt.Errorf("%s[%d].issuer.issuerURL %q is the issuer of the cluster's own service accounts; name another one", field, i, address))
		}
		mappings, _ := provider["claimMappings"].(map[string]any)
		username, _ := mappings["username"].(map[string]any)
		if _, prefixed := username["prefix"].(map[string]any); (username["prefixPolicy"] == "Prefix") != prefixed {
			problems = append(problems, fmt.Errorf("%s[%d].claimMappings.username needs a prefix when its prefixPolicy is Prefix, and none otherwise", field, i))
		}
		if seen[address] {
			problems = append(problems, fmt.Errorf("%s[%d].issuer.issuerURL %q is there twice", field, i, address))
		}
		seen[address] = true
	}
	return problems
}

// Vault refuses a managed HSM with a release that cannot use it. Only the release tells, so it comes after the other checks.
func Vault(c *cluster.Cluster, payload *release.Release) error {
	encryption := c.Hosted.Spec.SecretEncryption
	if encryption == nil || encryption.KMS == nil || encryption.KMS.Azure == nil || encryption.KMS.Azure.KeyVaultType != managedHSM {
		return nil
	}
	parsed, err := version.ParseSemantic(payload.Version)
	if err != nil || !parsed.LessThan(managedHSMRelease) {
		return nil
	}
	err = fmt.Errorf("spec.secretEncryption.kms.azure.keyVaultType %s needs release %s or newer, this is %s; choose a newer release or a key vault",
		managedHSM, managedHSMRelease, parsed)
	c.Conditions().False(hyperv1.ValidHostedClusterConfiguration, hyperv1.InvalidConfigurationReason, err.Error())
	return err
}
