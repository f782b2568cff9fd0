package cli

import (
	"flag"
	"os"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/hypershift-on-azure/hypershift/internal/version"
)

var update = flag.Bool("update", false, "write the golden files anew")

// TestHelpIsGolden: what --help prints, to the letter, for what has subcommands, for a command of a few flags and for one whose flags are grouped. The
// flags of all are in docs/reference/cli.md, which is generated.
func TestHelpIsGolden(t *testing.T) {
	const file = "testdata/help.txt"
	for _, name := range []string{"HYPERSHIFT_DNS_RESOLVER", "AZURE_CREDS", "HYPERSHIFT_CACHE", "HYPERSHIFT_SANDBOX_DIR", "XDG_CACHE_HOME", "SUDO_USER"} {
		t.Setenv(name, "")
	}
	home := t.TempDir()
	t.Setenv("HOME", home)
	var all strings.Builder
	everyCommand(NewRoot(), func(cmd *cobra.Command) {
		if cmd.Hidden || !cmd.HasSubCommands() && cmd.CommandPath() != "hypershift status" && cmd.CommandPath() != "hypershift preflight azure" {
			return
		}
		var out, messages strings.Builder
		words := append(strings.Fields(cmd.CommandPath())[1:], "--help")
		if status := Main(words, &out, &messages); status != 0 || messages.Len() > 0 {
			t.Errorf("%v: %d %s", words, status, messages.String())
		}
		all.WriteString("$ " + cmd.CommandPath() + " --help\n" + out.String() + "\n")
	})
	got := strings.NewReplacer(home, "HOME", version.OperatorImage(), "IMAGE").Replace(all.String())
	if *update {
		if err := os.WriteFile(file, []byte(got), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	raw, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	want := strings.Split(string(raw), "\n")
	for i, line := range strings.Split(got, "\n") {
		if i >= len(want) || line != want[i] {
			t.Fatalf("line %d of the help is %q; -update writes %s anew", i+1, line, file)
		}
	}
	if strings.Count(got, "\n")+1 != len(want) {
		t.Errorf("%s has more than what is printed", file)
	}
}
