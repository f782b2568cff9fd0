// Package nodes runs what is written on a node with the programs that a node has, which come from Debian.
package nodes

import (
	"bytes"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/coreos/ignition/v2/config/v3_4"
	"github.com/vincent-petithory/dataurl"
	"golang.org/x/net/dns/dnsmessage"

	"github.com/hypershift-on-azure/hypershift/internal/ignition"
	"github.com/hypershift-on-azure/hypershift/parts/build"
)

// debian is the root of packages that are unpacked: those of the sandbox's container runtime.
func debian(t *testing.T) string {
	t.Helper()
	needsApt(t)
	dir, err := build.DebianTools(t.Context(), build.DefaultCache(), func(build.Event) {})
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

// imagePrograms is the root of the packages whose programs stand in payload images, HAProxy among them.
func imagePrograms(t *testing.T) string {
	t.Helper()
	needsApt(t)
	root, err := build.Host().ImagePackages(t.Context(), build.DefaultCache(), func(build.Event) {})
	if err != nil {
		t.Fatal(err)
	}
	return root.Dir
}

func needsApt(t *testing.T) {
	t.Helper()
	if _, err := exec.LookPath("apt-get"); err != nil {
		t.Skip("this system is no Debian that could fetch containerd and HAProxy")
	}
}

// written renders a node and returns its files.
func written(t *testing.T, proxy ignition.APIProxy) map[string]string {
	t.Helper()
	document, err := proxy.MachineConfig()
	if err != nil {
		t.Fatal(err)
	}
	raw, err := ignition.Render(ignition.Input{
		Manifests: document, NodePool: "np", ServiceCIDR: "172.31.0.0/16", PullSecret: []byte("{}"),
		Images: map[string]string{"hyperkube": "quay.io/h@sha256:1", "pod": "quay.io/p@sha256:2", "haproxy-router": "quay.io/r@sha256:3"},
	})
	if err != nil {
		t.Fatal(err)
	}
	config, _, err := v3_4.ParseCompatibleVersion(raw)
	if err != nil {
		t.Fatal(err)
	}
	files := map[string]string{}
	for _, file := range config.Storage.Files {
		content, err := dataurl.DecodeString(*file.Contents.Source)
		if err != nil {
			t.Fatal(err)
		}
		files[file.Path] = string(content.Data)
	}
	return files
}

// TestContainerdTakesItsConfiguration: the runtime itself says what it makes of the file.
func TestContainerdTakesItsConfiguration(t *testing.T) {
	containerd := filepath.Join(debian(t), "bin/containerd")
	config := filepath.Join(t.TempDir(), "config.toml")
	if err := os.WriteFile(config, []byte(written(t, ignition.APIProxy{})["/etc/containerd/config.toml"]), 0o600); err != nil {
		t.Fatal(err)
	}
	dumped, err := exec.CommandContext(t.Context(), containerd, "--config", config, "config", "dump").CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, dumped)
	}
	for _, want := range []string{
		`sandbox_image = "quay.io/p@sha256:2"`, "SystemdCgroup = true", "enable_selinux = true", `config_path = "/etc/containerd/certs.d"`,
		`bin_dir = "/opt/cni/bin"`, `conf_dir = "/etc/cni/net.d"`, "restrict_oom_score_adj = true",
	} {
		if !bytes.Contains(dumped, []byte(want)) {
			t.Errorf("containerd has not %s", want)
		}
	}
}

// names is a name server whose one address changes; without an address it is silent.
type names struct {
	mu      sync.Mutex
	address net.IP
}

func (n *names) set(address string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.address = net.ParseIP(address).To4()
}

