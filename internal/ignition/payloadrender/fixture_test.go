package payloadrender

import (
	"archive/tar"
	"bytes"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"testing"

	"github.com/coreos/ignition/v2/config/v3_4"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/vincent-petithory/dataurl"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/hypershift-on-azure/hypershift/internal/contract"
	"github.com/hypershift-on-azure/hypershift/internal/release"
	"github.com/hypershift-on-azure/hypershift/internal/release/releasetest"
	"github.com/hypershift-on-azure/hypershift/twin/machineconfig"
)

// TestMain: the programs in the images of these tests call this program.
func TestMain(m *testing.M) {
	if len(os.Args) > 2 && os.Args[1] == "stand-in" {
		os.Exit(machineconfig.Main(os.Args[2], os.Args[3:]))
	}
	os.Exit(m.Run())
}

// payload is one of OpenShift's shape in a registry.
type payload struct {
	registry *releasetest.Registry
	version  string
	// programs replace the stand-ins by scripts, by name.
	programs map[string]string
	// osRelease is that of image machine-config-operator.
	osRelease string
	// without are image keys that it lacks.
	without []string
}

func script(t *testing.T, name string) string {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return fmt.Sprintf("#!/bin/sh\nexec %s stand-in %s \"$@\"\n", self, name)
}

func (p *payload) image(t *testing.T, files map[string]string) v1.Image {
	t.Helper()
	var content bytes.Buffer
	archive := tar.NewWriter(&content)
	for name, text := range files {
		if err := archive.WriteHeader(&tar.Header{Name: name, Typeflag: tar.TypeReg, Mode: 0o755, Size: int64(len(text))}); err != nil {
			t.Fatal(err)
		}
		if _, err := io.WriteString(archive, text); err != nil {
			t.Fatal(err)
		}
	}
	if err := archive.Close(); err != nil {
		t.Fatal(err)
	}
	layer, err := tarball.LayerFromOpener(func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(content.Bytes())), nil })
	if err != nil {
		t.Fatal(err)
	}
	image, err := mutate.AppendLayers(empty.Image, layer)
	if err != nil {
		t.Fatal(err)
	}
	config, err := image.ConfigFile()
	if err != nil {
		t.Fatal(err)
	}
	config = config.DeepCopy()
	config.OS, config.Architecture = "linux", "amd64"
	if image, err = mutate.ConfigFile(image, config); err != nil {
		t.Fatal(err)
	}
	return image
}

// push stores an image and returns its reference by digest.
func (p *payload) push(t *testing.T, key string, image v1.Image) string {
	t.Helper()
	digest, err := image.Digest()
	if err != nil {
		t.Fatal(err)
	}
	return p.registry.PushAs(t, p.registry.Host()+"/ocp/"+key+"@"+digest.String(), image)
}

func (p *payload) program(t *testing.T, name string) string {
	t.Helper()
	if own, ok := p.programs[name]; ok {
		return own
	}
	return script(t, name)
}

// input stores the payload and is what a small cluster of it renders.
func (p *payload) input(t *testing.T) Input {
	t.Helper()
	p.registry = releasetest.New(t)
	files := map[string]string{"usr/lib/os-release": p.osRelease}
	for _, name := range machineconfig.Programs {
		files["usr/bin/"+name] = p.program(t, name)
	}
	if p.programs[machineconfig.Operator+rhel9] != "" {
		files["usr/bin/"+machineconfig.Operator+rhel9] = p.programs[machineconfig.Operator+rhel9]
	}
	for name, text := range machineconfig.Templates {
		files["etc/mcc/templates/"+name] = text
	}
	images := map[string]string{}
	for _, tag := range machineconfig.Tags {
		images[tag] = releasetest.Image(tag)
	}
	images["rhel-coreos"] = releasetest.Image("rhel-coreos")
	images[contract.ImageMachineConfig] = p.push(t, contract.ImageMachineConfig, p.image(t, files))
	images[contract.ImageConfigAPI] = p.push(t, contract.ImageConfigAPI, p.image(t, map[string]string{"usr/bin/render": p.program(t, machineconfig.Render)}))
	images[imageConfigOperator] = p.push(t, imageConfigOperator, p.image(t, map[string]string{"usr/bin/cluster-config-operator": p.program(t, machineconfig.OldRender)}))
	for _, key := range p.without {
		delete(images, key)
	}
	tags := []map[string]any{}
	for key, image := range images {
		tags = append(tags, map[string]any{"name": key, "from": map[string]string{"name": image}})
	}
	references, err := json.Marshal(map[string]any{"kind": "ImageStream", "metadata": map[string]string{"name": p.version}, "spec": map[string]any{"tags": tags}})
	if err != nil {
		t.Fatal(err)
	}
	image := p.push(t, "release", p.image(t, map[string]string{referencesFile: string(references)}))
	return Input{
		ReleaseImage: image, Version: p.version, Images: images, Config: config, Cluster: clusterFiles(),
		BootstrapKubeconfig: []byte(kubeconfig), PullSecret: []byte(`{"auths":{}}`),
		CloudConfig: &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "azure-cloud-config"}, Data: map[string]string{"cloud.conf": "{}"}},
	}
}

