package cli

import (
	"os"
	"strings"
	"testing"

	"github.com/hypershift-on-azure/hypershift/internal/cli/clitest"
)

const (
	refusedIssuer = "create oidc-issuer azure --resource-group-name g --name demo "
	refusedIAM    = "create iam azure --name demo --infra-id demo-1 --resource-group-name g --oidc-issuer-url https://i.example.com/x --output-file out.json "
	refusedDNS    = "create dns azure --resource-group-name g --dns-zone-name c.example.com "
	refusedInfra  = "create infra azure --name demo --infra-id demo-1 --base-domain example.com "
	// identitiesFile stands for the flag with a good file of workload identities.
	identitiesFile = "IDENTITIES"
)

var tooLong = strings.Repeat("a", 60)

// refusals are lines that are typed, and what the message has to name.
var refusals = []struct{ line, cue string }{
	{refusedIssuer + "--name De", `--name "De"`},
	{refusedIssuer + "--storage-account-name Big-Account", `--storage-account-name "Big-Account"`},
	{refusedIssuer + "--public-key p.pem", "--public-key needs --private-key"},
	{refusedIssuer + "--private-key absent.pem", "absent.pem"},
	{refusedIssuer + "--tags a/b=c", `--tags: tag "a/b"`},
	{refusedIssuer + "--resource-group-name a/b", `--resource-group-name "a/b"`},
	{refusedIssuer + "--cloud Moon", `--cloud "Moon" is unknown`},
	{refusedIssuer + "-o xml", `--output "xml" is unknown`},
	{refusedIssuer + "--issuer-url http://x/", `--issuer-url "http://x/"`},
	{refusedIAM + "--name Demo_", `--name "Demo_"`},
	{refusedIAM + "--infra-id Demo_", `--infra-id "Demo_"`},
	{refusedIAM + "--oidc-issuer-url https://i.example.com/x/", "without a slash at its end"},
	{refusedIAM + "--output-file=", "output-file is required"},
	{refusedIAM + "--resource-group-name=", "resource-group-name is required"},
	{refusedDNS + "--dns-zone-name nodots", `--dns-zone-name "nodots"`},
	{refusedDNS + "--dns-zone-name a_b.example.com", `--dns-zone-name "a_b.example.com"`},
	{refusedDNS + "--parent-zone-id x", "--parent-zone-id"},
	{refusedDNS + "--dns-resolver 1.2.3.4", `--dns-resolver "1.2.3.4" is not HOST:PORT`},
	{refusedDNS + "--management-issuer-url i.example.com", "--management-issuer-url"},
	{refusedDNS + "--management-issuer-url https://i.example.com --service-principal-name x", "exclude each other"},
	{refusedDNS + "--service-principal-name x", "--external-dns-credentials is required"},
	{refusedInfra, "--workload-identities-file is required"},
	{refusedInfra + "--workload-identities-file absent.json", "cannot read --workload-identities-file"},
	{refusedInfra + "--workload-identities-file empty.json", "imageRegistry.clientID"},
	{refusedInfra + "--workload-identities-file list.json", "list.json"},
	{refusedInfra + identitiesFile + " --base-domain nodots", `--base-domain "nodots"`},
	{refusedInfra + identitiesFile + " --name " + tooLong + " --infra-id " + tooLong, "--name and --infra-id are too long"},
	{refusedInfra + identitiesFile + " --resource-group-tags a=" + strings.Repeat("x", 300), "--resource-group-tags: the value of tag a"},
	{refusedInfra + identitiesFile + " --managed-identities-file m --data-plane-identities-file d", "mutually exclusive"},
	{refusedInfra + identitiesFile + " --handoff other.yaml", "other.yaml: apiVersion"},
	{refusedInfra + identitiesFile + " --handoff secret.yaml", "issuer.url"},
	{refusedInfra + identitiesFile + " --handoff broken.yaml", "broken.yaml"},
	{"destroy infra azure --name demo", "--infra-id is required"},
	{"destroy infra azure --from absent.yaml", "absent.yaml"},
	{"destroy iam azure --name demo --infra-id demo-1", "--resource-group-name is required"},
	{"destroy iam azure --name demo --infra-id demo-1 --resource-group-name g --workload-identities-file empty.json", "imageRegistry.clientID"},
	{"destroy dns azure --resource-group-name g", "--dns-zone-name"},
	{"destroy oidc-issuer azure --resource-group-name g", "--name is required"},
	{"rotate oidc-issuer azure --resource-group-name g --name demo --token-lifetime 0s", "--token-lifetime"},
	{"verify azure --dns-zone-name c.example.com", "--dns-zone-rg-name"},
	{"verify azure --infra-json absent.yaml", "absent.yaml"},
	{refusedIAM + "--azure-creds absent.json", "cannot read the Azure credentials file"},
	{refusedIAM + "--azure-creds empty.json", "field subscriptionId is missing"},
	{refusedIAM + "--azure-creds short.json", "field subscriptionId is not a UUID"},
	{refusedIAM + "--azure-creds list.json", "list.json"},
}

// TestRefusals types wrong values: each is refused with the name of its flag, or of the file's field, before any call, and nothing is
// written. No Azure is in reach.
func TestRefusals(t *testing.T) {
	files := clitest.Inputs(t)
	t.Chdir(t.TempDir())
	t.Setenv("HTTPS_PROXY", "http://127.0.0.1:1")
	for name, content := range map[string]string{
		"empty.json": "{}", "short.json": `{"subscriptionId":"x"}`, "list.json": "[]", "broken.yaml": "a: [",
		"other.yaml": "apiVersion: v2\nkind: Handoff\n", "secret.yaml": "apiVersion: handoff.hypershift.openshift.io/v1\nkind: Handoff\nissuer: {url: ftp://x}\n",
	} {
		if err := os.WriteFile(name, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	before, err := os.ReadDir(".")
	if err != nil {
		t.Fatal(err)
	}
	for _, tc := range refusals {
		t.Run(tc.line, func(t *testing.T) {
			words := strings.Fields(strings.Replace(tc.line, identitiesFile, files[4]+" "+files[5], 1))
			if !strings.Contains(tc.line, "--azure-creds") {
				words = append(words, files[:2]...)
			}
			status, stdout, stderr := run(t, words...)
			if status != 1 || stdout != "" || !strings.Contains(stderr, tc.cue) || strings.Count(strings.TrimSpace(stderr), "\n") > 0 {
				t.Errorf("status %d, stdout %q, stderr %q; want one line with %q", status, stdout, stderr, tc.cue)
			}
		})
	}
	after, err := os.ReadDir(".")
	if err != nil {
		t.Fatal(err)
	}
	if len(after) != len(before) {
		t.Errorf("something was written: %v", after)
	}
}

// TestResolverOfTheEnvironment: in a sandbox the system's DNS server knows none of its names, and nobody types another one.
func TestResolverOfTheEnvironment(t *testing.T) {
	t.Setenv("HYPERSHIFT_DNS_RESOLVER", "1.2.3.4")
	for line, want := range map[string]string{refusedDNS: "1.2.3.4", refusedDNS + "--dns-resolver 5.6.7.8": "5.6.7.8"} {
		status, _, stderr := run(t, append(strings.Fields(line), clitest.Inputs(t)[:2]...)...)
		if status != 1 || !strings.Contains(stderr, `--dns-resolver "`+want+`" is not HOST:PORT`) {
			t.Errorf("%s: status %d, stderr %q, want %s refused", line, status, stderr, want)
		}
	}
}
