package cli

import (
	"os"
	"strings"
	"testing"
)

// TestRefusals types wrong values: each is refused with the name of its flag, or of the file's field, before any call, and nothing is
// written. No Azure is in reach.
func TestRefusals(t *testing.T) {
	files := inputs(t)
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
	const (
		issuer = "create oidc-issuer azure --resource-group-name g --name demo "
		iam    = "create iam azure --name demo --infra-id demo-1 --resource-group-name g --oidc-issuer-url https://i.example.com/x --output-file out.json "
		dns    = "create dns azure --resource-group-name g --dns-zone-name c.example.com "
		infra  = "create infra azure --name demo --infra-id demo-1 --base-domain example.com "
	)
	long := strings.Repeat("a", 60)
	for _, tc := range []struct{ line, cue string }{
		{issuer + "--name De", `--name "De"`},
		{issuer + "--storage-account-name Big-Account", `--storage-account-name "Big-Account"`},
		{issuer + "--public-key p.pem", "--public-key needs --private-key"},
		{issuer + "--private-key absent.pem", "absent.pem"},
		{issuer + "--tags a/b=c", `--tags: tag "a/b"`},
		{issuer + "--resource-group-name a/b", `--resource-group-name "a/b"`},
		{issuer + "--cloud Moon", `--cloud "Moon" is unknown`},
		{issuer + "-o xml", `--output "xml" is unknown`},
		{issuer + "--issuer-url http://x/", `--issuer-url "http://x/"`},
		{iam + "--name Demo_", `--name "Demo_"`},
		{iam + "--infra-id Demo_", `--infra-id "Demo_"`},
		{iam + "--oidc-issuer-url https://i.example.com/x/", "without a slash at its end"},
		{iam + "--output-file=", "output-file is required"},
		{iam + "--resource-group-name=", "resource-group-name is required"},
		{dns + "--dns-zone-name nodots", `--dns-zone-name "nodots"`},
		{dns + "--dns-zone-name a_b.example.com", `--dns-zone-name "a_b.example.com"`},
		{dns + "--parent-zone-id x", "--parent-zone-id"},
		{dns + "--dns-resolver 1.2.3.4", `--dns-resolver "1.2.3.4" is not HOST:PORT`},
		{dns + "--management-issuer-url i.example.com", "--management-issuer-url"},
		{dns + "--management-issuer-url https://i.example.com --service-principal-name x", "exclude each other"},
		{dns + "--service-principal-name x", "--external-dns-credentials is required"},
		{infra, "--workload-identities-file is required"},
		{infra + "--workload-identities-file absent.json", "cannot read --workload-identities-file"},
		{infra + "--workload-identities-file empty.json", "imageRegistry.clientID"},
		{infra + "--workload-identities-file list.json", "list.json"},
		{infra + files[4] + " " + files[5] + " --base-domain nodots", `--base-domain "nodots"`},
		{infra + files[4] + " " + files[5] + " --name " + long + " --infra-id " + long, "--name and --infra-id are too long"},
		{infra + files[4] + " " + files[5] + " --resource-group-tags a=" + strings.Repeat("x", 300), "--resource-group-tags: the value of tag a"},
		{infra + files[4] + " " + files[5] + " --managed-identities-file m --data-plane-identities-file d", "mutually exclusive"},
		{infra + files[4] + " " + files[5] + " --handoff other.yaml", "other.yaml: apiVersion"},
		{infra + files[4] + " " + files[5] + " --handoff secret.yaml", "issuer.url"},
		{infra + files[4] + " " + files[5] + " --handoff broken.yaml", "broken.yaml"},
		{"destroy infra azure --name demo", "--infra-id is required"},
		{"destroy infra azure --from absent.yaml", "absent.yaml"},
		{"destroy iam azure --name demo --infra-id demo-1", "--resource-group-name is required"},
		{"destroy iam azure --name demo --infra-id demo-1 --resource-group-name g --workload-identities-file empty.json", "imageRegistry.clientID"},
		{"destroy dns azure --resource-group-name g", "--dns-zone-name"},
		{"destroy oidc-issuer azure --resource-group-name g", "--name is required"},
		{"rotate oidc-issuer azure --resource-group-name g --name demo --token-lifetime 0s", "--token-lifetime"},
		{"verify azure --dns-zone-name c.example.com", "--dns-zone-rg-name"},
		{"verify azure --infra-json absent.yaml", "absent.yaml"},
		{iam + "--azure-creds absent.json", "cannot read the Azure credentials file"},
		{iam + "--azure-creds empty.json", "field subscriptionId is missing"},
		{iam + "--azure-creds short.json", "field subscriptionId is not a UUID"},
		{iam + "--azure-creds list.json", "list.json"},
	} {
		t.Run(tc.line, func(t *testing.T) {
			words := strings.Fields(tc.line)
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
