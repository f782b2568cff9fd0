package cli

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/pem"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"sigs.k8s.io/yaml"

	"github.com/hypershift-on-azure/hypershift/internal/azure"
	"github.com/hypershift-on-azure/hypershift/internal/provision/infra"
	"github.com/hypershift-on-azure/hypershift/internal/stack"
	"github.com/hypershift-on-azure/hypershift/internal/support/table"
)

func flagTable(t *testing.T) []table.Flags {
	t.Helper()
	groups, err := table.LoadFlags()
	if err != nil {
		t.Fatal(err)
	}
	return groups
}

// TestEveryFlagHasARow walks the commands, in both directions.
func TestEveryFlagHasARow(t *testing.T) {
	rows := map[string]bool{}
	for _, group := range flagTable(t) {
		for _, command := range group.Commands {
			for _, row := range group.Rows {
				for _, flag := range row.For {
					rows[command+" --"+flag] = true
				}
			}
		}
	}
	found := map[string]bool{}
	everyCommand(NewRoot(), func(cmd *cobra.Command) {
		cmd.LocalFlags().VisitAll(func(f *pflag.Flag) {
			key := strings.TrimPrefix(cmd.CommandPath(), "hypershift ") + " --" + f.Name
			found[key] = true
			if f.Name != "help" && f.Name != "version" && !rows[key] {
				t.Errorf("%s has no row in flags.yaml: does it act, is it refused, or is it without effect?", key)
			}
		})
	})
	for key := range rows {
		if !found[key] {
			t.Errorf("flags.yaml has a row for %s, which is not there", key)
		}
	}
}

