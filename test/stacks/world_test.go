// Package stacks_test runs the real stacks against an embedded Azure: stopped at every call, twice at once, throttled and refused.
package stacks_test

import (
	"bufio"
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"math/big"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/hypershift-on-azure/hypershift/internal/azure"
	sandbox "github.com/hypershift-on-azure/hypershift/sandbox/azure"
	"github.com/hypershift-on-azure/hypershift/sandbox/azure/schema"
)

const (
	tenant   = "7e0a1d00-0000-4000-8000-000000000001"
	client   = "5e41ce00-0000-4000-8000-000000000001"
	secret   = "s3cret"
	location = "eastus"
	domain   = "hypershift.test"
	common   = "os4-common"
)

// world is an embedded Azure with a subscription of its own, so that worlds share no throttle.
type world struct {
	t            testing.TB
	server       *sandbox.Server
	subscription string
	transport    *http.Transport
	dir          string
	journal      journal
}

func newWorld(t testing.TB) *world {
	t.Helper()
	dir := t.TempDir()
	cert, key := makeCA(t, dir)
	w := &world{t: t, subscription: uuid.NewString(), dir: filepath.Join(dir, "azure")}
	group := func(name string) sandbox.SeedResource {
		return sandbox.SeedResource{ID: w.group(name), Body: map[string]any{"location": location}}
	}
	network := func(group, kind, name string, properties map[string]any) sandbox.SeedResource {
		return sandbox.SeedResource{ID: w.group(group) + "/providers/Microsoft.Network/" + kind + "/" + name,
			Body: map[string]any{"location": location, "properties": properties}}
	}
	ctx, cancel := context.WithCancel(context.Background())
	server, err := sandbox.Start(ctx, sandbox.Config{
		Dir: w.dir, ProxyAddr: "127.0.0.1:0", DNSAddr: "127.0.0.1:0", CACert: cert, CAKey: key, Subscription: w.subscription, Tenant: tenant, Location: location,
		ServicePrincipal: sandbox.ServicePrincipal{ClientID: client, Secret: secret}, OperationTime: time.Nanosecond,
		Seed: []sandbox.SeedResource{
			group(common), group("theirs"),
			{ID: w.group(common) + "/providers/Microsoft.Network/dnsZones/" + domain, Body: map[string]any{"location": "global"}},
			network("theirs", "networkSecurityGroups", "nsg", map[string]any{}),
			network("theirs", "virtualNetworks", "vnet", map[string]any{
				"addressSpace": map[string]any{"addressPrefixes": []any{"10.9.0.0/16"}},
				"subnets":      []any{map[string]any{"name": "workers", "properties": map[string]any{"addressPrefix": "10.9.0.0/24"}}}}),
			network("theirs", "publicIPAddresses", "demo-xy", map[string]any{"publicIPAllocationMethod": "Static"}),
		}})
	if err != nil {
		cancel()
		t.Fatal(err)
	}
	w.server = server
	resolvers.Store(w.subscription, server.DNSAddr())
	pool := x509.NewCertPool()
	raw, err := os.ReadFile(cert)
	must(t, err)
	pool.AppendCertsFromPEM(raw)
	w.transport = &http.Transport{Proxy: http.ProxyURL(&url.URL{Scheme: "http", Host: server.ProxyAddr()}),
		TLSClientConfig: &tls.Config{RootCAs: pool}, MaxIdleConnsPerHost: 64}
	w.journal = journal{path: filepath.Join(w.dir, "state", "journal.jsonl")}
	t.Cleanup(func() {
		w.transport.CloseIdleConnections()
		cancel()
		if err := server.Wait(); err != nil {
			t.Error(err)
		}
		w.checkContract()
	})
	return w
}

// checkContract holds what was sent and answered against the schemas of Azure's types.
func (w *world) checkContract() {
	w.t.Helper()
	log, err := os.Open(filepath.Join(w.dir, "access.log"))
	must(w.t, err)
	defer log.Close()
	found, err := schema.Replay(log)
	must(w.t, err)
	for _, v := range schema.Faults(found) {
		w.t.Error(v)
	}
}

// resolvers are the DNS servers of the worlds, by subscription.
var resolvers sync.Map

func resolverOf(subscription string) string {
	address, _ := resolvers.Load(subscription)
	text, _ := address.(string)
	return text
}

func (w *world) group(name string) string {
	return "/subscriptions/" + w.subscription + "/resourceGroups/" + name
}

// session signs in anew, as another process or another machine would.
func (w *world) session(via http.RoundTripper) *azure.Session {
	w.t.Helper()
	s, err := azure.NewSession(azure.Credentials{SubscriptionID: w.subscription, TenantID: tenant, ClientID: client, ClientSecret: secret}, "",
		azure.WithHTTPClient(&http.Client{Transport: via}))
	must(w.t, err)
	return s
}

var errCut = errors.New("the process died")

// cutter ends a process at one of its calls, before or after the call took effect.
type cutter struct {
	next   http.RoundTripper
	cancel context.CancelFunc
	at     int  // the call at which the process ends; 0 is never
	effect bool // that call still takes effect

	mu     sync.Mutex
	calls  int
	writes []string
}

func (c *cutter) RoundTrip(req *http.Request) (*http.Response, error) {
	c.mu.Lock()
	c.calls++
	call := c.calls
	if req.Method != http.MethodGet && req.URL.Host != "login.microsoftonline.com" {
		c.writes = append(c.writes, req.Method+" "+req.URL.Path)
	}
	c.mu.Unlock()
	if c.at != 0 && (call > c.at || call == c.at && !c.effect) {
		c.cancel()
		return nil, errCut
	}
	// What is on its way arrives, whatever becomes of its sender.
	resp, err := c.next.RoundTrip(req.WithContext(context.WithoutCancel(req.Context())))
	if err != nil {
		return nil, err
	}
	body, err := io.ReadAll(resp.Body)
	resp.Body.Close()
	if err != nil {
		return nil, err
	}
	if call == c.at {
		c.cancel()
		return nil, errCut
	}
	resp.Body = io.NopCloser(bytes.NewReader(body))
	return resp, nil
}

