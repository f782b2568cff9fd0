package twin

import (
	"context"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"

	kubecontrolplanev1 "github.com/openshift/api/kubecontrolplane/v1"
	"sigs.k8s.io/yaml"
)

// realDir is where an image of a twin has the community's programs that a checker hands over to.
const realDir = "/usr/libexec/twin"

// openShiftModes are authorizers of OpenShift's build alone.
var openShiftModes = []string{"Scope", "SystemMasters"}

// becomeAPIServer hands over to the community's API server: with what it knows of OpenShift's configuration, which the checker has judged.
func becomeAPIServer(given command) error {
	raw, err := os.ReadFile(given.flags["openshift-config"][0])
	if err != nil {
		return fmt.Errorf("twin: %w", err)
	}
	args, err := APIServerArgs(raw)
	if err != nil {
		return err
	}
	return become("kube-apiserver", append(args, "--v="+given.flags["v"][0]))
}

// APIServerArgs are the flags of the community's API server that say what a configuration file of OpenShift's says. What its one plugin in
// common is told is written to a temporary file.
func APIServerArgs(raw []byte) ([]string, error) {
	config := kubecontrolplanev1.KubeAPIServerConfig{}
	if err := yaml.UnmarshalStrict(raw, &config); err != nil {
		return nil, fmt.Errorf("twin: %w", err)
	}
	admission, err := admissionFile(config)
	if err != nil {
		return nil, err
	}
	return apiServerArgs(config, admission), nil
}

// apiServerArgs are the flags of the community's API server that say what the file says, but for what only OpenShift's build knows.
func apiServerArgs(config kubecontrolplanev1.KubeAPIServerConfig, admission string) []string {
	serving := config.ServingInfo
	host, port, _ := strings.Cut(serving.BindAddress, ":")
	args := []string{"--bind-address=" + host, "--secure-port=" + port, "--tls-cert-file=" + serving.CertFile, "--tls-private-key-file=" + serving.KeyFile,
		"--client-ca-file=" + serving.ClientCA, "--tls-min-version=" + serving.MinTLSVersion}
	if len(serving.CipherSuites) > 0 {
		args = append(args, "--tls-cipher-suites="+strings.Join(serving.CipherSuites, ","))
	}
	for _, named := range serving.NamedCertificates {
		value := named.CertFile + "," + named.KeyFile
		if len(named.Names) > 0 {
			value += ":" + strings.Join(named.Names, ",")
		}
		args = append(args, "--tls-sni-cert-key="+value)
	}
	if admission != "" {
		args = append(args, "--admission-control-config-file="+admission)
	}
	for _, name := range slices.Sorted(maps.Keys(config.APIServerArguments)) {
		values := slices.Clone([]string(config.APIServerArguments[name]))
		switch name {
		case "enable-admission-plugins", "disable-admission-plugins":
			values = slices.DeleteFunc(values, func(plugin string) bool { return strings.Contains(plugin, "/") })
		case "authorization-mode":
			values = slices.DeleteFunc(values, func(mode string) bool { return slices.Contains(openShiftModes, mode) })
		}
		for _, value := range values {
			args = append(args, "--"+name+"="+value)
		}
	}
	return args
}

// admissionFile configures the one plugin that the community's API server has too.
func admissionFile(config kubecontrolplanev1.KubeAPIServerConfig) (string, error) {
	pods, given := config.AdmissionConfig.PluginConfig["PodSecurity"]
	if !given {
		return "", nil
	}
	raw := fmt.Sprintf(`{"apiVersion":"apiserver.config.k8s.io/v1","kind":"AdmissionConfiguration","plugins":[{"name":"PodSecurity","configuration":%s}]}`, pods.Configuration.Raw)
	path := filepath.Join(os.TempDir(), "admission.json")
	if err := os.WriteFile(path, []byte(raw), 0o600); err != nil {
		return "", fmt.Errorf("twin: %w", err)
	}
	return path, nil
}

// handOver starts the community's program of the name without the feature gates that only OpenShift's build has.
func handOver(name string) func(context.Context, []string) error {
	return func(_ context.Context, args []string) error { return become(name, args) }
}

var gateForm = regexp.MustCompile(`(?:^|[\s"])(?:kube:)?([A-Z][A-Za-z0-9]+)=true\|false`)

// become replaces this program by the community's of the name.
func become(name string, args []string) error {
	program := filepath.Join(realDir, name)
	help, err := exec.Command(program, "--help").CombinedOutput() //nolint:noctx // the program is about to be replaced
	if err != nil {
		return fmt.Errorf("twin: ask %s which gates it knows: %w", program, err)
	}
	args = WithoutGates(args, string(help))
	if err := syscall.Exec(program, append([]string{name}, args...), os.Environ()); err != nil {
		return fmt.Errorf("twin: start %s: %w", program, err)
	}
	return nil
}

// WithoutGates takes away the gates that a program does not list in its help.
func WithoutGates(args []string, help string) []string {
	known := map[string]bool{}
	for _, match := range gateForm.FindAllStringSubmatch(help, -1) {
		known[match[1]] = true
	}
	return slices.DeleteFunc(slices.Clone(args), func(arg string) bool {
		gate, is := strings.CutPrefix(arg, "--feature-gates=")
		name, _, _ := strings.Cut(gate, "=")
		return is && !known[name]
	})
}
