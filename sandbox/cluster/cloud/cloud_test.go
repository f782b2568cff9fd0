package cloud

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hypershift-on-azure/hypershift/sandbox/azure"
	"github.com/hypershift-on-azure/hypershift/sandbox/cluster/names"
	"github.com/hypershift-on-azure/hypershift/sandbox/cluster/pki"
)

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// recorded notes the requests that change something.
type recorded struct {
	next    http.RoundTripper
	mu      sync.Mutex
	changes []string
}

func (r *recorded) RoundTrip(request *http.Request) (*http.Response, error) {
	if request.Method != http.MethodGet {
		r.mu.Lock()
		r.changes = append(r.changes, request.Method+" "+request.URL.Path)
		r.mu.Unlock()
	}
	return r.next.RoundTrip(request)
}

// inAzure is a client of an embedded Azure, of the sandbox in the directory.
func inAzure(t *testing.T, dir string) (*arm, *recorded) {
	t.Helper()
	must(t, pki.Ensure(dir))
	must(t, EnsureCredentials(dir))
	secret, err := ClientSecret(dir)
	must(t, err)
	ctx, cancel := context.WithCancel(context.Background())
	server, err := azure.Start(ctx, azure.Config{
		Dir: filepath.Join(dir, "azure"), ProxyAddr: "127.0.0.1:0", CACert: pki.CA(dir), CAKey: strings.TrimSuffix(pki.CA(dir), ".crt") + ".key",
		Subscription: names.SubscriptionID, Tenant: names.TenantID, Location: names.Location,
		ServicePrincipal: azure.ServicePrincipal{ClientID: names.ClientID, Secret: secret}, OperationTime: time.Millisecond,
	})
	must(t, err)
	t.Cleanup(func() {
		cancel()
		if err := server.Wait(); err != nil {
			t.Error(err)
		}
	})
	pem, err := os.ReadFile(pki.CA(dir))
	must(t, err)
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(pem)
	r := &recorded{next: &http.Transport{Proxy: http.ProxyURL(&url.URL{Scheme: "http", Host: server.ProxyAddr()}),
		TLSClientConfig: &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS12}}}
	a := &arm{http: &http.Client{Transport: r}}
	must(t, a.login(t.Context(), dir, armScope))
	r.changes = nil
	return a, r
}

// The embedded Azure takes the objects in their order, and a second start changes none of them: not even one that was changed meanwhile.
func TestObjectsAreCreatedOnce(t *testing.T) {
	a, made := inAzure(t, t.TempDir())
	objects := append(append(azureObjects(), issuerObjects()...), appsRecord())
	must(t, a.createAll(t.Context(), objects))
	if len(made.changes) != len(objects) {
		t.Errorf("%d objects are made by %d requests: %v", len(objects), len(made.changes), made.changes)
	}
	zone := objects[3]
	must(t, a.call(t.Context(), http.MethodPut, zone.id, zone.version, object{"location": "global", "tags": object{"of": "a person"}}, nil))
	made.changes = nil
	must(t, a.createAll(t.Context(), objects))
	if len(made.changes) != 0 {
		t.Errorf("the second start changes %v", made.changes)
	}
	var got struct{ Tags map[string]string }
	if must(t, a.call(t.Context(), http.MethodGet, zone.id, zone.version, nil, &got)); got.Tags["of"] != "a person" {
		t.Errorf("the zone has tags %v", got.Tags)
	}
}

// An answer that says nothing of whether an object is there makes nobody write over it.
func TestOnlyWhatIsMissingIsCreated(t *testing.T) {
	for name, c := range map[string]struct {
		get, put int
		puts     int
		fails    string
	}{
		"it is there":       {200, 0, 0, ""},
		"it is not":         {404, 201, 1, ""},
		"Azure is busy":     {429, 201, 0, "create thing: GET"},
		"Azure is broken":   {500, 201, 0, "create thing: GET"},
		"it may not be had": {404, 403, 1, "create thing: PUT"},
	} {
		puts := 0
		a := armOver(func(request *http.Request) (int, string) {
			if request.Method == http.MethodGet {
				return c.get, "{}"
			}
			puts++
			return c.put, "{}"
		})
		err := a.createAll(t.Context(), []armObject{{id: "/subscriptions/s/resourceGroups/thing", version: "1", body: object{}}})
		if puts != c.puts || (err == nil) != (c.fails == "") || err != nil && !strings.Contains(err.Error(), c.fails) {
			t.Errorf("%s: %d are put, %v; want %d, %q", name, puts, err, c.puts, c.fails)
		}
	}
}

