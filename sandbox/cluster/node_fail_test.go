package cluster

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"github.com/hypershift-on-azure/hypershift/sandbox/supervise"
)

// nodeHost is the environment variable by which the test's program is a machine of its own that carries a node.
const nodeHost = "HYPERSHIFT_TEST_NODE_HOST"

// TestMain is also what a node runs: its first process, and stand-ins of its programs.
func TestMain(m *testing.M) {
	switch name := filepath.Base(os.Args[0]); {
	case slices.Contains([]string{"containerd", "ctr", "kubelet", "kube-proxy", "orphan"}, name):
		standIn(name)
	case len(os.Args) > 3 && os.Args[1] == "sandbox" && os.Args[3] == ManagementNodeInit:
		flags := flag.NewFlagSet("node", flag.ExitOnError)
		c := Config{Self: os.Args[0], Nodes: 2}
		flags.StringVar(&c.Dir, "dir", "", "")
		flags.StringVar(&c.Bin, "bin", "", "")
		flags.StringVar(&c.Debian, "debian", "", "")
		flags.StringVar(&c.System, "system", "", "")
		name := flags.String("node", "", "")
		_ = flags.Parse(os.Args[4:])
		fmt.Fprintln(os.Stderr, RunNodeInit(c, *name))
		os.Exit(1)
	case len(os.Args) > 3 && os.Args[1] == "sandbox":
		select {} // network policies
	}
	os.Exit(m.Run())
}

// standIn plays a program of a node.
func standIn(name string) {
	switch name {
	case "ctr":
		os.Exit(0)
	case "orphan":
		fmt.Println("It runs by its own name.")
	case "containerd":
		socket, err := net.Listen("unix", Config{}.containerdSocket())
		if err != nil {
			os.Exit(1)
		}
		for {
			if conn, err := socket.Accept(); err == nil {
				_ = conn.Close()
			}
		}
	case "kubelet":
		// A process whose parent ends at once, as a container's shim is.
		orphan := exec.Command("sh", "-c", filepath.Join(filepath.Dir(os.Args[0]), "orphan")+" & exit 0")
		said, _ := orphan.StdoutPipe()
		_ = orphan.Start()
		_, _ = said.Read(make([]byte, 1))
		_ = orphan.Wait()
		volumes := strings.TrimSuffix(strings.TrimPrefix(os.Args[1], "--config="), "kubelet-management-1.yaml") + "volumes"
		http.HandleFunc("/", func(w http.ResponseWriter, _ *http.Request) {
			file, _ := os.OpenFile(filepath.Join(volumes, "boots"), os.O_CREATE|os.O_RDWR|os.O_APPEND, 0o644)
			_, _ = file.WriteString("x")
			text, _ := os.ReadFile(file.Name())
			host, _ := os.Hostname()
			processes, _ := filepath.Glob("/proc/[0-9]*")
			_, foreign := os.Stat(filepath.Join(volumes, "of-the-machine"))
			fmt.Fprintf(w, "%s %s %v %v", host, text, len(processes) < 12, foreign == nil)
		})
		fmt.Fprintln(os.Stderr, http.ListenAndServe("198.18.0.11:10248", nil))
		os.Exit(1)
	}
	select {}
}

// A node has its own name, processes, network and disk; without power nothing of it is left but the disk, and without its cable it runs
// unreached.
func TestNodeFailsAsAWhole(t *testing.T) {
	if os.Getenv(nodeHost) != "" {
		failNode(t)
		return
	}
	if os.Geteuid() != 0 {
		t.Skip("needs root")
	}
	machine := exec.Command(os.Args[0], "-test.run=^TestNodeFailsAsAWhole$", "-test.v")
	machine.Env = append(os.Environ(), nodeHost+"=1")
	machine.SysProcAttr = &syscall.SysProcAttr{Cloneflags: unix.CLONE_NEWNET | unix.CLONE_NEWNS}
	missing := missingOf(insideDirs, outsideDirs)
	output, err := machine.CombinedOutput()
	if left := missingOf(missing); !slices.Equal(left, missing) {
		t.Errorf("of %v only %v are missing on the machine after the test", missing, left)
	}
	if bytes.Contains(output, []byte("operation not permitted")) {
		t.Skip("needs the right to make namespaces")
	}
	if err != nil {
		t.Fatalf("%v\n%s", err, output)
	}
}

// missingOf are the paths that do not exist.
func missingOf(lists ...[]string) []string {
	return slices.DeleteFunc(slices.Concat(lists...), func(path string) bool {
		_, err := os.Lstat(path)
		return err == nil
	})
}

