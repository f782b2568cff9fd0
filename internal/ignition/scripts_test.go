package ignition

import (
	"encoding/json"
	"encoding/xml"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	hyperv1 "github.com/hypershift-on-azure/hypershift/api/v1beta1"
)

// machine is a directory that scripts take for the root of a machine. Programs in its bin come before the system's.
type machine struct {
	t    *testing.T
	root string
}

func newMachine(t *testing.T) machine {
	t.Helper()
	m := machine{t: t, root: t.TempDir()}
	for _, dir := range []string{"run", "etc", "opt", "var"} {
		if err := os.Mkdir(filepath.Join(m.root, dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	return m
}

func (m machine) write(name, text string) {
	m.t.Helper()
	path := filepath.Join(m.root, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		m.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(m.rooted(text)), 0o755); err != nil {
		m.t.Fatal(err)
	}
}

func (m machine) read(name string) string {
	text, err := os.ReadFile(filepath.Join(m.root, name))
	if err != nil {
		return ""
	}
	return strings.ReplaceAll(string(text), m.root, "")
}

// rooted has a script find its files in the machine.
func (m machine) rooted(script string) string {
	for _, dir := range []string{"/etc/", "/run/", "/opt/", "/var/", "/proc/"} {
		for _, before := range []string{" ", "\"", "=", ">", "<", "\t"} {
			script = strings.ReplaceAll(script, before+dir, before+m.root+dir)
		}
	}
	return script
}

// run runs a script with each shell that operating systems have as sh, and returns what the last one said.
func (m machine) run(shell, script string, args ...string) (string, error) {
	m.t.Helper()
	command := exec.CommandContext(m.t.Context(), shell, append([]string{"-c", m.rooted(script), "script"}, args...)...)
	command.Env = []string{"PATH=" + m.root + "/bin:" + os.Getenv("PATH"), "NODE_LABELS=a=b", "LONGEST_PAUSE=0"}
	said, err := command.CombinedOutput()
	return strings.ReplaceAll(string(said), m.root, ""), err
}

// eachShell: Debian's sh is dash, that of Flatcar and Fedora is bash.
func eachShell(t *testing.T, test func(t *testing.T, shell string)) {
	t.Helper()
	for _, shell := range []string{"/bin/sh", "/bin/bash"} {
		t.Run(filepath.Base(shell), func(t *testing.T) { test(t, shell) })
	}
}

const (
	stub = "nameserver 127.0.0.53\noptions edns0 trust-ad\nsearch .\n"
	list = "# by the machine's network\nnameserver 168.63.129.16\n"
)

// kubeletMachine is one on which the kubelet starts.
func kubeletMachine(t *testing.T) machine {
	t.Helper()
	m := newMachine(t)
	m.write("opt/bin/kubelet", "#!/bin/sh\necho \"$@\" >"+m.root+"/started\n")
	m.write("bin/ip", "#!/bin/sh\necho '168.63.129.16 via 10.0.0.1 dev eth0 src 10.0.0.4 uid 0'\n")
	m.write("bin/nproc", "#!/bin/sh\necho 2\n")
	m.write("etc/hostname", "np-x7k2p\n")
	m.write("etc/resolv.conf", list)
	m.write("etc/kubernetes/kubelet.conf", "{\n  \"maxPods\": 250\n}\n")
	m.write("proc/meminfo", "MemTotal:        8388608 kB\nMemFree: 1 kB\n")
	m.write("proc/sys/net/ipv4/ip_forward", "1\n")
	return m
}

func TestKubeletStart(t *testing.T) {
	for name, test := range map[string]struct {
		files map[string]string
		gone  string
		want  map[string]any // of the configuration the machine adds
		fails string
	}{
		"real resolvers": {want: map[string]any{"resolvConf": "/etc/resolv.conf"}},
		"a stub, the real list beside it": {
			files: map[string]string{"etc/resolv.conf": stub, "run/systemd/resolve/resolv.conf": list},
			want:  map[string]any{"resolvConf": "/run/systemd/resolve/resolv.conf"},
		},
		"a stub beside a real one": {
			files: map[string]string{"etc/resolv.conf": stub + list, "run/systemd/resolve/resolv.conf": "nameserver 10.0.0.1\n"},
			want:  map[string]any{"resolvConf": "/run/systemd/resolve/resolv.conf"},
		},
		"a stub alone": {files: map[string]string{"etc/resolv.conf": stub}, fails: "name servers that pods can reach"},
		"an IPv6 stub": {files: map[string]string{"etc/resolv.conf": "nameserver ::1\n"}, fails: "name servers that pods can reach"},
		"no resolvers": {gone: "etc/resolv.conf", fails: "name servers that pods can reach"},
		"their resolvers": {
			files: map[string]string{"etc/resolv.conf": stub, "etc/mine": list, "etc/kubernetes/kubelet.conf": "{\n  \"resolvConf\": \"/etc/mine\",\n  \"x\": 1\n}\n"},
			want:  map[string]any{"resolvConf": nil},
		},
		"their stub": {
			files: map[string]string{"etc/resolv.conf": stub, "run/systemd/resolve/resolv.conf": list, "etc/kubernetes/kubelet.conf": "{\n  \"resolvConf\": \"/etc/resolv.conf\"\n}\n"},
			fails: "which the node pool names as resolvConf",
		},
		"none at all by their will": {files: map[string]string{"etc/kubernetes/kubelet.conf": "{\n  \"resolvConf\": \"\"\n}\n"}, want: map[string]any{"resolvConf": nil}},
		"size":                      {want: map[string]any{"systemReserved": map[string]any{"cpu": "70m", "memory": "1843Mi", "ephemeral-storage": "1Gi"}}},
		"a large machine": {
			files: map[string]string{"bin/nproc": "#!/bin/sh\necho 16\n", "proc/meminfo": "MemTotal: 268435456 kB\n"},
			want:  map[string]any{"systemReserved": map[string]any{"cpu": "110m", "memory": "12164Mi", "ephemeral-storage": "1Gi"}},
		},
		"a tiny machine": {
			files: map[string]string{"bin/nproc": "#!/bin/sh\necho 1\n", "proc/meminfo": "MemTotal: 900000 kB\n"},
			want:  map[string]any{"systemReserved": map[string]any{"cpu": "60m", "memory": "255Mi", "ephemeral-storage": "1Gi"}},
		},
		"their reservation":      {files: map[string]string{"etc/kubernetes/kubelet.conf": "{\n  \"systemReserved\": {}\n}\n"}, want: map[string]any{"systemReserved": nil}},
		"a nested member":        {files: map[string]string{"etc/kubernetes/kubelet.conf": "{\n  \"x\": {\n    \"resolvConf\": 1\n  }\n}\n"}, want: map[string]any{"resolvConf": "/etc/resolv.conf"}},
		"no kubelet yet":         {gone: "opt/bin/kubelet", fails: "kubelet-fetch.service brings it"},
		"nobody named it":        {files: map[string]string{"etc/hostname": "localhost\n"}, fails: "node-name.service sets it"},
		"another cgroup driver":  {files: map[string]string{"bin/containerd": "#!/bin/sh\necho 'SystemdCgroup = false'\n", "etc/kubernetes/kubelet.conf": "{\n  \"cgroupDriver\": \"systemd\"\n}\n"}, fails: "set SystemdCgroup = true"},
		"the same cgroup driver": {files: map[string]string{"bin/containerd": "#!/bin/sh\necho '  SystemdCgroup = true'\n", "etc/kubernetes/kubelet.conf": "{\n  \"cgroupDriver\": \"systemd\"\n}\n"}},
		"no forwarding":          {files: map[string]string{"proc/sys/net/ipv4/ip_forward": "0\n"}, fails: "node-network.service"},
		"no address of its own":  {files: map[string]string{"bin/ip": "#!/bin/sh\n"}, fails: "no IPv4 address"},
	} {
		t.Run(name, func(t *testing.T) {
			eachShell(t, func(t *testing.T, shell string) {
				m := kubeletMachine(t)
				for path, text := range test.files {
					m.write(path, text)
				}
				if test.gone != "" {
					if err := os.Remove(filepath.Join(m.root, test.gone)); err != nil {
						t.Fatal(err)
					}
				}
				said, err := m.run(shell, kubeletStartScript)
				if test.fails != "" {
					if err == nil || !strings.Contains(said, test.fails) || m.read("started") != "" {
						t.Fatalf("started %q, %v: %s", m.read("started"), err, said)
					}
					return
				}
				if err != nil {
					t.Fatalf("%v: %s", err, said)
				}
				for _, flag := range []string{"--hostname-override=np-x7k2p ", "--node-ip=10.0.0.4 ", "--config=/etc/kubernetes/kubelet.conf ", "--config-dir=/run/hypershift/kubelet.conf.d ", "--node-labels=a=b "} {
					if !strings.Contains(m.read("started"), flag) {
						t.Errorf("started without %s: %s", flag, m.read("started"))
					}
				}
				var added map[string]any
				if err := json.Unmarshal([]byte(m.read("run/hypershift/kubelet.conf.d/50-machine.conf")), &added); err != nil {
					t.Fatal(err)
				}
				for member, want := range test.want {
					if got := added[member]; fmt.Sprint(got) != fmt.Sprint(want) {
						t.Errorf("%s = %v, want %v", member, got, want)
					}
				}
			})
		})
	}
}

func TestNodeName(t *testing.T) {
	for name, test := range map[string]struct {
		metadata, image, want string
		attempts              int
	}{
		"as the machine is called":  {metadata: "echo np-x7k2p", image: "np-x7k2p\n", want: "np-x7k2p\n", attempts: 1},
		"the image has a name":      {metadata: "echo np-x7k2p", image: "debian\n", want: "np-x7k2p\n", attempts: 1},
		"the image has none":        {metadata: "echo NP-X7k2p", want: "np-x7k2p\n", attempts: 1},
		"the image says localhost":  {metadata: "echo np-x7k2p", image: "localhost\n", want: "np-x7k2p\n", attempts: 1},
		"metadata comes later":      {metadata: `[ "$(wc -l <` + "@/attempts" + `)" -lt 9 ] || echo np-x7k2p`, image: "localhost\n", want: "np-x7k2p\n", attempts: 9},
		"metadata never comes":      {metadata: "exit 7", image: "np-x7k2p.internal.test\n", want: "np-x7k2p\n", attempts: 5},
		"metadata talks nonsense":   {metadata: "echo '<html>'", image: "np-x7k2p\n", want: "np-x7k2p\n", attempts: 5},
		"several lines of nonsense": {metadata: "printf 'a\\nb c\\n'", image: "np-x7k2p\n", want: "np-x7k2p\n", attempts: 5},
	} {
		t.Run(name, func(t *testing.T) {
			eachShell(t, func(t *testing.T, shell string) {
				m := newMachine(t)
				m.write("bin/curl", "#!/bin/sh\necho x >>"+m.root+"/attempts\n"+strings.ReplaceAll(test.metadata, "@", m.root)+"\n")
				m.write("bin/sleep", "#!/bin/sh\n")
				m.write("proc/sys/kernel/hostname", "localhost\n")
				if test.image != "" {
					m.write("etc/hostname", test.image)
				}
				if said, err := m.run(shell, nodeNameScript); err != nil {
					t.Fatalf("%v: %s", err, said)
				}
				if m.read("etc/hostname") != test.want || m.read("proc/sys/kernel/hostname") != test.want {
					t.Errorf("/etc/hostname = %q, kernel %q", m.read("etc/hostname"), m.read("proc/sys/kernel/hostname"))
				}
				if got := strings.Count(m.read("attempts"), "x"); got != test.attempts {
					t.Errorf("asked %d times", got)
				}
			})
		})
	}
}

const (
	theirCA   = "-----BEGIN CERTIFICATE-----\nMIIDtheirs1\nAAAA\n-----END CERTIFICATE-----\n"
	theirCA2  = "# the second\n-----BEGIN CERTIFICATE-----\nMIIDtheirs2\nBBBB\n-----END CERTIFICATE-----" // no newline at its end
	systemCA  = "-----BEGIN CERTIFICATE-----\nMIIDsystem\nCCCC\n-----END CERTIFICATE-----\n"
	allOfThem = "MIIDsystem MIIDtheirs1 MIIDtheirs2"
)

// operatingSystems keep their authorities in different places, and have different tools or none.
var operatingSystems = map[string]struct {
	tool, script string
	store        string // what programs read
	linked       bool   // to a file of the read-only image
}{
	"Debian takes only what lies in /usr": {
		tool: "update-ca-certificates", script: "cp @/usr/share/ca.crt @/etc/ssl/certs/ca-certificates.crt", store: "etc/ssl/certs/ca-certificates.crt",
	},
	"Flatcar takes what lies in /etc/ssl/certs": {
		tool:   "update-ca-certificates",
		script: "rm -f @/etc/ssl/certs/ca-certificates.crt; cat @/usr/share/ca.crt @/etc/ssl/certs/*.pem >@/etc/ssl/certs/ca-certificates.crt",
		store:  "etc/ssl/certs/ca-certificates.crt", linked: true,
	},
	"Fedora has anchors": {
		tool:   "update-ca-trust",
		script: `[ "$1" = extract ] && cat @/usr/share/ca.crt @/etc/pki/ca-trust/source/anchors/*.crt >@/etc/pki/tls/certs/ca-bundle.crt`,
		store:  "etc/pki/tls/certs/ca-bundle.crt",
	},
	"a tool that does nothing": {tool: "update-ca-certificates", script: ":", store: "etc/ssl/certs/ca-certificates.crt", linked: true},
	"no tool, a linked store":  {store: "etc/ssl/certs/ca-certificates.crt", linked: true},
	"no tool":                  {store: "etc/ssl/ca-bundle.pem"},
}

func TestTrustOfEachOperatingSystem(t *testing.T) {
	for name, system := range operatingSystems {
		t.Run(name, func(t *testing.T) {
			eachShell(t, func(t *testing.T, shell string) {
				m := newMachine(t)
				m.write("usr/share/ca.crt", systemCA)
				m.write("etc/kubernetes/trust/bundle.pem", theirCA+theirCA2)
				if system.linked {
					m.write(filepath.Dir(system.store)+"/x", "")
					if err := os.Symlink(m.root+"/usr/share/ca.crt", filepath.Join(m.root, system.store)); err != nil {
						t.Fatal(err)
					}
				} else {
					m.write(system.store, systemCA)
				}
				for _, tool := range []string{"update-ca-certificates", "update-ca-trust"} {
					if tool == system.tool {
						m.write("bin/"+tool, "#!/bin/sh\n"+strings.ReplaceAll(system.script, "@", m.root)+"\n")
					}
				}
				// again at each boot, with the same result
				for range 2 {
					if said, err := m.runBare(shell, nodeTrustScript); err != nil {
						t.Fatalf("%v: %s", err, said)
					}
					for _, want := range strings.Fields(allOfThem) {
						if strings.Count(m.read(system.store), want) != 1 {
							t.Errorf("%s has %q not once:\n%s", system.store, want, m.read(system.store))
						}
					}
				}
				if m.read("usr/share/ca.crt") != systemCA {
					t.Error("the image's own file is changed")
				}
			})
		})
	}
}

// runBare has only the tools that the machine's bin and coreutils bring.
func (m machine) runBare(shell, script string) (string, error) {
	m.t.Helper()
	if err := os.MkdirAll(filepath.Join(m.root, "bin"), 0o755); err != nil {
		m.t.Fatal(err)
	}
	for _, tool := range []string{"cat", "chmod", "cp", "grep", "mkdir", "mv", "rm"} {
		path, err := exec.LookPath(tool)
		if err != nil {
			m.t.Fatal(err)
		}
		if err := os.Symlink(path, filepath.Join(m.root, "bin", tool)); err != nil && !os.IsExist(err) {
			m.t.Fatal(err)
		}
	}
	command := exec.CommandContext(m.t.Context(), shell, "-c", m.rooted(script))
	command.Env = []string{"PATH=" + m.root + "/bin"}
	said, err := command.CombinedOutput()
	return string(said), err
}

func TestTrustRefusesABundleWithoutCertificates(t *testing.T) {
	m := newMachine(t)
	m.write("etc/kubernetes/trust/bundle.pem", "hello\n")
	m.write("bin/x", "")
	if said, err := m.runBare("/bin/sh", nodeTrustScript); err == nil || !strings.Contains(said, "no certificate") {
		t.Errorf("%v: %s", err, said)
	}
}

// ctrOf is a container runtime's client whose calls fail as the files in the machine say: fail-PART has how often yet.
const ctrOf = `#!/bin/sh
shift 2
echo "$@" | sed 's/--hosts-dir [^ ]* //' >>ROOT/calls
fails() {
	left=$(cat "ROOT/fail-$1" 2>/dev/null) || return 1
	[ "$left" -gt 0 ] || return 1
	echo $((left - 1)) >"ROOT/fail-$1"
	echo "ctr: $1 failed" >&2
}
case "$*" in
version) fails version && exit 1 ;;
*pull*pod*) fails pod && exit 1 ;;
*pull*) fails pull && exit 1 ;;
"images mount"*)
	fails mount && exit 1
	mkdir -p "$4/bin"
	printf '#!/bin/sh\n[ "${0##*/}" = kubelet ] && [ "$1" = --version ] || exit 1\n' >"$4/bin/kubelet"
	fails architecture && echo 'exit 126' >>"$4/bin/kubelet"
	chmod +x "$4/bin/kubelet"
	;;
"images unmount"*) [ ! -e "$4" ] || rm -r "$4" ;;
*label*) fails label && exit 1 ;;
"images ls -q") cat "ROOT/images" 2>/dev/null ;;
esac
exit 0
`

// The sandbox image is fetched when it is gone, which an older runtime lets happen, and not asked of a registry when it is there.
func TestTheSandboxImageComesBack(t *testing.T) {
	eachShell(t, func(t *testing.T, shell string) {
		m := newMachine(t)
		m.write("etc/kubernetes/payload-images.env", "HYPERKUBE_IMAGE=h@sha256:1\nPOD_IMAGE=pod@sha256:2\nAPISERVER_PROXY_IMAGE=a@sha256:3\nCNI_PLUGINS_IMAGE=\n")
		m.write("opt/hypershift/bin/registry-hosts", "#!/bin/sh\n")
		m.write("bin/ctr", strings.ReplaceAll(ctrOf, "ROOT", m.root))
		m.write("images", "h@sha256:1\npod@sha256:2\n")
		if said, err := m.run(shell, payloadFetchScript, "sandbox"); err != nil || m.read("calls") != "images ls -q\n" {
			t.Errorf("with the image: %v, %s, calls %s", err, said, m.read("calls"))
		}
		m.write("images", "h@sha256:1\nmy-pod@sha256:2\n")
		said, err := m.run(shell, payloadFetchScript, "sandbox")
		if err != nil || !strings.Contains(said, "the sandbox image is gone") {
			t.Errorf("without the image: %v, %s", err, said)
		}
		if calls := m.read("calls"); !strings.Contains(calls, "images pull pod@sha256:2\nimages label pod@sha256:2 io.cri-containerd.pinned=pinned\n") {
			t.Errorf("the image is not pulled and kept:\n%s", calls)
		}
	})
}

func TestEachPartOfThePayloadIsTriedAgain(t *testing.T) {
	eachShell(t, func(t *testing.T, shell string) {
		m := newMachine(t)
		m.write("etc/kubernetes/payload-images.env", "HYPERKUBE_IMAGE=h@sha256:1\nPOD_IMAGE=pod@sha256:2\nAPISERVER_PROXY_IMAGE=a@sha256:3\nCNI_PLUGINS_IMAGE=\n")
		m.write("opt/hypershift/bin/registry-hosts", "#!/bin/sh\n")
		m.write("bin/ctr", strings.ReplaceAll(ctrOf, "ROOT", m.root))
		m.write("bin/sleep", "#!/bin/sh\n")
		parts := []string{"version", "pod", "pull", "mount", "architecture", "label"}
		for _, part := range parts {
			m.write("fail-"+part, "2")
		}
		said, err := m.run(shell, payloadFetchScript, "kubelet")
		if err != nil {
			t.Fatalf("%v: %s", err, said)
		}
		for _, want := range []string{
			"waits for containerd: ctr: version failed; containerd.service brings it; next attempt in",
			"waits for image pod@sha256:2: ctr: pod failed; check registry, proxy, trust and the pull secret",
			"waits for image h@sha256:1: ctr: pull failed;",
			"waits for the files of image h@sha256:1: ctr: mount failed;",
			"waits for the sandbox image: ctr: label failed;",
		} {
			if strings.Count(said, want) != 2 {
				t.Errorf("not twice %q:\n%s", want, said)
			}
		}
		for _, part := range parts {
			if left := strings.TrimSpace(m.read("fail-" + part)); left != "0" {
				t.Errorf("%s: %s failures left", part, left)
			}
		}
		calls := m.read("calls")
		if got := strings.Count(calls, "images pull h@sha256:1"); got != 3 {
			t.Errorf("the kubelet's image was pulled %d times: a later part must not fetch it again\n%s", got, calls)
		}
		if m.read("opt/bin/kubelet") == "" || m.read("opt/bin/.fetched/kubelet") != "" {
			t.Error("the kubelet is not in its place")
		}
		if said, err := m.run(shell, payloadFetchScript, "kubelet"); err != nil || m.read("calls") != calls {
			t.Errorf("what is there is fetched again: %v, %s", err, said)
		}
		m.write("etc/kubernetes/payload-images.env", "HYPERKUBE_IMAGE=h@sha256:9\nPOD_IMAGE=pod@sha256:2\nAPISERVER_PROXY_IMAGE=a@sha256:3\nCNI_PLUGINS_IMAGE=\n")
		if said, err := m.run(shell, payloadFetchScript, "kubelet"); err != nil || m.read("calls") == calls {
			t.Errorf("another payload is not fetched: %v, %s", err, said)
		}
	})
}

// What a node waits for first is there before its pods are, and stays the kubelet's task when it cannot be had.
func TestFirstImagesAreFetchedEarly(t *testing.T) {
	eachShell(t, func(t *testing.T, shell string) {
		m := newMachine(t)
		m.write("etc/kubernetes/payload-images.env", "HYPERKUBE_IMAGE=h@sha256:1\nPOD_IMAGE=p@sha256:2\nAPISERVER_PROXY_IMAGE=a@sha256:3\nCNI_PLUGINS_IMAGE=\nFIRST_IMAGES=\"pod@sha256:4 flannel@sha256:5\"\n")
		m.write("opt/hypershift/bin/registry-hosts", "#!/bin/sh\n")
		m.write("bin/ctr", strings.ReplaceAll(ctrOf, "ROOT", m.root))
		m.write("fail-pod", "1")
		said, err := m.run(shell, payloadFetchScript, "node")
		if err != nil || !strings.Contains(said, "image pod@sha256:4 is left to the kubelet") {
			t.Errorf("%v, %s", err, said)
		}
		calls := m.read("calls")
		if strings.Count(calls, "images pull pod@sha256:4") != 1 || !strings.Contains(calls, "images pull flannel@sha256:5") {
			t.Errorf("calls:\n%s", calls)
		}
		if said, err := m.run(shell, payloadFetchScript, "node"); err != nil || m.read("calls") != calls {
			t.Errorf("what is there is fetched again: %v, %s", err, said)
		}
	})
}

// The additional authorities are named to the runtime beside those of the system, for a registry and for a mirror.
func TestRegistriesAreTrusted(t *testing.T) {
	const line = "  ca = \"/etc/kubernetes/trust/bundle.pem\"\n"
	for _, bundle := range []bool{false, true} {
		m := newMachine(t)
		m.write("bin/curl", "#!/bin/sh\nexit 0\n")
		in := input()
		if bundle {
			m.write("etc/kubernetes/trust/bundle.pem", theirCA)
			in.TrustBundle = theirCA
		}
		if said, err := m.run("/bin/sh", registryHostsScript, "quay.io/art/x@sha256:1", m.root+"/hosts"); err != nil {
			t.Fatalf("%v: %s", err, said)
		}
		if got := m.read("hosts/quay.io/hosts.toml"); strings.Contains(got, line) != bundle || !strings.Contains(got, `[host."https://quay.io"]`) {
			t.Errorf("bundle %v, registry:\n%s", bundle, got)
		}
		document, err := MirrorDocument([]hyperv1.ImageContentSource{{Source: "quay.io/art", Mirrors: []string{"other.io/art"}}})
		if err != nil {
			t.Fatal(err)
		}
		in.Manifests = document
		if got := contents(t, rendered(t, in))["/etc/containerd/certs.d/quay.io/hosts.toml"]; strings.Contains(got, line) != bundle || !strings.Contains(got, "other.io") {
			t.Errorf("bundle %v, mirror:\n%s", bundle, got)
		}
	}
}

const goalState = "<?xml version=\"1.0\"?>\r\n<GoalState>\r\n  <Version>2012-11-30</Version>\r\n  <Incarnation>1</Incarnation>\r\n  <Machine><ExpectedState>Started</ExpectedState></Machine>\r\n" +
	"  <Container>\r\n    <ContainerId>2cc84d48-ae54-4a7f-bb5f-e53a7e8b4ee6</ContainerId>\r\n    <RoleInstanceList><RoleInstance>\r\n      <InstanceId>7d5755cd.np-x7k2p</InstanceId>\r\n" +
	"      <State>Started</State></RoleInstance></RoleInstanceList>\r\n  </Container>\r\n</GoalState>\r\n"

// A machine whose image has no agent of Azure says itself that it is provisioned.
func TestAzureReady(t *testing.T) {
	for name, test := range map[string]struct {
		agent, goal string
		told        bool
	}{
		"no agent":                 {goal: goalState, told: true},
		"an agent":                 {agent: "waagent", goal: goalState},
		"another agent":            {agent: "cloud-init", goal: goalState},
		"no wire server":           {},
		"a goal that is no goal":   {goal: "<html>"},
		"a goal that has a script": {goal: strings.Replace(goalState, "7d5755cd", "</InstanceId>$(reboot)", 1)},
	} {
		t.Run(name, func(t *testing.T) {
			eachShell(t, func(t *testing.T, shell string) {
				m := newMachine(t)
				m.write("bin/systemctl", "#!/bin/sh\ncase \"$4\" in "+test.agent+".service) echo loaded ;; *) echo not-found ;; esac\n")
				m.write("goal", test.goal)
				m.write("bin/curl", strings.ReplaceAll(`#!/bin/sh
case "$*" in
*comp=goalstate*) [ -s "ROOT/goal" ] && cat "ROOT/goal" ;;
*"x-ms-version: 2012-11-30"*"http://168.63.129.16/machine?comp=health") cat >"ROOT/health" ;;
esac
`, "ROOT", m.root))
				m.write("bin/sleep", "#!/bin/sh\n")
				if said, err := m.run(shell, strings.Replace(azureReadyScript, "-ge 120", "-ge 2", 1)); err != nil {
					t.Fatalf("%v: %s", err, said)
				}
				var health struct {
					Incarnation string `xml:"GoalStateIncarnation"`
					Container   string `xml:"Container>ContainerId"`
					Instance    string `xml:"Container>RoleInstanceList>Role>InstanceId"`
					State       string `xml:"Container>RoleInstanceList>Role>Health>State"`
				}
				told := m.read("health")
				if (told != "") != test.told {
					t.Fatalf("told %q", told)
				}
				if !test.told {
					return
				}
				if err := xml.Unmarshal([]byte(told), &health); err != nil {
					t.Fatal(err)
				}
				if health.Incarnation != "1" || health.Container != "2cc84d48-ae54-4a7f-bb5f-e53a7e8b4ee6" || health.Instance != "7d5755cd.np-x7k2p" || health.State != "Ready" {
					t.Errorf("told %+v", health)
				}
			})
		})
	}
}
