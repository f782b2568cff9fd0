package phase1

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"maps"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hypershift-on-azure/hypershift/internal/azure"
	"github.com/hypershift-on-azure/hypershift/sandbox/azure/fault"
	"github.com/hypershift-on-azure/hypershift/sandbox/azure/schema"
	"github.com/hypershift-on-azure/hypershift/sandbox/azure/statuscodes"
)

const (
	apiIdentity = "2023-01-31"
	federated   = "/federatedIdentityCredentials/"
)

// mishap is one error that users of this field report: how it comes about, and what our command has to say about it on stderr.
type mishap struct {
	code    string
	provoke func(*errorWorld) (args []string)
	cause   string // regular expressions; field names what was expected and found, where Azure or we know both
	field   string
	remedy  string
	// passes: the command gets over it by itself once the reason is gone, which the world takes away when the code shows.
	passes bool
}

var mishaps = []mishap{
	{code: "AADSTS700016", provoke: func(w *errorWorld) []string {
		return w.iam("--azure-creds", w.credentialsFile("unknown.json", "11111111-2222-4333-8444-555555555555", secret))
	}, cause: "does not know this client id", field: "clientId .*found client id '11111111-2222-4333-8444-555555555555', expected one of the directory", remedy: "az ad sp show"},
	{code: "AADSTS7000215", provoke: func(w *errorWorld) []string {
		return w.iam("--azure-creds", w.credentialsFile("wrong.json", clientID, "not-the-secret"))
	}, cause: "secret is wrong", field: "clientSecret .*found a value that is no secret of app '" + clientID, remedy: "az ad app credential reset"},

	{code: "AADSTS700211", provoke: func(w *errorWorld) []string {
		w.changeCredential("ingress", "ingress-fed-id", map[string]any{"issuer": w.issuer + "/"})
		return w.verify()
	}, cause: "no federated credential has the token's issuer", field: "issuer of federated credential demo-ingress-fed-id: expected 'https://[^']+/demo' as in the token, found 'https://[^']+/demo/'",
		remedy: "--oidc-issuer-url .* without a slash at the end"},
	{code: "AADSTS700213", provoke: func(w *errorWorld) []string {
		w.changeCredential("network", "network-fed-id", map[string]any{"subject": "system:serviceaccount:default:default"})
		return w.verify()
	}, cause: "no federated credential has the token's subject", field: "subject of .*network-fed-id: expected 'system:serviceaccount:openshift-cloud-network-config-controller:[^']+' as in the token, found 'system:serviceaccount:default:default'",
		remedy: "create iam azure` again"},
	{code: "AADSTS700212", provoke: func(w *errorWorld) []string {
		w.changeCredential("cloud-provider", "cloud-provider-fed-id", map[string]any{"audiences": []string{"api://AzureADTokenExchange"}})
		return w.verify()
	}, cause: "another audience", field: "audience of .*cloud-provider-fed-id: expected 'openshift' as in the token, found 'api://AzureADTokenExchange'", remedy: "must be openshift on both sides"},
	{code: "AADSTS70021", provoke: func(w *errorWorld) []string {
		// Issuer and subject are both known, but never together.
		w.changeCredential("image-registry", "image-registry-fed-id-registry", map[string]any{"issuer": "https://elsewhere.example.com"})
		return w.verify()
	}, cause: "no federated credential matches the token", field: "issuer of .*image-registry-fed-id-registry: expected 'https://[^']+/demo' as in the token, found 'https://elsewhere.example.com'",
		remedy: "create iam azure` again"},
	{code: "AADSTS700024", provoke: func(w *errorWorld) []string {
		w.fault(fault.Rule{Preset: "clock"})
		return w.verify()
	}, cause: "not valid at this time", field: `nbf and exp .*found a token for \S+Z to \S+Z, expected one that covers Entra's time \S+Z`, remedy: "set the clock"},

	{code: "PublicAccessNotPermitted", provoke: func(w *errorWorld) []string {
		// A policy of the company turns the property off on every account that is made.
		w.fault(fault.Rule{Preset: "public-access-disabled"})
		return []string{"create", "oidc-issuer", "azure", "--name", "private", "--resource-group-name", "os4-common", "--storage-account-name", "noonereadsthis",
			"--private-key", w.key, "--azure-creds", w.credentials}
	}, cause: "does not allow public blobs", field: "allowBlobPublicAccess .*expected true, found false", remedy: "static website"},
	{code: "PrincipalNotFound", passes: true, provoke: func(w *errorWorld) []string {
		w.fault(fault.Rule{Preset: "principal-not-found", Seconds: 3600})
		return w.infra("late")
	}, cause: "directory does not know the principal yet", field: "principal of the role assignment: found '[0-9a-f]+', expected one that the directory has", remedy: "tried again by itself"},
	{code: "RoleAssignmentExists", passes: true, provoke: func(w *errorWorld) []string {
		// The other assignment is found and kept where it can be seen; here it has not spread to what lists assignments.
		w.fault(fault.Rule{Plane: fault.ARM, Method: "PUT", Path: "Microsoft.Authorization/roleAssignments/*", Create: true, Status: http.StatusConflict, Code: "RoleAssignmentExists",
			Message: "The role assignment already exists. The ID of the existing role assignment is 5e41ce00000040008000000000000009."})
		return w.infra("twice")
	}, cause: "holds the role on this scope already, under another name", field: "name of the role assignment: found '5e41ce00000040008000000000000009'", remedy: "az role assignment delete"},
	{code: "ConcurrentFederatedIdentityCredentialsWrites", passes: true, provoke: func(w *errorWorld) []string {
		return w.iamAgainstAnotherWriter()
	}, cause: "another write on the same identity is under way", field: "expected one writer, found several", remedy: "tried again by itself"},

	{code: "AuthorizationFailed", provoke: func(w *errorWorld) []string {
		return w.iam("--azure-creds", w.principalWhoReads())
	}, cause: "nothing was made, for the credentials lack a right: Microsoft.ManagedIdentity/userAssignedIdentities/federatedIdentityCredentials/write", field: "role of the signed-in identity", remedy: "the role Contributor"},
	{code: "ResourceGroupNotFound", provoke: func(w *errorWorld) []string {
		return append(w.infra("nowhere"), "--resource-group-name", "never-made")
	}, cause: "resource group does not exist", field: "name of the resource group .*found 'never-made', expected one that exists", remedy: "az group show"},
	{code: "RequestDisallowedByPolicy", provoke: func(w *errorWorld) []string {
		w.denyByPolicy(`{"if":{"allOf":[{"field":"type","equals":"Microsoft.Network/publicIPAddresses"},{"field":"location","notIn":["westeurope"]}]},"then":{"effect":"deny"}}`)
		return w.infra("denied")
	}, cause: "disallowed by policy", field: `the property that the policy names: .*found location 'eastus', which the policy denies with NotIn '\[westeurope\]'`, remedy: "ask the owner of the policy"},
	{code: "QuotaExceeded", provoke: func(w *errorWorld) []string {
		return w.refused("QuotaExceeded", machines{name: "many", count: 32, size: "Standard_D32s_v3", location: "eastus"})
	}, cause: "exceeding approved standardDSv3Family Cores quota", field: "quota of the region named: found 992 of 1000 in use, expected 32 to be free", remedy: "az quota"},
	{code: "SkuNotAvailable", provoke: func(w *errorWorld) []string {
		return w.refused("SkuNotAvailable", machines{name: "absent", count: 1, size: "Standard_D2ps_v5", location: "westus"})
	}, cause: "currently not available", field: "size or location: found 'Standard_D2ps_v5' in 'westus'", remedy: "az vm list-skus"},
	{code: "MarketplacePurchaseEligibilityFailed", provoke: func(w *errorWorld) []string {
		return w.refused("MarketplacePurchaseEligibilityFailed", machines{name: "bought", count: 1, size: "Standard_D2s_v3", location: "eastus",
			plan: map[string]any{"publisher": "kinvolk", "product": "flatcar-container-linux-free", "name": "stable-gen2"}})
	}, cause: "purchase eligibil", field: "purchase plan of the image", remedy: "az vm image terms accept"},
	{code: "InvalidTemplateDeployment", provoke: func(w *errorWorld) []string {
		return w.refused("InvalidTemplateDeployment", machines{name: "absent", count: 1, size: "Standard_D2ps_v5", location: "westus"})
	}, cause: "The template deployment 'absent' is not valid according to the validation procedure", field: "the parameter that Azure names", remedy: "correct the value"},
}