func failNode(t *testing.T) {
	if err := unix.Mount("", "/", "", unix.MS_PRIVATE|unix.MS_REC, ""); err != nil {
		t.Fatal(err)
	}
	// A sandbox that runs on the machine has mounts there, which nobody could unmount below those that follow.
	if err := unmountBelow(Config{}.runDir(), "/run/netns", "/run/containerd", "/var/lib/kubelet"); err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{"/run", "/var/lib", "/var/log"} { // a node makes directories there, and the real ones stay as they are
		if err := unix.Mount("tmpfs", dir, "tmpfs", 0, ""); err != nil {
			t.Fatal(err)
		}
	}
	c := testConfig(t)
	c.Nodes, c.Bin, c.Debian, c.Self = 2, filepath.Join(c.Dir, "bin"), filepath.Join(c.Dir, "debian"), os.Args[0]
	playMachine(t, c)
	t.Cleanup(func() {
		if err := errors.Join(c.thawDisks(), c.detachDisks(context.Background())); err != nil {
			t.Error(err)
		}
	})
	ctx, stop := context.WithCancel(t.Context())
	kept := make(chan error, 1)
	go func() { kept <- RunNode(ctx, c, "management-1") }()
	is := func(state NodeState) {
		t.Helper()
		if err := c.ask(ctx, node{1}, state, self(t)); err != nil {
			t.Fatal(err)
		}
	}
	asked := 0 // a request that is not answered in time counts, too
	answers := func() {
		t.Helper()
		deadline := time.Now().Add(30 * time.Second)
		for {
			got := ask()
			counted := strings.Count(got, "x")
			if counted > asked && got == "management-1 "+strings.Repeat("x", counted)+" true false" {
				asked = counted
				return
			}
			if time.Now().After(deadline) {
				t.Fatalf("the node says %q after %d requests", got, asked)
			}
		}
	}
	if err := c.waitState(ctx, node{1}, NodeUp); err != nil {
		t.Fatal(err)
	}
	answers()
	if orphans(c) == 0 {
		t.Fatal("no process lives on without its parent")
	}
	is(NodePartitioned)
	if got := ask(); got != "" || orphans(c) == 0 {
		t.Errorf("without its cable it says %q, and %d of its processes are left", got, orphans(c))
	}
	is(NodeUp)
	answers()
	is(NodeDown)
	if got := ask(); got != "" || orphans(c) != 0 {
		t.Errorf("without power it says %q, and %d of its processes are left", got, orphans(c))
	}
	is(NodeUp)
	answers()
	failDisk(t, c, is)
	stop()
	if err := <-kept; err != nil || orphans(c) != 0 {
		t.Errorf("it ends with %v, and %d of its processes are left", err, orphans(c))
	}
	if err := errors.Join(c.thawDisks(), c.detachDisks(t.Context()), c.removeNodes()); err != nil {
		t.Error(err)
	}
	if c.volumesDisk(node{1}).Attached() {
		t.Error("its disk is still mounted")
	}
	if _, err := netlink.LinkByName("hsn1"); err == nil {
		t.Error("its link is left")
	}
}

// failDisk fails the disk that has the node's volumes, and leaves the node up.
func failDisk(t *testing.T, c Config, is func(NodeState)) {
	t.Helper()
	if !c.volumesDisk(node{1}).Attached() {
		if err := c.mayFail(node{1}, NodeDiskFull); err == nil || !strings.Contains(err.Error(), "cannot fail alone") {
			t.Errorf("the disk of a node without one may fail: %v", err)
		}
		return
	}
	write := func() (time.Duration, error) {
		t.Helper()
		began := time.Now()
		file, err := os.Create(filepath.Join(c.volumes(node{1}), "block"))
		if err != nil {
			t.Fatal(err)
		}
		_, err = file.Write(make([]byte, 4096))
		err = errors.Join(err, file.Sync(), file.Close(), os.Remove(file.Name()))
		return time.Since(began), err
	}
	if _, err := os.Stat(filepath.Join(c.volumes(node{1}), "boots")); err != nil {
		t.Error("the node's volumes are not on its disk:", err)
	}
	is(NodeDiskFull)
	if _, err := write(); !errors.Is(err, unix.ENOSPC) {
		t.Errorf("a write to the full disk: %v", err)
	}
	is(NodeDiskSlow)
	var slow time.Duration
	for range 3 {
		took, err := write()
		if slow = max(slow, took); err != nil {
			t.Errorf("a write to the slow disk, which was full before: %v", err)
		}
	}
	if slow < 100*time.Millisecond {
		t.Errorf("writes to the slow disk take at most %s", slow)
	}
	is(NodeDown)
	is(NodeUp)
	if _, err := write(); err != nil {
		t.Errorf("a write after the disk has failed: %v", err)
	}
}

// playMachine makes what the machine of a sandbox has: the edge, and programs.
func playMachine(t *testing.T, c Config) {
	t.Helper()
	for _, program := range []string{"bin/kubelet", "bin/kube-proxy", "bin/pause", "bin/orphan", "debian/bin/containerd", "debian/bin/ctr"} {
		path := filepath.Join(c.Dir, program)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(os.Args[0], path); err != nil {
			t.Fatal(err)
		}
	}
	for _, step := range []func() error{ensureEdge, c.ensureClusterPKI, c.makeDirs, c.writeContainerd, c.makeNodes, c.routeNodes} {
		if err := step(); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(c.cluster("volumes", "of-the-machine"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
}

func self(t *testing.T) supervise.Process {
	t.Helper()
	text, err := os.ReadFile("/proc/self/stat")
	if err != nil {
		t.Fatal(err)
	}
	fields := strings.Fields(string(text[bytes.LastIndexByte(text, ')')+1:]))
	var start uint64
	if _, err := fmt.Sscan(fields[19], &start); err != nil {
		t.Fatal(err)
	}
	return supervise.Process{PID: os.Getpid(), Start: start}
}

// ask is what the node's kubelet says, "" if nobody answers.
func ask() string {
	client := http.Client{Timeout: 500 * time.Millisecond, Transport: &http.Transport{DisableKeepAlives: true}}
	answer, err := client.Get("http://198.18.0.11:10248/")
	if err != nil {
		return ""
	}
	defer answer.Body.Close()
	text, _ := io.ReadAll(answer.Body)
	return string(text)
}

// orphans counts the node's processes that have lost their parent, as the machine sees them.
func orphans(c Config) int {
	count := 0
	paths, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	for _, path := range paths {
		text, _ := os.ReadFile(path)
		if bytes.HasPrefix(text, []byte(c.bin("orphan"))) {
			count++
		}
	}
	return count
}
