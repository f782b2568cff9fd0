// Package phase1 runs what the Azure administrator types, as scripts, against an embedded Azure on this machine.
package phase1

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"math/big"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/hypershift-on-azure/hypershift/internal/cli"
	"github.com/hypershift-on-azure/hypershift/sandbox/azure"
	"github.com/hypershift-on-azure/hypershift/sandbox/azure/pace"
)

const (
	subscription = "5a2d0b0e-0000-4000-8000-000000000001"
	tenant       = "7e0a1d00-0000-4000-8000-000000000001"
	clientID     = "5e41ce00-0000-4000-8000-000000000001"
	secret       = "s3cret"
)

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){
		"hypershift": func() { os.Exit(cli.Main(os.Args[1:], os.Stdout, os.Stderr)) },
	})
}

// world is an embedded Azure and the files that lead to it.
type world struct {
	server               *azure.Server
	ca, key, credentials string
}

func newWorld(dir string, change ...func(*azure.Config)) (*world, func(), error) {
	w := &world{ca: filepath.Join(dir, "ca.crt"), key: filepath.Join(dir, "signer.pem"), credentials: filepath.Join(dir, "azure-credentials.json")}
	caKey := filepath.Join(dir, "ca.key")
	if err := writeFiles(w, caKey); err != nil {
		return nil, nil, err
	}
	ctx, cancel := context.WithCancel(context.Background())
	zone := func(group, name string) azure.SeedResource {
		return azure.SeedResource{ID: "/subscriptions/" + subscription + "/resourceGroups/" + group + "/providers/Microsoft.Network/dnszones/" + name, Body: map[string]any{"location": "global"}}
	}
	config := azure.Config{
		Dir: filepath.Join(dir, "azure"), ProxyAddr: "127.0.0.1:0", DNSAddr: "127.0.0.1:0", CACert: w.ca, CAKey: caKey, Subscription: subscription, Tenant: tenant, Location: "eastus",
		ServicePrincipal: azure.ServicePrincipal{ClientID: clientID, Secret: secret}, OperationTime: 5 * time.Millisecond,
		Seed: []azure.SeedResource{
			{ID: "/subscriptions/" + subscription + "/resourceGroups/parent", Body: map[string]any{"location": "eastus"}}, zone("parent", "example.com"),
		},
	}
	for _, f := range change {
		f(&config)
	}
	server, err := azure.Start(ctx, config)
	if err != nil {
		cancel()
		return nil, nil, err
	}
	w.server = server
	return w, func() { cancel(); _ = server.Wait() }, nil
}

// startWorld makes one in a folder for a test, which ends with a look at what was sent and answered.
func startWorld(t *testing.T, dir string) *world {
	t.Helper()
	w, stop, err := newWorld(dir)
	must(t, err)
	t.Cleanup(func() {
		stop()
		must(t, replay(dir))
	})
	return w
}

func writeFiles(w *world, caKey string) error {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return err
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "test CA"}, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		return err
	}
	keyDER, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return err
	}
	credentials, err := json.Marshal(map[string]string{"subscriptionId": subscription, "tenantId": tenant, "clientId": clientID, "clientSecret": secret})
	if err != nil {
		return err
	}
	signer, err := newSigner()
	if err != nil {
		return err
	}
	for path, raw := range map[string][]byte{
		w.ca: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), caKey: pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: keyDER}),
		w.credentials: credentials, w.key: signer,
	} {
		if err := os.WriteFile(path, raw, 0o600); err != nil {
			return err
		}
	}
	return nil
}

// newSigner makes a key that is small enough not to be what the tests wait for.
func newSigner() ([]byte, error) {
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		return nil, err
	}
	return pem.EncodeToMemory(&pem.Block{Type: "RSA PRIVATE KEY", Bytes: x509.MarshalPKCS1PrivateKey(key)}), nil
}

func TestScripts(t *testing.T) { runScripts(t, testscript.Params{Dir: "scripts"}) }

// realisticScale makes the seconds of the realistic profile fit a short test.
const realisticScale = 0.1

// The commands succeed at the first attempt where nothing that was just made is known at once, and operations take their time.
func TestScriptsWithTheRealisticProfile(t *testing.T) {
	runScripts(t, testscript.Params{Files: []string{"scripts/prerequisites.txtar", "scripts/issuer.txtar", "scripts/iam.txtar", "scripts/handoff.txtar"}},
		func(c *azure.Config) { c.Profile, c.ProfileScale = pace.Realistic, realisticScale })
}

func runScripts(t *testing.T, p testscript.Params, change ...func(*azure.Config)) {
	p.RequireExplicitExec = true
	p.Setup, p.Cmds = func(env *testscript.Env) error { return setup(env, change...) }, scriptCommands()
	testscript.Run(t, p)
}

// setup starts an embedded Azure for a script.
func setup(env *testscript.Env, change ...func(*azure.Config)) error {
	dir, err := os.MkdirTemp("", "phase1-")
	if err != nil {
		return err
	}
	w, stop, err := newWorld(dir, change...)
	if err != nil {
		os.RemoveAll(dir)
		return fmt.Errorf("starting the embedded Azure: %w", err)
	}
	env.Defer(func() {
		stop()
		if err := replay(dir); err != nil {
			env.T().Fatal(err)
		}
		os.RemoveAll(dir)
	})
	env.Vars = append(env.Vars, "HTTPS_PROXY=http://"+w.server.ProxyAddr(), "SSL_CERT_FILE="+w.ca, "CREDS="+w.credentials, "DNS="+w.server.DNSAddr(),
		"KEY="+w.key, "SUBSCRIPTION="+subscription, "HOME="+env.WorkDir)
	env.Values[worldKey{}] = w
	return nil
}

// scriptCommands are the commands that scripts have besides those of every script.
func scriptCommands() map[string]func(*testscript.TestScript, bool, []string) {
	return map[string]func(*testscript.TestScript, bool, []string){
		"fault":       injectFault,
		"killed":      killed,
		"waitfor":     waitFor,
		"untag":       untag,
		"put":         put,
		"groups":      groups,
		"contributor": contributor,
		"there":       there,
		"line":        line,
		// newkey FILE makes a signing key pair, so that no script waits for one of full size.
		"newkey": func(ts *testscript.TestScript, _ bool, args []string) {
			raw, err := newSigner()
			ts.Check(err)
			path := ts.MkAbs(args[0])
			ts.Check(os.MkdirAll(filepath.Dir(path), 0o755))
			ts.Check(os.WriteFile(path, raw, 0o600))
		},
		// mode FILE MODE compares the permissions of a file.
		"mode": func(ts *testscript.TestScript, _ bool, args []string) {
			info, err := os.Stat(ts.MkAbs(args[0]))
			ts.Check(err)
			if got := fmt.Sprintf("%o", info.Mode().Perm()); got != args[1] {
				ts.Fatalf("%s has mode %s, want %s", args[0], got, args[1])
			}
		},
	}
}
