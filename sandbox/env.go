package sandbox

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/hypershift-on-azure/hypershift/sandbox/azure/azcli"
	"github.com/hypershift-on-azure/hypershift/sandbox/cluster"
	"github.com/hypershift-on-azure/hypershift/sandbox/cluster/cloud"
	"github.com/hypershift-on-azure/hypershift/sandbox/cluster/names"
)

// Variable of the environment.
type Variable struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

const (
	dirVariable = "HYPERSHIFT_SANDBOX_DIR"
	savedPrefix = "HYPERSHIFT_SANDBOX_SAVED_"
	userNoProxy = "localhost,127.0.0.1,198.18.0.0/15," + names.EdgeIP
)

// writeEnv records what "sandbox env" prints. Without a management cluster there are no images.
func writeEnv(c cluster.Config, images *published) error {
	secret, err := cloud.ClientSecret(c.Dir)
	if err != nil {
		return err
	}
	bundle, overlay := c.Bundle(), filepath.Join(c.Dir, "azcli")
	if err := azcli.Install(overlay); err != nil {
		return err
	}
	variables := []Variable{
		{dirVariable, c.Dir},
		{"HTTPS_PROXY", names.LocalProxyURL}, {"https_proxy", names.LocalProxyURL},
		{"NO_PROXY", userNoProxy}, {"no_proxy", userNoProxy},
		{"SSL_CERT_FILE", bundle}, {"REQUESTS_CA_BUNDLE", bundle}, {"CURL_CA_BUNDLE", bundle},
		{"AZURE_SUBSCRIPTION_ID", names.SubscriptionID}, {"AZURE_TENANT_ID", names.TenantID},
		{"AZURE_CLIENT_ID", names.ClientID}, {"AZURE_CLIENT_SECRET", secret}, {"AZURE_CREDS", c.CredentialsFile()},
		{"BASE_DOMAIN", names.BaseDomain}, {"LOCATION", names.Location}, {"RELEASE_IMAGE", ReleaseImage},
		{"PYTHONPATH", overlay}, // repairs Debian's Azure CLI
	}
	if images != nil {
		variables = append(variables, Variable{"KUBECONFIG", c.Kubeconfig()}, Variable{"PULL_SECRET", c.PullSecretFile()},
			Variable{"REGISTRY", names.OwnRegistryHost + "/hypershift"},
			Variable{"TOOLS_IMAGE", images.Payload.Components["tools"]}, Variable{"EXTERNAL_DNS_IMAGE", images.ExternalDNS},
			Variable{"MANAGEMENT_ISSUER_URL", cloud.IssuerURL}, Variable{"HYPERSHIFT_DNS_RESOLVER", names.EdgeIP + ":53"})
	}
	text, err := json.MarshalIndent(variables, "", "  ")
	if err != nil {
		return err
	}
	path := filepath.Join(c.Dir, "env.json")
	if err := os.WriteFile(path+".new", append(text, '\n'), 0o600); err != nil {
		return err
	}
	return os.Rename(path+".new", path)
}

// Env returns the variables that point clients at the sandbox.
func Env(dir string) ([]Variable, error) {
	c, err := config(dir)
	if err != nil {
		return nil, err
	}
	text, err := os.ReadFile(filepath.Join(c.Dir, "env.json"))
	if errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("no sandbox is up in %s: start one with: hypershift sandbox up", c.Dir)
	}
	if err != nil {
		return nil, err
	}
	var variables []Variable
	if err := json.Unmarshal(text, &variables); err != nil {
		return nil, fmt.Errorf("read %s/env.json: %w", c.Dir, err)
	}
	return variables, nil
}

// Exports is a shell script that sets the variables. What they replace is kept
// in further variables, for Unset. environ is the environment of the shell.
func Exports(variables []Variable, environ []string) string {
	present := parse(environ)
	var script strings.Builder
	dir := ""
	for _, v := range variables {
		if v.Name == dirVariable {
			dir = v.Value
		}
		// In a shell that has been through this the present value is ours.
		if old, set := present[v.Name]; set && present[savedPrefix+"PATH"] == "" && old != v.Value {
			export(&script, savedPrefix+v.Name, old)
		}
		export(&script, v.Name, v.Value)
	}
	bin := filepath.Join(dir, "bin")
	if path := present["PATH"]; !slices.Contains(filepath.SplitList(path), bin) {
		export(&script, savedPrefix+"PATH", path)
		export(&script, "PATH", bin+string(filepath.ListSeparator)+path)
	}
	return script.String()
}

// Unset is a shell script that undoes Exports.
func Unset(variables []Variable, environ []string) string {
	present := parse(environ)
	var script strings.Builder
	for _, v := range append(slices.Clone(variables), Variable{Name: "PATH"}) {
		old, saved := present[savedPrefix+v.Name]
		switch {
		case saved:
			export(&script, v.Name, old)
			fmt.Fprintf(&script, "unset %s\n", savedPrefix+v.Name)
		case v.Name != "PATH":
			fmt.Fprintf(&script, "unset %s\n", v.Name)
		}
	}
	return script.String()
}

// wayOut is what of the variables leads programs to the sandbox's Internet instead of the machine's.
var wayOut = []string{"HTTPS_PROXY", "https_proxy", "NO_PROXY", "no_proxy", "SSL_CERT_FILE", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE"}

// LeaveInternet gives this process the machine's way to the Internet again where it was started in a shell that points at the sandbox: what is
// compiled needs modules, which the sandbox's Internet does not have.
func LeaveInternet() error {
	present := parse(os.Environ())
	if present["HTTPS_PROXY"] != names.LocalProxyURL {
		return nil
	}
	var errs []error
	for _, name := range wayOut {
		if old, saved := present[savedPrefix+name]; saved {
			errs = append(errs, os.Setenv(name, old))
		} else {
			errs = append(errs, os.Unsetenv(name))
		}
	}
	return errors.Join(errs...)
}

func parse(environ []string) map[string]string {
	values := map[string]string{}
	for _, entry := range environ {
		name, value, _ := strings.Cut(entry, "=")
		values[name] = value
	}
	return values
}

func export(script *strings.Builder, name, value string) {
	fmt.Fprintf(script, "export %s='%s'\n", name, strings.ReplaceAll(value, "'", `'\''`))
}
