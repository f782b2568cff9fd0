package management

import (
	"os"
	"path/filepath"
	"strings"
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

// TestHostedConfig: a kubeconfig that comes out of a Secret runs nothing and reads nothing on the machine of who uses it.
func TestHostedConfig(t *testing.T) {
	of := func(cluster, user string) []byte {
		return []byte("clusters: [{name: c, cluster: {server: 'https://api.example.com'" + cluster + "}}]\nusers: [{name: u, user: {" + user + "}}]\ncontexts: [{name: x, context: {cluster: c, user: u}}]\ncurrent-context: x\n")
	}
	if config, err := HostedConfig(of("", "token: t")); err != nil || config.Host != "https://api.example.com" || config.BearerToken != "t" {
		t.Errorf("%v, %v", config, err)
	}
	for word, kubeconfig := range map[string][]byte{
		"a program to run":      of("", "exec: {apiVersion: client.authentication.k8s.io/v1, command: sh, interactiveMode: Never}"),
		"client-key":            of("", "client-key: /etc/ssl/private/theirs.pem"),
		"client-certificate":    of("", "client-certificate: /etc/ssl/private/theirs.pem"),
		"tokenFile":             of("", "tokenFile: /etc/shadow"),
		"certificate-authority": of(", certificate-authority: /etc/shadow", "token: t"),
		"malformed":             []byte("{"),
		"no cluster and user":   []byte("current-context: x"),
	} {
		if _, err := HostedConfig(kubeconfig); err == nil || !strings.Contains(err.Error(), word) {
			t.Errorf("%s: %v", word, err)
		}
	}
}
