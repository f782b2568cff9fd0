package cli

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/hypershift-on-azure/hypershift/internal/cli/clitest"
)

// TestEveryFlagHasARow walks the commands, in both directions.
func TestEveryFlagHasARow(t *testing.T) {
	rows := map[string]bool{}
	for _, group := range clitest.FlagTable(t) {
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

func TestUninstallTimeout(t *testing.T) {
	if status, _, stderr := run(t, "uninstall", "--timeout", "never"); status != 1 || !strings.Contains(stderr, "--timeout") {
		t.Errorf("uninstall --timeout never: %d %s", status, stderr)
	}
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
		"destroy cluster azure --name demo --kubeconfig /nonexistent/mine", "create cluster azure --kubeconfig /nonexistent/mine --name demo", "preflight cluster --kubeconfig /nonexistent/mine --name demo",
		"get clusters --kubeconfig /nonexistent/mine", "get nodepools --kubeconfig /nonexistent/mine", "status demo --kubeconfig /nonexistent/mine",
		"pause cluster demo --kubeconfig /nonexistent/mine", "resume nodepool demo --kubeconfig /nonexistent/mine", "scale nodepool demo --replicas 1 --kubeconfig /nonexistent/mine",
		"upgrade cluster demo --to 4.22.0 --kubeconfig /nonexistent/mine", "wait nodepool demo --kubeconfig /nonexistent/mine",
		"logs etcd --cluster demo --kubeconfig /nonexistent/mine", "dump cluster demo --kubeconfig /nonexistent/mine", "preflight management --kubeconfig /nonexistent/mine",
		"explain cluster demo --kubeconfig /nonexistent/mine", "create oadp-backup --hc-name demo --hc-namespace clusters --kubeconfig /nonexistent/mine", "backup create demo --kubeconfig /nonexistent/mine", "backup list demo --kubeconfig /nonexistent/mine",
		"backup restore demo --azure-creds x --kubeconfig /nonexistent/mine", "explain nodepool demo --kubeconfig /nonexistent/mine",
		"export cluster demo --kubeconfig /nonexistent/mine", "graph cluster demo --kubeconfig /nonexistent/mine", "create kubeconfig demo --kubeconfig /nonexistent/mine", "create credential demo --kubeconfig /nonexistent/mine", "kubeconfig demo --merge --kubeconfig /nonexistent/mine",
		"create nodepool azure --cluster-name demo --name more --kubeconfig /nonexistent/mine",
		"rotate oidc-issuer azure --update-cluster --namespace clusters --name demo --resource-group-name g --kubeconfig /nonexistent/mine",
	} {
		all := strings.Fields(line)
		if strings.Contains(line, "azure") {
			all = append(all, clitest.Inputs(t)[:2]...)
		}
		if strings.HasPrefix(line, "create cluster") || strings.HasPrefix(line, "preflight cluster") {
			all = append(strings.Fields(line), clitest.Inputs(t)...)
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