// TestErrorsOfTheField has each error come about in the embedded Azure, by the real mistake where one of our commands can make it, and reads
// what the command says. What none of them can cause (they make no virtual machines and deploy no templates) is injected, in the words in
// which the embedded Azure refuses those.
func TestErrorsOfTheField(t *testing.T) {
	w := newErrorWorld(t)
	for _, m := range mishaps {
		t.Run(m.code, func(t *testing.T) {
			w.t = t
			defer w.restore()
			args := m.provoke(w)
			stderr, err := w.run(m.code, args...)
			if m.passes != (err == nil) {
				t.Fatalf("%s: %v\n%s", strings.Join(args, " "), err, stderr)
			}
			line := linesWith(stderr, m.code)
			for name, pattern := range map[string]string{"cause": m.cause, "field": m.field, "remedy": m.remedy} {
				if pattern == "" || !regexp.MustCompile(pattern).MatchString(line) {
					t.Errorf("the %s %q is not in what stderr says of %s:\n%s", name, pattern, m.code, stderr)
				}
			}
		})
	}
}

// linesWith returns the lines that name a code and nothing longer.
func linesWith(text, code string) string {
	named := regexp.MustCompile(code + `\D`)
	var out strings.Builder
	for line := range strings.Lines(text) {
		if named.MatchString(line) {
			out.WriteString(line)
		}
	}
	return out.String()
}

