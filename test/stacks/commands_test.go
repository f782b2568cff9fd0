package stacks_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hypershift-on-azure/hypershift/internal/provision/handoff"
)

// Each command names the flag that is wrong before it has written anything, neither Azure nor a file.
func TestCommandsRefuseByFlag(t *testing.T) {
	w := newWorld(t)
	dir := t.TempDir()
	key := signer(t)
	before := w.dump()
	file := func(name string) string { return filepath.Join(dir, name) }
	vnet := w.group("theirs") + "/providers/Microsoft.Network/virtualNetworks/vnet"
	for name, tc := range map[string]struct {
		args string
		says []string
	}{
		"an issuer without a name":       {"create oidc-issuer azure --resource-group-name os4-common --output-dir " + file("keys"), []string{"--name is required"}},
		"a name that is no container's":  {"create oidc-issuer azure --name a --resource-group-name os4-common --output-dir " + file("keys"), []string{"--name", "--shared"}},
		"a public key alone":             {"create oidc-issuer azure --name demo --resource-group-name os4-common --public-key " + key, []string{"--public-key", "--private-key"}},
		"a plan of documents":            {"create oidc-issuer azure --name demo --dry-run --issuer-url https://i.example.com --output-dir " + file("keys"), []string{"--issuer-url", "--dry-run"}},
		"identities without a place":     {"create iam azure --name demo --infra-id demo-x --resource-group-name os4-common --oidc-issuer-url https://i.example.com", []string{"output-file"}},
		"an issuer with a slash":         {"create iam azure --name demo --infra-id demo-x --resource-group-name os4-common --oidc-issuer-url https://i.example.com/ --output-file " + file("ids"), []string{"--oidc-issuer-url"}},
		"names that are too long":        {"create iam azure --name " + strings.Repeat("a", 40) + " --infra-id " + strings.Repeat("b", 40) + " --resource-group-name os4-common --oidc-issuer-url https://i.example.com --output-file " + file("ids"), []string{"--name", "--infra-id", "64"}},
		"roles without a group":          {"create iam azure --name demo --infra-id demo-x --resource-group-name os4-common --oidc-issuer-url https://i.example.com --assign-identity-roles --output-file " + file("ids"), []string{"--cluster-resource-group-name"}},
		"a folder that is not there":     {"create iam azure --name demo --infra-id demo-x --resource-group-name os4-common --oidc-issuer-url https://i.example.com --output-file " + file("no/ids"), []string{"--output-file"}},
		"infrastructure without ids":     {"create infra azure --name demo --infra-id demo-x --base-domain " + domain, []string{"--workload-identities-file"}},
		"a network without a subnet":     {"create prerequisites azure --name demo --infra-id demo-x --resource-group-name os4-common --base-domain " + domain + " --output-dir " + file("keys") + " --handoff " + file("h.yaml") + " --vnet-id " + vnet, []string{"--vnet-id", "--subnet-id"}},
		"a region that is none":          {"create prerequisites azure --name demo --infra-id demo-x --resource-group-name os4-common --base-domain " + domain + " --output-dir " + file("keys") + " --handoff " + file("h.yaml") + " --location atlantis", []string{"--location", "atlantis", "eastus"}},
		"a region as people write it":    {"create prerequisites azure --name demo --infra-id demo-x --resource-group-name os4-common --base-domain " + domain + " --output-dir " + file("keys") + " --handoff " + file("h.yaml") + " --location EastUS", []string{"--location", "is written eastus"}},
		"a base domain without a zone":   {"create prerequisites azure --name demo --infra-id demo-x --resource-group-name os4-common --base-domain example.org --output-dir " + file("keys") + " --handoff " + file("h.yaml"), []string{"--base-domain", "example.org"}},
		"no place for the result":        {"create prerequisites azure --name demo --infra-id demo-x --resource-group-name os4-common --base-domain " + domain, []string{"--handoff is required"}},
		"a zone without a group":         {"create dns azure --dns-zone-name clusters." + domain, []string{"--resource-group-name"}},
		"a resolver without a port":      {"create dns azure --dns-zone-name clusters." + domain + " --resource-group-name os4-common --dns-resolver 192.0.2.1", []string{"--dns-resolver", "HOST:PORT"}},
		"a hand-off that is not there":   {"destroy infra azure --from " + file("gone.yaml"), []string{"gone.yaml"}},
		"a rotation without a life":      {"rotate oidc-issuer azure --name demo --resource-group-name os4-common --token-lifetime 0s --output-dir " + dir, []string{"--token-lifetime"}},
		"a rotation without the keys":    {"rotate oidc-issuer azure --name demo --resource-group-name os4-common --output-dir " + file("keys"), []string{"--output-dir"}},
		"a rotation that has not begun":  {"rotate oidc-issuer azure --name demo --resource-group-name os4-common --finish --output-dir " + dir, []string{"no rotation to finish"}},
		"a verification of nothing":      {"verify azure", []string{"nothing to verify"}},
		"a cloud that is none":           {"verify azure --cloud Mars --oidc-issuer-url https://i.example.com", []string{"Mars"}},
		"an infrastructure without name": {"destroy infra azure", []string{"--name"}},
	} {
		status, stderr := w.command(nil, strings.Fields(tc.args)...)
		if status == 0 {
			t.Errorf("%s: it went on: %s", name, stderr)
		}
		for _, word := range tc.says {
			if !strings.Contains(stderr, word) {
				t.Errorf("%s: %q is not said: %s", name, word, stderr)
			}
		}
		if strings.Contains(stderr, secret) {
			t.Errorf("%s: the client secret is told", name)
		}
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) != 0 {
		t.Errorf("written are %v, %v", left, err)
	}
	if d := differences(before, w.dump()); d != "" {
		t.Errorf("after the refusals:\n%s", d)
	}
}

