package guest

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// scene is what a machine of a test has, in which this program is run again as its pid 1 would be.
type scene struct {
	Work       string // a folder of the host, that it sees as its own
	CustomData string
	Program    string            // of Ignition; "" is none
	Files      map[string]string // there already
	Times      int               // of provisioning
	Spec       Spec
}

const sceneVariable = "GUEST_TEST_SCENE"

// TestMain is also the machine.
func TestMain(m *testing.M) {
	raw := os.Getenv(sceneVariable)
	if raw == "" {
		os.Exit(m.Run())
	}
	var s scene
	err := json.Unmarshal([]byte(raw), &s)
	if err == nil {
		err = s.play()
	}
	if err != nil {
		fmt.Println("error:", err)
	}
}

// play sees the host's programs and nothing else of it, and changes nothing of it.
func (s scene) play() error {
	work := s.Work
	if err := errors.Join(unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""), unix.Mount("tmpfs", work, "tmpfs", 0, "")); err != nil {
		return err
	}
	for _, dir := range []string{"usr", "etc"} {
		upper, below := filepath.Join(work, dir), filepath.Join(work, dir+"-work")
		if err := errors.Join(os.Mkdir(upper, 0o755), os.Mkdir(below, 0o755),
			unix.Mount("overlay", "/"+dir, "overlay", 0, "lowerdir=/"+dir+",upperdir="+upper+",workdir="+below)); err != nil {
			return err
		}
	}
	if err := errors.Join(unix.Mount("tmpfs", "/run", "tmpfs", 0, ""), os.MkdirAll(stateDir, 0o700),
		os.WriteFile(filepath.Join(stateDir, CustomDataFile), []byte(s.CustomData), 0o600)); err != nil {
		return err
	}
	for _, path := range []string{"/etc/hostname", "/etc/hosts", resultFile} {
		_ = os.Remove(path)
	}
	if s.Program != "" {
		s.Files = map[string]string{ignitionProgram: "#!/bin/sh\n" + s.Program + "\n"}
	}
	for path, text := range s.Files {
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(text), 0o755)); err != nil {
			return err
		}
	}
	for range s.Times {
		if err := provision(context.Background(), os.Stdout); err != nil {
			return err
		}
	}
	if s.Spec.Hostname != "" {
		if err := errors.Join(identity(s.Spec), networkFiles(s.Spec)); err != nil {
			return err
		}
		for _, path := range []string{"/etc/hostname", "/etc/hosts", "/run/systemd/network/10-eth0.network", "/run/systemd/resolve/stub-resolv.conf"} {
			text, _ := os.ReadFile(path)
			fmt.Printf("%s: %q\n", path, text)
		}
	}
	mounts, err := os.ReadFile("/proc/self/mountinfo")
	if strings.Contains(string(mounts), "/run/sysroot") {
		fmt.Println("the root of Ignition is still mounted")
	}
	return err
}

// said is what the machine of a scene prints.
func said(t *testing.T, s scene) string {
	t.Helper()
	if os.Geteuid() != 0 || exec.Command("unshare", "-m", "true").Run() != nil {
		t.Skip("skipped: mount namespaces need root")
	}
	s.Work = t.TempDir()
	raw, err := json.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("/proc/self/exe")
	cmd.Env = append(os.Environ(), sceneVariable+"="+string(raw))
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: unix.CLONE_NEWNS}
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return string(out)
}

// Ignition runs its stages in the order of an initramfs, on the machine's own root and configuration, and once in the life of a machine.
func TestProvision(t *testing.T) {
	const config = `{"ignition": {"version": "3.3.0"}}`
	const tells = `stage=; for a in "$@"; do case $a in --stage=*) stage=${a#--stage=};; --root=*) root=${a#--root=};; --platform=*) platform=${a#--platform=};; esac; done
echo "$stage $platform $(cat $IGNITION_CONFIG_FILE)"
[ -e $root/etc ] || echo "no root at $root"
[ "$stage" != files ] || touch $root` + resultFile
	stages := func(names ...string) string {
		var out strings.Builder
		for _, name := range names {
			fmt.Fprintf(&out, "%s file %s\n", name, config)
		}
		return out.String()
	}
	whole := stages("fetch-offline", "fetch", "kargs", "disks", "mount", "files", "umount")
	for name, c := range map[string]struct {
		scene scene
		want  string
	}{
		"first boot":  {scene{CustomData: config, Program: tells, Times: 1}, whole},
		"second boot": {scene{CustomData: config, Program: tells, Times: 3}, whole},
		"a stage that fails": {scene{CustomData: config, Program: tells + "\n[ $stage != disks ]", Times: 1},
			stages("fetch-offline", "fetch", "kargs", "disks") + "error: ignition, stage disks: exit status 1\n"},
		"for another agent": {scene{CustomData: "  #cloud-config\n", Program: tells, Times: 1}, "error: " + errNoIgnition.Error() + "\n"},
		"nothing is given":  {scene{CustomData: "", Program: "true", Times: 1}, ""},
		"no Ignition": {scene{CustomData: config, Times: 1},
			"error: the operating system has no Ignition: stat " + ignitionProgram + ": no such file or directory\n"},
		"provisioned by another": {scene{CustomData: "#!/bin/sh", Files: map[string]string{resultFile: "{}"}, Times: 1}, ""},
	} {
		if got := said(t, c.scene); got != c.want {
			t.Errorf("%s:\n%swant\n%s", name, got, c.want)
		}
	}
}

