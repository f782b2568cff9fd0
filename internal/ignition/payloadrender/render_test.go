package payloadrender

import (
	"archive/tar"
	"bytes"
	"context"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/coreos/ignition/v2/config/v3_4"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/vincent-petithory/dataurl"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/hypershift-on-azure/hypershift/internal/ignition"
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
	images[ImageMachineConfig] = p.push(t, ImageMachineConfig, p.image(t, files))
	images[ImageConfigAPI] = p.push(t, ImageConfigAPI, p.image(t, map[string]string{"usr/bin/render": p.program(t, machineconfig.Render)}))
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

// TestRender: programs of every version get what they demand, and what they serve has all that the pool asks for.
func TestRender(t *testing.T) {
	for _, test := range []struct {
		version, stream string
		without         []string
	}{
		{"4.14.3", "", []string{ImageConfigAPI}},
		{"4.18.1", "", []string{imageConfigOperator}},
		{"4.21.0", "", []string{imageConfigOperator}},
		{"4.22.0-rc.1", "", []string{imageConfigOperator}},
		{"5.0.0", "rhel-10", []string{imageConfigOperator}},
	} {
		t.Run(test.version, func(t *testing.T) {
			r := newRenderer(t)
			in := (&payload{version: test.version, without: test.without}).input(t)
			in.OSStream = test.stream
			got, err := r.Render(t.Context(), in)
			if err != nil {
				t.Fatal(err)
			}
			rendered, paths := contentOf(t, got)
			for _, path := range []string{"/etc/user", "/etc/kubernetes/kubeconfig", "/etc/kubernetes/kubelet-ca.crt", machineconfig.ContentFile} {
				if !slices.Contains(paths, path) {
					t.Errorf("no file %s: %v", path, paths)
				}
			}
			if !slices.Equal(rendered.Sources, []string{"30-fips", "50-user"}) || !rendered.FIPS || !slices.Equal(rendered.KernelArguments, []string{"audit=1"}) ||
				!slices.Equal(rendered.Extensions, []string{"usbguard"}) || rendered.Stream != test.stream || rendered.OSImageURL != in.Images["rhel-coreos"] {
				t.Errorf("rendered %+v", rendered)
			}
			if !slices.Contains(rendered.Others, "KubeletConfig/k") || !slices.Contains(rendered.Others, "APIServer/cluster") || !slices.Contains(rendered.Others, "Image/cluster") {
				t.Errorf("other documents: %v", rendered.Others)
			}
			onlyImages(t, r)
		})
	}
}

// onlyImages: no work directory is left.
func onlyImages(t *testing.T, r *Renderer) {
	t.Helper()
	left, err := filepath.Glob(filepath.Join(r.WorkDir, workPrefix+"*"))
	if err != nil || len(left) > 0 {
		t.Errorf("left: %v, %v", left, err)
	}
}

// TestFailures: each stage that fails is told with the last words of its program, in the same words the next time, and leaves nothing.
func TestFailures(t *testing.T) {
	failing := func(name string) map[string]string {
		return map[string]string{name: "#!/bin/sh\necho \"E0102 03:04:05.$$     $$ main.go:1] cannot go on in $PWD\" >&2\nexit 3\n"}
	}
	for name, test := range map[string]struct {
		payload payload
		change  func(*Input)
		want    []string
	}{
		"no programs":   {payload{without: []string{ImageMachineConfig}}, nil, []string{"take the machine-config programs out of the payload: ", "has no image machine-config-operator"}},
		"no gates":      {payload{without: []string{ImageConfigAPI}}, nil, []string{"has no image cluster-config-api"}},
		"too old":       {payload{version: "4.13.9"}, nil, []string{"older than 4.14"}},
		"gates":         {payload{programs: failing(machineconfig.Render)}, nil, []string{"render feature gates: render: exit status 3: E main.go:1] cannot go on in get-payload"}},
		"operator":      {payload{programs: failing(machineconfig.Operator)}, nil, []string{"render manifests of machine configurations: machine-config-operator: exit status 3"}},
		"controller":    {payload{programs: failing(machineconfig.Controller)}, nil, []string{"render machine configurations: machine-config-controller: exit status 3"}},
		"server":        {payload{programs: failing(machineconfig.Server)}, nil, []string{"serve the machine configuration: machine-config-server: exit status 3"}},
		"missing image": {payload{without: []string{"oauth-proxy"}}, nil, []string{"machine-config-operator: exit status 1", "[oauth-proxy]"}},
		"missing file":  {payload{}, func(in *Input) { delete(in.Cluster, "cluster-dns-02-config.yaml") }, []string{"--dns-config-file"}},
		"no path":       {payload{}, func(in *Input) { in.Cluster["../escape"] = "" }, []string{"write what the machine-config programs read: ", "no name of a file"}},
		"an unknown kind": {payload{}, func(in *Input) {
			in.Config = "apiVersion: config.openshift.io/v1\nkind: Unknown\nmetadata: {name: x}\n"
		},
			[]string{"render machine configurations: ", "nothing that the controller reads"}},
		"empty kubeconfig": {payload{}, func(in *Input) { in.BootstrapKubeconfig = nil }, []string{"serve the machine configuration: ", "names no cluster"}},
	} {
		t.Run(name, func(t *testing.T) {
			if test.payload.version == "" {
				test.payload.version = "4.21.0"
			}
			in := test.payload.input(t)
			if test.change != nil {
				test.change(&in)
			}
			r := newRenderer(t)
			_, err := r.Render(t.Context(), in)
			var failed *StageError
			if !errors.As(err, &failed) || failed.Transient() {
				t.Fatalf("got %v", err)
			}
			for _, want := range test.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("got %v, want %q", err, want)
				}
			}
			if _, again := r.Render(t.Context(), in); again == nil || again.Error() != err.Error() {
				t.Errorf("the second time %v, the first %v", again, err)
			}
			onlyImages(t, r)
		})
	}
}

