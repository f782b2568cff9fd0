package guest

import (
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"
)

func TestParseUnit(t *testing.T) {
	u, err := ParseUnit("kubelet.service", strings.NewReader(`# comment
[Unit]
Description=Kubelet
After=containerd.service network-online.target
Requires=containerd.service
ConditionPathExists=!/etc/stop

[Service]
Type=notify
Environment="A=b c" D=e
EnvironmentFile=-/etc/none
ExecStartPre=-/bin/mkdir -p /x
ExecStart=/usr/bin/kubelet \
  --a=${A} \
  --b
Restart=on-failure
RestartSec=1min 500ms
TimeoutStartSec=infinity
RemainAfterExit=yes

[Install]
WantedBy=multi-user.target
`), strings.NewReader("[Service]\nExecStart=\nExecStart=/usr/bin/other 'one word'\nRestartSec=2\n"))
	if err != nil {
		t.Fatal(err)
	}
	want := &Unit{
		Name: "kubelet.service", After: []string{"containerd.service", "network-online.target"}, Requires: []string{"containerd.service"},
		ConditionPathExists: []string{"!/etc/stop"}, Type: "notify", Environment: []string{"A=b c", "D=e"}, EnvironmentFile: []string{"-/etc/none"},
		ExecStartPre: []Command{{Words: []string{"/bin/mkdir", "-p", "/x"}, IgnoreFailure: true}}, ExecStart: []Command{{Words: []string{"/usr/bin/other", "one word"}}},
		Restart: "on-failure", RestartPause: 2 * time.Second, RemainAfterExit: true, WantedBy: []string{"multi-user.target"},
	}
	if !reflect.DeepEqual(u, want) {
		t.Errorf("got  %+v\nwant %+v", u, want)
	}
}

func TestParseUnitRefuses(t *testing.T) {
	for text, unsupported := range map[string]bool{
		"[Service]\nExecStart=/bin/true\nProtectSystem=full\n": true,
		"[Service]\nExecStart=/bin/true\nType=forking\n":       true,
		"[Service]\nExecStart=+/bin/true\n":                    true,
		"[Timer]\nOnBootSec=1\n":                               true,
		"[Service]\nExecStart=true\n":                          false,
		"[Service]\nExecStart=/bin/sh -c 'open\n":              false,
		"[Service]\nExecStart=/bin/a\nExecStart=/bin/b\n":      false,
		"[Service]\nExecStart=/bin/a\nRestartSec=soon\n":       false,
		"[Service]\nType=simple\n":                             false,
	} {
		_, err := ParseUnit("x.service", strings.NewReader(text))
		if err == nil || errors.Is(err, ErrDirective) != unsupported {
			t.Errorf("%q: %v", text, err)
		}
	}
	if _, err := ParseUnit("x.timer", strings.NewReader("")); !errors.Is(err, ErrDirective) {
		t.Errorf("timer: %v", err)
	}
}

func TestExpand(t *testing.T) {
	env := map[string]string{"A": "b c", "LIST": "x y"}
	got, err := expand([]string{"/bin/p", "--a=${A}", "$LIST", "$$HOME", "%N-%H", "100%%", "$NONE", "${NONE}z"}, "u.service", "host", env)
	want := []string{"/bin/p", "--a=b c", "x", "y", "$HOME", "u-host", "100%", "z"}
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("%q %v", got, err)
	}
	if _, err := expand([]string{"%i"}, "u.service", "host", env); !errors.Is(err, ErrDirective) {
		t.Errorf("unknown specifier: %v", err)
	}
}

