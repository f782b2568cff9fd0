package machineconfigserver

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/runtime"

	hyperv1 "github.com/hypershift-on-azure/hypershift/api/v1beta1"
	"github.com/hypershift-on-azure/hypershift/internal/controlplane/planetest"
	"github.com/hypershift-on-azure/hypershift/internal/ignition"
	"github.com/hypershift-on-azure/hypershift/internal/release/releasetest"
	"github.com/hypershift-on-azure/hypershift/twin/machineconfig"
)

const authority = "-----BEGIN CERTIFICATE-----\nYQ==\n-----END CERTIFICATE-----\n"

func configured(t *testing.T, change func(*hyperv1.HostedControlPlane), trusted Authorities) map[string]string {
	t.Helper()
	hcp := planetest.Plane()
	hcp.Status.ControlPlaneEndpoint = hyperv1.APIEndpoint{Host: "api.demo.example.com", Port: 443}
	if change != nil {
		change(hcp)
	}
	made, err := ConfigMap(hcp, trusted)
	if err != nil {
		t.Fatal(err)
	}
	if made.Name != "machine-config-server" || made.Namespace != hcp.Namespace {
		t.Errorf("%s/%s", made.Namespace, made.Name)
	}
	return made.Data
}

// TestConfigMap has all keys that are known, and only with a user's authorities those.
func TestConfigMap(t *testing.T) {
	want := []string{"cluster-apiserver-config.yaml", "cluster-dns-02-config.yaml", "cluster-infrastructure-02-config.yaml", "cluster-network-02-config.yaml",
		"cluster-proxy-01-config.yaml", "configuration-hash", "image-config.yaml", "install-config.yaml", "master.machineconfigpool.yaml", "root-ca.crt", "signer-ca.crt",
		"worker.machineconfigpool.yaml"}
	data := configured(t, nil, Authorities{Root: authority, KubeletClient: authority})
	if got := slices.Sorted(maps.Keys(data)); !slices.Equal(got, want) {
		t.Errorf("keys %v", got)
	}
	if hash, _ := ignition.ConfigurationHash(nil); data["configuration-hash"] != hash {
		t.Errorf("hash %s, want %s", data["configuration-hash"], hash)
	}
	for key, text := range map[string]string{
		"cluster-infrastructure-02-config.yaml": "apiServerInternalURI: https://api.demo.example.com:443", "cluster-dns-02-config.yaml": "baseDomain: demo.hypershift.test",
		"cluster-network-02-config.yaml": "hostPrefix: 23", "master.machineconfigpool.yaml": "machineconfiguration.openshift.io/role: worker", "install-config.yaml": "replicas: 1",
	} {
		if !strings.Contains(data[key], text) {
			t.Errorf("%s has no %q:\n%s", key, text, data[key])
		}
	}
	all := configured(t, func(hcp *hyperv1.HostedControlPlane) {
		hcp.Spec.Platform.Azure.Topology = hyperv1.AzureTopologyPrivate
		hcp.Spec.Configuration = &hyperv1.ClusterConfiguration{
			Proxy:     &hyperv1.ProxySpec{HTTPProxy: "http://proxy:3128"},
			Image:     &runtime.RawExtension{Raw: []byte(`{"registrySources":{"insecureRegistries":["r"]}}`)},
			APIServer: &runtime.RawExtension{Raw: []byte(`{"tlsSecurityProfile":{"type":"Old"}}`)},
		}
	}, Authorities{Root: authority, KubeletClient: authority, User: "theirs"})
	for key, text := range map[string]string{
		"cluster-infrastructure-02-config.yaml": "apiServerInternalURI: https://api.demo.hypershift.local:443", "user-ca-bundle-config.yaml": "ca-bundle.crt: theirs",
		"cluster-proxy-01-config.yaml": "169.254.169.254", "image-config.yaml": "insecureRegistries", "cluster-apiserver-config.yaml": "type: Old",
	} {
		if !strings.Contains(all[key], text) {
			t.Errorf("%s has no %q:\n%s", key, text, all[key])
		}
	}
	if all["configuration-hash"] == data["configuration-hash"] {
		t.Error("another configuration has the same hash")
	}
}

// TestProgramsTakeIt: the stand-in of the machine-config-operator, which knows the form of each file, takes what is written.
func TestProgramsTakeIt(t *testing.T) {
	dir := t.TempDir()
	if err := os.Chmod(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	write := func(name, content string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for key, text := range configured(t, nil, Authorities{Root: authority, KubeletClient: authority, User: "theirs"}) {
		write(key, text)
	}
	tags := []string{}
	for _, tag := range machineconfig.Tags {
		tags = append(tags, `{"name":"`+tag+`","from":{"name":"`+releasetest.Image(tag)+`"}}`)
	}
	write("references", `{"kind":"ImageStream","metadata":{"name":"4.21.0"},"spec":{"tags":[`+strings.Join(tags, ",")+`]}}`)
	write("pull-secret.yaml", "{apiVersion: v1, kind: Secret, metadata: {namespace: default, name: pull-secret}, data: {.dockerconfigjson: e30=}}")
	write("cloud.yaml", "{apiVersion: v1, kind: ConfigMap, metadata: {name: azure-cloud-config}, data: {cloud.conf: '{}'}}")
	args := []string{"bootstrap", "--release-image=r", "--payload-version=4.21.0", "--dest-dir=" + dir}
	for flag, file := range map[string]string{"root-ca": "root-ca.crt", "kube-ca": "signer-ca.crt", "infra-config-file": "cluster-infrastructure-02-config.yaml",
		"network-config-file": "cluster-network-02-config.yaml", "proxy-config-file": "cluster-proxy-01-config.yaml", "dns-config-file": "cluster-dns-02-config.yaml",
		"config-file": "install-config.yaml", "pull-secret": "pull-secret.yaml", "additional-trust-bundle-config-file": "user-ca-bundle-config.yaml",
		"image-references": "references", "cloud-config-file": "cloud.yaml"} {
		args = append(args, "--"+flag+"="+filepath.Join(dir, file))
	}
	if status := machineconfig.Main(machineconfig.Operator, args); status != 0 {
		t.Errorf("it ends with %d", status)
	}
}
