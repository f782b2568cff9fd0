package pki

import (
	"bytes"
	"crypto/rsa"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func read(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	must(t, err)
	return string(text)
}

func authority(t *testing.T, base string) Authority {
	t.Helper()
	ca, err := EnsureCA(base, "an authority")
	must(t, err)
	return ca
}

func pool(t *testing.T, path string) *x509.CertPool {
	t.Helper()
	out := x509.NewCertPool()
	if !out.AppendCertsFromPEM([]byte(read(t, path))) {
		t.Fatalf("%s has no certificate", path)
	}
	return out
}

// handshake connects a client to a server by TLS, both with certificates, and tells what either says.
func handshake(server, client *tls.Config) error {
	a, b := net.Pipe()
	failed := make(chan error, 1)
	go func() {
		c := tls.Server(a, server)
		_, err := io.WriteString(c, "hello")
		failed <- err
		_ = a.Close()
	}()
	c := tls.Client(b, client)
	_, err := io.ReadFull(c, make([]byte, 5))
	_ = b.Close()
	return errors.Join(err, <-failed)
}

// The certificates serve both sides of a connection, for the names and addresses they are made for, and for nobody else's.
func TestCertificatesServe(t *testing.T) {
	dir := t.TempDir()
	ca, other := authority(t, filepath.Join(dir, "ca")), authority(t, filepath.Join(dir, "other"))
	load := func(by Authority, name string, id Identity) tls.Certificate {
		must(t, by.Issue(filepath.Join(dir, name), id))
		pair, err := tls.LoadX509KeyPair(filepath.Join(dir, name)+".crt", filepath.Join(dir, name)+".key")
		must(t, err)
		return pair
	}
	server := load(ca, "server", Identity{Name: "api", Hosts: []string{"api.example", "192.0.2.1", "fd00::1"}})
	client := load(ca, "client", Identity{Name: "system:node:a", Group: "system:nodes"})
	foreign := load(other, "foreign", Identity{Name: "system:node:a", Group: "system:nodes"})
	for name, c := range map[string]struct {
		host   string
		client tls.Certificate
		fails  string
	}{
		"by name":                      {"api.example", client, ""},
		"by address":                   {"192.0.2.1", client, ""},
		"by an address of IPv6":        {"fd00::1", client, ""},
		"by another name":              {"www.example", client, "www.example"},
		"by the name of its owner":     {"api", client, "api"},
		"a client of another's":        {"api.example", foreign, "certificate"},
		"a server's, used as client's": {"api.example", server, ""},
	} {
		seen := ""
		err := handshake(
			&tls.Config{Certificates: []tls.Certificate{server}, MinVersion: tls.VersionTLS13,
				ClientAuth: tls.RequireAndVerifyClientCert, ClientCAs: pool(t, filepath.Join(dir, "ca.crt")),
				VerifyConnection: func(s tls.ConnectionState) error {
					seen = s.PeerCertificates[0].Subject.String()
					return nil
				}},
			&tls.Config{Certificates: []tls.Certificate{c.client}, ServerName: c.host, RootCAs: pool(t, filepath.Join(dir, "ca.crt")),
				MinVersion: tls.VersionTLS13})
		if (err == nil) != (c.fails == "") || err != nil && !strings.Contains(err.Error(), c.fails) {
			t.Errorf("%s: %v, want %q", name, err, c.fails)
		}
		if name == "by name" && seen != "CN=system:node:a,O=system:nodes" {
			t.Errorf("the server sees %s", seen)
		}
	}
	if cert := client.Leaf; cert.IsCA || cert.NotBefore.After(time.Now().Add(-clockSkew+time.Minute)) {
		t.Errorf("CA %v, valid from %s", cert.IsCA, cert.NotBefore)
	}
}

// Private keys are the owner's alone.
func TestModesOfFiles(t *testing.T) {
	dir := t.TempDir()
	must(t, authority(t, filepath.Join(dir, "ca")).Issue(filepath.Join(dir, "a"), Identity{Name: "a"}))
	must(t, EnsureServiceAccountKey(filepath.Join(dir, "sa")))
	for name, mode := range map[string]os.FileMode{"ca.key": 0o600, "a.key": 0o600, "sa.key": 0o600, "ca.crt": 0o644, "a.crt": 0o644, "sa.pub": 0o644} {
		if info, err := os.Stat(filepath.Join(dir, name)); err != nil || info.Mode() != mode {
			t.Errorf("%s: %v, %v, want %v", name, info, err, mode)
		}
	}
}

// What is right stays, so that what runs with it goes on; what no longer serves is made again.
func TestIssueAgain(t *testing.T) {
	id := Identity{Name: "a", Group: "g", Hosts: []string{"a.example", "192.0.2.1"}}
	for name, c := range map[string]struct {
		change func(t *testing.T, base string)
		id     Identity
		stays  bool
	}{
		"the same":           {func(*testing.T, string) {}, id, true},
		"the key is lost":    {func(t *testing.T, base string) { must(t, os.Remove(base+".key")) }, id, false},
		"the certificate is": {func(t *testing.T, base string) { must(t, os.Remove(base+".crt")) }, id, false},
		"cut off":            {func(t *testing.T, base string) { must(t, os.Truncate(base+".crt", 40)) }, id, false},
		"another key": {func(t *testing.T, base string) {
			must(t, authority(t, base+"-ca").Issue(base+"-other", id))
			must(t, os.Rename(base+"-other.key", base+".key"))
		}, id, false},
		"one host more":    {func(*testing.T, string) {}, Identity{"a", "g", []string{"a.example", "b.example", "192.0.2.1"}}, false},
		"one address less": {func(*testing.T, string) {}, Identity{"a", "g", []string{"a.example"}}, false},
		"another address":  {func(*testing.T, string) {}, Identity{"a", "g", []string{"a.example", "192.0.2.2"}}, false},
		"another name":     {func(*testing.T, string) {}, Identity{"b", "g", id.Hosts}, false},
		"another group":    {func(*testing.T, string) {}, Identity{"a", "h", id.Hosts}, false},
		"of no group":      {func(*testing.T, string) {}, Identity{"a", "", id.Hosts}, false},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			base := filepath.Join(dir, "a")
			ca := authority(t, filepath.Join(dir, "ca"))
			must(t, ca.Issue(base, id))
			before := read(t, base+".crt")
			c.change(t, base)
			must(t, ca.Issue(base, c.id))
			if stays := read(t, base+".crt") == before; stays != c.stays {
				t.Errorf("the certificate stays: %v, want %v", stays, c.stays)
			}
			if !ca.issued(base, c.id) {
				t.Error("what is made is not what is asked for")
			}
		})
	}
}

