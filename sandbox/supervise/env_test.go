package supervise

import (
	"slices"
	"strings"
	"testing"
)

func TestPartsDoNotKeepTheShellsFoldersAndProxies(t *testing.T) {
	for _, name := range []string{"TMPDIR", "HTTPS_PROXY", "https_proxy", "KUBECONFIG"} {
		t.Setenv(name, "/of/the/shell")
	}
	if i := slices.IndexFunc(baseEnv(), func(entry string) bool { return strings.HasSuffix(entry, "=/of/the/shell") }); i >= 0 {
		t.Fatalf("a part would get %s", baseEnv()[i])
	}
}
