package cluster

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hypershift-on-azure/hypershift/sandbox/cluster/cloud"
	"github.com/hypershift-on-azure/hypershift/sandbox/cluster/names"
	"github.com/hypershift-on-azure/hypershift/sandbox/cluster/pki"
	"github.com/hypershift-on-azure/hypershift/sandbox/supervise"
)

func testConfig(t *testing.T) Config {
	t.Helper()
	c := Config{Dir: t.TempDir(), Bin: "/bin", Debian: "/debian", Self: "/hypershift"}
	if err := pki.Ensure(c.Dir); err != nil {
		t.Fatal(err)
	}
	if err := cloud.EnsureCredentials(c.Dir); err != nil {
		t.Fatal(err)
	}
	return c
}

func TestPartsAreAValidPlan(t *testing.T) {
	c := testConfig(t)
	if err := (supervise.Plan{Parts: c.Parts()}).Validate(); err != nil {
		t.Fatal(err)
	}
	secret, err := cloud.ClientSecret(c.Dir)
	if err != nil || len(secret) < 32 {
		t.Fatalf("client secret %q: %v", secret, err)
	}
	for _, part := range c.Parts() {
		if strings.Contains(strings.Join(append(part.Argv, part.Env...), " "), secret) {
			t.Errorf("%s: a secret is among its arguments", part.Name)
		}
	}
}

// A management cluster must not restart the Azure that runs already.
func TestAzureIsTheSameWithAndWithoutCluster(t *testing.T) {
	c := testConfig(t)
	alone := Config{Dir: c.Dir, Self: c.Self}.AzurePart(true)
	if with := c.Parts()[0]; strings.Join(with.Argv, " ") != strings.Join(alone.Argv, " ") || with.Ready != alone.Ready || with.Address != alone.Address {
		t.Errorf("with a cluster %+v, alone %+v", with, alone)
	}
}

func TestPrepareTwiceChangesNothing(t *testing.T) {
	c := testConfig(t)
	steps := []func() error{c.ensureClusterPKI, c.ensureRegistries, c.writeContainerd, c.writeKubelet, c.writeKubeProxy, func() error { return cloud.WriteProviderConfig(c.Dir, c.cloudConfigPath()) }}
	content := func() map[string]string {
		for _, step := range steps {
			if err := step(); err != nil {
				t.Fatal(err)
			}
		}
		files := map[string]string{}
		_ = filepath.Walk(c.Dir, func(path string, info os.FileInfo, err error) error {
			if err == nil && !info.IsDir() {
				text, _ := os.ReadFile(path)
				files[path] = string(text)
			}
			return nil
		})
		return files
	}
	first, second := content(), content()
	for path, text := range second {
		if first[path] != text {
			t.Errorf("%s changes", path)
		}
	}
	for _, path := range []string{c.pki("ca.key"), c.pki("admin.key"), c.Kubeconfig(), c.PullSecretFile(), c.CredentialsFile(), c.cloudConfigPath(),
		c.path("pki", "ca.key"), c.path("registry", "htpasswd"), c.path("registry", "config.yml")} {
		info, err := os.Stat(path)
		if err != nil || info.Mode().Perm()&0o077 != 0 {
			t.Errorf("%s: %v, %v", path, info.Mode(), err)
		}
	}
}

func TestRegistryCertificate(t *testing.T) {
	c := testConfig(t)
	if err := c.ensureRegistries(); err != nil {
		t.Fatal(err)
	}
	roots := x509.NewCertPool()
	bundle, err := os.ReadFile(c.Bundle())
	if err != nil || !roots.AppendCertsFromPEM(bundle) {
		t.Fatal(err)
	}
	for _, r := range containers {
		pair, err := tls.LoadX509KeyPair(c.path(r.folder, "tls", "registry.crt"), c.path(r.folder, "tls", "registry.key"))
		if err != nil {
			t.Fatal(err)
		}
		for _, host := range r.hosts {
			if _, err := pair.Leaf.Verify(x509.VerifyOptions{DNSName: host, Roots: roots}); err != nil {
				t.Errorf("%s: %v", host, err)
			}
		}
	}
}

// The pull secret opens both registries, each with a password of its own.
func TestPullSecret(t *testing.T) {
	c := testConfig(t)
	if err := c.ensureRegistries(); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(c.PullSecretFile())
	if err != nil {
		t.Fatal(err)
	}
	var secret struct {
		Auths map[string]struct {
			Auth []byte `json:"auth"`
		} `json:"auths"`
	}
	if err := json.Unmarshal(text, &secret); err != nil {
		t.Fatal(err)
	}
	passwords := map[string]bool{}
	for _, host := range []string{"quay.io", names.OwnRegistryHost} {
		user, password, found := strings.Cut(string(secret.Auths[host].Auth), ":")
		if !found || user == "" || password == "" {
			t.Errorf("no credentials of %s", host)
		}
		passwords[password] = true
	}
	if len(passwords) != 2 {
		t.Error("both registries have one password")
	}
}

func TestBuildIsTheProgramsContentNotItsDate(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	copied := filepath.Join(t.TempDir(), "copy")
	content, err := os.ReadFile(self)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(copied, content, 0o755); err != nil {
		t.Fatal(err)
	}
	first, second := Config{Self: self}.Build(), Config{Self: copied}.Build()
	if first == "unknown" || first != second {
		t.Fatalf("%s and a copy of it: %s", first, second)
	}
}
