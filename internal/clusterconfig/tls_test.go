package clusterconfig

import (
	"crypto/tls"
	"net/http"
	"slices"
	"strings"
	"testing"

	configv1 "github.com/openshift/api/config/v1"
	"golang.org/x/net/http2"
	"k8s.io/apimachinery/pkg/runtime"

	hyperv1 "github.com/hypershift-on-azure/hypershift/api/v1beta1"
)

const intermediate = "--tls-cipher-suites=TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256,TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256," +
	"TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384,TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384," +
	"TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256,TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256"

var versions = map[string]uint16{"VersionTLS10": tls.VersionTLS10, "VersionTLS11": tls.VersionTLS11, "VersionTLS12": tls.VersionTLS12, "VersionTLS13": tls.VersionTLS13}

// TestTLSProfiles: what a profile makes of the flags of servers, which know each suite and serve HTTP/2 with them.
func TestTLSProfiles(t *testing.T) {
	for _, test := range []struct{ section, version, suites string }{
		{``, "12", intermediate},
		{`{}`, "12", intermediate},
		{`{"tlsSecurityProfile":{"type":"Intermediate","intermediate":{}}}`, "12", intermediate},
		{`{"tlsSecurityProfile":{"type":"Modern","modern":{}}}`, "13", ""},
		{`{"tlsSecurityProfile":{"type":"Old","old":{}}}`, "10", "TLS_RSA_WITH_3DES_EDE_CBC_SHA"},
		{`{"tlsSecurityProfile":{"type":"Custom","custom":{"minTLSVersion":"VersionTLS11","ciphers":["DHE-RSA-AES128-GCM-SHA256","ECDHE-RSA-AES128-GCM-SHA256"]}}}`,
			"11", "--tls-cipher-suites=TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256"},
		{`{"tlsSecurityProfile":{"type":"Custom","custom":{"minTLSVersion":"VersionTLS13","ciphers":["AES128-SHA"]}}}`, "13", ""},
		// What nobody can serve is refused elsewhere, and never served without care.
		{`{"tlsSecurityProfile":{"type":"Custom"}}`, "12", intermediate},
		{`{"tlsSecurityProfile":"Modern"}`, "12", intermediate},
	} {
		c := &hyperv1.ClusterConfiguration{}
		if test.section != "" {
			c.APIServer = &runtime.RawExtension{Raw: []byte(test.section)}
		}
		profile := TLSOf(c)
		flags := profile.Flags()
		if flags[0] != "--tls-min-version=VersionTLS"+test.version || (test.suites == "") != (len(flags) == 1) || !strings.Contains(strings.Join(flags[1:], " "), test.suites) {
			t.Errorf("%s: %v", test.section, flags)
		}
		if err := serves(t, profile); err != nil {
			t.Errorf("%s: %v", test.section, err)
		}
	}
	if got := TLSOf(nil).Flags(); got[1] != intermediate {
		t.Errorf("nothing configured: %v", got)
	}
}

// serves has a server begin as kube-apiserver does.
func serves(t *testing.T, profile TLS) error {
	t.Helper()
	config := &tls.Config{MinVersion: versions[profile.MinVersion]}
	for _, suite := range slices.Concat(tls.CipherSuites(), tls.InsecureCipherSuites()) {
		if slices.Contains(profile.Suites, suite.Name) {
			config.CipherSuites = append(config.CipherSuites, suite.ID)
		}
	}
	if len(config.CipherSuites) != len(profile.Suites) {
		t.Errorf("programs of Go do not know all of %v", profile.Suites)
	}
	return http2.ConfigureServer(&http.Server{TLSConfig: config}, nil) //nolint:staticcheck // kube-apiserver calls it: k8s.io/apiserver/pkg/server/secure_serving.go
}

// TestTLSProfilesThatNobodyServes: they are refused for a reason, and what is left out of the others is told.
func TestTLSProfilesThatNobodyServes(t *testing.T) {
	custom := func(version configv1.TLSProtocolVersion, ciphers ...string) *configv1.TLSSecurityProfile {
		return &configv1.TLSSecurityProfile{Type: configv1.TLSProfileCustomType,
			Custom: &configv1.CustomTLSProfile{TLSProfileSpec: configv1.TLSProfileSpec{MinTLSVersion: version, Ciphers: ciphers}}}
	}
	for _, test := range []struct {
		profile   *configv1.TLSSecurityProfile
		why       string
		unoffered []string
		too       int
	}{
		{&configv1.TLSSecurityProfile{}, "", nil, 0},
		{&configv1.TLSSecurityProfile{Type: configv1.TLSProfileOldType}, "", nil, 0},
		{&configv1.TLSSecurityProfile{Type: "Best"}, "there is no profile Best", nil, 0},
		{&configv1.TLSSecurityProfile{Type: configv1.TLSProfileCustomType}, "needs custom.minTLSVersion", nil, 0},
		{custom(""), "custom.minTLSVersion is missing", nil, 0},
		{custom(configv1.VersionTLS12), "suite that HTTP/2 demands", nil, 0},
		{custom(configv1.VersionTLS12, "ECDHE-RSA-AES256-GCM-SHA384"), "suite that HTTP/2 demands", nil, 0},
		{custom(configv1.VersionTLS12, "ECDHE-ECDSA-AES128-GCM-SHA256", "TLS_AES_128_GCM_SHA256", "TLS_CHACHA20_POLY1305_SHA256", "DHE-RSA-AES128-GCM-SHA256"), "",
			[]string{"DHE-RSA-AES128-GCM-SHA256"}, 1},
		{custom(configv1.VersionTLS13, "TLS_AES_128_CCM_SHA256"), "", []string{"TLS_AES_128_CCM_SHA256"}, 3},
		{custom(configv1.VersionTLS13), "", nil, 3},
	} {
		if got := Unserved(test.profile); (got == "") != (test.why == "") || !strings.Contains(got, test.why) {
			t.Errorf("%+v: %q, want %q", test.profile, got, test.why)
		}
		if spec := specOf(test.profile); spec != nil && len(spec.Ciphers) > 0 && (test.why == "") != (serves(t, tlsOf(spec)) == nil) {
			t.Errorf("%+v: a server begins with it: %v", test.profile, serves(t, tlsOf(spec)))
		}
		if test.why != "" {
			continue
		}
		if got, too := Differences(test.profile); !slices.Equal(got, test.unoffered) || len(too) != test.too {
			t.Errorf("%+v: %v are not offered, want %v; %v are, too", test.profile, got, test.unoffered, too)
		}
	}
}
