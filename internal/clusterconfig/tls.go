package clusterconfig

import (
	"crypto/tls"
	"slices"
	"strings"

	configv1 "github.com/openshift/api/config/v1"

	hyperv1 "github.com/hypershift-on-azure/hypershift/api/v1beta1"
)

// TLS is what the servers of a control plane take at least.
type TLS struct {
	// MinVersion is VersionTLS10 to VersionTLS13.
	MinVersion string
	// Suites are those of TLS 1.2 and below, by the names that Go's programs know (IANA's); none where TLS 1.3 alone is spoken, whose
	// suites are not to be chosen.
	Suites []string
}

// Flags are the options of TLS that programs of Kubernetes share.
func (t TLS) Flags() []string {
	flags := []string{"--tls-min-version=" + t.MinVersion}
	if len(t.Suites) > 0 {
		flags = append(flags, "--tls-cipher-suites="+strings.Join(t.Suites, ","))
	}
	return flags
}

// TLSOf is the profile that spec.configuration.apiServer.tlsSecurityProfile chooses: Intermediate, where it says nothing. What cannot be read
// or served counts as nothing: it is refused before anything is made of it (Unserved), or by those who read APIServerOf.
func TLSOf(c *hyperv1.ClusterConfiguration) TLS {
	settings, err := apiServerOf(c)
	if err != nil || settings.TLSSecurityProfile == nil || Unserved(settings.TLSSecurityProfile) != "" {
		return tlsOf(configv1.TLSProfiles[configv1.TLSProfileIntermediateType])
	}
	return tlsOf(specOf(settings.TLSSecurityProfile))
}

// specOf is what a profile says: its own words if it is Custom, and else those that the API gives for its type.
func specOf(profile *configv1.TLSSecurityProfile) *configv1.TLSProfileSpec {
	if profile.Type == configv1.TLSProfileCustomType {
		if profile.Custom == nil {
			return nil
		}
		return &profile.Custom.TLSProfileSpec
	}
	return configv1.TLSProfiles[profile.Type]
}

// Unserved tells why no server could run with the profile; empty, they can.
func Unserved(profile *configv1.TLSSecurityProfile) string {
	spec := specOf(profile)
	switch {
	case profile.Type == "":
		return ""
	case spec == nil && profile.Type == configv1.TLSProfileCustomType:
		return "type Custom needs custom.minTLSVersion and custom.ciphers"
	case spec == nil:
		return "there is no profile " + string(profile.Type) + "; use Old, Intermediate, Modern or Custom"
	case !strings.HasPrefix(string(spec.MinTLSVersion), "VersionTLS1"):
		return "custom.minTLSVersion is missing; use VersionTLS12 or VersionTLS13"
	}
	// Programs of Go do not start to serve HTTP/2 without: https://www.rfc-editor.org/rfc/rfc9113#section-9.2.2
	t := tlsOf(spec)
	if t.MinVersion != string(configv1.VersionTLS13) && !slices.ContainsFunc(t.Suites, func(suite string) bool {
		return slices.Contains(http2Suites, suite)
	}) {
		return "below TLS 1.3, custom.ciphers needs a suite that HTTP/2 demands, for without one no API server starts; add ECDHE-RSA-AES128-GCM-SHA256, or use minTLSVersion VersionTLS13"
	}
	return ""
}

// Differences are the ciphers of a Custom profile that programs of Go do not have, and those of TLS 1.3 that it leaves out: these programs
// offer all of them.
func Differences(profile *configv1.TLSSecurityProfile) (unoffered, offeredToo []string) {
	if profile.Type != configv1.TLSProfileCustomType || profile.Custom == nil {
		return nil, nil
	}
	modern, asked := configv1.TLSProfiles[configv1.TLSProfileModernType].Ciphers, profile.Custom.Ciphers
	for _, cipher := range asked {
		if !slices.Contains(modern, cipher) && suiteOf(cipher) == "" {
			unoffered = append(unoffered, cipher)
		}
	}
	for _, cipher := range modern {
		if !slices.Contains(asked, cipher) {
			offeredToo = append(offeredToo, cipher)
		}
	}
	return unoffered, offeredToo
}

var http2Suites = []string{tls.CipherSuiteName(tls.TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256), tls.CipherSuiteName(tls.TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256)}

func tlsOf(spec *configv1.TLSProfileSpec) TLS {
	out := TLS{MinVersion: string(spec.MinTLSVersion)}
	if spec.MinTLSVersion == configv1.VersionTLS13 {
		return out
	}
	for _, cipher := range spec.Ciphers {
		if suite := suiteOf(cipher); suite != "" {
			out.Suites = append(out.Suites, suite)
		}
	}
	return out
}

// suites are what Go has below TLS 1.3, by the names of OpenSSL, which the API takes: https://docs.openssl.org/master/man1/openssl-ciphers/
var suites = map[string]uint16{
	"ECDHE-ECDSA-AES128-GCM-SHA256": tls.TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256,
	"ECDHE-RSA-AES128-GCM-SHA256":   tls.TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256,
	"ECDHE-ECDSA-AES256-GCM-SHA384": tls.TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384,
	"ECDHE-RSA-AES256-GCM-SHA384":   tls.TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384,
	"ECDHE-ECDSA-CHACHA20-POLY1305": tls.TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256,
	"ECDHE-RSA-CHACHA20-POLY1305":   tls.TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256,
	"ECDHE-ECDSA-AES128-SHA256":     tls.TLS_ECDHE_ECDSA_WITH_AES_128_CBC_SHA256,
	"ECDHE-RSA-AES128-SHA256":       tls.TLS_ECDHE_RSA_WITH_AES_128_CBC_SHA256,
	"ECDHE-ECDSA-AES128-SHA":        tls.TLS_ECDHE_ECDSA_WITH_AES_128_CBC_SHA,
	"ECDHE-RSA-AES128-SHA":          tls.TLS_ECDHE_RSA_WITH_AES_128_CBC_SHA,
	"ECDHE-ECDSA-AES256-SHA":        tls.TLS_ECDHE_ECDSA_WITH_AES_256_CBC_SHA,
	"ECDHE-RSA-AES256-SHA":          tls.TLS_ECDHE_RSA_WITH_AES_256_CBC_SHA,
	"AES128-GCM-SHA256":             tls.TLS_RSA_WITH_AES_128_GCM_SHA256,
	"AES256-GCM-SHA384":             tls.TLS_RSA_WITH_AES_256_GCM_SHA384,
	"AES128-SHA256":                 tls.TLS_RSA_WITH_AES_128_CBC_SHA256,
	"AES128-SHA":                    tls.TLS_RSA_WITH_AES_128_CBC_SHA,
	"AES256-SHA":                    tls.TLS_RSA_WITH_AES_256_CBC_SHA,
	"DES-CBC3-SHA":                  tls.TLS_RSA_WITH_3DES_EDE_CBC_SHA,
}

func suiteOf(cipher string) string {
	id, ok := suites[cipher]
	if !ok {
		return ""
	}
	return tls.CipherSuiteName(id)
}