// Each object comes after those it refers to, in itself and by where it lies: Azure refuses it otherwise.
func TestOrderOfObjects(t *testing.T) {
	objects := append(append(azureObjects(), issuerObjects()...), appsRecord())
	var ids []string
	for _, o := range objects {
		text, err := json.Marshal(o.body)
		must(t, err)
		for _, later := range objects {
			if !slices.Contains(ids, later.id) && strings.Contains(string(text), `"`+later.id) {
				t.Errorf("%s refers to %s, which comes later", o.id, later.id)
			}
		}
		if !strings.HasPrefix(o.id, "/subscriptions/"+names.SubscriptionID+"/resourceGroups/") || o.version == "" {
			t.Errorf("%s, version %q", o.id, o.version)
		}
		if group := strings.Join(strings.Split(o.id, "/")[:5], "/"); group != o.id && !slices.Contains(ids, group) {
			t.Errorf("%s comes before its group", o.id)
		}
		if slices.Contains(ids, o.id) {
			t.Errorf("%s is there twice", o.id)
		}
		ids = append(ids, o.id)
	}
	base := baseObjects()
	if len(base) != 3 || base[2].id != groupID(names.BaseDomainGroup)+"/providers/Microsoft.Network/dnsZones/"+names.BaseDomain {
		t.Errorf("without a management cluster there are %v", base)
	}
	if last := ids[len(ids)-1]; !strings.HasSuffix(last, "/A/*.apps") {
		t.Errorf("the record of Routes is %s", last)
	}
	if want := "azure:///subscriptions/" + names.SubscriptionID + "/resourceGroups/mgmt/providers/Microsoft.Compute/virtualMachines/management-0"; NodeProviderID() != want || !slices.Contains(ids, hostVMID()) {
		t.Errorf("the node is %s, want %s", NodeProviderID(), want)
	}
}

// The secret is random, is made once, and is nobody else's to read.
func TestCredentials(t *testing.T) {
	dir := t.TempDir()
	must(t, EnsureCredentials(dir))
	text, err := os.ReadFile(CredentialsFile(dir))
	must(t, err)
	var got credentials
	must(t, json.Unmarshal(text, &got))
	secret, err := ClientSecret(dir)
	must(t, err)
	if want := (credentials{names.SubscriptionID, names.TenantID, names.ClientID, secret}); got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
	for path, mode := range map[string]os.FileMode{filepath.Join(dir, "files"): 0o700 | os.ModeDir, CredentialsFile(dir): 0o600, secretFile(dir): 0o600} {
		if info, err := os.Stat(path); err != nil || info.Mode() != mode {
			t.Errorf("%s: %v, %v, want %v", path, info, err, mode)
		}
	}
	must(t, os.Remove(CredentialsFile(dir)))
	must(t, EnsureCredentials(dir))
	if again, _ := os.ReadFile(CredentialsFile(dir)); string(again) != string(text) {
		t.Error("the secret of a sandbox changes")
	}
	other := t.TempDir()
	must(t, EnsureCredentials(other))
	if another, _ := ClientSecret(other); another == secret {
		t.Error("two sandboxes have one secret")
	}
}

// The cloud provider acts in the group, network and group of rules that the sandbox has made.
func TestProviderConfig(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "cloud.json")
	if err := WriteProviderConfig(dir, path); err == nil {
		t.Error("written without a secret")
	}
	must(t, EnsureCredentials(dir))
	must(t, WriteProviderConfig(dir, path))
	text, err := os.ReadFile(path)
	must(t, err)
	var got map[string]any
	must(t, json.Unmarshal(text, &got))
	var ids []string
	for _, o := range azureObjects() {
		ids = append(ids, o.id)
	}
	for _, id := range []string{
		networkID("virtualNetworks", got["vnetName"].(string)), networkID("networkSecurityGroups", got["securityGroupName"].(string)),
		groupID(got["resourceGroup"].(string)),
	} {
		if !slices.Contains(ids, id) {
			t.Errorf("%s is not made", id)
		}
	}
	if secret, _ := ClientSecret(dir); got["aadClientSecret"] != secret || got["tenantId"] != names.TenantID || got["loadBalancerSku"] != "standard" {
		t.Errorf("%v", got)
	}
	if info, err := os.Stat(path); err != nil || info.Mode() != 0o600 {
		t.Errorf("%v, %v", info, err)
	}
}

// What the API server says of its tokens comes to where the issuer's address leads, readable for all.
func TestIssuerIsPublished(t *testing.T) {
	dir := t.TempDir()
	a, _ := inAzure(t, dir)
	must(t, a.createAll(t.Context(), append(azureObjects(), issuerObjects()...)))
	documents := map[string]string{"/.well-known/openid-configuration": `{"issuer": "` + IssuerURL + `"}`, issuerKeys: `{"keys": []}`}
	api := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { _, _ = w.Write([]byte(documents[r.URL.Path])) }))
	defer api.Close()
	storage := &arm{http: a.http}
	must(t, storage.login(t.Context(), dir, storageScope))
	must(t, storage.publish(t.Context(), api.Client(), api.URL))
	for path, want := range documents {
		if got, err := fetch(t.Context(), a.http, IssuerURL+path); err != nil || string(got) != want {
			t.Errorf("%s: %q, %v", path, got, err)
		}
	}
	if IssuerKeysURL != IssuerURL+issuerKeys {
		t.Error(IssuerKeysURL)
	}
	api.Config.Handler = http.NotFoundHandler()
	if err := storage.publish(t.Context(), api.Client(), api.URL); err == nil || !strings.Contains(err.Error(), "openid-configuration") {
		t.Errorf("an API server without documents: %v", err)
	}
}