func TestEnvironment(t *testing.T) {
	file := filepath.Join(t.TempDir(), "env")
	if err := os.WriteFile(file, []byte("# c\nA=file\nQ=\"two words\"\n\nE=\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	u := &Unit{Environment: []string{"A=unit", "B=unit"}, EnvironmentFile: []string{file, "-/none"}}
	got, err := u.environment([]string{"B=base", "C=base"})
	want := map[string]string{"A": "file", "B": "unit", "C": "base", "Q": "two words", "E": ""}
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("%v %v", got, err)
	}
	u.EnvironmentFile = []string{"/none"}
	if _, err := u.environment(nil); err == nil {
		t.Error("a missing file that is not optional")
	}
}

func writeUnits(t *testing.T, units map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range units {
		if err := writePublic(filepath.Join(dir, name), text); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func service(extra string) string { return "[Unit]\n" + extra + "\n[Service]\nExecStart=/bin/true\n" }

func TestLoadUnits(t *testing.T) {
	install := "[Install]\nWantedBy=multi-user.target\n"
	dir := writeUnits(t, map[string]string{
		"a.service": service("After=b.service gone.service\nWants=b.service gone.service") + install, "multi-user.target.wants/a.service": "",
		"b.service": service("Before=c.service"), "c.service": service("") + install, "multi-user.target.wants/c.service": "",
		"idle.service": service(""), "containerd.service.d/10.conf": "[Service]\nEnvironment=A=b\n",
		"noinstall.service": service(""), "multi-user.target.wants/noinstall.service": "",
	})
	var logged []string
	set, err := loadUnits(dir, true, func(f string, _ ...any) { logged = append(logged, f) })
	if err != nil {
		t.Fatal(err)
	}
	if len(set) != 4 || set["containerd.service"] == nil || set["idle.service"] != nil || set["noinstall.service"] != nil {
		t.Errorf("units %v", set)
	}
	if got := set["containerd.service"].Environment; !reflect.DeepEqual(got, []string{"A=b"}) {
		t.Errorf("drop-in of a unit of the image: %v", got)
	}
	if got := set.before(set["c.service"]); !reflect.DeepEqual(got, []string{"b.service"}) {
		t.Errorf("before c: %v", got)
	}
	if len(logged) != 1 {
		t.Errorf("log %v", logged)
	}
}

func TestLoadUnitsCycle(t *testing.T) {
	install := "[Install]\nWantedBy=multi-user.target\n"
	dir := writeUnits(t, map[string]string{
		"a.service": service("After=b.service") + install, "multi-user.target.wants/a.service": "",
		"b.service": service("After=a.service") + install, "multi-user.target.wants/b.service": "",
	})
	if _, err := loadUnits(dir, false, t.Logf); err == nil || !strings.Contains(err.Error(), "->") {
		t.Errorf("cycle: %v", err)
	}
}

func TestWantsRestart(t *testing.T) {
	killed, failed := &exitError{9}, &exitError{1 << 8}
	for _, c := range []struct {
		policy string
		err    error
		want   bool
	}{
		{"no", failed, false}, {"always", nil, true}, {"on-failure", nil, false}, {"on-failure", failed, true},
		{"on-abnormal", failed, false}, {"on-abnormal", killed, true}, {"on-success", nil, true},
	} {
		if got := wantsRestart(c.policy, c.err); got != c.want {
			t.Errorf("%s after %v: %v", c.policy, c.err, got)
		}
	}
}

func TestSizes(t *testing.T) {
	host := []byte("MemTotal:       24684084 kB\nMemFree:          100 kB\nMemAvailable:   20000000 kB\nSwapTotal: 0 kB\n")
	if got, want := string(memInfo(host, Spec{MemoryMiB: 1024})), "MemTotal:        1048576 kB\nMemFree:             100 kB\nMemAvailable:    1048576 kB\nSwapTotal: 0 kB\n"; got != want {
		t.Errorf("meminfo %q", got)
	}
	cpu := []byte("processor\t: 0\nmodel\t: m\n\nprocessor\t: 1\nmodel\t: m\n\n")
	if got := string(cpuInfo(cpu, Spec{VCPUs: 3})); strings.Count(got, "model\t: m\n") != 3 || !strings.Contains(got, "processor\t: 2\n") {
		t.Errorf("cpuinfo %q", got)
	}
}

func FuzzParseUnit(f *testing.F) {
	f.Add("[Unit]\nAfter=a.service\n[Service]\nType=oneshot\nExecStart=-/bin/sh -c 'echo \"$A\" ${B} %n' \\\n  more\n")
	f.Fuzz(func(t *testing.T, text string) {
		u, err := ParseUnit("x.service", strings.NewReader(text))
		if err != nil {
			return
		}
		for _, c := range u.ExecStart {
			if len(c.Words) == 0 || c.Words[0] == "" {
				t.Errorf("%q has a command without a program", text)
			}
			_, _ = expand(c.Words, u.Name, "host", nil)
		}
	})
}

func FuzzParseConfig(f *testing.F) {
	f.Add([]byte(`{"ignition":{"version":"3.2.0"},"storage":{"files":[{"path":"/a","mode":420,"contents":{"source":"data:,a"}}]}}`))
	f.Fuzz(func(t *testing.T, raw []byte) {
		cfg, err := parseConfig(raw)
		if err != nil || len(cfg.Ignition.Config.Merge) > 0 || cfg.Ignition.Config.Replace.Source != nil {
			return
		}
		_ = unsupported(cfg)
	})
}
