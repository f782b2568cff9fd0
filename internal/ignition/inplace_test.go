package ignition

import (
	"archive/tar"
	"bytes"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// userFiles is a machine configuration of a user's.
func userFiles(text string) string {
	return `{"apiVersion":"machineconfiguration.openshift.io/v1","kind":"MachineConfig","metadata":{"name":"50-mine"},"spec":{"config":{"ignition":{"version":"3.2.0"},` + text + `}}}`
}

// inPlacePayload is the configuration of a pool that is updated in place, with what a user added.
func inPlacePayload(t *testing.T, user string) []byte {
	t.Helper()
	in := input()
	in.InPlace, in.ReportCA = true, []byte("authority")
	if user != "" {
		in.Manifests = userFiles(user)
	}
	payload, err := Render(in)
	if err != nil {
		t.Fatal(err)
	}
	return payload
}

// unpacked has the content of each entry, and its header.
func unpacked(t *testing.T, packed []byte) (map[string]string, map[string]*tar.Header) {
	t.Helper()
	contents, headers := map[string]string{}, map[string]*tar.Header{}
	reader := tar.NewReader(bytes.NewReader(packed))
	for {
		header, err := reader.Next()
		if errors.Is(err, io.EOF) {
			return contents, headers
		}
		if err != nil {
			t.Fatal(err)
		}
		content, err := io.ReadAll(reader)
		if err != nil {
			t.Fatal(err)
		}
		contents["/"+header.Name], headers["/"+header.Name] = string(content), header
	}
}

func TestArchiveHasWhatTheConfigurationWrites(t *testing.T) {
	payload := inPlacePayload(t, `"storage":{"files":[{"path":"/etc/mine","mode":416,"user":{"id":7},"contents":{"compression":"gzip","source":"data:;base64,H4sIAAAAAAAAA8tIzcnJBwCGphA2BQAAAA=="}}],
		"directories":[{"path":"/var/mine","mode":448}],"links":[{"path":"/etc/link","target":"/etc/mine"}]},
		"systemd":{"units":[{"name":"mine.service","enabled":true,"contents":"[Unit]\n"},{"name":"other.service","mask":true},{"name":"third.service","enabled":false,"dropins":[{"name":"a.conf","contents":"x"}]}]}`)
	packed, err := Archive(Personal(payload, "ignition.example.com", "Bearer dG9rZW4="))
	if err != nil {
		t.Fatal(err)
	}
	contents, headers := unpacked(t, packed)
	if contents["/etc/mine"] != "hello" || headers["/etc/mine"].Mode != 0o640 || headers["/etc/mine"].Uid != 7 {
		t.Errorf("/etc/mine: %q, %+v", contents["/etc/mine"], headers["/etc/mine"])
	}
	if headers["/var/mine"].Typeflag != tar.TypeDir || headers["/etc/link"].Linkname != "/etc/mine" || headers["/etc/systemd/system/other.service"].Linkname != "/dev/null" {
		t.Error("directory, link or masked unit is not there")
	}
	if contents["/etc/systemd/system/mine.service"] != "[Unit]\n" || contents["/etc/systemd/system/third.service.d/a.conf"] != "x" {
		t.Error("a unit or its drop-in is not there")
	}
	for _, line := range []string{"enable kubelet.service", "enable mine.service", "disable third.service", "mask other.service"} {
		if !strings.Contains(contents[unitsRecord], line+"\n") {
			t.Errorf("the units are\n%s", contents[unitsRecord])
		}
	}
	if settings := contents["/etc/kubernetes/report/curl.conf"]; !strings.Contains(settings, "https://ignition.example.com/report") || !strings.Contains(settings, "Bearer dG9rZW4=") {
		t.Errorf("the machine would report by\n%s", settings)
	}
	for name := range headers {
		if !strings.Contains(contents[pathsRecord], name+"\n") {
			t.Errorf("%s is not among the paths", name)
		}
	}
}

// TestFixedPart: what a machine gets at its first boot only is told from what it can be given again.
func TestFixedPart(t *testing.T) {
	fixed := func(user string) string {
		packed, err := Archive(inPlacePayload(t, user))
		if err != nil {
			t.Fatal(err)
		}
		contents, _ := unpacked(t, packed)
		return contents[fixedRecord]
	}
	plain := fixed("")
	for user, same := range map[string]bool{
		`"storage":{"files":[{"path":"/etc/a","contents":{"source":"data:,x"}}]}`:               true,
		`"systemd":{"units":[{"name":"a.service","enabled":true}]}`:                             true,
		`"storage":{"files":[{"path":"/etc/a","contents":{"source":"https://example.com/a"}}]}`: false,
		`"storage":{"files":[{"path":"/etc/a","append":[{"source":"data:,x"}]}]}`:               false,
		`"passwd":{"users":[{"name":"core"}]}`:                                                  false,
		`"storage":{"filesystems":[{"device":"/dev/sdc","format":"ext4","path":"/var/a"}]}`:     false,
	} {
		if (fixed(user) == plain) != same {
			t.Errorf("%s: the same as without: %t", user, !same)
		}
	}
	if _, err := Render(Input{}); err == nil {
		t.Error("no input is rendered")
	}
	in := input()
	in.InPlace, in.Manifests = true, userFiles(`"storage":{"files":[{"path":"/etc/../etc/a","contents":{"source":"data:,x"}}]}`)
	if _, err := Render(in); err == nil {
		t.Error("a path with .. is taken")
	}
}

// updatedMachine is a directory that NodeUpdate takes for a machine that was made of a payload.
type updatedMachine struct {
	machine
	payload *[]byte
}

func newUpdatedMachine(t *testing.T, payload []byte) updatedMachine {
	t.Helper()
	m := updatedMachine{newMachine(t), &payload}
	packed, err := Archive(payload)
	if err != nil {
		t.Fatal(err)
	}
	first := exec.CommandContext(t.Context(), "tar", "-x", "-p", "-C", m.root)
	first.Stdin = bytes.NewReader(packed)
	if said, err := first.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, said)
	}
	m.write("bin/systemctl", "#!/bin/sh\necho \"$@\" >>"+m.root+"/systemctl\ncase \"$*\" in *\"$(cat "+m.root+"/broken 2>/dev/null || echo nothing)\"*) exit 1 ;; show*) echo 'Mon 2026-01-05 10:00:00 UTC' ;; esac\n")
	m.write("bin/journalctl", "#!/bin/sh\necho 'the last words'\n")
	m.write("bin/restorecon", "#!/bin/sh\n")
	return m
}