// What names the machine is written at the first boot, and is the machine's own from then on; its network is what the hypervisor says, each time.
func TestIdentity(t *testing.T) {
	spec := Spec{Hostname: "worker-1", Address: "10.0.0.4/24", Gateway: "10.0.0.1", DNS: "168.63.129.16"}
	first := said(t, scene{Spec: spec})
	again := said(t, scene{Spec: spec, Files: map[string]string{"/etc/hostname": "renamed\n", "/run/systemd/resolve/stub-resolv.conf": "nameserver 9.9.9.9\n"}})
	network := "/run/systemd/network/10-eth0.network: \"[Match]\\nName=eth0\\n[Network]\\nAddress=10.0.0.4/24\\nGateway=10.0.0.1\\nDNS=168.63.129.16\\n"
	for _, c := range []struct{ got, want string }{
		{first, "/etc/hostname: \"worker-1\\n\"\n"}, {first, "10.0.0.4 worker-1\\n\"\n"},
		{first, "/run/systemd/resolve/stub-resolv.conf: \"nameserver 168.63.129.16\\n\"\n"}, {first, network},
		{again, "/etc/hostname: \"renamed\\n\"\n"}, {again, "10.0.0.4 worker-1\\n\"\n"},
		{again, "/run/systemd/resolve/stub-resolv.conf: \"nameserver 168.63.129.16\\n\"\n"}, {again, network},
	} {
		if !strings.Contains(c.got, c.want) {
			t.Errorf("%s\nhas no %s", c.got, c.want)
		}
	}
}

// The kubelet takes the machine's size from these files.
func TestSizes(t *testing.T) {
	host := "MemTotal:       32000000 kB\nMemFree:        20000000 kB\nMemAvailable:     300000 kB\nBuffers:             10 kB\n"
	for memory, want := range map[int]string{
		0:       host,
		8192:    "MemTotal:        8388608 kB\nMemFree:         8388608 kB\nMemAvailable:     300000 kB\nBuffers:             10 kB\n",
		1 << 20: "MemTotal:       1073741824 kB\nMemFree:        20000000 kB\nMemAvailable:     300000 kB\nBuffers:             10 kB\n",
	} {
		if got := string(memInfo([]byte(host), Spec{MemoryMiB: memory})); got != want {
			t.Errorf("%d MiB:\n%swant\n%s", memory, got, want)
		}
	}
	processors := "processor\t: 0\nvendor_id\t: X\nflags\t: a b\n\nprocessor\t: 1\nvendor_id\t: Y\n\n"
	for cpus, want := range map[int]string{
		0: processors, 1: "processor\t: 0\nvendor_id\t: X\nflags\t: a b\n\n",
		3: "processor\t: 0\nvendor_id\t: X\nflags\t: a b\n\nprocessor\t: 1\nvendor_id\t: X\nflags\t: a b\n\nprocessor\t: 2\nvendor_id\t: X\nflags\t: a b\n\n",
	} {
		if got := string(cpuInfo([]byte(processors), Spec{VCPUs: cpus})); got != want {
			t.Errorf("%d processors:\n%swant\n%s", cpus, got, want)
		}
	}
	if other := []byte("model: z\n\n"); !bytes.Equal(cpuInfo(other, Spec{VCPUs: 2}), other) {
		t.Error("a form that is not known is changed")
	}
}

// Pid 1 starts itself again by the words that led to it, with an environment in which systemd knows where it is.
func TestSecondStart(t *testing.T) {
	given := []string{"hypershift", "sandbox", "run", "vm-init", "/machines/a"}
	if got := initArgs(given, "/machines/a"); !slices.Equal(got, given[:4]) {
		t.Errorf("%q", got)
	}
	again := append(initArgs(given, "/machines/a"), stageRunning)
	if given[4] != "/machines/a" || !slices.Equal(again, []string{"hypershift", "sandbox", "run", "vm-init", stageRunning}) {
		t.Errorf("%q, of %q", again, given)
	}
	if env := environment(Spec{VMID: "id"}); !slices.Contains(env, "container=embedded-azure") || !slices.Contains(env, "container_uuid=id") ||
		os.Getenv("PATH") == "" {
		t.Errorf("%q", env)
	}
	if env := environment(Spec{}); slices.ContainsFunc(env, func(e string) bool { return strings.HasPrefix(e, "container_uuid") }) {
		t.Errorf("%q", env)
	}
	for _, args := range [][]string{nil, {"a", "b"}} {
		if err := Run(args); err == nil {
			t.Errorf("arguments %q are taken", args)
		}
	}
}

// A path with a character that overlay mounts cut at would show another folder as the root.
func TestPathsOfOverlays(t *testing.T) {
	for _, m := range []*mounts{{dir: "/a,b"}, {dir: "/a:b"}, {dir: `/a\b`}, {dir: "/a", spec: Spec{Layers: []string{"/x", "/y:z"}}}} {
		if err := m.overlay(); err == nil || !strings.Contains(err.Error(), "characters") {
			t.Errorf("%s, %q: %v", m.dir, m.spec.Layers, err)
		}
	}
	link := filepath.Join(t.TempDir(), "link")
	for _, target := range []string{"/run", "/run", "/other"} {
		if err := replaceLink(link, target); err != nil {
			t.Fatal(err)
		}
		if got, _ := os.Readlink(link); got != target {
			t.Errorf("%s, want %s", got, target)
		}
	}
	if err := errors.Join(os.Remove(link), os.MkdirAll(link+"/full", 0o700)); err != nil {
		t.Fatal(err)
	}
	if err := replaceLink(link, "/run"); err == nil {
		t.Error("a folder with something in it is replaced")
	}
}
