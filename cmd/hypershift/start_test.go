package main

import (
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

// TestStartsWithoutControllers: each package that is linked is initialised before the first word is printed, so what only operators need is
// not linked: the framework of controllers, with its caches, and Prometheus' library.
func TestStartsWithoutControllers(t *testing.T) {
	out, err := exec.CommandContext(t.Context(), "go", "list", "-deps", ".").Output()
	if err != nil {
		t.Fatal(err)
	}
	linked := strings.Fields(string(out))
	if !slices.Contains(linked, "sigs.k8s.io/controller-runtime/pkg/client") {
		t.Errorf("%d packages are linked: this test proves nothing", len(linked))
	}
	for _, heavy := range []string{
		"sigs.k8s.io/controller-runtime", "sigs.k8s.io/controller-runtime/pkg/manager", "sigs.k8s.io/controller-runtime/pkg/cache",
		"github.com/prometheus/client_golang/prometheus",
	} {
		if slices.Contains(linked, heavy) {
			t.Errorf("the command line links %s", heavy)
		}
	}
}

// TestHelpIsThereFirst: what `--help` prints is out before the clients of Kubernetes and of Azure begin, which take most of the start.
func TestHelpIsThereFirst(t *testing.T) {
	begun := func(words ...string) string {
		cmd := exec.CommandContext(t.Context(), os.Args[0], words...)
		cmd.Env = append(os.Environ(), "GODEBUG=inittrace=1")
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("%v: %v: %s", words, err, out)
		}
		return string(out)
	}
	const client = "init k8s.io/client-go/kubernetes/scheme "
	if all := begun("-test.run=^$"); !strings.Contains(all, client) {
		t.Errorf("this test proves nothing: a whole start has no line %q", client)
	}
	help := begun("--help")
	if !strings.Contains(help, "Usage:") || strings.Contains(help, client) {
		t.Errorf("hypershift --help: %s", help)
	}
}