// update runs NodeUpdate against a server that has the machine's next payload.
func (m updatedMachine) update(shell string) (string, error) {
	m.t.Helper()
	served, err := Archive(*m.payload)
	if err != nil {
		served = []byte(err.Error()) // no archive
	}
	if err := os.WriteFile(filepath.Join(m.root, "served.tar"), served, 0o600); err != nil {
		m.t.Fatal(err)
	}
	// It hands out the archive to whom has token and authority in files, and is the kubelet's health.
	m.write("bin/curl", `#!/bin/sh
case "$*" in
*healthz*) [ ! -e `+m.root+`/unhealthy ]; exit ;;
*good*|*dG9r*) echo "a secret is on the command line" >&2; exit 1 ;;
esac
while [ $# -gt 0 ]; do
	case "$1" in --config) config=$2 ;; --cacert) authority=$2 ;; --output) output=$2 ;; esac
	shift
done
grep -q 'url = "https://ignition.example.com:8443/ignition-files"' "$config" && grep -q 'Bearer Z29vZA==' "$config" && grep -q 'AUTHORITY' "$authority" || exit 22
cp `+m.root+`/served.tar "$output"
`)
	command := exec.CommandContext(m.t.Context(), shell, "-c", nodeUpdateScript)
	command.Env = []string{"PATH=" + m.root + "/bin:" + os.Getenv("PATH"), "NODE_ROOT=" + m.root, "HEALTH_TRIES=1"}
	command.Stdin = bytes.NewReader(UserData{Endpoint: "ignition.example.com:8443", Token: "good", NodePool: "clusters/np", TargetConfigVersion: "abcd",
		CA: []byte("-----BEGIN CERTIFICATE-----\nAUTHORITY\n-----END CERTIFICATE-----\n")}.Settings())
	said, err := command.CombinedOutput()
	return strings.ReplaceAll(string(said), m.root, ""), err
}

func (m updatedMachine) becomes(payload []byte) { *m.payload = payload }

const (
	formerUser = `"storage":{"files":[{"path":"/etc/former","contents":{"source":"data:,f"}},{"path":"/etc/both","mode":384,"contents":{"source":"data:,1"}}]},"systemd":{"units":[{"name":"former.service","enabled":true,"contents":"[Unit]\n"}]}`
	newUser    = `"storage":{"files":[{"path":"/etc/new","contents":{"source":"data:,n"}},{"path":"/etc/both","mode":384,"contents":{"source":"data:,2"}}],"directories":[{"path":"/etc/made","mode":448}]}`
)

