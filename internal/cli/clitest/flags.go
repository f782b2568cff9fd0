package clitest

import (
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/pem"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/crypto/ssh"
	"sigs.k8s.io/yaml"

	"github.com/hypershift-on-azure/hypershift/internal/provision/infra"
	"github.com/hypershift-on-azure/hypershift/internal/support/table"
)

// FlagTable is what becomes of every flag.
func FlagTable(t *testing.T) []table.Flags {
	t.Helper()
	groups, err := table.LoadFlags()
	if err != nil {
		t.Fatal(err)
	}
	return groups
}

// Made is what a command line made.
type Made struct {
	Objects, Messages string
	Infra             *infra.Options
	Err               error
}

// words of a typed line; @NAME is a file.
func words(files map[string]string, lines ...string) []string {
	var all []string
	for _, word := range strings.Fields(strings.Join(lines, " ")) {
		if path := files[word]; path != "" {
			word = path
		}
		all = append(all, word)
	}
	return all
}

func typedFiles(t *testing.T) map[string]string {
	t.Helper()
	dir := t.TempDir()
	managed := `{"managedIdentitiesKeyVault":{"name":"v","tenantID":"` + UUID + `"}`
	for _, key := range []string{"cloudProvider", "nodePoolManagement", "controlPlaneOperator", "imageRegistry", "ingress", "network", "disk", "file"} {
		managed += `,"` + key + `":{"clientID":"` + UUID + `","credentialsSecretName":"s","objectEncoding":"utf-8"}`
	}
	identities, err := os.ReadFile(Inputs(t)[5])
	if err != nil {
		t.Fatal(err)
	}
	private, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	key := string(pem.EncodeToMemory(&pem.Block{Type: "RSA PRIVATE KEY", Bytes: x509.MarshalPKCS1PrivateKey(private)}))
	login, err := ssh.NewPublicKey(&private.PublicKey)
	if err != nil {
		t.Fatal(err)
	}
	files := map[string]string{}
	for name, content := range map[string]string{
		"@bundle": Certificate(t), "@mirrors": "- {source: quay.io, mirrors: [m.example.com]}\n", "@pull": `{"auths":{"x":{}}}`,
		"@key": key, "@ssh": string(ssh.MarshalAuthorizedKey(login)), "@managed": managed + "}", "@kms": strings.Replace(string(identities), "{", `{"kmsClientID":"`+UUID+`",`, 1),
		"@data": "imageRegistryMSIClientID: " + UUID + "\ndiskMSIClientID: " + UUID + "\nfileMSIClientID: " + UUID + "\n",
	} {
		files[name] = filepath.Join(dir, strings.TrimPrefix(name, "@"))
		if err := os.WriteFile(files[name], []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return files
}

func optionsOf(t *testing.T, m Made) string {
	t.Helper()
	if m.Infra == nil {
		return ""
	}
	raw, err := yaml.Marshal(m.Infra)
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}

// FlagsAct types what the table says of a command that acts: something else is made than without the flag.
func FlagsAct(t *testing.T, command string, make func(*testing.T, []string) Made) {
	t.Helper()
	files := typedFiles(t)
	for _, row := range typed(t, command) {
		if row.Acts == "" {
			continue
		}
		before, after := make(t, words(files, row.Beside)), make(t, words(files, row.Typed))
		if before.Err != nil || after.Err != nil {
			t.Errorf("%s %s: %v, and without: %v", command, row.Typed, after.Err, before.Err)
			continue
		}
		if before.Objects == after.Objects && optionsOf(t, before) == optionsOf(t, after) {
			t.Errorf("%s %s makes the same as without the flag", command, row.Typed)
		}
	}
}

func typed(t *testing.T, command string) []table.FlagRow {
	t.Helper()
	var rows []table.FlagRow
	for _, group := range FlagTable(t) {
		for _, row := range group.Rows {
			if group.Commands[0] == command && row.Typed != "" {
				rows = append(rows, row)
			}
		}
	}
	if len(rows) == 0 {
		t.Fatalf("no row of %s is typed", command)
	}
	return rows
}

// FlagsAreRefused types what the table says of a command that is refused, before anything is made, and what is warned of.
func FlagsAreRefused(t *testing.T, command string, make func(*testing.T, []string) Made) {
	t.Helper()
	files := typedFiles(t)
	for _, row := range typed(t, command) {
		got := make(t, words(files, row.Typed))
		switch {
		case row.Refused != "" && (got.Err == nil || !strings.Contains(got.Err.Error(), row.Refused)):
			t.Errorf("%s %s: %v, want a refusal with %q", command, row.Typed, got.Err, row.Refused)
		case row.Refused != "" && (got.Infra != nil || got.Objects != ""):
			t.Errorf("%s %s is refused when something is made already", command, row.Typed)
		case row.Inert != "" && (got.Err != nil || !strings.Contains(got.Messages, "warning: --"+row.For[0]+":")):
			t.Errorf("%s %s: %v, messages %q, want a warning", command, row.Typed, got.Err, got.Messages)
		}
	}
}
