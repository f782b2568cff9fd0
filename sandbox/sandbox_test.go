package sandbox

import (
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/hypershift-on-azure/hypershift/sandbox/cluster"
	"github.com/hypershift-on-azure/hypershift/sandbox/cluster/names"
)

// shell evaluates scripts one after another in one shell and prints a variable.
func shell(t *testing.T, environ []string, print string, scripts ...string) string {
	t.Helper()
	command := exec.Command("/bin/sh", "-c", strings.Join(scripts, "\n")+"\n"+`printf '%s' "${`+print+`-unset}"`)
	command.Env = environ
	output, err := command.CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, output)
	}
	return string(output)
}

func TestExportsAndUnset(t *testing.T) {
	environ := []string{"PATH=/usr/bin:/bin", "HTTPS_PROXY=http://corp:3128", "LOCATION=westus"}
	variables := []Variable{{dirVariable, "/srv/sand box"}, {"HTTPS_PROXY", "http://127.0.0.1:8888"}, {"LOCATION", "eastus"}, {"QUOTED", `it's "$x"`}}
	set := Exports(variables, environ)
	for name, want := range map[string]string{
		"HTTPS_PROXY": "http://127.0.0.1:8888", "QUOTED": `it's "$x"`, "PATH": "/srv/sand box/bin:/usr/bin:/bin", dirVariable: "/srv/sand box",
	} {
		if got := shell(t, environ, name, set); got != want {
			t.Errorf("%s is %q, want %q", name, got, want)
		}
	}
	inside := strings.Split(shell(t, environ, "ALL", set, `ALL="$(env)"`), "\n")
	again := Exports(variables, inside)
	undo := Unset(variables, inside)
	for name, want := range map[string]string{
		"HTTPS_PROXY": "http://corp:3128", "LOCATION": "westus", "QUOTED": "unset", "PATH": "/usr/bin:/bin", dirVariable: "unset", savedPrefix + "PATH": "unset",
	} {
		if got := shell(t, environ, name, set, again, undo); got != want {
			t.Errorf("after --unset %s is %q, want %q", name, got, want)
		}
	}
}

// TestLeaveInternet: in a shell that points at the sandbox a process compiles by the machine's way out; elsewhere nothing changes.
func TestLeaveInternet(t *testing.T) {
	look := func() string {
		bundle, set := os.LookupEnv("SSL_CERT_FILE")
		return fmt.Sprint(os.Getenv("HTTPS_PROXY"), " ", bundle, " ", set)
	}
	t.Setenv("HTTPS_PROXY", "http://corp:3128")
	t.Setenv("SSL_CERT_FILE", "/corp.pem")
	for _, step := range []struct{ proxy, saved, want string }{
		{"http://corp:3128", "", "http://corp:3128 /corp.pem true"},
		{names.LocalProxyURL, "http://corp:3128", "http://corp:3128  false"},
	} {
		t.Setenv("HTTPS_PROXY", step.proxy)
		t.Setenv(savedPrefix+"HTTPS_PROXY", step.saved)
		if err := LeaveInternet(); err != nil {
			t.Fatal(err)
		}
		if got := look(); got != step.want {
			t.Errorf("with the proxy %s the way out is %q, want %q", step.proxy, got, step.want)
		}
	}
}

func TestAzureListens(t *testing.T) {
	for edge, want := range map[bool][]string{
		false: {"127.0.0.1:8888"},
		true:  {"127.0.0.1:8888", "198.18.0.1:8888", "198.18.0.1:443", "198.18.0.1:53"},
	} {
		c := azureConfig(cluster.Config{Dir: "/srv/sandbox"}, "secret", edge)
		got := append([]string{c.ProxyAddr}, c.ExtraProxyAddrs...)
		if edge {
			got = append(got, c.EdgeAddr, c.DNSAddr)
		}
		if !slices.Equal(got, want) || (!edge && c.EdgeAddr+c.DNSAddr != "") {
			t.Errorf("edge %v: %v, want %v", edge, got, want)
		}
	}
}