func TestRenewal(t *testing.T) {
	dir := t.TempDir()
	base := filepath.Join(dir, "a")
	synctest.Test(t, func(t *testing.T) {
		ca := authority(t, filepath.Join(dir, "ca"))
		must(t, ca.Issue(base, Identity{Name: "a"}))
		before := read(t, base+".crt")
		time.Sleep(certLifetime - renewBefore - time.Hour)
		must(t, ca.Issue(base, Identity{Name: "a"}))
		if read(t, base+".crt") != before {
			t.Error("renewed early")
		}
		time.Sleep(2 * time.Hour)
		must(t, ca.Issue(base, Identity{Name: "a"}))
		if read(t, base+".crt") == before {
			t.Error("not renewed before its end")
		}
	})
}

// An authority that lost a file is another one, and so are its certificates and the bundle; who trusts one of them trusts all.
func TestEnsure(t *testing.T) {
	dir := t.TempDir()
	roots := filepath.Join(dir, "roots.pem")
	must(t, os.WriteFile(roots, []byte("# roots of the system"), 0o600)) // without an end of its line
	before := systemBundles
	defer func() { systemBundles = before }()
	systemBundles = []string{filepath.Join(dir, "none.pem"), roots, filepath.Join(dir, "not read")}
	bundle := filepath.Join(dir, "pki", "bundle.pem")
	must(t, Ensure(dir))
	ca := read(t, CA(dir))
	if got := read(t, bundle); got != "# roots of the system\n"+ca {
		t.Errorf("the bundle is\n%s", got)
	}
	must(t, os.WriteFile(roots, []byte("# others\n"), 0o600))
	must(t, Ensure(dir))
	if read(t, CA(dir)) != ca || !strings.HasPrefix(read(t, bundle), "# roots of the system\n") {
		t.Error("what was there is made again")
	}
	for _, lost := range []string{"ca.crt", "ca.key"} {
		must(t, os.Remove(filepath.Join(dir, "pki", lost)))
		must(t, Ensure(dir))
		made := read(t, CA(dir))
		if made == ca {
			t.Errorf("without %s the authority is the former one", lost)
		}
		if got := read(t, bundle); got != "# others\n"+made {
			t.Errorf("without %s the bundle has another authority:\n%s", lost, got)
		}
		loaded, err := Load(dir)
		must(t, err)
		must(t, loaded.Issue(filepath.Join(dir, "a"), Identity{Name: "a"}))
		if !loaded.issued(filepath.Join(dir, "a"), Identity{Name: "a"}) {
			t.Errorf("without %s a certificate of the former authority stays", lost)
		}
		ca = made
	}
	systemBundles = nil // a machine without roots trusts the sandbox alone
	must(t, os.Remove(bundle))
	must(t, Ensure(dir))
	if read(t, bundle) != ca {
		t.Error("without roots of the system the bundle is not the authority")
	}
}

// A file that is no certificate is nobody's to replace: it says what to do.
func TestBrokenAuthority(t *testing.T) {
	for name, c := range map[string]struct{ file, text, want string }{
		"no certificate": {"ca.crt", "nothing", "remove it and its key"},
		"a broken one":   {"ca.crt", string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: []byte("x")})), "ca.crt: "},
		"no key":         {"ca.key", "nothing", "ca.key holds no key"},
		"a broken key":   {"ca.key", string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: []byte("x")})), "ca.key: "},
	} {
		base := filepath.Join(t.TempDir(), "ca")
		authority(t, base)
		path := filepath.Join(filepath.Dir(base), c.file)
		must(t, os.WriteFile(path, []byte(c.text), 0o600))
		if _, err := EnsureCA(base, "an authority"); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
		if read(t, path) != c.text {
			t.Errorf("%s: the file is replaced", name)
		}
	}
}

func TestServiceAccountKey(t *testing.T) {
	base := filepath.Join(t.TempDir(), "sa")
	must(t, EnsureServiceAccountKey(base))
	private, public := read(t, base+".key"), read(t, base+".pub")
	block, _ := pem.Decode([]byte(private))
	key, err := x509.ParsePKCS8PrivateKey(block.Bytes)
	must(t, err)
	pair, ok := key.(*rsa.PrivateKey) // tokens are signed with RS256
	if !ok || pair.N.BitLen() < 2048 {
		t.Fatalf("a key of type %T", key)
	}
	der, err := x509.MarshalPKIXPublicKey(pair.Public())
	must(t, err)
	if block, _ := pem.Decode([]byte(public)); block.Type != "PUBLIC KEY" || !bytes.Equal(block.Bytes, der) {
		t.Error("the public key is that of another private one")
	}
	must(t, EnsureServiceAccountKey(base))
	if read(t, base+".key") != private {
		t.Error("a key that is there is made again: no token would be valid any more")
	}
}