// process runs work with a session of its own that ends at a call, and returns when nothing of it is under way any more.
func (w *world) process(at int, effect bool, work func(context.Context, *azure.Session) error) (*cutter, error) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	c := &cutter{next: w.transport, cancel: cancel, at: at, effect: effect}
	return c, work(ctx, w.session(c))
}

// journal follows the state of the embedded Azure.
type journal struct {
	path string
	read int64
	docs map[string]map[string]any
}

type journalWrite struct {
	Table string         `json:"t"`
	Key   string         `json:"k"`
	Doc   map[string]any `json:"d"`
}

func (j *journal) follow(t testing.TB) {
	t.Helper()
	f, err := os.Open(j.path)
	must(t, err)
	defer f.Close()
	info, err := f.Stat()
	must(t, err)
	if j.docs == nil || info.Size() < j.read { // compacted: it begins with everything
		j.read, j.docs = 0, map[string]map[string]any{}
	}
	_, err = f.Seek(j.read, io.SeekStart)
	must(t, err)
	for r := bufio.NewReader(f); ; {
		line, err := r.ReadBytes('\n')
		if errors.Is(err, io.EOF) {
			return
		}
		must(t, err)
		j.read += int64(len(line))
		var entry struct{ Set, Del []journalWrite }
		must(t, json.Unmarshal(line, &entry))
		for _, d := range entry.Del {
			delete(j.docs, d.Table+" "+d.Key)
		}
		for _, d := range entry.Set {
			j.docs[d.Table+" "+d.Key] = d.Doc
		}
	}
}

// volatile members differ between two runs that did the same.
var volatile = regexp.MustCompile(`"(etag|createdAt|createdOn|updatedOn|lastModified|lastModifiedTime|Last-Modified|creationTime|ipAddress|resourceGuid|uniqueId|clientId|modified|created|file|primaryKey|key1|key2)":("(?:[^"\\]|\\.)*"|\d+),?`)

// dump is everything that exists, with the random object ids replaced by whose they are.
func (w *world) dump() map[string]string {
	w.t.Helper()
	w.journal.follow(w.t)
	names := []string{}
	for _, d := range w.journal.docs {
		properties, _ := d["properties"].(map[string]any)
		name, _ := d["name"].(string)
		if id, ok := properties["principalId"].(string); ok && properties["clientId"] != nil {
			names = append(names, id, "principal of "+name)
		}
		if shown, ok := d["displayName"].(string); ok && d["servicePrincipalType"] != nil {
			id, _ := d["id"].(string)
			names = append(names, id, "principal of "+shown)
		}
	}
	replace := strings.NewReplacer(names...)
	out := map[string]string{}
	for key, d := range w.journal.docs {
		if strings.HasPrefix(key, "credentials") {
			continue
		}
		if shown, ok := d["displayName"].(string); ok && (strings.HasPrefix(key, "principals") || strings.HasPrefix(key, "apps")) {
			// What the directory holds has a random key; how many there are of one name tells of duplicates and of what was left.
			table, _, _ := strings.Cut(key, " ")
			// Each secret lets someone in, so one too many is a difference.
			passwords, _ := d["passwordCredentials"].([]any)
			out[table+" "+shown] += fmt.Sprintf("one with %d secrets ", len(passwords))
			continue
		}
		if strings.HasPrefix(key, "storagekeys") {
			d = nil
		}
		raw, err := json.Marshal(d)
		must(w.t, err)
		out[key] = replace.Replace(volatile.ReplaceAllString(string(raw), ""))
	}
	return out
}

// differences tells how two dumps differ.
func differences(want, got map[string]string) string {
	var b strings.Builder
	for key, text := range want {
		switch other, ok := got[key]; {
		case !ok:
			b.WriteString("missing: " + key + "\n")
		case other != text:
			b.WriteString("differs: " + key + "\n  want " + text + "\n  got  " + other + "\n")
		}
	}
	for key := range got {
		if _, ok := want[key]; !ok {
			b.WriteString("left over: " + key + "\n")
		}
	}
	return b.String()
}

// signer is a key that the user brought: making one takes longer than all the rest.
func signer(t testing.TB) string {
	t.Helper()
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	must(t, err)
	path := filepath.Join(t.TempDir(), "signer")
	block := &pem.Block{Type: "RSA PRIVATE KEY", Bytes: x509.MarshalPKCS1PrivateKey(key)}
	must(t, os.WriteFile(path, pem.EncodeToMemory(block), 0o600))
	return path
}

func makeCA(t testing.TB, dir string) (certFile, keyFile string) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	must(t, err)
	tmpl := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "test CA"}, NotBefore: time.Now().Add(-time.Hour),
		NotAfter: time.Now().Add(time.Hour), IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign}
	der, err := x509.CreateCertificate(rand.Reader, tmpl, tmpl, &key.PublicKey, key)
	must(t, err)
	keyDER, err := x509.MarshalPKCS8PrivateKey(key)
	must(t, err)
	certFile, keyFile = filepath.Join(dir, "ca.crt"), filepath.Join(dir, "ca.key")
	must(t, os.WriteFile(certFile, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), 0o644))
	must(t, os.WriteFile(keyFile, pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: keyDER}), 0o600))
	return certFile, keyFile
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