// answer to a query; nil is silence.
func (n *names) answer(query []byte) []byte {
	var message dnsmessage.Message
	if message.Unpack(query) != nil || len(message.Questions) != 1 {
		return nil
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.address == nil {
		return nil
	}
	message.Header.Response, message.Additionals = true, nil
	if question := message.Questions[0]; question.Type == dnsmessage.TypeA {
		message.Answers = []dnsmessage.Resource{{
			Header: dnsmessage.ResourceHeader{Name: question.Name, Type: question.Type, Class: question.Class, TTL: 1},
			Body:   &dnsmessage.AResource{A: [4]byte(n.address)},
		}}
	}
	packed, err := message.Pack()
	if err != nil {
		return nil
	}
	return packed
}

func (n *names) serve(t *testing.T) string {
	t.Helper()
	socket, err := (&net.ListenConfig{}).ListenPacket(t.Context(), "udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { socket.Close() })
	go func() {
		buffer := make([]byte, 4096)
		for {
			size, from, err := socket.ReadFrom(buffer)
			if err != nil {
				return
			}
			if packed := n.answer(buffer[:size]); packed != nil {
				_, _ = socket.WriteTo(packed, from)
			}
		}
	}()
	return socket.LocalAddr().String()
}

// greets answers each connection with the address it came to, and returns the port.
func greets(t *testing.T, address string) int {
	t.Helper()
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { listener.Close() })
	go func() {
		for {
			connection, err := listener.Accept()
			if err != nil {
				return
			}
			_, _ = io.WriteString(connection, connection.LocalAddr().(*net.TCPAddr).IP.String())
			connection.Close()
		}
	}()
	return listener.Addr().(*net.TCPAddr).Port
}

// TestTheProxyFollowsTheName starts before the name is known, follows it to another address, and stays there while no name server answers.
func TestTheProxyFollowsTheName(t *testing.T) {
	root := imagePrograms(t)
	known := &names{}
	server := known.serve(t)
	port := greets(t, "127.0.0.2:0")
	greets(t, net.JoinHostPort("127.0.0.3", strconv.Itoa(port)))
	const listens = 16443
	config := written(t, ignition.APIProxy{ListenAddress: "127.0.0.4", ListenPort: listens, Host: "api.demo.test", Port: int32(port)})["/etc/kubernetes/apiserver-proxy-config/haproxy.cfg"]
	// The node's list of name servers; and what is good for ten seconds is here for one.
	config = strings.NewReplacer("parse-resolv-conf", "nameserver test "+server, "hold valid 10s", "hold valid 1s").Replace(config)
	file := filepath.Join(t.TempDir(), "haproxy.cfg")
	if err := os.WriteFile(file, []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	libraries, err := filepath.Glob(root + "/usr/lib/*-linux-gnu")
	if err != nil {
		t.Fatal(err)
	}
	proxy := exec.CommandContext(t.Context(), root+"/usr/sbin/haproxy", "-db", "-f", file)
	proxy.Env = append(os.Environ(), "LD_LIBRARY_PATH="+strings.Join(libraries, ":"))
	said := &bytes.Buffer{}
	proxy.Stdout, proxy.Stderr = said, said
	if err := proxy.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = proxy.Process.Kill()
		_ = proxy.Wait()
	})
	reached := func() string {
		connection, err := (&net.Dialer{Timeout: time.Second}).DialContext(t.Context(), "tcp", net.JoinHostPort("127.0.0.4", strconv.Itoa(listens)))
		if err != nil {
			return ""
		}
		defer connection.Close()
		greeting, _ := io.ReadAll(connection)
		return string(greeting)
	}
	for _, step := range []struct{ says, reaches string }{{"127.0.0.2", "127.0.0.2"}, {"127.0.0.3", "127.0.0.3"}, {"", "127.0.0.3"}} {
		known.set(step.says)
		deadline := time.Now().Add(20 * time.Second)
		for reached() != step.reaches && time.Now().Before(deadline) {
			time.Sleep(100 * time.Millisecond)
		}
		if got := reached(); got != step.reaches {
			t.Fatalf("the name is %q, the proxy leads to %q", step.says, got)
		}
	}
}
