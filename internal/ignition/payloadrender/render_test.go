package payloadrender

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/hypershift-on-azure/hypershift/internal/contract"
	"github.com/hypershift-on-azure/hypershift/internal/ignition"
	"github.com/hypershift-on-azure/hypershift/twin/machineconfig"
)

// TestRender: programs of every version get what they demand, and what they serve has all that the pool asks for.
func TestRender(t *testing.T) {
	for _, test := range []struct {
		version, stream string
		without         []string
	}{
		{"4.14.3", "", []string{contract.ImageConfigAPI}},
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
		"no programs":   {payload{without: []string{contract.ImageMachineConfig}}, nil, []string{"take the machine-config programs out of the payload: ", "has no image machine-config-operator"}},
		"no gates":      {payload{without: []string{contract.ImageConfigAPI}}, nil, []string{"has no image cluster-config-api"}},
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