// errorWorld is an embedded Azure with the issuer and the identities of one cluster.
type errorWorld struct {
	*world
	t       *testing.T
	dir     string
	issuer  string
	client  *http.Client
	session *azure.Session
	undo    []func()
}

func newErrorWorld(t *testing.T) *errorWorld {
	t.Helper()
	dir := t.TempDir()
	plain := startWorld(t, dir)
	ca, err := os.ReadFile(plain.ca)
	must(t, err)
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(ca)
	client := &http.Client{Transport: &http.Transport{Proxy: http.ProxyURL(&url.URL{Scheme: "http", Host: plain.server.ProxyAddr()}), TLSClientConfig: &tls.Config{RootCAs: pool}}}
	session, err := azure.NewSession(azure.Credentials{SubscriptionID: subscription, TenantID: tenant, ClientID: clientID, ClientSecret: secret}, "", azure.WithHTTPClient(client))
	must(t, err)
	w := &errorWorld{world: plain, t: t, dir: dir, client: client, session: session}
	w.mustRun("create", "oidc-issuer", "azure", "--name", "demo", "--resource-group-name", "os4-common", "--private-key", w.key, "--azure-creds", w.credentials, "--handoff", w.file("demo.yaml"))
	w.mustRun("create", "iam", "azure", "--infra-id", "demo-1", "--azure-creds", w.credentials, "--handoff", w.file("demo.yaml"), "--output-file", w.file("identities.json"))
	handoff, err := os.ReadFile(w.file("demo.yaml"))
	must(t, err)
	if w.issuer = string(regexp.MustCompile(`https://\S+/demo`).Find(handoff)); w.issuer == "" {
		t.Fatalf("no issuer in the hand-off:\n%s", handoff)
	}
	return w
}