// TestRegistryAway: what a registry may have later is told apart from what it never has.
func TestRegistryAway(t *testing.T) {
	p := payload{version: "4.21.0"}
	in := p.input(t)
	p.registry.Answer(503)
	_, err := newRenderer(t).Render(t.Context(), in)
	var failed *StageError
	if !errors.As(err, &failed) || !failed.Transient() {
		t.Errorf("got %v", err)
	}
}

// TestHangingProgram: one that does not end is killed with all that it has started, after its time or with its caller.
func TestHangingProgram(t *testing.T) {
	mark := filepath.Join(t.TempDir(), "pid")
	in := (&payload{version: "4.21.0", programs: map[string]string{machineconfig.Operator: "#!/bin/sh\nsleep 600 &\necho $! >" + mark + "\nwait\n"}}).input(t)
	r := newRenderer(t, func(o *Options) { o.Patience = 2 * time.Second })
	if _, err := r.Render(t.Context(), in); err == nil || !strings.Contains(err.Error(), "machine-config-operator did not end in time") {
		t.Errorf("got %v", err)
	}
	gone(t, mark)
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		for ctx.Err() == nil {
			if _, err := os.Stat(mark); err == nil {
				cancel()
			}
			time.Sleep(10 * time.Millisecond)
		}
	}()
	r.Patience = time.Hour
	if _, err := r.Render(ctx, in); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	gone(t, mark)
	onlyImages(t, r)
}