// Commands leave files of keys and of ids for their user alone, a second cluster does not take the first one's file, and a destroy takes only what
// its own file tells of.
func TestCommandsKeepClustersApart(t *testing.T) {
	w := newWorld(t)
	dir := t.TempDir()
	before := w.dump()
	file := func(name string) string { return filepath.Join(dir, name) }
	make := func(name, handoff string) (int, string) {
		return w.command(nil, "create", "prerequisites", "azure", "--name", name, "--infra-id", name+"-x", "--resource-group-name", common, "--base-domain", domain,
			"--output-dir", file(name), "--handoff", file(handoff))
	}
	if status, stderr := make("demo", "demo.yaml"); status != 0 {
		t.Fatal(stderr)
	}
	one := w.dump()
	if status, stderr := make("other", "demo.yaml"); status == 0 || !strings.Contains(stderr, "own file") || differences(one, w.dump()) != "" {
		t.Errorf("another cluster with the first one's file: %d, %s", status, stderr)
	}
	if status, stderr := make("other", "other.yaml"); status != 0 {
		t.Fatal(stderr)
	}
	for _, path := range []string{"demo.yaml", "demo/serviceaccount-signer.private"} {
		if info, err := os.Stat(file(path)); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%s: %v, %v", path, info, err)
		}
	}
	two := w.dump()
	for _, plan := range [][]string{{"destroy", "infra", "azure"}, {"destroy", "iam", "azure"}, {"destroy", "oidc-issuer", "azure"}} {
		if status, stderr := w.command(nil, append(plan, "--from", file("other.yaml"), "--dry-run")...); status != 0 {
			t.Errorf("%v: %s", plan, stderr)
		}
	}
	if d := differences(two, w.dump()); d != "" {
		t.Errorf("after the plans:\n%s", d)
	}
	if status, stderr := w.command(nil, "destroy", "oidc-issuer", "azure", "--from", file("other.yaml")); status == 0 || !strings.Contains(stderr, "trusted by managed identities") {
		t.Errorf("an issuer that is trusted: %d, %s", status, stderr)
	}
	for _, what := range []string{"infra", "iam", "oidc-issuer"} {
		if status, stderr := w.command(nil, "destroy", what, "azure", "--from", file("other.yaml")); status != 0 {
			t.Fatalf("destroy %s: %s", what, stderr)
		}
	}
	if d := differences(one, w.dump()); d != "" {
		t.Errorf("after the destroy of the other:\n%s", d)
	}
	h, err := handoff.Read(file("other.yaml"))
	must(t, err)
	if h.Infra != nil || h.Identities != nil || h.Issuer != nil || len(h.Inventory) != 0 {
		t.Errorf("its file still tells of %+v", h)
	}
	for _, what := range []string{"infra", "iam", "oidc-issuer"} {
		if status, stderr := w.command(nil, "destroy", what, "azure", "--from", file("demo.yaml")); status != 0 {
			t.Fatalf("destroy %s: %s", what, stderr)
		}
	}
	if d := differences(before, w.dump()); d != "" {
		t.Errorf("after the destroy of both:\n%s", d)
	}
}