// replay holds what the embedded Azure of a folder was asked and has answered against what Azure's SDKs send and accept.
func replay(dir string) error {
	log, err := os.ReadFile(filepath.Join(dir, "azure", "access.log"))
	if err != nil {
		return err
	}
	refused, checked, err := statuscodes.Replay(bytes.NewReader(log))
	if err != nil {
		return err
	}
	if checked == 0 {
		return errors.New("the access log names no answer of the resource manager: nothing was checked")
	}
	found, err := schema.Replay(bytes.NewReader(log))
	if err != nil {
		return err
	}
	for _, v := range schema.Faults(found) {
		refused = append(refused, v.String())
	}
	if len(refused) > 0 {
		return errors.New(strings.Join(refused, "\n"))
	}
	return nil
}

func (w *errorWorld) file(name string) string { return filepath.Join(w.dir, name) }

func (w *errorWorld) mustRun(args ...string) {
	w.t.Helper()
	if stderr, err := w.run("", args...); err != nil {
		w.t.Fatalf("%s: %v\n%s", strings.Join(args, " "), err, stderr)
	}
}

// run runs our command. Once its stderr names the code, what is wrong is put right: a command that waits can go on.
func (w *errorWorld) run(code string, args ...string) (string, error) {
	w.t.Helper()
	ctx, cancel := context.WithTimeout(w.t.Context(), time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, "hypershift", args...)
	cmd.Dir = w.dir
	cmd.Env = append(os.Environ(), "HTTPS_PROXY=http://"+w.server.ProxyAddr(), "SSL_CERT_FILE="+w.ca, "HOME="+w.dir)
	seen := &watcher{word: code, then: w.restore}
	cmd.Stderr = seen
	err := cmd.Run()
	return seen.text.String(), err
}

// watcher keeps what is written and acts when a word first shows.
type watcher struct {
	text strings.Builder
	word string
	then func()
	once sync.Once
}

func (w *watcher) Write(b []byte) (int, error) {
	n, err := w.text.Write(b)
	if w.word != "" && strings.Contains(w.text.String(), w.word) {
		w.once.Do(w.then)
	}
	return n, err
}

// restore takes the mishap back.
func (w *errorWorld) restore() {
	must(w.t, w.server.Faults().Clear())
	for _, undo := range w.undo {
		undo()
	}
	w.undo = nil
}

func (w *errorWorld) fault(r fault.Rule) {
	_, err := w.server.Faults().Add(r)
	must(w.t, err)
}

func (w *errorWorld) verify() []string {
	return []string{"verify", "azure", "--from", w.file("demo.yaml"), "--azure-creds", w.credentials}
}

// iam makes the identities of another cluster, so that there is something to do.
func (w *errorWorld) iam(more ...string) []string {
	return append([]string{"create", "iam", "azure", "--name", "other", "--infra-id", "other-1", "--resource-group-name", "os4-common", "--oidc-issuer-url", w.issuer,
		"--output-file", w.file("other.json")}, more...)
}

func (w *errorWorld) infra(name string) []string {
	return []string{"create", "infra", "azure", "--name", name, "--infra-id", name + "-1", "--base-domain", "example.com", "--workload-identities-file", w.file("identities.json"),
		"--assign-identity-roles", "--azure-creds", w.credentials, "--output-file", w.file(name + ".yaml")}
}

