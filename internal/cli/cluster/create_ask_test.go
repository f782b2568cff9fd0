package cluster

import (
	"bytes"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/pem"
	"os"
	"strings"
	"testing"

	"github.com/hypershift-on-azure/hypershift/internal/cli/azureflags"
	"github.com/hypershift-on-azure/hypershift/internal/cli/clitest"
	"github.com/hypershift-on-azure/hypershift/internal/cli/interview"
)

// prepared is a folder and an environment that have all but the name.
func prepared(t *testing.T) {
	t.Helper()
	inputs := clitest.Inputs(t)
	t.Chdir(t.TempDir())
	identities, err := os.ReadFile(inputs[5])
	if err != nil {
		t.Fatal(err)
	}
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	for name, content := range map[string][]byte{"workload-identities.json": identities,
		"serviceaccount-signer.private": pem.EncodeToMemory(&pem.Block{Type: "RSA PRIVATE KEY", Bytes: x509.MarshalPKCS1PrivateKey(key)})} {
		if err := os.WriteFile(name, content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for name, value := range map[string]string{"AZURE_CREDS": inputs[1], "PULL_SECRET": inputs[3], "RELEASE_IMAGE": "quay.io/release:7", "LOCATION": "westus", "BASE_DOMAIN": "asked.example.com", "OIDC_ISSUER_URL": "https://issuer.example.com/x"} {
		t.Setenv(name, value)
	}
}

// TestInteractive: what the environment and the folder have is taken, what is typed stays, and what is missing is refused where nobody can be asked.
func TestInteractive(t *testing.T) {
	prepared(t)
	look := NewCreateAzureCommand(clitest.Infra, clitest.Releases{}, nil)
	_, _, err := typedAt(t, look, "--interactive", "--render")
	if err == nil || !strings.Contains(err.Error(), "--name is needed, and nobody sits at a terminal") {
		t.Errorf("%v", err)
	}
	out, said, err := typedAt(t, NewCreateAzureCommand(clitest.Infra, clitest.Releases{}, nil), "--interactive", "--render", "--name", "demo", "--base-domain", "typed.example.com", "--skip-preflight")
	if err != nil {
		t.Fatal(err)
	}
	for _, part := range []string{"baseDomain: typed.example.com", "location: westus", "image: quay.io/release:7", "issuerURL: https://issuer.example.com/x"} {
		if !strings.Contains(out, part) {
			t.Errorf("%q is missing in\n%s", part, out)
		}
	}
	if !strings.Contains(said, "--release-image quay.io/release:7 ($RELEASE_IMAGE)") || !strings.Contains(said, "--workload-identities-file workload-identities.json (in this folder)") || strings.Contains(said, "--base-domain") {
		t.Errorf("said %s", said)
	}
}

// Who sits at a terminal is asked for the one thing that is missing.
func TestInteractiveAsks(t *testing.T) {
	prepared(t)
	cmd := NewCreateAzureCommand(clitest.Infra, clitest.Releases{}, nil)
	cmd.SetContext(t.Context())
	var said bytes.Buffer
	cmd.SetErr(&said)
	c := &creation{cmd: cmd, record: &azureflags.HandoffFile{}, who: interview.Answering(strings.NewReader("demo\n"))}
	if err := c.ask(&typed{}); err != nil {
		t.Fatal(err)
	}
	if cmd.Flag("name").Value.String() != "demo" || strings.Count(said.String(), ": ") != 1 {
		t.Errorf("name %s, said %s", cmd.Flag("name").Value, said.String())
	}
}
