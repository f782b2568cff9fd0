package stacks_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/hypershift-on-azure/hypershift/internal/cli"
	"github.com/hypershift-on-azure/hypershift/sandbox/azure/fault"
)

// asCommand makes this test's binary the hypershift command: the proxy and the trusted authorities of a process come from its
// environment and are read only once.
const asCommand = "HYPERSHIFT_TEST_AS_COMMAND"

func TestMain(m *testing.M) {
	if os.Getenv(asCommand) != "" {
		os.Exit(cli.Main(os.Args[1:], os.Stdout, os.Stderr))
	}
	// The tests wait for the embedded Azure's operations more than they compute.
	flag.Parse()
	if err := flag.Set("test.parallel", "16"); err != nil {
		panic(err)
	}
	os.Exit(m.Run())
}

// command runs hypershift with the credentials in the world.
func (w *world) command(credentials map[string]string, args ...string) (status int, stderr string) {
	w.t.Helper()
	file := map[string]string{"subscriptionId": w.subscription, "tenantId": tenant, "clientId": client, "clientSecret": secret}
	for key, value := range credentials {
		file[key] = value
	}
	raw, err := json.Marshal(file)
	must(w.t, err)
	path := filepath.Join(w.t.TempDir(), "azure-credentials.json")
	must(w.t, os.WriteFile(path, raw, 0o600))
	cmd := exec.Command(os.Args[0], append(args, "--azure-creds", path)...)
	cmd.Env = append(os.Environ(), asCommand+"=1", "HTTPS_PROXY=http://"+w.server.ProxyAddr(), "SSL_CERT_FILE="+filepath.Join(filepath.Dir(w.dir), "ca.crt"))
	var messages bytes.Buffer
	cmd.Stderr = &messages
	err = cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		w.t.Fatal(err)
	}
	return cmd.ProcessState.ExitCode(), messages.String()
}

// signInRefused is one refusal of the token service.
func signInRefused(number, message string) fault.Rule {
	return fault.Rule{Plane: fault.Entra, Method: "POST", Path: "**", Status: 400, Code: number, Message: message, Count: 1}
}

func refused(path string, status int, code, message string) fault.Rule {
	return fault.Rule{Plane: fault.ARM, Method: "PUT", Path: path, Status: status, Code: code, Message: message, Count: 1}
}

const (
	identities  = "Microsoft.ManagedIdentity/userAssignedIdentities/*"
	assignments = "Microsoft.Authorization/roleAssignments/*"
	accounts    = "Microsoft.Storage/storageAccounts/*"
)

const noMatch = "No matching federated identity record found for presented assertion "