func TestNodeUpdate(t *testing.T) {
	eachShell(t, func(t *testing.T, shell string) {
		m := newUpdatedMachine(t, inPlacePayload(t, formerUser))
		m.write("etc/hosts", "of the machine")
		m.becomes(inPlacePayload(t, newUser))
		said, err := m.update(shell)
		if err != nil {
			t.Fatalf("%v: %s", err, said)
		}
		if m.read("etc/former") != "" || m.read("etc/systemd/system/former.service") != "" || m.read("etc/new") != "n" || m.read("etc/both") != "2" || m.read("etc/hosts") != "of the machine" {
			t.Errorf("the files are not those of the configuration:\n%s", said)
		}
		if info, err := os.Stat(filepath.Join(m.root, "etc/both")); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("/etc/both: %v, %v", info, err)
		}
		if info, err := os.Stat(filepath.Join(m.root, "etc/made")); err != nil || info.Mode().Perm() != 0o700 {
			t.Errorf("/etc/made: %v, %v", info, err)
		}
		if !strings.Contains(m.read("etc/kubernetes/in-place/paths"), "/etc/new\n") || strings.Contains(m.read("etc/kubernetes/in-place/paths"), "/etc/former\n") {
			t.Error("the record is not that of the configuration")
		}
		if left, _ := filepath.Glob(filepath.Join(m.root, "run/hypershift/node-update*")); len(left) > 0 {
			t.Errorf("left over: %v", left)
		}
		if since := m.read(KubeletSince); since != "1767607200\n" {
			t.Errorf("the kubelet runs since %q", since)
		}
		calls := m.read("systemctl")
		early, late := strings.Index(calls, "restart kubelet-fetch.service node-fetch.service containerd.service"), strings.LastIndex(calls, " kubelet.service")
		if !strings.Contains(calls, "disable --now former.service") || !strings.Contains(calls, "daemon-reload") || early < 0 || late < early {
			t.Errorf("systemctl is called\n%s", calls)
		}
		// Nothing differs now.
		if said, err := m.update(shell); err != nil || strings.Contains(said, "wrote") || strings.Contains(said, "removed") {
			t.Errorf("again: %v: %s", err, said)
		}
	})
}

// A node says with which configuration its machine started, where that may become another: nothing else knows.
func TestNodeSaysWhatItStartedWith(t *testing.T) {
	in := input()
	in.ConfigVersion = "abcd"
	for inPlace, want := range map[bool]string{true: ",hypershift.openshift.io/started-with-config=abcd", false: ""} {
		in.InPlace = inPlace
		rendered, err := Render(in)
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(string(rendered), "NODE_LABELS=hypershift.openshift.io/nodePool="+in.NodePool+want+"\\n") {
			t.Errorf("in place %v: the kubelet's unit lacks %q", inPlace, want)
		}
	}
}

func TestNodeUpdateRefuses(t *testing.T) {
	for name, test := range map[string]struct {
		next  string
		spoil func(updatedMachine)
		says  string
	}{
		"what only a first boot does": {next: `"passwd":{"users":[{"name":"core"}]}`, says: "first boot"},
		"a machine of before":         {next: newUser, spoil: func(m updatedMachine) { _ = os.Remove(m.root + fixedRecord) }, says: "not made to be updated in place"},
		"a kubelet that does not run": {next: newUser, spoil: func(m updatedMachine) { m.write("unhealthy", "") }, says: "the last words"},
		"a unit that does not start":  {next: newUser, spoil: func(m updatedMachine) { m.write("broken", "restart kubelet-fetch.service") }, says: "not everything starts"},
		"a server that refuses":       {next: newUser, spoil: func(m updatedMachine) { m.becomes([]byte("{}")) }, says: "tar"},
	} {
		t.Run(name, func(t *testing.T) {
			m := newUpdatedMachine(t, inPlacePayload(t, formerUser))
			m.becomes(inPlacePayload(t, test.next))
			if test.spoil != nil {
				test.spoil(m)
			}
			before := m.read("etc/both")
			said, err := m.update("/bin/sh")
			if err == nil || !strings.Contains(said, test.says) {
				t.Errorf("%v: %s", err, said)
			}
			if strings.Contains(said, "Z29vZA") {
				t.Errorf("the token is told: %s", said)
			}
			if test.says == "first boot" && m.read("etc/both") != before {
				t.Error("something is written before the refusal")
			}
		})
	}
}