// made is what a command line made.
type made struct {
	objects, messages string
	infra             *infra.Options
	err               error
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
	managed := `{"managedIdentitiesKeyVault":{"name":"v","tenantID":"` + testUUID + `"}`
	for _, key := range []string{"cloudProvider", "nodePoolManagement", "controlPlaneOperator", "imageRegistry", "ingress", "network", "disk", "file"} {
		managed += `,"` + key + `":{"clientID":"` + testUUID + `","credentialsSecretName":"s","objectEncoding":"utf-8"}`
	}
	identities, err := os.ReadFile(inputs(t)[5])
	if err != nil {
		t.Fatal(err)
	}
	private, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	key := string(pem.EncodeToMemory(&pem.Block{Type: "RSA PRIVATE KEY", Bytes: x509.MarshalPKCS1PrivateKey(private)}))
	public, _, err := newSSHKey()
	if err != nil {
		t.Fatal(err)
	}
	files := map[string]string{}
	for name, content := range map[string]string{
		"@bundle": certificateForTest(t), "@mirrors": "- {source: quay.io, mirrors: [m.example.com]}\n", "@pull": `{"auths":{"x":{}}}`,
		"@key": key, "@ssh": string(public), "@managed": managed + "}", "@kms": strings.Replace(string(identities), "{", `{"kmsClientID":"`+testUUID+`",`, 1),
		"@data": "imageRegistryMSIClientID: " + testUUID + "\ndiskMSIClientID: " + testUUID + "\nfileMSIClientID: " + testUUID + "\n",
	} {
		files[name] = filepath.Join(dir, strings.TrimPrefix(name, "@"))
		if err := os.WriteFile(files[name], []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return files
}

// createsCluster renders with an infrastructure that is only looked at.
func createsCluster(t *testing.T, line []string) made {
	t.Helper()
	var out made
	cmd := newCreateClusterAzureCommand(func(ctx context.Context, s *azure.Session, o infra.Options, say func(stack.Event)) (*infra.Output, error) {
		out.infra = &o
		return fakeInfra(ctx, s, o, say)
	})
	var objects, messages bytes.Buffer
	cmd.SetOut(&objects)
	cmd.SetErr(&messages)
	cmd.SilenceErrors, cmd.SilenceUsage = true, true
	cmd.SetArgs(append(append(inputs(t), "--name", "demo", "--infra-id", "demo-x1", "--render-sensitive"), line...))
	out.err = cmd.ExecuteContext(t.Context())
	// The key that encrypts is another one each time.
	out.objects = regexp.MustCompile(`(?m)^  key: .*$`).ReplaceAllString(objects.String(), "")
	out.messages = messages.String()
	return out
}

func createsPool(t *testing.T, line []string) made {
	t.Helper()
	f := &nodePoolFlags{}
	flags := pflag.NewFlagSet("nodepool", pflag.ContinueOnError)
	f.addAll(flags)
	if err := flags.Parse(line); err != nil {
		t.Fatal(err)
	}
	f.ClusterName = "demo"
	var out made
	if out.err = f.validate(); out.err == nil {
		f.render = true
		var objects, messages bytes.Buffer
		out.err = f.run(t.Context(), testClient(hostedCluster("demo", true)), &objects, &messages)
		out.objects, out.messages = objects.String(), messages.String()
	}
	return out
}

func optionsOf(t *testing.T, m made) string {
	t.Helper()
	if m.infra == nil {
		return ""
	}
	raw, err := yaml.Marshal(m.infra)
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}

// TestFlagsAct types what the table says that acts: something else is made than without the flag.
func TestFlagsAct(t *testing.T) {
	files := typedFiles(t)
	for command, make := range map[string]func(*testing.T, []string) made{"create cluster azure": createsCluster, "create nodepool azure": createsPool} {
		for _, row := range typed(t, command) {
			if row.Acts == "" {
				continue
			}
			before, after := make(t, words(files, row.Beside)), make(t, words(files, row.Typed))
			if before.err != nil || after.err != nil {
				t.Errorf("%s %s: %v, and without: %v", command, row.Typed, after.err, before.err)
				continue
			}
			if before.objects == after.objects && optionsOf(t, before) == optionsOf(t, after) {
				t.Errorf("%s %s makes the same as without the flag", command, row.Typed)
			}
		}
	}
}

func typed(t *testing.T, command string) []table.FlagRow {
	var rows []table.FlagRow
	for _, group := range flagTable(t) {
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

// TestFlagsAreRefused types what is refused, before anything is made, and what is warned of.
func TestFlagsAreRefused(t *testing.T) {
	files := typedFiles(t)
	install := func(_ *testing.T, line []string) made {
		_, err := installedWith(line)
		return made{err: err}
	}
	for command, make := range map[string]func(*testing.T, []string) made{
		"create cluster azure": createsCluster, "create nodepool azure": createsPool, "install": install,
	} {
		for _, row := range typed(t, command) {
			got := make(t, words(files, row.Typed))
			switch {
			case row.Refused != "" && (got.err == nil || !strings.Contains(got.err.Error(), row.Refused)):
				t.Errorf("%s %s: %v, want a refusal with %q", command, row.Typed, got.err, row.Refused)
			case row.Refused != "" && (got.infra != nil || got.objects != ""):
				t.Errorf("%s %s is refused when something is made already", command, row.Typed)
			case row.Inert != "" && (got.err != nil || !strings.Contains(got.messages, "warning: --"+row.For[0]+":")):
				t.Errorf("%s %s: %v, messages %q, want a warning", command, row.Typed, got.err, got.messages)
			}
		}
	}
}

// What is rendered for infrastructure that is there may be for another operator: it is warned of.
func TestRenderingForAnotherOperatorIsWarnedOf(t *testing.T) {
	file := filepath.Join(t.TempDir(), "infra.yaml")
	infra := `{"baseDomain":"example.com","region":"westus","infraID":"demo-x1","resourceGroupName":"rg","securityGroupID":"NSG","vnetID":"V","subnetID":"S"}`
	if err := os.WriteFile(file, []byte(infra), 0o600); err != nil {
		t.Fatal(err)
	}
	got := createsCluster(t, []string{"--infra-json", file, "--fips"})
	if got.err != nil || !strings.Contains(got.objects, "fips: true") || !strings.Contains(got.messages, "warning: this version's operator will refuse") {
		t.Errorf("%v, messages %q", got.err, got.messages)
	}
}

// Flags whose effect is not in what is made.
func TestFlagsWithoutManifest(t *testing.T) {
	t.Setenv("KUBECONFIG", "/nonexistent/kubeconfig")
	file := filepath.Join(t.TempDir(), "out.yaml")
	base := append(inputs(t), "--name", "demo")
	if _, err := createCluster(append(base, "--render-into", file)...); err != nil {
		t.Error(err)
	}
	if text, err := os.ReadFile(file); err != nil || !strings.Contains(string(text), "kind: HostedCluster") {
		t.Errorf("--render-into wrote %q, %v", text, err)
	}
	for _, line := range []string{"--render --version-check", "--render --release-stream 4-stable-multi --release-image=", "--wait --timeout 1ns"} {
		plain := base
		if strings.Contains(line, "stream") {
			plain = withoutFlag(base, "--release-image")
			line = strings.TrimSuffix(line, " --release-image=")
		}
		if _, err := createCluster(append(plain, strings.Fields(line)...)...); err == nil || !strings.Contains(err.Error(), "/nonexistent/kubeconfig") {
			t.Errorf("%s: %v, want a question to the management cluster", line, err)
		}
	}
	if status, _, stderr := run(t, "uninstall", "--timeout", "never"); status != 1 || !strings.Contains(stderr, "--timeout") {
		t.Errorf("uninstall --timeout never: %d %s", status, stderr)
	}
}

func withoutFlag(words []string, flag string) []string {
	for i, word := range words {
		if word == flag {
			return append(append([]string{}, words[:i]...), words[i+2:]...)
		}
	}
	return words
}

func TestVersionFlags(t *testing.T) {
	_, whole, _ := run(t, "version", "--client-only")
	_, commit, _ := run(t, "version", "--commit-only")
	if !strings.Contains(whole, "(commit "+strings.TrimSpace(commit)+",") || strings.Contains(commit, " ") {
		t.Errorf("%q and %q", whole, commit)
	}
	if _, text, _ := run(t, "version", "--client-only", "--output", "json"); !strings.Contains(text, strconv.Quote(strings.TrimSpace(commit))) {
		t.Errorf("%q does not have commit %q", text, commit)
	}
	if _, server, _ := run(t, "version", "--namespace", "elsewhere"); !strings.HasPrefix(server, whole) || server == whole {
		t.Errorf("%q, want a line about the operator too", server)
	}
}

// TestKubeconfigFlag: the management cluster is the one of the file.
func TestKubeconfigFlag(t *testing.T) {
	for _, line := range []string{
		"destroy cluster azure --name demo --kubeconfig /nonexistent/mine", "create cluster azure --kubeconfig /nonexistent/mine --name demo",
		"rotate oidc-issuer azure --update-cluster --namespace clusters --name demo --resource-group-name g --kubeconfig /nonexistent/mine",
	} {
		all := append(strings.Fields(line), inputs(t)[:2]...)
		if strings.HasPrefix(line, "create") {
			all = append(strings.Fields(line), inputs(t)...)
		}
		if status, _, stderr := run(t, all...); status != 1 || !strings.Contains(stderr, "/nonexistent/mine") {
			t.Errorf("%s: %d %s", line, status, stderr)
		}
	}
}

func TestRenderingCommandsWriteFiles(t *testing.T) {
	dir := t.TempDir()
	for _, line := range []string{"install render --output-file " + dir + "/all.yaml", "install helm --output-dir " + dir + "/chart"} {
		if status, stdout, stderr := run(t, strings.Fields(line)...); status != 0 || strings.Contains(stdout, "kind:") {
			t.Errorf("%s: %d %.200s %s", line, status, stdout, stderr)
		}
	}
	for _, file := range []string{"all.yaml", "chart/Chart.yaml"} {
		if info, err := os.Stat(filepath.Join(dir, file)); err != nil || info.Size() == 0 {
			t.Errorf("%s: %v", file, err)
		}
	}
}
