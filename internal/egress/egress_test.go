package egress

import (
	"crypto/tls"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"strings"
	"testing"
)

func TestCheck(t *testing.T) {
	for address, want := range map[string]struct{ tenants, private bool }{
		"93.184.215.14":          {true, true},
		"2606:2800::1":           {true, true},
		"10.1.2.3":               {false, true},
		"172.16.0.1":             {false, true},
		"192.168.0.1":            {false, true},
		"100.64.0.1":             {false, true},
		"fd00::1":                {false, true},
		"::ffff:10.1.2.3":        {false, true},
		"127.0.0.1":              {},
		"::1":                    {},
		"::ffff:127.0.0.1":       {},
		"0.0.0.0":                {},
		"::":                     {},
		"0.1.2.3":                {},
		"169.254.169.254":        {},
		"::ffff:169.254.169.254": {},
		"64:ff9b::a9fe:a9fe":     {},
		"2002:a9fe:a9fe::1":      {},
		"fe80::1%eth0":           {},
		"168.63.129.16":          {},
		"224.0.0.1":              {},
		"255.255.255.255":        {},
	} {
		for policy, allowed := range map[Policy]bool{{}: want.tenants, {AllowPrivate: true}: want.private} {
			err := policy.Check(netip.MustParseAddr(address))
			if (err == nil) != allowed || (err != nil && !errors.Is(err, ErrRefused)) {
				t.Errorf("%s with %+v: %v", address, policy, err)
			}
		}
	}
}

// TestTransport: the control is the same request without the policy.
func TestTransport(t *testing.T) {
	secure := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "inside") }))
	defer secure.Close()
	plain := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("a plain request arrived") }))
	defer plain.Close()
	base := &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}
	if response, err := (&http.Client{Transport: base}).Get(secure.URL); err != nil || response.StatusCode != http.StatusOK {
		t.Fatal(response, err)
	}
	client := &http.Client{Transport: Policy{AllowPrivate: true}.Transport(base)}
	_, port, _ := strings.Cut(strings.TrimPrefix(secure.URL, "https://"), ":")
	for _, address := range []string{secure.URL, "https://localhost:" + port, plain.URL, "http://169.254.169.254/metadata"} {
		response, err := client.Get(address)
		if !errors.Is(err, ErrRefused) {
			t.Errorf("%s: %v, %v", address, response, err)
		}
	}
}

// TestProxied: the proxy may be in a private network, and does not become a way to addresses that are refused.
func TestProxied(t *testing.T) {
	var asked []string
	proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked = append(asked, r.Host)
		http.Error(w, "no further", http.StatusBadGateway)
	}))
	defer proxy.Close()
	address, err := url.Parse(proxy.URL)
	if err != nil {
		t.Fatal(err)
	}
	client := &http.Client{Transport: Policy{}.Transport(&http.Transport{Proxy: http.ProxyURL(address)})}
	if _, err := client.Get("https://registry.example.com/v2/"); err == nil || errors.Is(err, ErrRefused) || len(asked) != 1 {
		t.Errorf("a name: %v, the proxy was asked for %v", err, asked)
	}
	if _, err := client.Get("https://169.254.169.254/"); !errors.Is(err, ErrRefused) || len(asked) != 1 {
		t.Errorf("an address: %v, the proxy was asked for %v", err, asked)
	}
}