// explained are the codes, how each comes about, and what the command has to tell.
var explained = []struct {
	code    string
	creds   map[string]string
	rule    fault.Rule
	run     string // what the command makes: iam, issuer or infra
	recover bool   // the command goes on by itself
	tell    []string
}{
	{code: "AADSTS700016", creds: map[string]string{"clientId": uuid.NewString()}, run: "iam", tell: []string{"clientId or tenantId of the credentials file: found client id '", "az ad sp show"}},
	{code: "AADSTS7000215", creds: map[string]string{"clientSecret": "wrong"}, run: "iam", tell: []string{"clientSecret of the credentials file", "az ad app credential reset"}},
	{code: "AADSTS70021", rule: signInRefused("70021", "No matching federated identity record found for presented assertion."), run: "iam", recover: true, tell: []string{"issuer, subject or audience", "create iam azure"}},
	{code: "AADSTS700211", rule: signInRefused("700211", noMatch+"issuer 'https://i'."), run: "iam", recover: true, tell: []string{"claim iss: found 'https://i'", "--oidc-issuer-url"}},
	{code: "AADSTS700212", rule: signInRefused("700212", noMatch+"audience 'api'."), run: "iam", tell: []string{"claim aud: found 'api'", "must be openshift"}},
	{code: "AADSTS700213", rule: signInRefused("700213", noMatch+"subject 'system:serviceaccount:a:b'."), run: "iam", recover: true, tell: []string{"claim sub: found 'system:serviceaccount:a:b'", "system:serviceaccount:NAMESPACE:NAME"}},
	{code: "AADSTS700024", rule: signInRefused("700024", "Client assertion is not within its valid time range."), run: "iam", tell: []string{"nbf and exp", "timedatectl"}},
	{code: "PublicAccessNotPermitted", rule: refused(accounts+"/blobServices/default/containers/*", 409, "PublicAccessNotPermitted", "Public access is not permitted on this storage account."), run: "issuer", tell: []string{"allowBlobPublicAccess", "static website"}},
	{code: "PrincipalNotFound", rule: refused(assignments, 400, "PrincipalNotFound", "Principal does not exist in the directory."), run: "infra", recover: true, tell: []string{"principal of the role assignment", "tried again by itself"}},
	{code: "RoleAssignmentExists", rule: refused(assignments, 409, "RoleAssignmentExists", "The role assignment already exists."), run: "infra", recover: true, tell: []string{"name of the role assignment", "az role assignment delete"}},
	{code: "ConcurrentFederatedIdentityCredentialsWritesForSingleManagedIdentity", rule: refused(identities+"/federatedIdentityCredentials/*", 409, "ConcurrentFederatedIdentityCredentialsWritesForSingleManagedIdentity", "Too many concurrent writes."), run: "iam", recover: true, tell: []string{"tried again by itself"}},
	{code: "QuotaExceeded", rule: refused("Microsoft.Network/loadBalancers/*", 409, "QuotaExceeded", "Exceeding approved quota in region eastus."), run: "infra", tell: []string{"quota of the region", "region eastus", "az quota"}},
	{code: "AuthorizationFailed", rule: refused(assignments, 403, "AuthorizationFailed", "The client does not have authorization to perform action 'Microsoft.Authorization/roleAssignments/write'."), run: "infra", tell: []string{"roleAssignments/write", "User Access Administrator"}},
	{code: "RequestDisallowedByPolicy", rule: refused("Microsoft.Network/virtualNetworks/*", 403, "RequestDisallowedByPolicy", "Resource was disallowed by policy 'no-networks'."), run: "infra", tell: []string{"no-networks", "exemption"}},
	{code: "ResourceGroupNotFound", rule: refused("Microsoft.Network/publicIPAddresses/*", 404, "ResourceGroupNotFound", "Resource group could not be found."), run: "infra", recover: true, tell: []string{"name of the resource group", "az group show"}},
	{code: "InvalidTemplateDeployment", rule: refused("Microsoft.Network/loadBalancers/*", 400, "InvalidTemplateDeployment", "The value of 'sku' is not allowed."), run: "infra", tell: []string{"'sku' is not allowed", "correct the value"}},
	{code: "SkuNotAvailable", rule: refused("Microsoft.Network/loadBalancers/*", 409, "SkuNotAvailable", "The requested size is not available in location eastus."), run: "infra", tell: []string{"location eastus", "az vm list-skus"}},
	{code: "MarketplacePurchaseEligibilityFailed", rule: refused("Microsoft.Network/loadBalancers/*", 400, "MarketplacePurchaseEligibilityFailed", "Marketplace purchase eligibility check returned errors."), run: "infra", tell: []string{"purchase plan", "az vm image terms accept"}},
}

// commandsOf are command lines by what they make, with the file of workload identities that those of one write and those of another read.
func commandsOf(key, file string) map[string][]string {
	return map[string][]string{
		"iam": {"create", "iam", "azure", "--name", cluster, "--infra-id", infraID, "--resource-group-name", common,
			"--oidc-issuer-url", "https://issuer.blob.core.windows.net/demo", "--output-file", file},
		"issuer": {"create", "oidc-issuer", "azure", "--name", cluster, "--resource-group-name", common, "--private-key", key},
		"infra": {"create", "infra", "azure", "--name", cluster, "--infra-id", infraID, "--base-domain", domain,
			"--workload-identities-file", file, "--assign-identity-roles"},
	}
}

// succeed runs a command that must do what it is told.
func (w *world) succeed(t *testing.T, args ...string) {
	t.Helper()
	if status, stderr := w.command(nil, args...); status != 0 {
		t.Fatal(stderr)
	}
}

// TestEveryCodeIsExplained provokes each code that users of this field report, and reads on stderr what to do about it.
func TestEveryCodeIsExplained(t *testing.T) {
	w := newWorld(t)
	create := commandsOf(signer(t), filepath.Join(t.TempDir(), "workload-identities.json"))
	w.succeed(t, create["iam"]...)
	for _, tc := range explained {
		t.Run(tc.code, func(t *testing.T) {
			must(t, w.server.Faults().Clear())
			switch tc.run {
			case "iam":
				w.succeed(t, "destroy", "iam", "azure", "--name", cluster, "--infra-id", infraID, "--resource-group-name", common)
			case "infra":
				w.succeed(t, "destroy", "infra", "azure", "--name", cluster, "--infra-id", infraID)
				w.succeed(t, create["iam"]...)
			}
			if tc.rule.Plane != "" {
				_, err := w.server.Faults().Add(tc.rule)
				must(t, err)
			}
			begin := time.Now()
			status, stderr := w.command(tc.creds, create[tc.run]...)
			if (status == 0) != tc.recover {
				t.Errorf("exit status %d", status)
			}
			for _, want := range append(tc.tell, tc.code) {
				if !strings.Contains(stderr, want) {
					t.Errorf("stderr lacks %q", want)
				}
			}
			if t.Failed() {
				t.Logf("after %s:\n%s", time.Since(begin), stderr)
			}
		})
	}
}
