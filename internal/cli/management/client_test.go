package management

import (
	"os"
	"path/filepath"
	"testing"
)

// TestWay: another process is told of the same files, wherever it runs, and of the context that is current now.
func TestWay(t *testing.T) {
	folder := t.TempDir()
	t.Chdir(folder)
	config := "clusters: [{name: c, cluster: {server: 'https://api.example.com'}}]\ncontexts: [{name: x, context: {cluster: c}}]\ncurrent-context: x\n"
	if err := os.WriteFile("mine", []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	mine, other := filepath.Join(folder, "mine"), filepath.Join(folder, "other")
	for _, tc := range []struct{ environment, flag, files, context string }{
		{"mine::other", "", mine + ":" + other, "x"},
		{"other", "mine", mine, "x"},
		{"other", "", "", ""}, // inside a pod
	} {
		t.Setenv("KUBECONFIG", tc.environment)
		if files, context, err := Way(tc.flag); err != nil || files != tc.files || context != tc.context {
			t.Errorf("$KUBECONFIG %s, --kubeconfig %s: %q, %q, %v", tc.environment, tc.flag, files, context, err)
		}
	}
	if _, _, err := Way("nowhere"); err == nil {
		t.Error("a file that is not there is no way")
	}
}