const config = `{"apiVersion":"machineconfiguration.openshift.io/v1","kind":"MachineConfig","metadata":{"name":"50-user","labels":{"machineconfiguration.openshift.io/role":"worker"}},
 "spec":{"kernelArguments":["audit=1"],"extensions":["usbguard"],"config":{"ignition":{"version":"3.2.0"},"storage":{"files":[{"path":"/etc/user"}]}}}}
---
{"apiVersion":"machineconfiguration.openshift.io/v1","kind":"MachineConfig","metadata":{"name":"30-fips","labels":{"machineconfiguration.openshift.io/role":"worker"}},"spec":{"fips":true}}
---
{"apiVersion":"machineconfiguration.openshift.io/v1","kind":"KubeletConfig","metadata":{"name":"k"},"spec":{"kubeletConfig":{"maxPods":100}}}
`

const kubeconfig = `{"apiVersion":"v1","kind":"Config","clusters":[{"name":"c","cluster":{"server":"https://api:443"}}]}`

// clusterFiles are the data of ConfigMap machine-config-server, as short as the programs take them.
func clusterFiles() map[string]string {
	authority := string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: []byte("authority")}))
	object := func(kind, content string) string {
		return fmt.Sprintf("apiVersion: config.openshift.io/v1\nkind: %s\nmetadata: {name: cluster}\n%s\n", kind, content)
	}
	pool := func(name string) string {
		return "apiVersion: machineconfiguration.openshift.io/v1\nkind: MachineConfigPool\nmetadata: {name: " + name + "}\n" +
			"spec: {machineConfigSelector: {matchLabels: {machineconfiguration.openshift.io/role: worker}}}\n"
	}
	return map[string]string{
		"root-ca.crt": authority, "signer-ca.crt": authority, "configuration-hash": "cafe",
		"cluster-dns-02-config.yaml": object("DNS", "spec: {baseDomain: demo.example.com}"),
		"cluster-infrastructure-02-config.yaml": object("Infrastructure", `spec: {cloudConfig: {name: cloud.conf}, platformSpec: {type: Azure}}
status: {infrastructureName: demo-x, platform: Azure, apiServerURL: "https://api", apiServerInternalURI: "https://api", etcdDiscoveryDomain: d, controlPlaneTopology: External,
  platformStatus: {type: Azure, azure: {resourceGroupName: rg, cloudName: AzurePublicCloud}}}`),
		"cluster-network-02-config.yaml": object("Network", "spec: {clusterNetwork: [{cidr: 10.0.0.0/14, hostPrefix: 23}], serviceNetwork: [172.31.0.0/16]}"),
		"cluster-proxy-01-config.yaml":   object("Proxy", ""),
		"cluster-apiserver-config.yaml":  object("APIServer", ""), "image-config.yaml": object("Image", ""),
		"install-config.yaml":           "{apiVersion: v1, metadata: {name: demo}, controlPlane: {name: master, replicas: 1}, networking: {machineNetwork: []}, platform: {none: {}}}",
		"master.machineconfigpool.yaml": pool("master"), "worker.machineconfigpool.yaml": pool("worker"),
	}
}

func freePort(t *testing.T) int {
	t.Helper()
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	return listener.Addr().(*net.TCPAddr).Port
}

func newRenderer(t *testing.T, change ...func(*Options)) *Renderer {
	t.Helper()
	gate := filepath.Join(t.TempDir(), "gate.yaml")
	if err := os.WriteFile(gate, []byte("apiVersion: config.openshift.io/v1\nkind: FeatureGate\nmetadata: {name: cluster}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	options := Options{WorkDir: t.TempDir(), FeatureGate: gate, Unpacker: release.Reader{}, OSRelease: "/nowhere", SecurePort: freePort(t), InsecurePort: freePort(t)}
	for _, c := range change {
		c(&options)
	}
	r, err := New(options)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// contentOf is the MachineConfig that the machine was made with, and the paths of its files.
func contentOf(t *testing.T, payload []byte) (machineconfig.Rendered, []string) {
	t.Helper()
	parsed, report, err := v3_4.ParseCompatibleVersion(payload)
	if err != nil {
		t.Fatal(err, report.String())
	}
	var paths []string
	rendered := machineconfig.Rendered{}
	for _, file := range parsed.Storage.Files {
		paths = append(paths, file.Path)
		if file.Path != machineconfig.ContentFile {
			continue
		}
		text, err := dataurl.DecodeString(*file.Contents.Source)
		if err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(text.Data, &rendered); err != nil {
			t.Fatal(err)
		}
	}
	return rendered, paths
}