// denyByPolicy assigns a policy to the subscription.
func (w *errorWorld) denyByPolicy(rule string) {
	w.t.Helper()
	const api, base = "2023-04-01", "/subscriptions/" + subscription + "/providers/Microsoft.Authorization/"
	var parsed map[string]any
	must(w.t, json.Unmarshal([]byte(rule), &parsed))
	for _, r := range []struct {
		id         string
		properties map[string]any
	}{
		{base + "policyDefinitions/places", map[string]any{"displayName": "Allowed places", "policyRule": parsed}},
		{base + "policyAssignments/places", map[string]any{"displayName": "Allowed places", "policyDefinitionId": base + "policyDefinitions/places"}},
	} {
		_, err := w.session.Put(context.Background(), r.id, api, azure.Resource{Properties: r.properties})
		must(w.t, err)
		w.undo = append(w.undo, func() { must(w.t, w.session.Delete(context.Background(), r.id, api)) })
	}
}

func (w *errorWorld) identity(component string) string {
	return w.session.ResourceID("os4-common", "Microsoft.ManagedIdentity/userAssignedIdentities", "demo-"+component+"-demo-1")
}

// changeCredential sets properties of a federated credential until the world is restored.
func (w *errorWorld) changeCredential(component, name string, change map[string]any) {
	w.t.Helper()
	id := w.identity(component) + federated + "demo-" + name
	before, err := w.session.Get(context.Background(), id, apiIdentity)
	must(w.t, err)
	properties := map[string]any{"issuer": before.Properties["issuer"], "subject": before.Properties["subject"], "audiences": before.Properties["audiences"]}
	put := func(p map[string]any) {
		_, err := w.session.Put(context.Background(), id, apiIdentity, azure.Resource{Properties: p})
		must(w.t, err)
	}
	after := maps.Clone(properties)
	maps.Copy(after, change)
	put(after)
	w.undo = append(w.undo, func() { put(properties) })
}

// iamAgainstAnotherWriter has another program be in the middle of a slow write on the identity that our command completes.
func (w *errorWorld) iamAgainstAnotherWriter() []string {
	id := w.identity("disk") + federated
	must(w.t, w.session.Delete(context.Background(), id+"demo-disk-fed-id-node", apiIdentity))
	w.fault(fault.Rule{Plane: fault.ARM, Method: "PUT", Path: "federatedIdentityCredentials/foreign", Operation: fault.OperationSlow, Seconds: 2})
	done := make(chan error, 1)
	go func() {
		_, err := w.session.Put(context.Background(), id+"foreign", apiIdentity, azure.Resource{Properties: map[string]any{
			"issuer": "https://foreign.example.com", "subject": "s", "audiences": []string{"openshift"}}})
		done <- err
	}()
	w.t.Cleanup(func() { must(w.t, <-done) })
	for {
		if l := w.server.Faults().List(); l[0].Fired > 0 {
			break
		}
		time.Sleep(time.Millisecond)
	}
	return []string{"create", "iam", "azure", "--azure-creds", w.credentials, "--handoff", w.file("demo.yaml"), "--output-file", w.file("identities.json")}
}

func (w *errorWorld) credentialsFile(name, client, secret string) string {
	raw, err := json.Marshal(map[string]string{"subscriptionId": subscription, "tenantId": tenant, "clientId": client, "clientSecret": secret})
	must(w.t, err)
	must(w.t, os.WriteFile(w.file(name), raw, 0o600))
	return w.file(name)
}

// principalWhoReads is a service principal that may read, and nothing else.
func (w *errorWorld) principalWhoReads() string {
	ctx := context.Background()
	app, err := w.session.EnsureApplication(ctx, "nobody")
	must(w.t, err)
	password, err := w.session.AddPassword(ctx, app, "test", time.Hour)
	must(w.t, err)
	principal, err := w.session.PrincipalOf(ctx, app.ClientID)
	must(w.t, err)
	scope := "/subscriptions/" + w.session.SubscriptionID
	must(w.t, w.session.Assign(ctx, azure.Assignment{Name: azure.AssignmentName("test", "nobody", scope), Scope: scope,
		RoleGUID: "acdd72a7-3385-48ef-bd42-f606fba81ae7", PrincipalID: principal}))
	return w.credentialsFile("nobody.json", app.ClientID, password)
}