// gone: the process whose number a file has does not run any more.
func gone(t *testing.T, file string) {
	t.Helper()
	number, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	defer os.Remove(file)
	for range 500 {
		status, err := os.ReadFile("/proc/" + strings.TrimSpace(string(number)) + "/stat")
		if err != nil || strings.Contains(string(status), ") Z ") {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Errorf("process %s runs on", number)
}

// TestOneAtATime: two renders at once take turns, and who waits can give up.
func TestOneAtATime(t *testing.T) {
	dir := t.TempDir()
	// It fails where another one runs.
	program := fmt.Sprintf("#!/bin/sh\nmkdir %[1]s/running || exit 9\nsleep 0.3\nrmdir %[1]s/running\n", dir) + strings.TrimPrefix(script(t, machineconfig.Operator), "#!/bin/sh\n")
	in := (&payload{version: "4.21.0", programs: map[string]string{machineconfig.Operator: program}}).input(t)
	r := newRenderer(t)
	var all sync.WaitGroup
	for range 3 {
		all.Go(func() {
			if _, err := r.Render(t.Context(), in); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	r.turn <- struct{}{}
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if _, err := r.Render(ctx, in); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("who waits gets %v", err)
	}
}

// TestPrograms: nobody else may look into what programs read, their output is bounded, and they are told nothing of the environment of their caller.
func TestPrograms(t *testing.T) {
	t.Setenv("TWIN_SECRET", "hush")
	t.Setenv("HTTPS_PROXY", "http://proxy:3128")
	program := "#!/bin/sh\nenv\nstat -c %a . mcs/kubeconfig\nseq 1 20000\nexit 1\n"
	in := (&payload{version: "4.21.0", programs: map[string]string{machineconfig.Controller: program}}).input(t)
	_, err := newRenderer(t).Render(t.Context(), in)
	if err == nil || len(err.Error()) > maxOutput+200 || !strings.HasSuffix(err.Error(), "\n20000") {
		t.Fatalf("%d bytes", len(fmt.Sprint(err)))
	}
	in = (&payload{version: "4.21.0", programs: map[string]string{machineconfig.Controller: strings.Replace(program, "seq 1 20000\n", "", 1)}}).input(t)
	_, err = newRenderer(t).Render(t.Context(), in)
	for want, there := range map[string]bool{"700\n600": true, "HTTPS_PROXY=http://proxy:3128": true, "hush": false} {
		if err == nil || strings.Contains(err.Error(), want) != there {
			t.Errorf("%q is there: %t; %v", want, !there, err)
		}
	}
}

// TestImagesAreKept: what is on disk is used while it is what was taken, and taken again where somebody changed it. A new renderer begins anew.
func TestImagesAreKept(t *testing.T) {
	counting := &counter{}
	r := newRenderer(t, func(o *Options) { o.Unpacker = counting })
	in := (&payload{version: "4.21.0"}).input(t)
	render := func() {
		t.Helper()
		if _, err := r.Render(t.Context(), in); err != nil {
			t.Fatal(err)
		}
	}
	render()
	render()
	if counting.of(in.Images[ImageMachineConfig]) != 1 || counting.of(in.Images[ImageConfigAPI]) != 1 {
		t.Errorf("taken %v", counting.images)
	}
	for _, kept := range r.images.kept {
		if kept.image == in.Images[ImageMachineConfig] {
			if err := os.WriteFile(filepath.Join(kept.dir, "bin", machineconfig.Operator), []byte("#!/bin/sh\nexit 1\n"), 0o700); err != nil {
				t.Fatal(err)
			}
		}
	}
	render()
	if counting.of(in.Images[ImageMachineConfig]) != 2 {
		t.Errorf("a program that was changed is used: %v", counting.images)
	}
	if err := os.Mkdir(filepath.Join(r.WorkDir, workPrefix+"1"), 0o700); err != nil {
		t.Fatal(err)
	}
	again, err := New(r.Options)
	if err != nil {
		t.Fatal(err)
	}
	onlyImages(t, again)
	if left, err := os.ReadDir(filepath.Join(r.WorkDir, "images")); err != nil || len(left) > 0 {
		t.Errorf("images of a former process are kept: %v, %v", left, err)
	}
	for i := range 2 * keptImages {
		other := (&payload{version: "4.21.0", osRelease: fmt.Sprintf("N=%d", i)}).input(t)
		if _, err := r.images.get(t.Context(), other.Images[ImageMachineConfig], in.Access, machineConfigFiles()); err != nil {
			t.Fatal(err)
		}
	}
	if left, err := os.ReadDir(filepath.Join(r.WorkDir, "images")); err != nil || len(left) > keptImages {
		t.Errorf("%d images are kept, %v", len(left), err)
	}
}

// counter counts what is taken of images.
type counter struct {
	mu     sync.Mutex
	images []string
}

func (c *counter) Unpack(ctx context.Context, image string, access release.Access, into *os.Root, wanted ...release.Taken) error {
	c.mu.Lock()
	c.images = append(c.images, image)
	c.mu.Unlock()
	return release.Reader{}.Unpack(ctx, image, access, into, wanted...)
}

func (c *counter) of(image string) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	n := 0
	for _, taken := range c.images {
		if taken == image {
			n++
		}
	}
	return n
}

// TestProgramOfTheSystem: of an image of RHEL 8 its programs for RHEL 9 run, on RHEL 9 only, and where it has them.
func TestProgramOfTheSystem(t *testing.T) {
	for _, test := range []struct {
		image, own string
		has        bool
		want       string
	}{
		{"8.6", "9.4", true, rhel9}, {"8.6", "9.4", false, ""}, {"9.4", "9.4", true, ""}, {"8.6", "8", true, ""}, {"8.6", "10.0", true, ""},
	} {
		own := filepath.Join(t.TempDir(), "os-release")
		if err := os.WriteFile(own, []byte("ID=rhel\nVERSION_ID=\""+test.own+"\"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		p := &payload{version: "4.15.0", osRelease: "VERSION_ID='" + test.image + "'\n", programs: map[string]string{}}
		if test.has {
			p.programs[machineconfig.Operator+rhel9] = "#!/bin/sh\n"
		}
		in := p.input(t)
		r := newRenderer(t, func(o *Options) { o.OSRelease = own })
		image, err := r.images.get(t.Context(), in.Images[ImageMachineConfig], in.Access, machineConfigFiles())
		if err != nil {
			t.Fatal(err)
		}
		got, err := r.images.program(image, machineconfig.Operator)
		if err != nil || filepath.Base(got) != machineconfig.Operator+test.want {
			t.Errorf("%+v: %s, %v", test, got, err)
		}
	}
}

// TestArguments are those of each program, in full.
func TestArguments(t *testing.T) {
	r := &render{&Renderer{Options: Options{SecurePort: securePort, InsecurePort: insecurePort}}, Input{Version: "4.21.0", ReleaseImage: "release", CloudConfig: &corev1.ConfigMap{},
		Images: map[string]string{"mdns-publisher": "mdns"}}, "/w"}
	for name, test := range map[string]struct {
		args []string
		want string
	}{
		"gates": {r.gatesArgs("cca"), "--asset-output-dir /w/cca/output --image-manifests /w/cca/input --rendered-manifest-dir /w/cca/manifests --cluster-profile ibm-cloud-managed --payload-version 4.21.0"},
		"old gates": {r.oldGatesArgs("cco"), "render --config-output-file /w/cco/config --asset-input-dir /w/cco/input --asset-output-dir /w/cco/output --rendered-manifest-files /w/cco/manifests " +
			"--payload-version 4.21.0"},
		"operator": {r.operatorArgs(), "bootstrap --root-ca /w/config/root-ca.crt --kube-ca /w/config/signer-ca.crt --infra-config-file /w/config/cluster-infrastructure-02-config.yaml " +
			"--network-config-file /w/config/cluster-network-02-config.yaml --proxy-config-file /w/config/cluster-proxy-01-config.yaml --dns-config-file /w/config/cluster-dns-02-config.yaml " +
			"--config-file /w/config/install-config.yaml --pull-secret /w/config/pull-secret.yaml --additional-trust-bundle-config-file /w/config/user-ca-bundle-config.yaml --dest-dir /w/mco " +
			"--release-image release --payload-version 4.21.0 --image-references /w/config/release-manifests/image-references --mdns-publisher-image mdns " +
			"--cloud-config-file /w/mco/cloud.conf.configmap.yaml"},
		"controller": {r.controllerArgs(), "bootstrap --manifest-dir /w/mcc --templates /w/mcc/etc/mcc/templates --pull-secret /w/mcc/machineconfigcontroller-pull-secret --dest-dir /w/mcs --payload-version 4.21.0"},
		"server": {r.serverArgs(), "bootstrap --server-basedir /w/mcs --bootstrap-kubeconfig /w/mcs/kubeconfig --cert /w/mcs/tls.crt --key /w/mcs/tls.key --secure-port 22625 --insecure-port 22626 " +
			"--payload-version 4.21.0"},
	} {
		if got := strings.Join(test.args, " "); got != test.want {
			t.Errorf("%s: %s\nwant %s", name, got, test.want)
		}
	}
}

// TestCheck: parts of different moments are told apart, and the cloud configuration from the rest.
func TestCheck(t *testing.T) {
	good := func() *Input {
		in := &Input{PullSecret: []byte("p"), TrustBundle: "t", Cluster: map[string]string{"configuration-hash": "cafe", TrustBundleFile: "data: {ca-bundle.crt: t}"},
			CloudConfig: &corev1.ConfigMap{Data: map[string]string{"a": "b"}}}
		in.Expected = HashesOf(map[string][]byte{
			ignition.TokenPullSecretHashKey: []byte(ignition.HashBytes(in.PullSecret)), ignition.TokenTrustBundleHashKey: []byte(ignition.Hash("t")),
			ignition.TokenConfigurationHashKey: []byte("cafe"), ignition.TokenCloudConfigHashKey: []byte(ignition.CloudConfigHash(in.CloudConfig.Data)),
		})
		return in
	}
	for name, test := range map[string]struct {
		change func(*Input)
		want   error
	}{
		"all of one moment":     {func(*Input) {}, nil},
		"nothing is said":       {func(in *Input) { in.Expected = Hashes{CloudConfig: in.Expected.CloudConfig} }, nil},
		"another pull secret":   {func(in *Input) { in.PullSecret = nil }, ErrOutOfDate},
		"another bundle":        {func(in *Input) { in.TrustBundle = "" }, ErrOutOfDate},
		"another configuration": {func(in *Input) { in.Cluster = nil }, ErrOutOfDate},
		"a bundle of before":    {func(in *Input) { in.Cluster[TrustBundleFile] = "data: {ca-bundle.crt: old}" }, ErrOutOfDate},
		"another cloud":         {func(in *Input) { in.CloudConfig.Data["a"] = "c" }, ErrCloudConfigPending},
		"no cloud yet":          {func(in *Input) { in.CloudConfig = nil }, ErrCloudConfigPending},
	} {
		in := good()
		test.change(in)
		if err := in.Check(); !errors.Is(err, test.want) || (err == nil) != (test.want == nil) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if missing := MissingImages(map[string]string{"pod": "x"}); len(missing) != len(machineconfig.Tags)-1 || slices.Contains(missing, "pod") {
		t.Errorf("missing %v", missing)
	}
}

// TestServingCertificate lasts a day and is renewed an hour before its end.
func TestServingCertificate(t *testing.T) {
	s := &serving{}
	now := time.Now()
	first, _, err := s.get(now)
	if err != nil {
		t.Fatal(err)
	}
	for after, same := range map[time.Duration]bool{22 * time.Hour: true, 23*time.Hour + time.Minute: false} {
		kept := *s
		got, _, err := kept.get(now.Add(after))
		if err != nil || bytes.Equal(got, first) != same {
			t.Errorf("after %s: the same %t, %v", after, !same, err)
		}
	}
}

// FuzzOSRelease: whatever an image says of its system, a program of it is chosen.
func FuzzOSRelease(f *testing.F) {
	f.Add([]byte("VERSION_ID=\"8.10\"\n"))
	f.Fuzz(func(t *testing.T, content []byte) {
		if major := majorOf(content); strings.ContainsAny(major, ".\n") {
			t.Errorf("major %q", major)
		}
	})
}
