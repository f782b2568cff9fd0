package quick_test

import (
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/hypershift-on-azure/hypershift/internal/cli"
	"github.com/hypershift-on-azure/hypershift/internal/cli/quick"
	"github.com/hypershift-on-azure/hypershift/internal/version"
)

// TestAnswersAsTheWholeProgram: nobody can tell who answered. Red for a help.txt that hack/apidocs has not written anew.
func TestAnswersAsTheWholeProgram(t *testing.T) {
	version.Commit = "c0ffee"
	t.Cleanup(func() { version.Commit = "" })
	for _, line := range []string{"--help", "-h", "--version", "version --client-only"} {
		words := strings.Fields(line)
		var out, messages strings.Builder
		if status := cli.Main(words, &out, &messages); status != 0 || messages.Len() > 0 {
			t.Fatalf("hypershift %s: %d %s", line, status, messages.String())
		}
		if got := quick.Answer(words); got != out.String() {
			t.Errorf("hypershift %s is answered with %q, by the whole program with %q; hack/generate.sh writes help.txt anew", line, got, out.String())
		}
		if strings.HasPrefix(line, "version") {
			continue // only a program whose linker was told the commit
		}
		// This test program links the package, as the command does.
		if started, err := exec.CommandContext(t.Context(), os.Args[0], words...).Output(); err != nil || string(started) != out.String() {
			t.Errorf("a program that starts with %q: %v, %q", line, err, started)
		}
	}
}

func TestLeavesTheRestToTheWholeProgram(t *testing.T) {
	for _, line := range []string{"", "help", "version", "version -o json", "version --client-only -o json", "--help status", "status --help", "--version --help", "-v"} {
		if got := quick.Answer(strings.Fields(line)); got != "" {
			t.Errorf("%q is answered: %q", line, got)
		}
	}
}
